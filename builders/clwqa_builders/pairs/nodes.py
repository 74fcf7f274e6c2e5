"""The nodes of the graph as the rubric and the draw look at them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from clwqa_bench.kg.memory import MemoryGraph
from clwqa_builders.pairs.asked import SHARED, Ints
from clwqa_builders.questions.columns import GraphColumns

LETTERED = ("CultureLoadedWord", "Person", "CulturalSource", "ContentUnit")
"""Types whose labels are compared letter by letter; passages are compared by the word they belong to."""


@dataclass(frozen=True)
class Nodes:
    """The graph with what is asked of every node at hand: its own type, its text, the part that may use it."""

    graph: MemoryGraph
    type_of: Mapping[str, str]
    text_of: Mapping[str, str]
    part_of: Mapping[str, int]

    @classmethod
    def of(cls, graph: MemoryGraph, columns: GraphColumns, of_entity: Ints) -> Nodes:
        ids = columns.ids
        return cls(
            graph,
            dict(zip(ids, columns.types, strict=True)),
            dict(zip(ids, columns.texts, strict=True)),
            dict(zip(ids, of_entity.tolist(), strict=True)),
        )

    def usable(self, node: str, part: int) -> bool:
        return self.part_of[node] in (part, SHARED)

    def words_of(self, node: str) -> tuple[str, str]:
        """What a reader sees of a node: its type, and its text or else its label."""
        return self.type_of[node], self.text_of[node] or self.graph.label(node)

    @cached_property
    def kin(self) -> Callable[[str], frozenset[str]]:
        """`kin(period)`: the periods that contain it, or that it contains, at every depth."""
        return cache(
            lambda period: frozenset(_above(period, self.graph)) | frozenset(_below(period, self.graph))
        )

    @cached_property
    def lettered(self) -> frozenset[str]:
        return self.graph.ontology.with_descendants(LETTERED)

    @cached_property
    def words(self) -> frozenset[str]:
        return self.graph.ontology.with_descendants(("Word",))

    @cached_property
    def periods(self) -> frozenset[str]:
        return self.graph.ontology.with_descendants(("HistoricalPeriod",))

    @cached_property
    def telling(self) -> frozenset[str]:
        """Types whose labels may print the name of a work or person."""
        return self.graph.ontology.with_descendants(("Context", "ContentUnit"))

    @cached_property
    def categories(self) -> frozenset[str]:
        return self.graph.ontology.with_descendants(("CulturalContentCategory",))


@dataclass(frozen=True)
class Pool:
    """The nodes one part may use, by their own type, and those of ``LETTERED`` types by every letter of the label."""

    nodes: Nodes
    by_type: Mapping[str, Sequence[str]]
    by_letter: Mapping[tuple[str, str], Sequence[str]]

    @classmethod
    def of(cls, nodes: Nodes, part: int) -> Pool:
        """The nodes of a part and the shared ones."""
        by_type: defaultdict[str, list[str]] = defaultdict(list)
        by_letter: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        part_of, type_of = nodes.part_of, nodes.type_of
        for id, label in zip(nodes.graph.ids, nodes.graph.labels, strict=True):
            if part_of[id] in (part, SHARED):
                kind = type_of[id]
                by_type[kind].append(id)
                if kind in nodes.lettered:
                    for letter in set(label):
                        by_letter[kind, letter].append(id)
        return cls(nodes, by_type, by_letter)


def _above(period: str, graph: MemoryGraph) -> Iterator[str]:
    for whole in graph.neighbours(period, "subPeriodOf", "out"):
        yield whole
        yield from _above(whole, graph)


def _below(period: str, graph: MemoryGraph) -> Iterator[str]:
    for part in graph.neighbours(period, "subPeriodOf", "in"):
        yield part
        yield from _below(part, graph)
