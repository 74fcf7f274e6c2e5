"""Top-k triples: candidates, similarity, one call.

candidates   linked: all triples of the entities that the question names; global: all triples of the graph
rank         similarity of question and triple in words; the best `top_k`, equal ones by the triple's id
answer       the facts above the question, one call

If the call fails (refused, unparsed, error, timeout), that is the status of the question; skipped ends it.  Without
candidates (nothing named, isolated entities) the question is asked closed-book: flags `no_evidence`, `parametric`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

import orjson

from clwqa_baselines.rules.walks import edge
from clwqa_baselines.shared.adapter import Adapter
from clwqa_baselines.shared.evidence import refs
from clwqa_baselines.shared.names import namer
from clwqa_baselines.shared.one_call import answered
from clwqa_baselines.shared.topics import Topics
from clwqa_baselines.shared.vectors import open_index, open_similarity
from clwqa_baselines.topk_triples.config import CARD, TopKTriplesConfig
from clwqa_baselines.topk_triples.tasks import AnswerFromFacts, Fact
from clwqa_bench.kg.protocol import Triple
from clwqa_bench.kg.verbalise import cut
from clwqa_bench.predictions import Evidence, EvidenceTriple, Prediction, TraceEvent
from clwqa_bench.records import QuestionView, TripleRef
from clwqa_bench.systems import Context, Resources, SettingError, System

TEXTS_VERSION = 1
"""Of the words in which triples are indexed."""
HEADER = "src,relation,dst"

Scored = tuple[Triple, float | None]


class TopKTriples(System):
    """Puts the triples most similar to the question before a language model: one call."""

    name = "topk-triples"
    uses_llm = True
    tasks = (AnswerFromFacts,)
    card = CARD
    oracles = ("anchors", "evidence")
    Config = TopKTriplesConfig
    config: TopKTriplesConfig

    def check_oracle(self, oracle: Sequence[str]) -> None:
        if "anchors" in oracle and self.config.scope == "global":
            raise SettingError(
                "scope=global starts from no entities that gold could replace",
                fix="use scope=linked, or leave --oracle anchors out",
                field="oracle",
            )

    def prepare(self, resources: Resources) -> None:
        self._graph, self._ontology = resources.kg, resources.ontology
        self._name = namer(resources.kg)
        self._adapter = Adapter.open(resources)
        self._topics = Topics.open(resources)
        if self.config.scope == "linked":
            self._similar = open_similarity(self.config.retriever)
        else:
            self._index = open_index(self.config.retriever, "triples", self._all, resources, TEXTS_VERSION)

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        linked = self.config.scope == "linked"
        topics = tuple(topic.id for topic in self._topics.find(question, ctx)) if linked else ()
        shown = self._ranked(question, topics, ctx)
        task = AnswerFromFacts(
            question=question.text,
            facts=tuple(self._fact(number, triple) for number, (triple, _) in enumerate(shown, start=1)),
            header=HEADER if self.config.form == "csv" else "",
            own_knowledge=self.config.own_knowledge,
        )
        return await answered(
            question,
            task if shown else None,
            ctx,
            self._adapter,
            evidence=self._evidence(shown),
            topics=topics,
        )

    # ------------------------------------------------------------------ candidates and rank

    def _ranked(self, question: QuestionView, topics: Sequence[str], ctx: Context) -> list[Scored]:
        """The triples to show, best first."""
        if "evidence" in ctx.oracle and ctx.gold:
            found: list[Scored] = [(Triple(t.head, t.relation, t.tail), None) for t in ctx.gold.evidence]
            ctx.trace.add(TraceEvent(stage="retrieve", op="gold", triples=_refs(found)))
        elif self.config.scope == "linked":
            found = self._around(question, topics, ctx)
        else:
            found = self._anywhere(question, ctx)
        kept = found[: self.config.top_k]
        ctx.trace.add(TraceEvent(stage="rank", op=self.config.choose, triples=_refs(kept)))
        return kept

    def _around(self, question: QuestionView, topics: Sequence[str], ctx: Context) -> list[Scored]:
        """All triples of some entities, the most similar first."""
        triples = list(dict.fromkeys(triple for node in topics for triple in self._graph.triples(node)))
        ctx.trace.add(
            TraceEvent(stage="retrieve", op="linked", triples=_refs([(triple, None) for triple in triples]))
        )
        if self.config.choose == "random":
            chosen = ctx.rng.permutation(len(triples))[: self.config.top_k]
            return [(triples[place], None) for place in chosen.tolist()]
        scores = self._similar(question.text, [self._words(triple) for triple in triples])
        best = sorted(zip(scores, triples, strict=True), key=lambda one: (-one[0], one[1].id))
        return [(triple, score) for score, triple in best]

    def _anywhere(self, question: QuestionView, ctx: Context) -> list[Scored]:
        """The most similar triples of the graph."""
        if self.config.choose == "random":
            places = ctx.rng.choice(len(self._index), min(self.config.top_k, len(self._index)), replace=False)
            ids = map(self._index.id, places.tolist())
            found: list[Scored] = [(Triple(*orjson.loads(id)), None) for id in ids]
        else:
            hits = self._index.search(question.text, self.config.top_k)
            found = [(Triple(*orjson.loads(hit.id)), hit.score) for hit in hits]
        ctx.trace.add(TraceEvent(stage="retrieve", op="global", triples=_refs(found)))
        return found

    def _all(self) -> Iterator[tuple[str, str]]:
        for triple in self._graph.triples():
            id = orjson.dumps((triple.head, triple.relation, triple.tail)).decode()
            yield id, self._words(triple)

    # ------------------------------------------------------------------ words

    def _words(self, triple: Triple) -> str:
        """Subject, relation and object with blanks between them: what is compared with the question."""
        return " ".join(
            (self._name(triple.head), self._ontology.label(triple.relation), self._name(triple.tail))
        )

    def _fact(self, number: int, triple: Triple) -> Fact:
        return Fact(number=number, text=self._shown(triple), edge=edge(triple, self._graph, self._name))

    def _shown(self, triple: Triple) -> str:
        head, relation, tail = (
            self._name(triple.head),
            self._ontology.label(triple.relation),
            self._name(triple.tail),
        )
        if self.config.form == "csv":
            row = io.StringIO()
            csv.writer(row, lineterminator="").writerow((head, relation, tail))
            text = row.getvalue()
        elif self.config.form == "sentences":
            text = f"“{head}”的“{relation}”是“{tail}”。"
        else:
            text = f"({head}, {relation}, {tail})"
        return cut(text, self.config.fact_chars)

    def _evidence(self, shown: Sequence[Scored]) -> Evidence:
        return Evidence(
            triples=tuple(
                EvidenceTriple(id=f"t{number}", triple=ref, text=self._shown(triple), score=score)
                for number, ((triple, score), ref) in enumerate(
                    zip(shown, _refs(shown), strict=True), start=1
                )
            )
        )


def _refs(found: Sequence[Scored]) -> tuple[TripleRef, ...]:
    return refs(triple for triple, _ in found)
