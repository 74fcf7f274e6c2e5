"""The beam search of ToG for one question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from clwqa_baselines.exploring.search import Ending, Search
from clwqa_baselines.exploring.steps import distinct_ends, extended, last_steps
from clwqa_baselines.rules.ways import Offer, way_of
from clwqa_baselines.shared.vectors import Similarity
from clwqa_baselines.tog.config import TogConfig
from clwqa_baselines.tog.tasks import ScoreEntities, ScoreRelations, Sufficiency, Sufficient
from clwqa_bench.kg.protocol import Path
from clwqa_bench.predictions import TraceEvent
from clwqa_bench.records import TripleRef

SEEDS: Final = 2**31


@dataclass(frozen=True, slots=True)
class Pick:
    """A relation to walk from the end of a way, and its score."""

    path: Path
    offer: Offer
    score: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way with one more step, and the score of that step."""

    path: Path
    score: float


@dataclass
class TogSearch(Search):
    """Scores by the model, or by `similarity` if there is one."""

    config: TogConfig
    similarity: Similarity | None

    async def run(self, frontier: Sequence[Path]) -> Ending:
        if not frontier:
            return "parametric"
        for depth in range(1, self.config.depth + 1):
            left = self.config.depth - depth
            picks = await self._pick(frontier, depth)
            candidates = [found for pick in picks for found in await self._walk(pick, depth, left)]
            self._trace("retrieve", depth, last_steps(found.path for found in candidates))
            best = sorted(candidates, key=lambda found: -found.score)[: self.config.width]
            kept = tuple(found.path for found in best if found.score > 0)
            if not kept:
                return "half_stop"
            self.chains.append(kept)
            scores = [round(found.score, 6) for found in best if found.score > 0]
            self._trace("prune", depth, self.triples(), total=len(candidates), detail={"scores": scores})
            verdict = await self._decide(depth, left)
            if verdict is not None:
                return verdict
            frontier = distinct_ends(kept)
        return self.config.at_depth

    # ------------------------------------------------------------------ relations

    async def _pick(self, frontier: Sequence[Path], depth: int) -> list[Pick]:
        """The relations kept of every entity of the frontier."""
        picks: list[Pick] = []
        detail: dict[str, Any] = {}
        for path in frontier:
            offers = self.offers(path)
            kept = await self._score_relations(path, offers, depth) if offers else []
            picks += kept
            detail[path.nodes[-1]] = {
                "offered": [offer.label for offer in offers],
                "kept": {pick.offer.label: round(pick.score, 6) for pick in kept},
            }
        self.trace_relations(frontier, depth, detail)
        return picks

    async def _score_relations(self, path: Path, offers: Sequence[Offer], depth: int) -> list[Pick]:
        if self.similarity:
            labels = [offer.label for offer in offers]
            scored = list(zip(offers, _uniform(self.similarity(self.question, labels)), strict=True))
        else:
            task = ScoreRelations(
                question=self.question,
                entity=self.words.name(path.nodes[-1]),
                offers=tuple(offers),
                width=self.config.width,
                way=way_of(path, self.graph),
                steps=self.config.depth - depth + 1,
            )
            reply = await self.calls.ask(task)
            by_label = {offer.label: offer for offer in offers}
            items = reply.value.relations if reply.value else ()
            named = {item.relation: item.score for item in reversed(items)}
            scored = [(by_label[label], named[label]) for label in reversed(named) if label in by_label]
        best = sorted(scored, key=lambda pair: -pair[1])[: self.config.width]
        return [Pick(path, offer, score) for offer, score in best if score > 0]

    # ------------------------------------------------------------------ entities

    async def _walk(self, pick: Pick, depth: int, left: int) -> list[Candidate]:
        """The neighbours over a relation, each with its share of the relation's score."""
        nodes = self._neighbours(pick, depth)
        named = [node for node in nodes if self.known.name(node)]
        if len(named) > 1:
            paths = [extended(pick.path, pick.offer, node) for node in named]
            scores = await self._score_entities(pick, paths, left)
        else:  # all unnamed: equal shares; one named: all of it
            paths = [extended(pick.path, pick.offer, node) for node in named or nodes]
            scores = [1 / len(paths) for _ in paths]
        return [Candidate(path, pick.score * score) for path, score in zip(paths, scores, strict=True)]

    def _neighbours(self, pick: Pick, depth: int) -> tuple[str, ...]:
        node, relation, sense = pick.path.nodes[-1], pick.offer.relation, pick.offer.sense
        if sense == "in" and self.config.inverse == "code":
            return ()
        found = self.graph.neighbours(node, relation, sense)
        drawn = self.similarity is None and found.total >= self.config.sample_from
        if drawn:
            seed, limit = int(self.ctx.rng.integers(SEEDS)), self.config.num_retain_entity
            found = self.graph.neighbours(node, relation, sense, limit=limit, seed=seed)
            detail = {"node": node, "relation": pick.offer.label, "drawn": len(found)}
            self.ctx.trace.add(
                TraceEvent(stage="expand", op="sample", depth=depth, total=found.total, detail=detail)
            )
        return tuple(found)

    async def _score_entities(self, pick: Pick, paths: Sequence[Path], left: int) -> list[float]:
        """Of several named candidates; equal shares where the model fails or scores another number of them."""
        leads = tuple(map(self.words.lead, paths))
        if self.similarity:
            found = _uniform(self.similarity(self.question, [lead.name for lead in leads]))
            least = sorted(found, reverse=True)[: self.config.width][-1]
            return [score if score >= least else 0.0 for score in found]
        task = ScoreEntities(
            question=self.question,
            entity=self.words.name(pick.path.nodes[-1]),
            relation=pick.offer.label,
            candidates=leads,
            steps=left,
        )
        reply = await self.calls.ask(task)
        if reply.value is None or len(reply.value.scores) != len(leads):
            return [1 / len(leads)] * len(leads)
        return list(reply.value.scores)

    # ------------------------------------------------------------------ sufficiency

    async def _decide(self, depth: int, left: int) -> Sufficiency | None:
        """The verdict if the chains suffice."""
        task = Sufficient(question=self.question, triples=self.lines(), leads=self.leads(), steps=left)
        reply = await self.calls.ask(task)
        enough = reply.value is not None and reply.value.sufficient
        detail = {"sufficient": enough, "status": reply.status}
        self.ctx.trace.add(
            TraceEvent(stage="decide", op="yes" if enough else "no", depth=depth, detail=detail)
        )
        return reply.value if enough else None

    def _trace(
        self,
        stage: Literal["retrieve", "prune"],
        depth: int,
        triples: tuple[TripleRef, ...],
        **fields: Any,
    ) -> None:
        self.ctx.trace.add(TraceEvent(stage=stage, depth=depth, triples=triples, **fields))


def _uniform(scores: Sequence[float]) -> list[float]:
    """The scores, or equal ones if all are zero."""
    return list(scores) if any(scores) else [1 / len(scores)] * len(scores)
