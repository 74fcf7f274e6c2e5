"""RAG over passages: search, one call.

retrieve     the `top_k` passages most similar to the question
answer       the passages by rank above the question, one call

If the call fails (refused, unparsed, error, timeout), that is the status of the question; skipped ends it.  If no
passage has anything in common with the question, it is asked closed-book: flags `no_evidence`, `parametric`.
"""

from __future__ import annotations

from clwqa_baselines.rag.config import CARD, RagConfig
from clwqa_baselines.rag.passages import PASSAGES_VERSION, Passage, Passages
from clwqa_baselines.rag.tasks import AnswerFromPassages, NumberedPassage
from clwqa_baselines.rules.walks import edge
from clwqa_baselines.rules.ways import kind
from clwqa_baselines.shared.adapter import Adapter
from clwqa_baselines.shared.one_call import answered
from clwqa_baselines.shared.vectors import open_index
from clwqa_bench.predictions import Evidence, EvidenceText, Prediction, TraceEvent
from clwqa_bench.records import QuestionView
from clwqa_bench.systems import Context, Resources, System


class Rag(System):
    """Puts the passages most similar to the question before a language model: one call."""

    name = "rag"
    uses_llm = True
    tasks = (AnswerFromPassages,)
    card = CARD
    Config = RagConfig
    config: RagConfig

    def prepare(self, resources: Resources) -> None:
        config = self.config
        made_from = {name: getattr(config, name) for name in ("passages", "explanations", "chunk", "overlap")}
        self._passages = Passages(resources.kg, resources.ontology, config)
        self._index = open_index(
            config.retriever, "passages", lambda: self._passages, resources, PASSAGES_VERSION, made_from
        )
        self._adapter = Adapter.open(resources)

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        hits = self._index.search(question.text, self.config.top_k)
        found = [self._passages.passage(hit.id) for hit in hits]
        texts = tuple(
            EvidenceText(id=f"p{number}", text=passage.text, entity_id=passage.node, score=hit.score)
            for number, (passage, hit) in enumerate(zip(found, hits, strict=True), start=1)
        )
        ctx.trace.add(TraceEvent(stage="retrieve", op=self.config.retriever, texts=texts))
        task = AnswerFromPassages(
            question=question.text,
            passages=tuple(self._numbered(number, passage) for number, passage in enumerate(found, start=1)),
            own_knowledge=self.config.own_knowledge,
        )
        return await answered(
            question, task if found else None, ctx, self._adapter, evidence=Evidence(texts=texts)
        )

    def _numbered(self, number: int, passage: Passage) -> NumberedPassage:
        graph, name = self._passages.graph, self._passages.name
        return NumberedPassage(
            number=number,
            text=passage.text,
            name=name(passage.node),
            type=kind(graph, passage.node),
            edges=tuple(edge(triple, graph, name) for triple in passage.triples),
        )
