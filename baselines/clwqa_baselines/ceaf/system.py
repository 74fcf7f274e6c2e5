"""CEAF-CLWQA: cultural elements guide linking, retrieval, ranking and answering (the seed paper's framework)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from pydantic import TypeAdapter

from clwqa_baselines.ceaf import oracles
from clwqa_baselines.ceaf.answering import (
    Resolver,
    Shown,
    Wording,
    evidence,
    model_answers,
    path_answers,
    snippets,
)
from clwqa_baselines.ceaf.card import CARD
from clwqa_baselines.ceaf.config import CeafConfig
from clwqa_baselines.ceaf.linking import Labels, Names, element_notes, link
from clwqa_baselines.ceaf.ranking import BESIDE, open_ranker, select
from clwqa_baselines.ceaf.relaxation import Relaxed, relax
from clwqa_baselines.ceaf.retrieval import Query, TypeGraph, reached_by_all, retrieve
from clwqa_baselines.shared.replies import failed, spared
from clwqa_bench.kg.protocol import Path
from clwqa_bench.linking import Gazetteer, open_linker
from clwqa_bench.llm.lexical import Lexical
from clwqa_bench.llm.tasks import AnswerFromEvidence, Constraints, ExtractConstraints
from clwqa_bench.predictions import EvidencePath, Flag, Label, Prediction, Status, TraceEvent
from clwqa_bench.records import QuestionView, TripleRef
from clwqa_bench.systems import Context, Resources, System

NOTHING = Query((), None)
WHOLE_STAGE_1 = frozenset({"anchors", "elements"})
TRIPLES = TypeAdapter(tuple[TripleRef, ...])
EVIDENCE_PATHS = TypeAdapter(tuple[EvidencePath, ...])


class Ceaf(System):
    """Links by elements, retrieves along type paths, ranks paths, answers from the best: two calls a question."""

    name = "ceaf"
    uses_llm = True
    oracles = ("anchors", "elements", "stage1", "evidence")
    Config = CeafConfig
    config: CeafConfig
    card = CARD

    def prepare(self, resources: Resources) -> None:
        config = self.config
        self._graph, self._ontology = resources.kg, resources.ontology
        self._names = Names(resources.kg, self._gazetteer(resources), config.similarity, config.mention_cap)
        self._labels, self._notes = Labels(resources.ontology), element_notes(resources.ontology)
        self._types = TypeGraph(
            resources.ontology, config.d_max, config.allow_repeat, config.through_categories
        )
        self._ranker = open_ranker(config, resources)
        self._beside = ThreadPoolExecutor(1, "ranking") if config.ranker in BESIDE else None
        self._wording = Wording(resources.kg, resources.ontology, config.passage_chars)
        self._retrieve = partial(retrieve, graph=self._graph, types=self._types, cap=config.cap)

    def _gazetteer(self, resources: Resources) -> Gazetteer:
        """That of the linker if the run needs the linker anyway, so that passages are read once; read by now."""
        lexical = isinstance(resources.llm, Lexical)
        self._linker = (
            open_linker(resources) if lexical or self.config.ranker in ("cheap", "cascade") else None
        )
        gazetteer = self._linker.gazetteer if self._linker else Gazetteer(resources.kg)
        gazetteer.read()
        return gazetteer

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        if "evidence" in ctx.oracle:
            return await self._answer(question, self._gold_evidence(ctx), ctx)
        constraints = None
        if not self._knows_stage_1(ctx):
            reply = await spared(ExtractConstraints(question=question.text, elements=self._notes), ctx)
            if reply and reply.value is None:
                ctx.trace.add(TraceEvent(stage="link", op=reply.status))
                return failed(question.id, reply)
            constraints = reply.value if reply else None  # no call to spare for it: nothing is retrieved
        query = self._link(question.text, constraints, ctx)
        relaxed = self._candidates(query, ctx)
        shown = await self._rank(question.text, relaxed, ctx)
        flags: tuple[Flag, ...] = ("relaxed",) if relaxed.steps else ()
        return await self._answer(question, Outcome(query, shown, flags), ctx)

    # ------------------------------------------------------------------ stage 1

    @staticmethod
    def _knows_stage_1(ctx: Context) -> bool:
        return "stage1" in ctx.oracle or set(ctx.oracle) >= WHOLE_STAGE_1

    def _link(self, text: str, constraints: Constraints | None, ctx: Context) -> Query:
        """Constraints checked and linked; those that the run replaces by gold are replaced here."""
        query, detail, op = NOTHING, dict[str, Any](), ""
        if constraints is not None:
            query, detail = link(
                constraints, text, self._names, self._labels, use_elements=self.config.use_elements
            )
        if (gold := ctx.gold) is not None:
            op = "gold" if ctx.oracle else ""
            if self._knows_stage_1(ctx):
                query = oracles.gold_constraints(gold, self._ontology)
            elif "anchors" in ctx.oracle:
                query = oracles.gold_anchors(query, gold)
            elif "elements" in ctx.oracle:
                query = oracles.gold_elements(query, gold, self._ontology)
        ctx.trace.add(_link_event(query, detail, op))
        return query

    # ------------------------------------------------------------------ stages 2 and 3

    def _candidates(self, query: Query, ctx: Context) -> Relaxed:
        """Retrieval, relaxed if so set; with several anchors, combined as set."""
        config = self.config
        tried = self._types.of(query)
        detail: dict[str, Any] = {"kept": [" ".join(path) for path in tried]}
        ctx.trace.add(TraceEvent(stage="type_paths", total=len(tried), detail=detail))
        relaxed = Relaxed(query, self._retrieve(query))
        if config.relax:
            relaxed = relax(
                query,
                relaxed.found,
                self._retrieve,
                self._ontology,
                budget=config.top_k,
                stop_on_no_new=config.stop_on_no_new,
            )
        if config.combine == "intersection" and len(query.anchors) > 1:
            paths = reached_by_all(relaxed.found.paths, query.anchors)
            relaxed = replace(relaxed, found=replace(relaxed.found, paths=paths))
        detail = {"capped": relaxed.found.capped, "relaxed": [asdict(step) for step in relaxed.steps]}
        ctx.trace.add(TraceEvent(stage="retrieve", paths=traced(relaxed.found.paths), detail=detail))
        return relaxed

    async def _rank(self, text: str, relaxed: Relaxed, ctx: Context) -> tuple[Shown, ...]:
        """The paths that stay, under the ids they were retrieved with."""
        config, candidates = self.config, relaxed.found.paths
        scores = await self._scores(text, candidates)
        kept = select(candidates, scores, config.top_k, group_by_signature=config.group_by_signature)
        ids = {path: path_id(number) for number, path in enumerate(candidates, start=1)}
        shown = self._shown([(ids[scored.path], scored.path, scored.score) for scored in kept])
        names = {piece.id for piece in shown}
        dropped = tuple(id for id in ids.values() if id not in names)
        event = TraceEvent(stage="rank", op=config.ranker, paths=_evidence_paths(shown), dropped=dropped)
        ctx.trace.add(event)
        return shown

    async def _scores(self, text: str, candidates: Sequence[Path]) -> Sequence[float] | None:
        """Those of the ranker; of one that takes long, while other questions go on, one question after another."""
        if self._beside is None:
            return self._ranker.rank(text, candidates)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._beside, self._ranker.rank, text, candidates)

    def _shown(self, pieces: Iterable[tuple[str, Path, float | None]]) -> tuple[Shown, ...]:
        return tuple(Shown(id, path, score, self._wording.snippet(path)) for id, path, score in pieces)

    def _gold_evidence(self, ctx: Context) -> Outcome:
        """Constraints and evidence as they should be, in place of stages 1 to 3."""
        if ctx.gold is None:
            raise ValueError("this run replaces evidence by gold, and was given none")
        query, paths = oracles.gold_constraints(ctx.gold, self._ontology), oracles.gold_paths(ctx.gold)
        ctx.trace.add(_link_event(query, {}, "gold"))
        ctx.trace.add(TraceEvent(stage="retrieve", op="gold", paths=traced(paths)))
        shown = self._shown([(path_id(number), path, 1.0) for number, path in enumerate(paths, start=1)])
        ctx.trace.add(TraceEvent(stage="rank", op="gold", paths=_evidence_paths(shown)))
        return Outcome(query, shown)

    # ------------------------------------------------------------------ stage 4

    async def _answer(self, question: QuestionView, outcome: Outcome, ctx: Context) -> Prediction:
        shown, flags = outcome.shown, outcome.flags if outcome.shown else (*outcome.flags, "no_evidence")
        fields: dict[str, Any] = {
            "evidence": evidence(shown),
            "topics": tuple(node for anchor in outcome.query.anchors for node in anchor.nodes),
        }
        if self.config.answers_from == "paths":
            answers = path_answers(shown, self._wording)
        else:
            task = AnswerFromEvidence(question=question.text, snippets=snippets(shown, self._wording))
            reply = await ctx.ask(task, last=True)
            if reply.value is None:
                ctx.trace.add(TraceEvent(stage="answer", op=reply.status))
                return failed(question.id, reply, flags=flags, **fields)
            resolver = Resolver(self._graph, shown, outcome.query.target)
            answers, fields["citations"] = model_answers(reply.value, resolver)
            fields |= {"raw_answer": reply.raw, "native_format": "json"}
        if any(answer.source == "parametric" for answer in answers):
            flags = (*flags, "parametric")
        nodes = tuple(answer.entity_id for answer in answers if answer.entity_id)
        ctx.trace.add(TraceEvent(stage="answer", op=self.config.answers_from, entities=nodes))
        status: Status = "ok" if answers else "empty"
        return Prediction(id=question.id, status=status, ranked=True, answers=answers, flags=flags, **fields)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What stages 1 to 3 leave for the answer."""

    query: Query
    shown: tuple[Shown, ...] = ()
    flags: tuple[Flag, ...] = ()


# ---------------------------------------------------------------------- what is recorded


def path_id(number: int) -> str:
    """Paths are numbered from 1 in the order they were retrieved."""
    return f"p{number}"


def traced(paths: Sequence[Path]) -> tuple[EvidencePath, ...]:
    """Candidate paths for the trace.  There may be thousands, which share most of their triples: each is made once."""
    walks = [path.triples for path in paths]
    distinct = list(dict.fromkeys(chain.from_iterable(walks)))
    plain = [{"head": t.head, "relation": t.relation, "tail": t.tail} for t in distinct]
    made = dict(zip(distinct, TRIPLES.validate_python(plain), strict=True))
    return EVIDENCE_PATHS.validate_python(
        [
            {"id": path_id(number), "triples": tuple(map(made.__getitem__, walk))}
            for number, walk in enumerate(walks, start=1)
        ]
    )


def _evidence_paths(shown: Sequence[Shown]) -> tuple[EvidencePath, ...]:
    return tuple(piece.as_evidence() for piece in shown)


def _link_event(query: Query, detail: dict[str, Any], op: str) -> TraceEvent:
    labels = [
        Label(element=element, entity_id=node)
        for anchor in query.anchors
        for node in anchor.nodes
        for element in anchor.elements
    ]
    if query.target is not None:
        labels.append(Label(element=query.target))
    nodes = tuple(dict.fromkeys(node for anchor in query.anchors for node in anchor.nodes))
    elements = tuple(dict.fromkeys(labels))
    return TraceEvent(stage="link", op=op, entities=nodes, elements=elements, detail=detail)
