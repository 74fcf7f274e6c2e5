"""Language models as one more replaceable part: typed tasks in, typed replies out, nothing imported until used.

Back-ends are entry points of the group `clwqa_bench.llms`, this package's own and others': a `protocol.Backend` each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from clwqa_bench.llm.protocol import LLM, Backend, Options
from clwqa_bench.registry import LLMS, PluginError

if TYPE_CHECKING:
    from clwqa_bench.systems import Resources


def open_llm(spec: str, resources: Resources | None = None, options: Options | None = None) -> LLM:
    """A language model by spec: the name of a back-end and, after a colon, what it is to open.

    The package's own are "lexical", "openai:PRESET_OR_MODEL" and "local" or "local:FILE_OR_NAME".  `resources` are
    what the lexical back-end looks things up in; the others do without.
    Raises PluginError for a back-end that is not installed or cannot be loaded, LLMError for what it cannot open: a
    missing key or package, a setting that does not fit.
    """
    kind, _, name = spec.partition(":")
    return _backend(kind)(name, resources, options or Options())


def _backend(kind: str) -> Backend:
    found = LLMS.load(kind)
    if not callable(found):
        raise PluginError(
            f"language model {kind!r} is not a function",
            fix="let its entry point name a function that opens it",
        )
    return cast(Backend, found)
