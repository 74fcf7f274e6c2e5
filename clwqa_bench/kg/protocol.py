"""What a graph store can be asked (operations G1-G14) and the values it answers with.

A store is read-only and answers the same for the same graph, whatever its engine:

* ids are opaque strings; an id that is not in the graph raises GraphError;
* answers are ordered by label, then id (code points); paths step by step: by the node reached, then the
  relation, an edge walked forwards before one walked backwards; a path stands before its own extensions;
* a ``limit`` that cuts anything off shows in the answer: ``truncated`` is true, ``total`` is the full count;
* a type stands for itself and its descendants, a relation for itself and its sub-relations;
* nothing else is inferred: a symmetric relation is stored once, ask for it in direction "both".

Walking in direction "out" goes from head to tail, "in" from tail to head, "both" either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, overload

import numpy as np

from clwqa_bench.ontology import Ontology, TypeNeighbour

Direction = Literal["out", "in", "both"]
Sense = Literal["out", "in"]  # how one edge of a path is walked
Names = str | tuple[str, ...] | frozenset[str] | None  # one name, any of several, or open
Step = tuple[Names, Direction, Names]  # relations, direction, types of the node reached

ItemT = TypeVar("ItemT")
ItemT_co = TypeVar("ItemT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Entity:
    """A node.  ``types`` holds its own type first, then the types above it."""

    id: str
    label: str
    types: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    text: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    provenance: str = ""

    @property
    def type(self) -> str:
        """The most specific type."""
        return self.types[0]


@dataclass(frozen=True, slots=True)
class Triple:
    """An edge.  A graph holds each (head, relation, tail) once, so the three names identify it."""

    head: str
    relation: str
    tail: str

    @property
    def id(self) -> str:
        """A readable identifier, the same in every store."""
        return f"{self.head} -{self.relation}-> {self.tail}"


@dataclass(frozen=True, slots=True)
class Path:
    """A walk: ``nodes`` has one entry more than ``relations`` and ``senses``."""

    nodes: tuple[str, ...]
    relations: tuple[str, ...] = ()
    senses: tuple[Sense, ...] = ()

    def __len__(self) -> int:
        """The number of edges."""
        return len(self.relations)

    @property
    def triples(self) -> tuple[Triple, ...]:
        """The edges walked, each as it is stored."""
        ends = zip(self.nodes, self.relations, self.senses, self.nodes[1:], strict=False)
        return tuple(Triple(a, r, b) if sense == "out" else Triple(b, r, a) for a, r, sense, b in ends)


@dataclass(frozen=True, slots=True)
class Found(Sequence[ItemT_co]):
    """A sequence of answers that knows how many there were before a limit cut it."""

    items: tuple[ItemT_co, ...]
    total: int

    @property
    def truncated(self) -> bool:
        """True if a limit left something out."""
        return self.total > len(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> ItemT_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ItemT_co, ...]: ...
    def __getitem__(self, index: int | slice) -> ItemT_co | tuple[ItemT_co, ...]:
        return self.items[index]

    def __iter__(self) -> Iterator[ItemT_co]:
        return iter(self.items)


Paths = Found[Path]


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Nodes around some centres and all triples between the nodes listed.

    ``triples.total`` counts the triples of the whole neighbourhood, so a limit on the nodes shows there too.
    """

    nodes: Found[str]
    triples: Found[Triple]

    @property
    def truncated(self) -> bool:
        """True if the limit left nodes out."""
        return self.nodes.truncated


@dataclass(frozen=True, slots=True, order=True)
class Signature:
    """How many triples of a relation go from one most specific type to another."""

    head_type: str
    relation: str
    tail_type: str
    count: int


@dataclass(frozen=True, slots=True)
class Schema:
    """The relations and types that occur in a graph, and how they occur together."""

    relations: tuple[str, ...]
    types: tuple[str, ...]
    signatures: tuple[Signature, ...]


StepFilter = Callable[[Path, Triple], bool]


class GraphStore(Protocol):
    """The operations; numbers G1-G14 are those of the systems' common interface."""

    @property
    def ontology(self) -> Ontology:
        """The types and relations it is made of."""
        ...

    def entity(self, node: str, /) -> Entity:
        """G1. Everything known about one node."""
        ...

    def lookup(self, name: str, types: Names = None) -> tuple[str, ...]:
        """G2. Entities whose label or an alias has the same comparison key as ``name``."""
        ...

    def fuzzy(self, name: str, k: int = 10, types: Names = None) -> tuple[tuple[str, float], ...]:
        """G3. Up to ``k`` entities with the most similar labels or aliases, best first, equal ones by
        label and id.  The score is 1 - OSA distance / longer length on comparison keys, 1.0 for equal."""
        ...

    def by_type(self, name: str, *, descendants: bool = True) -> Iterator[str]:
        """G4. Entities of a type."""
        ...

    def types(self, node: str, /) -> tuple[str, ...]:
        """G4. The types of an entity, most specific first."""
        ...

    def entities(self) -> Iterator[str]:
        """G4. All entities."""
        ...

    def relations(self, node: str, /, direction: Direction = "both") -> tuple[str, ...]:
        """G5. The distinct relations at an entity, sorted by name."""
        ...

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
        """G6. Distinct entities one step away.  Under a limit the first ones are kept, or with a ``seed``
        a random sample, in the usual order."""
        ...

    def triples(self, node: str | None = None, /, direction: Direction = "both") -> Iterator[Triple]:
        """G7. The triples at one entity, or all, ordered by head, relation and tail."""
        ...

    def follow(
        self, ids: Iterable[str], steps: Sequence[Step], *, simple: bool = True, limit: int | None = None
    ) -> Paths:
        """G8. Every path from the given entities that matches all steps.  A step is (relations, direction,
        types of the node reached), None meaning any; ``simple`` paths meet no node twice."""
        ...

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
        """G9. The first shortest path from any of the sources to the target, or ``every`` one."""
        ...

    def paths(
        self,
        ids: Iterable[str],
        max_length: int,
        *,
        directed: bool = False,
        step_filter: StepFilter | None = None,
        limit: int | None = None,
    ) -> Paths:
        """G10. Every simple path of 1 to ``max_length`` edges that starts at one of the entities.
        ``step_filter(path so far, next triple)`` decides which edges are walked."""
        ...

    def khop(
        self, ids: Iterable[str], k: int, *, directed: bool = False, limit: int | None = None
    ) -> Subgraph:
        """G11. Everything at most ``k`` steps from the given entities; a limit keeps the nearest nodes."""
        ...

    def schema(self) -> Schema:
        """G12. Relations and types that occur, with counts."""
        ...

    def type_neighbours(self, name: str) -> tuple[TypeNeighbour, ...]:
        """G13. Edges of the ontology's type graph; see Ontology for parents and children."""
        ...

    def query(self, text: str, **parameters: Any) -> list[dict[str, Any]]:
        """G14. Run a read-only query in the store's own language, or raise GraphError if it has none."""
        ...


def cut(items: Sequence[ItemT], limit: int | None, seed: int | None = None) -> Found[ItemT]:
    """Apply a limit: the first items, or with a seed a sample without replacement in the given order."""
    if limit is None or limit >= len(items):
        return Found(tuple(items), len(items))
    if seed is None:
        return Found(tuple(items[:limit]), len(items))
    chosen = np.sort(np.random.default_rng(seed).choice(len(items), size=limit, replace=False))
    return Found(tuple(items[i] for i in chosen.tolist()), len(items))
