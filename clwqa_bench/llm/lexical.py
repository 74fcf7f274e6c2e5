"""No language model at all: every task is done by rules and the linker.  The embedded default, `none/lexical`.

The same question always gets the same reply, no token is used, nothing is downloaded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from clwqa_bench.linking import Linker, open_linker
from clwqa_bench.linking.linker import LINKER_VERSION
from clwqa_bench.llm.protocol import NOTHING, Estimate, LLMError, Options, Reply
from clwqa_bench.llm.rules import relevance
from clwqa_bench.llm.tasks import (
    AnchorMention,
    AnswerClosedBook,
    AnswerFromEvidence,
    Answers,
    ClosedBookAnswer,
    Constraints,
    ElementNote,
    EvidenceAnswer,
    ExtractAnswers,
    ExtractConstraints,
    Output,
    OutputT,
    Snippet,
    Task,
)
from clwqa_bench.ontology import Ontology
from clwqa_bench.predictions import StageUsage

if TYPE_CHECKING:
    from clwqa_bench.systems import Resources

Handler = Callable[[Any], Output]


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
        self._handlers: Mapping[str, Handler] = {
            ExtractConstraints.id: self._constraints,
            AnswerFromEvidence.id: answer_from_evidence,
            AnswerClosedBook.id: lambda _: ClosedBookAnswer(
                answers=()
            ),  # without a model there is no knowledge
            ExtractAnswers.id: self._named,
        }

    async def do(self, task: Task[OutputT]) -> Reply[OutputT]:
        """Do a task, by a rule from here or by its own; one without any is answered with status `unparsed`."""
        start = time.perf_counter()
        handler = self._handlers.get(task.id)
        value = task.by_rule(self) if handler is None else handler(task)
        if value is None:
            return Reply(
                "unparsed",
                usage=StageUsage(calls=1),
                error=f"no rule does the task {task.id!r} without a model",
            )
        seconds = round(time.perf_counter() - start, 6)
        usage = StageUsage(calls=1, attempts=1, seconds=seconds)
        return Reply("ok", cast(OutputT, value), value.model_dump_json(), usage)

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

    def _constraints(self, task: ExtractConstraints) -> Constraints:
        linker = self.linker()
        linked = linker.link(task.question)
        anchors = tuple(
            AnchorMention(mention=anchor.mention, elements=labels)
            for anchor in linked.anchors
            if (labels := _labels(anchor.element, task.elements, linker.ontology))
        )
        target = _labels(linked.target_element, task.elements, linker.ontology)
        return Constraints(anchors=anchors, target_element=target[0] if target else "")

    def _named(self, task: ExtractAnswers) -> Answers:
        """Names of the graph in the text, longest first at every place, but for those the question names itself."""
        found = self.linker().gazetteer.all_mentions(task.text)
        return Answers(answers=tuple(m.text.strip("《》") for m in found if m.text not in task.question))


def answer_from_evidence(task: AnswerFromEvidence) -> EvidenceAnswer:
    """The end nodes of the best snippets, and of no other.

    Snippets come best first.  All that share the highest score are taken, since a question may have several answers
    and paths of one shape score alike; where nothing is scored, the first alone.  No snippet, no answer.
    """
    best = _best(task.snippets)
    return EvidenceAnswer(
        answers=tuple(snippet.answer for snippet in best), citations=tuple(snippet.number for snippet in best)
    )


def _best(snippets: Sequence[Snippet]) -> Sequence[Snippet]:
    scored = [snippet.score for snippet in snippets if snippet.score is not None]
    if not scored:
        return snippets[:1]
    return [snippet for snippet in snippets if snippet.score == max(scored)]


def _labels(element: str, notes: Sequence[ElementNote], ontology: Ontology) -> tuple[str, ...]:
    """The label the task has for an element, or for the nearest one above; none if there is none."""
    known = {note.label for note in notes}
    for name in (element, *ontology.ancestors(element)):
        for label in (name, ontology.label(name)):
            if label in known:
                return (label,)
    return ()
