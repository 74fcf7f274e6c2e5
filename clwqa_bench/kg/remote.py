"""A graph store over a server: every operation in terms of a few questions the server is asked.

A server knows how to list nodes and which edges leave some of them; what the operations mean, in which order they
answer and how a limit counts is decided here, once for every kind of server.  Walks grow level by level, one
question for all nodes of a level, so the number of questions depends on the length of a path and not on how many
there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, NoReturn

import numpy as np

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.protocol import (
    Direction,
    Entity,
    Found,
    Names,
    Path,
    Paths,
    Schema,
    Signature,
    Step,
    StepFilter,
    Subgraph,
    Triple,
    cut,
)
from clwqa_bench.ontology import Ontology, TypeNeighbour


class ServerGoneError(GraphError):
    """Nobody answers any more, so no other question would be answered either."""


class QueryError(GraphError):
    """A query in the store's own language cannot be run, or may not be; another one could.

    What it says names neither the server nor the user, so it can be shown to whoever wrote the query.
    """


class Node(NamedTuple):
    """A node as answers are ordered: ``order`` sorts as labels do (a label, or a place in their order)."""

    order: Any
    id: str


class Hop(NamedTuple):
    """One step of a walk; hops sort as the steps of paths do."""

    target: Node
    relation: str
    backwards: bool


class Named(NamedTuple):
    """What finding a node by name takes."""

    node: Node
    type: str
    names: tuple[str, ...]  # its label first


class Reach(NamedTuple):
    """Which edges are walked: stored relations and own types of the nodes reached, None for any."""

    relations: tuple[str, ...] | None
    direction: Direction
    types: tuple[str, ...] | None


Walk = tuple[Hop, ...]  # the first hop is the start itself, reached over nothing
Hops = dict[str, list[Hop]]  # by the node they leave, sorted


class RemoteGraph(ABC):
    """A GraphStore over a server; what is abstract below is asked of the server.

    Each operation is described in GraphStore.  Names of types and relations are checked against the ontology before
    anything is asked, so only known ones ever stand in a query.
    """

    def __init__(self, ontology: Ontology) -> None:
        self.ontology = ontology

    # ------------------------------------------------------------------ what a server is asked

    @abstractmethod
    def _entity(self, node: str) -> Entity | None:
        """Everything about a node, None if there is none."""

    @abstractmethod
    def _nodes(self, ids: Collection[str]) -> list[Node]:
        """Those of the ids that are there, in any order."""

    @abstractmethod
    def _listed(self, types: tuple[str, ...] | None) -> Iterator[Node]:
        """All nodes of the given own types, in any order."""

    @abstractmethod
    def _labelled(self, label: str) -> list[str]:
        """Ids of nodes with a label, in order: what somebody may have meant who gave a label for an id."""

    @abstractmethod
    def _names(self) -> Iterator[Named]:
        """The names of all nodes."""

    @abstractmethod
    def _edges(
        self, ids: Collection[str], reach: Reach, targets: Collection[str] | None = None
    ) -> Iterator[tuple[str, Hop]]:
        """(node left, hop) of every edge at the given nodes, in any order; with ``targets`` only edges that end there.

        In direction "both" a loop is one edge, forwards.
        """

    @abstractmethod
    def _reached(self, ids: Collection[str], reach: Reach) -> set[Node]:
        """The distinct nodes one step from any of the given ones."""

    @abstractmethod
    def _triples(self) -> Iterator[tuple[str, Hop]]:
        """(head, hop to the tail) of every triple, in the order of the protocol."""

    @abstractmethod
    def _own_types(self) -> set[str]:
        """The most specific types that occur."""

    @abstractmethod
    def _signatures(self) -> list[Signature]:
        """How relations and types occur together, in any order."""

    @abstractmethod
    def counts(self) -> tuple[int, int]:
        """How many entities and triples there are."""

    @property
    @abstractmethod
    def server(self) -> str:
        """What answers, by kind, product and version; nothing of where it is or who asks."""

    @abstractmethod
    def made_from(self) -> str:
        """The digest of the tables it was loaded from (``layout.tables_digest``), empty if it does not know."""

    @abstractmethod
    def query(self, text: str, **parameters: Any) -> list[dict[str, Any]]: ...

    @abstractmethod
    def close(self) -> None:
        """Give connections back; the store is not used after it."""

    # ------------------------------------------------------------------ entities (G1-G4)

    def entity(self, node: str, /) -> Entity:
        return self._entity(node) or self._missing(node)

    def lookup(self, name: str, types: Names = None) -> tuple[str, ...]:
        return self._name_index.exact(name, self._type_names(types))

    def fuzzy(self, name: str, k: int = 10, types: Names = None) -> tuple[tuple[str, float], ...]:
        return self._name_index.similar(name, k, self._type_names(types))

    def by_type(self, name: str, *, descendants: bool = True) -> Iterator[str]:
        below = self._type_names(name)
        return (node.id for node in sorted(self._listed(below if descendants else (name,))))

    def types(self, node: str, /) -> tuple[str, ...]:
        return self.entity(node).types

    def entities(self) -> Iterator[str]:
        return (node.id for node in sorted(self._listed(None)))

    # ------------------------------------------------------------------ edges (G5-G7)

    def relations(self, node: str, /, direction: Direction = "both") -> tuple[str, ...]:
        hops = self._hops([node], self._reach(None, direction, None))
        return tuple(sorted({hop.relation for hop in hops.get(node) or self._none_at(node)}))

    def neighbours(
        self,
        node: str,
        /,
        relation: Names = None,
        direction: Direction = "both",
        types: Names = None,
        *,
        limit: int | None = None,
        seed: int | None = None,
    ) -> Found[str]:
        found = self._reached([node], self._reach(relation, direction, types)) or self._none_at(node)
        return cut([other.id for other in sorted(found)], limit, seed)

    def triples(self, node: str | None = None, /, direction: Direction = "both") -> Iterator[Triple]:
        reach = self._reach(None, direction, None)
        if node is None:
            return (Triple(head, hop.relation, hop.target.id) for head, hop in self._triples())
        here = self._starts([node])[0]
        ends = sorted(
            (hop.target, hop.relation, here) if hop.backwards else (here, hop.relation, hop.target)
            for _, hop in self._edges([node], reach)
        )
        return (Triple(head.id, relation, tail.id) for head, relation, tail in ends)

    # ------------------------------------------------------------------ paths (G8-G11)

    def follow(
        self, ids: Iterable[str], steps: Sequence[Step], *, simple: bool = True, limit: int | None = None
    ) -> Paths:
        plan = [self._reach(*step) for step in steps]
        walks = self._standing(ids)
        for reach in plan:
            walks = list(self._longer(walks, reach, simple=simple))
        return _paths(walks, limit)

    def shortest(
        self,
        sources: Iterable[str],
        target: str,
        *,
        max_length: int = 6,
        directed: bool = False,
        every: bool = False,
        limit: int | None = None,
    ) -> Paths:
        starts, (end,) = self._starts(sources), self._starts([target])
        levels = self._levels_between({s.id for s in starts}, end.id, max_length, directed)
        if levels is None:
            return Found((), 0)
        forwards = self._reach(None, "out" if directed else "both", None)
        steps = [self._hops(a, forwards, b) for a, b in zip(levels, levels[1:], strict=False)]

        @cache
        def count(depth: int, node: str) -> int:
            return (
                sum(count(depth + 1, hop.target.id) for hop in steps[depth][node])
                if depth < len(steps)
                else 1
            )

        def grow(walk: Walk) -> Iterator[Walk]:
            depth = len(walk) - 1
            if depth == len(steps):
                yield walk
                return
            for hop in steps[depth][walk[-1].target.id]:
                yield from grow((*walk, hop))

        nearest = [start for start in starts if start.id in levels[0]]
        total = sum(count(0, start.id) for start in nearest) if every else 1
        walks = (walk for start in nearest for walk in grow((Hop(start, "", False),)))
        kept = [next(walks) for _ in range(total if limit is None else min(total, limit))]
        return Found(tuple(map(_path, kept)), total)

    def paths(
        self,
        ids: Iterable[str],
        max_length: int,
        *,
        directed: bool = False,
        step_filter: StepFilter | None = None,
        limit: int | None = None,
    ) -> Paths:
        reach = self._reach(None, "out" if directed else "both", None)
        level = self._standing(ids)
        walks: list[Walk] = []
        for _ in range(max_length):
            level = [
                walk
                for walk in self._longer(level, reach, simple=True)
                if step_filter is None or step_filter(_path(walk[:-1]), _triple(walk[-2], walk[-1]))
            ]
            walks += level
        return _paths(sorted(walks), limit)

    def khop(
        self, ids: Iterable[str], k: int, *, directed: bool = False, limit: int | None = None
    ) -> Subgraph:
        reach = self._reach(None, "out" if directed else "both", None)
        nodes = level = self._starts(ids)
        seen = set(nodes)
        for _ in range(k):
            if not level:
                break
            level = sorted(self._reached([node.id for node in level], reach) - seen)
            seen.update(level)
            nodes = nodes + level
        kept = nodes if limit is None else nodes[:limit]
        triples = self._between(kept)
        total = len(triples if len(kept) == len(nodes) else self._between(nodes))
        return Subgraph(Found(tuple(node.id for node in kept), len(nodes)), Found(tuple(triples), total))

    # ------------------------------------------------------------------ schema (G12-G13)

    def schema(self) -> Schema:
        return self._schema

    def type_neighbours(self, name: str) -> tuple[TypeNeighbour, ...]:
        return self.ontology.type_neighbours(name)

    @cached_property
    def _schema(self) -> Schema:
        signatures = tuple(sorted(self._signatures()))
        relations = {signature.relation for signature in signatures}
        return Schema(tuple(sorted(relations)), tuple(sorted(self._own_types())), signatures)

    # ------------------------------------------------------------------ inside

    def _reach(self, relations: Names, direction: Direction, types: Names) -> Reach:
        if direction not in ("out", "in", "both"):
            raise GraphError(f"no direction {direction!r}", fix="use out, in or both")
        return Reach(self._relation_names(relations), direction, self._type_names(types))

    def _type_names(self, types: Names) -> tuple[str, ...] | None:
        """The types and those below them, checked."""
        return None if types is None else tuple(sorted(self.ontology.with_descendants(_several(types))))

    def _relation_names(self, relations: Names) -> tuple[str, ...] | None:
        """The relations and those below them, checked."""
        if relations is None:
            return None
        return tuple(sorted({s for r in _several(relations) for s in (r, *self.ontology.sub_relations(r))}))

    def _lineage(self, own: str) -> tuple[str, ...]:
        return (own, *self.ontology.ancestors(own))

    def _starts(self, ids: Iterable[str]) -> list[Node]:
        """The nodes of the ids, each once, in order.  Raises GraphError for one that is not there."""
        if isinstance(ids, str):
            raise TypeError("expected several ids, got one string")
        wanted = set(ids)
        nodes = self._nodes(wanted) if wanted else []
        if lost := sorted(wanted - {node.id for node in nodes}):
            self._missing(lost[0])
        return sorted(nodes)

    def _standing(self, ids: Iterable[str]) -> list[Walk]:
        """The walks of no steps from the given nodes."""
        return [(Hop(start, "", False),) for start in self._starts(ids)]

    def _none_at(self, node: str) -> tuple[()]:
        """Nothing was found at a node: that is an answer if the node exists.  Raises GraphError if it does not."""
        self._starts([node])
        return ()

    def _missing(self, node: str) -> NoReturn:
        near = self._labelled(str(node))
        fix = f"use its id, {near[0]!r}" if near else "look it up by its label first"
        raise GraphError(f"no entity {node!r} in this graph", fix=fix)

    def _hops(self, ids: Collection[str], reach: Reach, targets: Collection[str] | None = None) -> Hops:
        """The edges at nodes by the node they leave, sorted; a node without any is left out."""
        found: Hops = defaultdict(list)
        if ids and (targets is None or targets):
            for source, hop in self._edges(ids, reach, targets):
                found[source].append(hop)
        return {source: sorted(hops) for source, hops in found.items()}

    def _longer(self, walks: Sequence[Walk], reach: Reach, *, simple: bool) -> Iterator[Walk]:
        """Every walk with one more hop; walks in order stay in order."""
        hops = self._hops({walk[-1].target.id for walk in walks}, reach)
        for walk in walks:
            for hop in hops.get(walk[-1].target.id, ()):
                if not (simple and any(hop.target == before.target for before in walk)):
                    yield (*walk, hop)

    def _between(self, nodes: Sequence[Node]) -> list[Triple]:
        """All triples with both ends among the nodes, in order."""
        by_id = {node.id: node for node in nodes}
        hops = self._hops(by_id, self._reach(None, "out", None), by_id)
        triples = sorted((by_id[head], hop.relation, hop.target) for head in hops for hop in hops[head])
        return [Triple(head.id, relation, tail.id) for head, relation, tail in triples]

    def _levels_between(
        self, sources: set[str], target: str, max_length: int, directed: bool
    ) -> list[set[str]] | None:
        """The nodes on shortest paths by their distance from the nearest sources; None if there is no path.

        Searched from both ends, each time from the smaller level, until the two meet.
        """
        ways = [self._reach(None, way, None) for way in (("out", "in") if directed else ("both", "both"))]
        levels: tuple[list[set[str]], list[set[str]]] = ([set(sources)], [{target}])
        seen = (set(sources), {target})
        while not (middle := levels[0][-1] & levels[1][-1]):
            side = 0 if len(levels[0][-1]) <= len(levels[1][-1]) else 1
            if sum(map(len, levels)) - 2 == max_length or not levels[side][-1]:
                return None
            reached = {node.id for node in self._reached(levels[side][-1], ways[side])}
            levels[side].append(reached - seen[side])
            seen[side].update(reached)
        return [
            *self._trace(levels[0], middle, ways[1]),
            middle,
            *reversed(self._trace(levels[1], middle, ways[0])),
        ]

    def _trace(self, levels: list[set[str]], middle: set[str], back: Reach) -> list[set[str]]:
        """Of levels that lead to ``middle``, the nodes that do so by a shortest path; the last level is ``middle``."""
        traced = [middle]
        for level in reversed(levels[:-1]):
            here = {hop.target.id for hops in self._hops(traced[0], back, level).values() for hop in hops}
            traced.insert(0, here)
        return traced[:-1]

    @cached_property
    def _name_index(self) -> _Names:
        return _Names(sorted(self._names()), self.ontology)


class _Names:
    """Finding names that are nearly right, here and not on the server: they are fetched once, when first needed."""

    def __init__(self, named: Sequence[Named], ontology: Ontology) -> None:
        from clwqa_bench.kg import search

        self._ids = [entry.node.id for entry in named]
        self._code = {name: code for code, name in enumerate(ontology.types)}
        self._types = np.fromiter((self._code[entry.type] for entry in named), np.int32, len(named))
        self._folder = TemporaryDirectory(prefix="clwqa-names-")  # as long as its files are memory-mapped
        folder = FilePath(self._folder.name)
        search.write([e.names[0] for e in named], [e.names[1:] for e in named], folder)
        self._index = search.NameIndex(folder, self._types)

    def exact(self, name: str, types: tuple[str, ...] | None) -> tuple[str, ...]:
        """Ids of nodes with a name of the same comparison key, in order."""
        codes = self._codes(types)
        found = self._index.exact(name)
        return tuple(self._ids[n] for n in found if codes is None or self._types[n] in codes)

    def similar(self, name: str, k: int, types: tuple[str, ...] | None) -> tuple[tuple[str, float], ...]:
        """Up to ``k`` (id, similarity), best first."""
        return tuple((self._ids[n], score) for n, score in self._index.similar(name, k, self._codes(types)))

    def _codes(self, types: tuple[str, ...] | None) -> list[int] | None:
        return None if types is None else sorted(self._code[name] for name in types)


def _several(names: str | Collection[str]) -> Collection[str]:
    return (names,) if isinstance(names, str) else names


def _triple(here: Hop, hop: Hop) -> Triple:
    """The edge of a hop, as it is stored."""
    ends = (hop.target.id, here.target.id) if hop.backwards else (here.target.id, hop.target.id)
    return Triple(ends[0], hop.relation, ends[1])


def _path(walk: Walk) -> Path:
    steps = walk[1:]
    return Path(
        tuple(hop.target.id for hop in walk),
        tuple(hop.relation for hop in steps),
        tuple("in" if hop.backwards else "out" for hop in steps),
    )


def _paths(walks: Sequence[Walk], limit: int | None) -> Paths:
    return Found(tuple(map(_path, walks if limit is None else walks[:limit])), len(walks))
