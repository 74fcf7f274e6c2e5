"""The exploration of PoG for one question: guidance, memory and reflection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import orjson

from clwqa_baselines.exploring.search import Ending, Search
from clwqa_baselines.exploring.steps import distinct_ends, extended, last_steps
from clwqa_baselines.pog.config import PogConfig
from clwqa_baselines.pog.tasks import (
    AddEntities,
    Decompose,
    JudgeReverse,
    PickRelations,
    PruneEntities,
    Reason,
    UpdateMemory,
    Verdict,
)
from clwqa_baselines.rules.ways import Offer, Reached, way_of
from clwqa_baselines.shared.replies import Ended
from clwqa_baselines.shared.vectors import Similarity
from clwqa_bench.kg.protocol import Path
from clwqa_bench.llm.tasks import OutputT, Task
from clwqa_bench.predictions import TraceEvent

UNASKED: Final = frozenset({"time", "number", "date"})
"""Relations whose groups are kept as they are."""
NO_ANSWER: Final = frozenset({"null", "none"})


@dataclass(frozen=True, slots=True)
class Group:
    """The entities that one relation leads to from the end of a way."""

    path: Path
    offer: Offer
    nodes: tuple[str, ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(extended(self.path, self.offer, node) for node in self.nodes)


@dataclass
class PogSearch(Search):
    """`seen` are all entities met, each with the first way to it; `pool` those that may be added back."""

    config: PogConfig
    similarity: Similarity
    objectives: tuple[str, ...] = ()
    memory: str = ""
    seen: dict[str, Path] = field(default_factory=dict)
    pool: dict[str, None] = field(default_factory=dict)
    revived: set[str] = field(default_factory=set)
    rounds: int = 0

    async def run(self, frontier: Sequence[Path]) -> Ending:
        await self._decompose()
        if not frontier:
            return "parametric"
        for depth in range(1, self.config.depth + 1):
            left = self.config.depth - depth
            groups = await self._expand(frontier, depth)
            kept = await self._prune(groups, depth, left)
            if not kept:
                return "half_stop"
            self.chains.append(tuple(path for group in kept for path in group.paths))
            self.ctx.trace.add(TraceEvent(stage="prune", depth=depth, triples=self.triples()))
            await self._remember(kept, depth)
            verdict = await self._reason(kept, depth, left)
            if verdict is not None:
                return verdict
            frontier = distinct_ends(self.chains[-1])
            frontier = (*frontier, *await self._reflect(frontier, depth, left))
        return self.config.at_depth

    # ------------------------------------------------------------------ what was gathered

    def _grouped(self, groups: Iterable[Group]) -> tuple[str, ...]:
        """Groups in words, the names of each in one list."""
        lines = []
        for group in groups:
            node, names = self.words.name(group.path.nodes[-1]), _listed(map(self.words.name, group.nodes))
            head, tail = (node, names) if group.offer.sense == "out" else (names, node)
            lines.append(self.config.separator.join((head, group.offer.label, tail)))
        return tuple(lines)

    # ------------------------------------------------------------------ guidance

    async def _decompose(self) -> None:
        found = await self._ask(Decompose(question=self.question))
        self.objectives = (found.objectives if found else ()) or (self.question,)
        self._trace("plan", objectives=list(self.objectives))

    async def _expand(self, frontier: Sequence[Path], depth: int) -> list[Group]:
        """The groups that the relations picked lead to; what they hold has been seen."""
        groups: list[Group] = []
        detail: dict[str, Any] = {}
        for path in frontier:
            node = path.nodes[-1]
            self.seen.setdefault(node, path)
            self.pool.setdefault(node)
            offers = self.offers(path)
            picked = await self._pick(path, offers, depth) if offers else ()
            walked = [
                Group(path, offer, tuple(self.graph.neighbours(node, offer.relation, offer.sense)))
                for offer in picked
            ]
            groups += walked
            detail[node] = {
                "offered": [offer.label for offer in offers],
                "kept": {group.offer.label: len(group.nodes) for group in walked},
            }
        self.trace_relations(frontier, depth, detail)
        self._see(groups)
        triples = last_steps(path for group in groups for path in group.paths)
        self.ctx.trace.add(TraceEvent(stage="retrieve", depth=depth, triples=triples))
        return groups

    def _see(self, groups: Iterable[Group]) -> None:
        for group in groups:
            for path in group.paths:
                self.seen.setdefault(path.nodes[-1], path)
            if self.config.pool == "paper" or len(group.nodes) > self.config.group_cap:
                self.pool |= dict.fromkeys(group.nodes)

    async def _pick(self, path: Path, offers: Sequence[Offer], depth: int) -> list[Offer]:
        task = PickRelations(
            question=self.question,
            objectives=self.objectives,
            entity=self.words.name(path.nodes[-1]),
            offers=tuple(offers),
            way=way_of(path, self.graph),
            steps=self.config.depth - depth + 1,
        )
        found = await self._ask(task, essential=True)
        by_label = {offer.label: offer for offer in offers}
        return [by_label[label] for label in (found.relations if found else ()) if label in by_label]

    # ------------------------------------------------------------------ entities

    async def _prune(self, groups: Sequence[Group], depth: int, left: int) -> list[Group]:
        """What is left of each group; a group without any is dropped."""
        kept = [replace(group, nodes=await self._choose(group, left)) for group in groups]
        return [group for group in kept if group.nodes]

    async def _choose(self, group: Group, left: int) -> tuple[str, ...]:
        names = list(map(self.known.name, group.nodes))
        if len(names) <= 1 or all(map(str.isdigit, names)) or group.offer.relation in UNASKED:
            return group.nodes
        nodes = group.nodes
        if not any(names) and len(nodes) > self.config.unnamed_cap:
            drawn = self.ctx.rng.choice(len(nodes), size=self.config.unnamed_cap, replace=False)
            nodes = tuple(nodes[place] for place in sorted(drawn.tolist()))
        nodes = self._nearest(nodes, self.config.group_cap)
        shown = replace(group, nodes=nodes)
        task = PruneEntities(
            question=self.question,
            entity=self.words.name(group.path.nodes[-1]),
            relation=group.offer.label,
            candidates=tuple(map(self.words.lead, shown.paths)),
            steps=left,
        )
        found = await self._ask(task)
        return self._named(found.entities if found else (), nodes)

    def _nearest(self, nodes: Sequence[str], cap: int) -> tuple[str, ...]:
        """At most `cap` nodes, in their order: those whose names are nearest to the question."""
        if len(nodes) <= cap:
            return tuple(nodes)
        scores = self.similarity(self.question, list(map(self.known.name, nodes)))
        best = sorted(range(len(nodes)), key=lambda place: (-scores[place], place))[:cap]
        return tuple(nodes[place] for place in sorted(best))

    def _named(self, names: Iterable[str], nodes: Sequence[str]) -> tuple[str, ...]:
        """The nodes that a model named, of those it was shown."""
        meant = map(self.words.node, names)
        return tuple(dict.fromkeys(node for node in meant if node is not None and node in nodes))

    # ------------------------------------------------------------------ memory

    async def _remember(self, kept: Sequence[Group], depth: int) -> None:
        task = UpdateMemory(
            question=self.question,
            objectives=self.objectives,
            memory=self.memory,
            lines=self._grouped(kept),
            leads=self._leads(kept),
        )
        found = await self._ask(task)
        if found is not None:
            facts = {str(fact.objective): fact.known for fact in found.facts}
            self.memory = orjson.dumps(facts).decode()
        self._trace("memory", depth, memory=self.memory)

    async def _reason(self, kept: Sequence[Group], depth: int, left: int) -> Verdict | None:
        """The verdict if it is that what is known suffices, and names an answer."""
        task = Reason(
            question=self.question,
            memory=self.memory,
            lines=self._grouped(kept),
            leads=self._leads(kept),
            steps=left,
        )
        found = await self._ask(task, essential=True)
        stop = found is not None and found.sufficient and any(map(self._is_answer, found.answers))
        self._trace("decide", depth, op="yes" if stop else "no", sufficient=bool(found and found.sufficient))
        return found if stop else None

    def _leads(self, groups: Iterable[Group]) -> tuple[Reached, ...]:
        return tuple(self.words.lead(path) for group in groups for path in group.paths)

    def _is_answer(self, text: str) -> bool:
        """Whether a text says anything: neither a word for nothing nor the id of an unnamed entity."""
        node = self.words.node(text)
        return text.casefold() not in NO_ANSWER and (node is None or bool(self.known.name(node)))

    # ------------------------------------------------------------------ reflection

    async def _reflect(self, frontier: Sequence[Path], depth: int, left: int) -> tuple[Path, ...]:
        """Ways to entities that are added back to the frontier; the step to each joins the chains."""
        if self.rounds >= self.config.reflections:
            return ()
        task = JudgeReverse(
            question=self.question,
            frontier=tuple(map(self.words.lead, frontier)),
            memory=self.memory,
            triples=self.lines(),
            steps=left,
        )
        judged = await self._ask(task)
        added = await self._add(frontier, judged.reason, left) if judged is not None and judged.add else ()
        if added:
            self.rounds += 1
            self.revived |= {path.nodes[-1] for path in added}
            self.chains[-1] = (*self.chains[-1], *(path for path in added if path.relations))
        nodes = tuple(path.nodes[-1] for path in added)
        detail = {"add": bool(judged and judged.add), "reason": judged.reason if judged else ""}
        event = TraceEvent(stage="reflect", depth=depth, entities=nodes, detail=detail)
        self.ctx.trace.add(event)
        return added

    async def _add(self, frontier: Sequence[Path], reason: str, left: int) -> tuple[Path, ...]:
        ahead = {path.nodes[-1] for path in frontier}
        offered = [node for node in self.pool if node not in ahead]
        nodes = self._nearest(offered, self.config.pool_cap)
        if not nodes:
            return ()
        task = AddEntities(
            question=self.question,
            reason=reason,
            candidates=tuple(self.words.lead(self.seen[node]) for node in nodes),
            memory=self.memory,
            steps=left,
        )
        found = await self._ask(task)
        named = self._named(found.entities if found else (), nodes)
        return tuple(self.seen[node] for node in named if node not in self.revived)

    # ------------------------------------------------------------------ calls and trace

    async def _ask(self, task: Task[OutputT], *, essential: bool = False) -> OutputT | None:
        """What comes back, None if the call failed and the question goes on; see the system's docstring."""
        reply = await self.calls.ask(task)
        needed = essential or reply.status in ("error", "timeout")
        if reply.value is None and needed and self.config.on_failure == "abort":
            raise Ended(reply)
        return reply.value

    def _trace(
        self,
        stage: Literal["plan", "memory", "decide"],
        depth: int | None = None,
        op: str = "",
        **detail: Any,
    ) -> None:
        self.ctx.trace.add(TraceEvent(stage=stage, op=op, depth=depth, detail=detail))


def _listed(names: Iterable[str]) -> str:
    return orjson.dumps(list(names)).decode()
