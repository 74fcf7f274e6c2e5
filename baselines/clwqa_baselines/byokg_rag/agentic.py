"""The agentic triple retriever: the model chooses relations to follow, reads what they give, and goes on or stops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clwqa_baselines.byokg_rag.config import ByokgConfig
from clwqa_baselines.byokg_rag.graph import Fact, Tools
from clwqa_baselines.byokg_rag.scoring import Ranker
from clwqa_baselines.byokg_rag.tasks import ChooseNext, SelectRelations
from clwqa_baselines.byokg_rag.work import Work
from clwqa_baselines.rules.ways import Offer
from clwqa_bench.kg.protocol import Path
from clwqa_bench.predictions import TraceEvent


@dataclass(frozen=True)
class Agentic:
    """Two calls in each of at most `max_num_iterations` rounds; `offered` are all relations of the graph."""

    config: ByokgConfig
    tools: Tools
    ranker: Ranker
    offered: tuple[Offer, ...]

    async def retrieve(self, sources: Sequence[str], work: Work) -> list[Fact]:
        """What was new to the context; it is there by now."""
        frontier = [Path((node,)) for node in sources]
        found: list[Fact] = []
        for round_ in range(self.config.max_num_iterations):
            facts = [fact for walk in frontier for fact in self.tools.triples(walk)]
            if not facts:
                break
            kept = await self._chosen(round_, frontier, facts, work)
            found += work.lines.add(self.ranker.pruned(work.question.text, kept))
            frontier = await self._next(round_, work)
            if not frontier:
                break
        return found

    async def _chosen(
        self, round_: int, frontier: Sequence[Path], facts: Sequence[Fact], work: Work
    ) -> list[Fact]:
        """The merged triples of the relations that the model picks."""
        labels = dict.fromkeys(self.tools.label(fact.walks[0]) for fact in facts)
        task = SelectRelations(
            question=work.question.text,
            entities=tuple(dict.fromkeys(self.tools.name(walk.nodes[-1]) for walk in frontier)),
            relations=tuple(one for one in self.offered if one.label in labels),
            known=self.offered,
        )
        reply = await work.ask(task)
        picked = [label for label in reply.relations if label in labels] if reply else []
        if self.config.enforce_limits:
            picked = picked[: self.config.max_num_relations]
        kept = [fact for fact in facts if self.tools.label(fact.walks[0]) in picked]
        work.ctx.trace.add(
            TraceEvent(
                stage="expand",
                depth=round_ + 1,
                entities=tuple(walk.nodes[-1] for walk in frontier),
                detail={"offered": list(labels), "kept": picked},
            )
        )
        return kept

    async def _next(self, round_: int, work: Work) -> list[Path]:
        """Ways to the entities that the model goes on with; none if it has enough."""
        lines = work.lines
        task = ChooseNext(
            question=work.question.text, context=lines.shown(), names=lines.names, known=self.offered
        )
        reply = await work.ask(task)
        names = reply.entities if reply and not reply.finished else ()
        if self.config.enforce_limits:
            names = names[: self.config.max_num_entities]
        frontier = list(self._walks(names, work))
        detail = {"finished": bool(reply and reply.finished), "names": list(names)}
        nodes = tuple(walk.nodes[-1] for walk in frontier)
        work.ctx.trace.add(TraceEvent(stage="decide", depth=round_ + 1, entities=nodes, detail=detail))
        return frontier

    def _walks(self, names: Iterable[str], work: Work) -> Iterable[Path]:
        """Entities by exactly their name, without linking: those in the context, else any that is called so."""
        graph = self.tools.graph
        for name in dict.fromkeys(names):
            walks = work.lines.walks_to(name)
            yield from walks or (Path((n,)) for n in graph.lookup(name) if self.tools.name(n) == name)
