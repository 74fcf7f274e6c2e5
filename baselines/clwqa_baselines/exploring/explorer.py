"""How a system that explores from topics answers, however its search ends: what ToG and PoG share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from clwqa_baselines.exploring.search import Ending, Said, Search
from clwqa_baselines.exploring.settings import ExplorerSettings
from clwqa_baselines.exploring.words import Known, Words
from clwqa_baselines.shared.adapter import Adapted, Adapter
from clwqa_baselines.shared.replies import Ended, failed
from clwqa_baselines.shared.topics import ORACLES, Topics
from clwqa_bench.kg.protocol import Path
from clwqa_bench.llm.tasks import AnswerClosedBook, Task
from clwqa_bench.predictions import Evidence, EvidenceTriple, Flag, PredictedAnswer, Prediction, TraceEvent
from clwqa_bench.records import QuestionView, TripleRef
from clwqa_bench.systems import Context, OutOfBounds, Resources, System


class Explorer(System):
    """Explores, then answers: from the verdict that what was gathered suffices; after a half stop, from what was
    gathered; else by the model alone, which is shown nothing and leaves no evidence.
    """

    uses_llm = True
    oracles = ORACLES
    native_format: ClassVar[Literal["json", "braces"]]
    config: ExplorerSettings

    def prepare(self, resources: Resources) -> None:
        unnecessary = self.config.unnecessary_relations if self.config.remove_unnecessary_rel else ""
        self._known = Known(resources.kg, resources.ontology, unnecessary)
        self._topics = Topics.open(resources)
        self._adapter = Adapter.open(resources)

    @abstractmethod
    def search(self, question: str, ctx: Context) -> Search:
        """A search to be run."""

    @abstractmethod
    def half_stop(self, search: Search) -> Task[Any]:
        """What is asked of what a search gathered."""

    @abstractmethod
    def written(self, said: Any) -> str:
        """A final reply in the form that the original writes and its own evaluator reads."""

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        topics = tuple(topic.id for topic in self._topics.find(question, ctx))
        search = self.search(question.text, ctx)
        flags: list[Flag] = []
        fields: dict[str, Any] = {"topics": topics}
        try:
            try:
                ending = await search.run([Path((topic,)) for topic in topics])
            except OutOfBounds:
                ending, flags = "half_stop", ["truncated"]
            how: Literal["sufficient", "half_stop", "parametric"] = "sufficient"
            if isinstance(ending, str):
                how = ending
                flags.append(ending)
            evidence = Evidence() if how == "parametric" else evidence_of(search.triples(), search.words)
            fields["evidence"] = evidence
            if not evidence.triples:
                flags.append("no_evidence")
            said = await self._final(search, ending)
        except Ended as ended:
            return failed(question.id, ended.reply, flags=_once(flags, search), **fields)
        found = await answers_of(self._adapter, question, said.answers, search.words, evidence, ctx)
        nodes = tuple(answer.entity_id for answer in found.answers if answer.entity_id)
        ctx.trace.add(TraceEvent(stage="answer", op=how, entities=nodes))
        return Prediction(
            id=question.id,
            raw_answer=self.written(said),
            native_format=self.native_format,
            flags=_once((*flags, *found.flags), search),
            **fields,
            **found.fields,
        )

    async def _final(self, search: Search, ending: Ending) -> Said:
        """The reply that answers.  Raises Ended if the call for it fails."""
        if not isinstance(ending, str):
            return ending
        task: Task[Any] = AnswerClosedBook(question=search.question, reasoned=True)
        if ending == "half_stop":
            task = self.half_stop(search)
        reply = await search.calls.ask(task, last=True)
        if reply.value is None:
            raise Ended(reply)
        said: Said = reply.value
        return said


def _once(flags: Sequence[Flag], search: Search) -> tuple[Flag, ...]:
    return tuple(dict.fromkeys((*flags, *search.calls.flags)))


def evidence_of(triples: Iterable[TripleRef], words: Words) -> Evidence:
    """Triples as they were shown."""
    return Evidence(
        triples=tuple(
            EvidenceTriple(id=f"t{number}", triple=triple, text=words.triple(triple))
            for number, triple in enumerate(triples, start=1)
        )
    )


async def answers_of(
    adapter: Adapter,
    question: QuestionView,
    texts: Sequence[str],
    words: Words,
    evidence: Evidence,
    ctx: Context,
) -> Adapted:
    """A model's list of answers, in its order.

    From evidence, a name that was shown is the very node it was shown for, given back whole and without its number.
    """
    found = await adapter.adapt(question.text, "", ctx, listed=texts, evidence=evidence, extract=False)
    answers: dict[str, PredictedAnswer] = {}
    for answer in found.answers:
        node = words.node(answer.text) if evidence.triples else None
        if node is not None:
            ids = (piece.id for piece in evidence.triples if node in (piece.triple.head, piece.triple.tail))
            text = words.known.name(node) or node
            answer = answer.model_copy(update={"text": text, "entity_id": node, "support": tuple(ids)})
        answers.setdefault(answer.entity_id or answer.text, answer)
    return replace(found, answers=tuple(answers.values()))
