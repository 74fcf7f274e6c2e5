"""Does a piece of evidence support the answer: three readings, from the standard path itself to a mere mention."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

from clwqa_bench.diagnostics.trace import Pool
from clwqa_bench.errors import GraphError
from clwqa_bench.grid import GoldQuestion
from clwqa_bench.kg.protocol import GraphStore, Sense
from clwqa_bench.matching import SHORTEST_CONTAINED, key_of
from clwqa_bench.ontology import Ontology
from clwqa_bench.predictions import EvidenceText
from clwqa_bench.records import PathStep, StandardPath, TripleRef
from clwqa_bench.text import comparison_key

Level = Literal["same", "compatible", "reaching"]
"""`same`: the standard path itself.  `compatible`: from its anchor to a gold answer over the same relations, directions
and types, whatever the entities between.  `reaching`: a gold answer occurs at all."""


class Edge(NamedTuple):
    relation: str
    sense: Sense
    end: str


Edges = Mapping[str, Sequence[Edge]]


@dataclass(frozen=True, slots=True)
class Holds:
    """Golds that some evidence supports: by at least one path, by one from every anchor, by occurring in it."""

    supported: frozenset[str]
    whole: frozenset[str]
    reached: frozenset[str]


@dataclass(frozen=True)
class Support:
    """A reading of "answer-supporting path" (seed paper sec. 5.5.4) on a graph; see `Level`."""

    level: Level
    ontology: Ontology
    graph: GraphStore | None = None
    _types: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    def holds(self, question: GoldQuestion, pool: Pool) -> Holds:
        """What a pool holds for a question.

        A path counts by itself, single triples count together, a text counts for every gold it names.
        A question without standard paths is read as `reaching`.
        """
        named = _named(question, pool.texts)
        reached = _nodes(t for path in pool.paths for t in path.triples) | _nodes(pool.triples)
        reached = reached & {answer.entity_id for answer in question.answers} | named
        if self.level == "reaching" or not question.standard_paths:
            return Holds(reached, reached, reached)
        ways = {(path.entities[0], path.entities[-1]) for path in question.standard_paths}
        found = {(anchor, gold) for anchor, gold in ways if gold in named} | self._walked(
            question, pool, reached
        )
        supported = frozenset(gold for _, gold in found)
        missing = {gold for _, gold in ways - found}
        return Holds(supported, supported - missing, reached)

    def _walked(self, question: GoldQuestion, pool: Pool, golds: frozenset[str]) -> set[tuple[str, str]]:
        """(anchor, gold) of every walk along a standard path."""
        found: set[tuple[str, str]] = set()
        for triples in (*(path.triples for path in pool.paths), pool.triples):
            if golds.isdisjoint(_nodes(triples)):
                continue
            edges = _edges(triples, self.ontology.property_chains)
            for path in question.standard_paths:
                found |= {(path.entities[0], gold) for gold in self._ends(path, edges) & golds}
        return found

    def _ends(self, path: StandardPath, edges: Edges) -> frozenset[str]:
        """Where walks along a standard path end."""
        nodes = frozenset(path.entities[:1])
        for step, entity in zip(path.steps, path.entities[1:], strict=True):
            nodes = frozenset(
                edge.end
                for node in nodes
                for edge in edges.get(node, ())
                if self._follows(edge, step) and self._may_be(edge.end, entity, step)
            )
        return nodes

    def _follows(self, edge: Edge, step: PathStep) -> bool:
        ontology = self.ontology
        same = edge.relation == step.relation or edge.relation in ontology.sub_relations(step.relation)
        return same and (
            edge.sense == step.direction or step.direction == "both" or ontology.symmetric(step.relation)
        )

    def _may_be(self, node: str, entity: str, step: PathStep) -> bool:
        """Whether a walk may pass a node where the standard path has an entity."""
        return node == entity or (self.level == "compatible" and self._is_a(node, step.type))

    def _is_a(self, node: str, type: str) -> bool:
        """By the graph; without one, types are not looked at.  A node the graph does not have is nothing."""
        if self.graph is None:
            return True
        if node not in self._types:
            try:
                self._types[node] = self.graph.types(node)
            except GraphError:
                self._types[node] = ()
        return type in self._types[node]


def _nodes(triples: Iterable[TripleRef]) -> frozenset[str]:
    return frozenset(end for triple in triples for end in (triple.head, triple.tail))


def _edges(triples: Iterable[TripleRef], chains: Mapping[tuple[str, ...], str]) -> dict[str, list[Edge]]:
    """Both ways along every triple, and along every relation that a chain of them amounts to: two steps over a
    citation record say as much as the shortcut past it.
    """
    edges: dict[str, list[Edge]] = {}
    stored = [(t.head, t.relation, t.tail) for t in triples]
    for head, relation, tail in stored + _shortcuts(stored, chains):
        edges.setdefault(head, []).append(Edge(relation, "out", tail))
        edges.setdefault(tail, []).append(Edge(relation, "in", head))
    return edges


def _shortcuts(
    stored: Sequence[tuple[str, str, str]], chains: Mapping[tuple[str, ...], str]
) -> list[tuple[str, str, str]]:
    """The triples that chains of stored ones amount to."""
    tails: dict[tuple[str, str], list[str]] = {}
    for head, relation, tail in stored:
        tails.setdefault((head, relation), []).append(tail)
    found = []
    for chain, amounts_to in chains.items():
        for head in (head for head, relation in tails if relation == chain[0]):
            ends = [head]
            for step in chain:
                ends = [tail for node in ends for tail in tails.get((node, step), ())]
            found += [(head, amounts_to, end) for end in ends]
    return found


def _named(question: GoldQuestion, texts: Sequence[EvidenceText]) -> frozenset[str]:
    """Golds that a text is about or names; a name of one character is inside half of all texts and does not count."""
    if not texts:
        return frozenset()
    about = {text.entity_id for text in texts}
    keys = [_text_key(text.text) for text in texts]
    return frozenset(
        gold.entity_id
        for gold in question.answers
        if gold.entity_id in about
        or any(
            len(name) >= SHORTEST_CONTAINED and name in key
            for name in map(key_of, (gold.label, *gold.aliases))
            for key in keys
        )
    )


_text_key = lru_cache(maxsize=1 << 12)(comparison_key)
