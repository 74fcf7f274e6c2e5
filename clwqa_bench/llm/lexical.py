"""No language model at all: every task is done by rules and the linker.  The embedded default, `none/lexical`.

The same question always gets the same reply, no token is used, nothing is downloaded.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clwqa_bench.linking import Linker, open_linker
from clwqa_bench.linking.linker import LINKER_VERSION
from clwqa_bench.llm.protocol import NOTHING, Estimate, LLMError, Options, Reply
from clwqa_bench.llm.rules import relevance
from clwqa_bench.llm.tasks import OutputT, Task
from clwqa_bench.predictions import StageUsage

if TYPE_CHECKING:
    from clwqa_bench.systems import Resources


def open_lexical(name: str, resources: Resources | None, options: Options) -> Lexical:
    """The back-end without a model.  Raises LLMError for a name, a setting, or no dataset."""
    if name:
        raise LLMError(f"the lexical back-end has no model {name!r}", fix="use lexical without a name")
    if options.settings:
        raise LLMError(
            f"the lexical back-end has no setting {min(options.settings)!r}", fix="leave --llm-set out"
        )
    if resources is None and not options.dry:
        raise LLMError("the lexical back-end needs a dataset", fix="open it with the resources of a run")
    return Lexical(resources)


@dataclass
class Lexical:
    """See the module.  The linker is opened, and learned if need be, when the first task asks for it."""

    resources: Resources | None
    name: str = "none/lexical"

    def __post_init__(self) -> None:
        self._linker: Linker | None = None

    async def do(self, task: Task[OutputT]) -> Reply[OutputT]:
        """Do a task by its rule; one that has none is answered with status `unparsed`."""
        start = time.perf_counter()
        value = task.by_rule(self)
        if value is None:
            return Reply(
                "unparsed",
                usage=StageUsage(calls=1),
                error=f"no rule does the task {task.id!r} without a model",
            )
        seconds = round(time.perf_counter() - start, 6)
        usage = StageUsage(calls=1, attempts=1, seconds=seconds)
        return Reply("ok", value, value.model_dump_json(), usage)

    def describe(self) -> Mapping[str, Any]:
        """The versions that a reply depends on besides the dataset."""
        return {"backend": "lexical", "linker": LINKER_VERSION}

    def estimate(self, task: Task[Any]) -> Estimate:
        """Nothing: no tokens and no money."""
        return NOTHING

    async def close(self) -> None:
        """Let go of the linker."""
        self._linker = None

    def linker(self) -> Linker:
        """The linker of the dataset.  Raises LLMError if there is no dataset."""
        if self._linker is None:
            if self.resources is None:
                raise LLMError("there is no dataset to link to", fix="open the back-end with resources")
            self._linker = open_linker(self.resources)
        return self._linker

    def relevance(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        """See `Rules`."""
        return relevance(question, texts)
