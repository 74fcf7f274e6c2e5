"""GraphRAG: communities of the graph, reports on them, and answers from both (Edge et al. 2024, on a given graph).

Where a call fails: a report is left out (see writing.py); a rating counts as 1; a batch of the map step has no points,
and if all batches failed the question has the status of the first; the last call (answer or reduce) is the question's
status.  Where there is nothing to answer from, the status is `empty` and nothing is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from clwqa_baselines.graphrag.budget import within
from clwqa_baselines.graphrag.config import GraphRagConfig
from clwqa_baselines.graphrag.index import Index
from clwqa_baselines.graphrag.local import Local, Selection
from clwqa_baselines.graphrag.reading import Selector, batches, map_reports
from clwqa_baselines.graphrag.rules import UNKNOWN
from clwqa_baselines.graphrag.shown import Shown, as_evidence, citations, cited, lines
from clwqa_baselines.graphrag.tasks import TASKS, AnswerFromTables, Point, ReducePoints, ReportRow, Response
from clwqa_baselines.shared.adapter import Adapter
from clwqa_baselines.shared.replies import failed
from clwqa_baselines.shared.topics import ORACLES, Topics
from clwqa_baselines.shared.vectors import open_index
from clwqa_bench.llm.limits import count_tokens
from clwqa_bench.llm.protocol import Reply
from clwqa_bench.predictions import EvidenceText, Flag, Prediction, TraceEvent
from clwqa_bench.records import QuestionView
from clwqa_bench.systems import Card, Context, Resources, SettingError, System

SEARCHED = 200  # reports looked for by report retrieval; a batch holds fewer
TRACED = 1000  # relationships put down


class GraphRag(System):
    """Answers from the tables around the nearest entities, or from reports on communities (`mode`)."""

    name = "graphrag"
    uses_llm = True
    tasks = TASKS
    oracles = ORACLES
    Config = GraphRagConfig
    config: GraphRagConfig
    card = Card(
        citation="D. Edge et al., From Local to Global: A GraphRAG Approach to Query-Focused Summarization, 2024, and "
        "its public code; on a given graph, as in the comparison of the CEAF-CLWQA paper",
        calls="local, report-retrieval: 1; global: batches (tokens of all reports / batch_tokens) + 1; "
        "dynamic: repeats * reports rated + batches of the relevant ones + 1. One more where the answer is prose. "
        "No positive point, or nothing found: the last call is not made",
        index="tables of the graph, communities by hierarchical Leiden, one report each (a call each, or by rule), "
        "texts of entities or reports for search",
        weaknesses=(
            "local search shows what is next to an entity; answers further away are rarely among it",
            "reports sum up: in large communities single facts are lost",
            "with 10^5 entities global search takes 1,210 calls a question, dynamic search 12,670 on average",
        ),
        deviations=(
            "the graph is given: nothing is extracted from text, and passages of the graph are the source texts",
            "use_lcc=false: the code keeps the largest component alone, the rest would be out of reach",
            "response_type=list: a set of answers is scored, not paragraphs",
            "retriever=bm25: without a model; dense compares vectors as the code does",
            "reports=extractive: a rule writes the reports; with `model` there is a call for each before any question",
        ),
    )

    def check_oracle(self, oracle: Sequence[str]) -> None:
        if oracle and self.config.mode != "local":
            raise SettingError(
                f"mode={self.config.mode} starts from no entities that gold could replace",
                fix="use mode=local, or leave --oracle out",
                field="oracle",
            )

    def prepare(self, resources: Resources) -> None:
        config = self.config
        self._index = index = Index.open(resources, config)
        self._topics = Topics.open(resources)
        self._adapter = Adapter.open(resources, lines if config.response_type == "list" else None)
        rows = index.read(config.community_level, every=config.levels == "all")
        if config.mode == "local":
            self._local = Local(index, config)
            self._entities = open_index(
                config.retriever, "graphrag-entities", index.tables.described, resources
            )
        elif config.mode == "report-retrieval":
            self._reports = open_index(
                config.retriever,
                "graphrag-reports",
                lambda: ((str(row), index.reports.content(row)) for row in rows),
                resources,
                index.digest,
                config.community_level,
                config.levels,
            )
        elif config.mode == "global":
            self._batches = batches(index, rows, config)
        else:
            self._selector = Selector(index, config)

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        match self.config.mode:
            case "local":
                return await self._local_search(question, ctx)
            case "report-retrieval":
                return await self._report_retrieval(question, ctx)
            case "global":
                return await self._map_reduce(question, self._batches, Outcome(), ctx)
            case "dynamic":
                return await self._dynamic_search(question, ctx)

    # ------------------------------------------------------------------ local search

    async def _local_search(self, question: QuestionView, ctx: Context) -> Prediction:
        entities = self._select(question, ctx)
        selection = self._local.select(entities)
        outcome = Outcome(self._shown(selection), topics=self._ids(entities))
        tables, found = self._index.tables, selection.candidates
        event = TraceEvent(
            stage="retrieve",
            op="local",
            triples=tuple(as_evidence(tables.fact(edge)).triple for edge in found[:TRACED]),
            total=len(found) if len(found) > TRACED else None,
            detail={"entities": len(selection.entities), "relationships": len(selection.edges)},
        )
        ctx.trace.add(event)
        return await self._from_tables(question, outcome, ctx)

    def _select(self, question: QuestionView, ctx: Context) -> list[int]:
        """The entities to start from, by number, the closest first."""
        number = self._index.tables.number
        if self.config.entry == "topics" or "anchors" in ctx.oracle:
            return [number[topic.id] for topic in self._topics.find(question, ctx)]
        most = self.config.top_k_entities
        hits = self._entities.search(question.text, most * self.config.oversample)
        hits = hits[:most] if self.config.cut_entities else hits
        detail = {"scores": [round(hit.score, 4) for hit in hits]}
        entities = [int(hit.id) for hit in hits]
        ctx.trace.add(
            TraceEvent(stage="link", op=self.config.retriever, entities=self._ids(entities), detail=detail)
        )
        return entities

    def _shown(self, selection: Selection) -> Shown:
        tables, reports = self._index.tables, self._index.reports
        return Shown(
            reports=tuple(map(reports.row, selection.reports)),
            entities=tuple(map(tables.entity, selection.entities)),
            relations=tuple(map(tables.fact, selection.edges)),
            sources=tuple(map(tables.source, selection.sources)),
        )

    def _ids(self, entities: Sequence[int]) -> tuple[str, ...]:
        return tuple(map(self._index.tables.ids.__getitem__, entities))

    # ------------------------------------------------------------------ the most similar reports

    async def _report_retrieval(self, question: QuestionView, ctx: Context) -> Prediction:
        hits = self._reports.search(question.text, SEARCHED)
        reports = self._index.reports
        rows = within(
            (int(hit.id) for hit in hits), lambda row: int(reports.tokens[row]), self.config.batch_tokens
        )
        shown = Shown(reports=tuple(map(reports.row, rows)))
        detail = {"scores": [round(hit.score, 4) for hit in hits[: len(shown.reports)]]}
        ctx.trace.add(_retrieved(shown.reports, "report-retrieval", detail))
        return await self._from_tables(question, Outcome(shown), ctx)

    async def _from_tables(self, question: QuestionView, outcome: Outcome, ctx: Context) -> Prediction:
        """One call on whatever is shown."""
        shown, config = outcome.shown, self.config
        if not shown:
            return _nothing(question, outcome, ctx)
        task = AnswerFromTables(
            question=question.text,
            reports=shown.reports,
            entities=shown.entities,
            relations=shown.relations,
            sources=shown.sources,
            as_list=config.response_type == "list",
            own_knowledge=config.local_knowledge if config.mode == "local" else config.global_knowledge,
        )
        return await self._answered(question, await ctx.ask(task, last=True), outcome, ctx)

    # ------------------------------------------------------------------ map and reduce

    async def _dynamic_search(self, question: QuestionView, ctx: Context) -> Prediction:
        found = await self._selector.select(question.text, ctx)
        detail = {"rated": found.rated, "unrated": found.failed, "relevant": len(found.rows)}
        ctx.trace.add(TraceEvent(stage="decide", op="dynamic", detail=detail))
        facts = chain.from_iterable(self._index.reports.row(row).facts for row in found.rows)
        triples = dict.fromkeys(as_evidence(fact).triple for fact in facts)
        ctx.trace.add(TraceEvent(stage="retrieve", op="relevant", triples=tuple(triples)))
        outcome = Outcome(flags=("truncated",) if found.cut else ())
        if found.failure:
            return self._failed(question, found.failure, outcome, ctx)
        return await self._map_reduce(question, batches(self._index, found.rows, self.config), outcome, ctx)

    async def _map_reduce(
        self, question: QuestionView, of: Sequence[tuple[ReportRow, ...]], outcome: Outcome, ctx: Context
    ) -> Prediction:
        """A call on every batch of reports, and one on their points; evidence is what these refer to.

        If the question may not take a call on any batch, the first is what the answer is made from.
        """
        config = self.config
        mapped = await map_reports(question.text, of, config, ctx)
        if of and not mapped.replies:
            ctx.trace.add(_retrieved(of[0], "truncated", {"batches": len(of)}))
            return await self._from_tables(question, replace(outcome, shown=Shown(reports=of[0])), ctx)
        points = tuple(within(mapped.points, _tokens, config.reduce_tokens))
        reports = cited((point.description for point in points), chain.from_iterable(of))
        outcome = replace(outcome, shown=Shown(reports=reports))
        detail = {"batches": len(of), "reports": sum(map(len, of)), "points": len(mapped.points)}
        ctx.trace.add(_retrieved(reports, config.mode, detail))
        if mapped.failure:
            return self._failed(question, mapped.failure, outcome, ctx)
        if not points:
            return _nothing(question, outcome, ctx)
        task = ReducePoints(
            question=question.text,
            points=points,
            as_list=config.response_type == "list",
            words=config.reduce_words,
            own_knowledge=config.global_knowledge,
        )
        return await self._answered(question, await ctx.ask(task, last=True), outcome, ctx)

    # ------------------------------------------------------------------ answers

    async def _answered(
        self, question: QuestionView, reply: Reply[Response], outcome: Outcome, ctx: Context
    ) -> Prediction:
        if reply.value is None:
            return self._failed(question, reply, outcome, ctx)
        text, evidence = reply.value.response, outcome.shown.evidence
        ctx.trace.add(TraceEvent(stage="answer", op=self.config.mode))
        adapted = await self._adapter.adapt(question.text, text, ctx, evidence=evidence)
        return Prediction(
            id=question.id,
            evidence=evidence,
            citations=citations(text, evidence),
            raw_answer=text,
            native_format="lines" if self.config.response_type == "list" else "prose",
            topics=outcome.topics,
            flags=(*outcome.flags, *adapted.flags),
            **adapted.fields,
        )

    def _failed(
        self, question: QuestionView, reply: Reply[Any], outcome: Outcome, ctx: Context
    ) -> Prediction:
        ctx.trace.add(TraceEvent(stage="answer", op=reply.status))
        return failed(
            question.id, reply, evidence=outcome.shown.evidence, topics=outcome.topics, flags=outcome.flags
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What there is to answer from."""

    shown: Shown = Shown()
    topics: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()


def _tokens(point: Point) -> int:
    return count_tokens([point.description])


def _retrieved(reports: Sequence[ReportRow], how: str, detail: dict[str, Any]) -> TraceEvent:
    """The reports by id: their texts are in the evidence."""
    texts = tuple(EvidenceText(id=f"report:{row.number}", text="", kind="community") for row in reports)
    return TraceEvent(stage="retrieve", op=how, texts=texts, detail=detail)


def _nothing(question: QuestionView, outcome: Outcome, ctx: Context) -> Prediction:
    """The fixed answer where there is nothing to answer from; no call is made."""
    ctx.trace.add(TraceEvent(stage="answer", op="nothing"))
    flags: tuple[Flag, ...] = (*outcome.flags, "no_evidence")
    return Prediction(
        id=question.id,
        status="empty",
        ranked=True,
        raw_answer=UNKNOWN,
        native_format="prose",
        topics=outcome.topics,
        flags=flags,
    )
