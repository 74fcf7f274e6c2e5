"""The evidence around a word: what the graph says of it, and of where that comes from.

Guided by the ontology, not by a list of its names.  From the word every relation is followed but those to categories;
from whatever a word is told by (passages, units, works, persons, periods) only what lies further back: explanation,
unit, work, author, period.  Other words are shown and not expanded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import Direction, GraphStore, Triple
from clwqa_bench.kg.verbalise import cut
from clwqa_bench.ontology import CATEGORY_TYPE, Ontology
from clwqa_builders.generate.task import Fact, GenerateQuestions, Node

DEPTH = 5  # word -> quotation -> unit -> work -> author -> period
NODES = 30  # shown to the model, the word included
FAN = 3  # triples of one relation at one node
TEXT = 120  # characters of a passage that are shown

LIMITS = {"depth": DEPTH, "nodes": NODES, "fan": FAN, "text": TEXT}
"""Part of what a generation depends on."""


@dataclass(frozen=True)
class Evidence:
    """A word with the nodes around it, nearest first (the word is `nodes[0]`), and the triples between them."""

    nodes: tuple[str, ...]
    triples: tuple[Triple, ...]

    @property
    def word(self) -> str:
        return self.nodes[0]

    @cached_property
    def node_of(self) -> dict[str, str]:
        """Entity id by the number the model knows it by."""
        return {f"n{number}": node for number, node in enumerate(self.nodes, start=1)}

    @cached_property
    def triple_of(self) -> dict[str, Triple]:
        """Triple by the number the model knows it by."""
        return {f"f{number}": triple for number, triple in enumerate(self.triples, start=1)}


@dataclass(frozen=True)
class Plan:
    """Which relations of an ontology lead to evidence, and from which types they are followed."""

    ontology: Ontology

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """All that are stored, but for those that classify and those that a shorter way is stored for."""
        categories = self.ontology.with_descendants(
            [CATEGORY_TYPE] if CATEGORY_TYPE in self.ontology.types else []
        )
        long_ways = {chain[0] for chain in self.ontology.property_chains}
        return tuple(
            relation
            for relation in self.ontology.relations
            if not self.ontology.abstract(relation)
            and relation not in long_ways
            and categories.isdisjoint(self.ontology.signature(relation)[1])
        )

    @cached_property
    def both_ways(self) -> tuple[str, ...]:
        """Those that hold both ways and are stored one way."""
        return tuple(filter(self.ontology.symmetric, self.relations))


Edges = Callable[[Sequence[str], tuple[str, ...], bool], set[Triple]]
"""`edges(nodes, relations, both)`: their triples with these relations, outgoing ones or, with `both`, all."""


def retrieve(word: str, plan: Plan, edges: Edges, types: Callable[[str], tuple[str, ...]]) -> Evidence:
    """The evidence around a word; `types` says what a node is, its own type first.

    Deterministic in the graph: level by level, relations in the order of the ontology, nodes by id.
    """
    kept, root = [word], types(word)[-1]
    frontier = [word]
    for _ in range(DEPTH):
        open_nodes = [node for node in frontier if node == word or types(node)[-1] != root]
        found = edges(open_nodes, plan.relations, False)
        if word in open_nodes and plan.both_ways:
            found |= edges([word], plan.both_ways, True)
        frontier = []
        for node in open_nodes:
            for reached in _nearest(node, found, plan.relations):
                if reached not in kept and len(kept) < NODES:
                    kept.append(reached)
                    frontier.append(reached)
    between = {t for t in edges(kept, plan.relations, False) if t.tail in kept}
    place = {node: number for number, node in enumerate(kept)}
    order = sorted(between, key=lambda t: (place[t.head], plan.relations.index(t.relation), place[t.tail]))
    return Evidence(tuple(kept), tuple(order))


def _nearest(node: str, triples: Collection[Triple], relations: Sequence[str]) -> list[str]:
    """Ends of the node's triples, at most FAN for each relation."""
    ends: dict[str, list[str]] = {relation: [] for relation in relations}
    for triple in triples:
        if node in (triple.head, triple.tail):
            ends[triple.relation].append(triple.tail if triple.head == node else triple.head)
    return [end for own in ends.values() for end in sorted(own)[:FAN]]


def edges_of(store: GraphStore) -> Edges:
    """How a store is asked for edges: a Bolt server by one Cypher query, any other step by step."""
    from clwqa_bench.kg.bolt.store import BoltGraph

    return _by_cypher(store) if isinstance(store, BoltGraph) else _by_walking(store)


def cypher(relations: Sequence[str], both: bool) -> str:
    """The Cypher query for the edges of the nodes `$ids`."""
    names = "|".join(f"`{relation}`" for relation in relations)
    return (
        f"UNWIND $ids AS id MATCH (a:Entity {{id: id}})-[r:{names}]-{'' if both else '>'}(b:Entity)\n"
        "RETURN DISTINCT startNode(r).id AS head, type(r) AS relation, endNode(r).id AS tail"
    )


def _by_cypher(store: GraphStore) -> Edges:
    def edges(nodes: Sequence[str], relations: tuple[str, ...], both: bool) -> set[Triple]:
        rows = store.query(cypher(relations, both), ids=list(nodes)) if nodes else []
        return {Triple(row["head"], row["relation"], row["tail"]) for row in rows}

    return edges


def _by_walking(store: GraphStore) -> Edges:
    def edges(nodes: Sequence[str], relations: tuple[str, ...], both: bool) -> set[Triple]:
        direction: Direction = "both" if both else "out"
        return {t for node in nodes for t in store.triples(node, direction) if t.relation in relations}

    return edges


def task_of(
    evidence: Evidence, graph: MemoryGraph, name: Callable[[str], str], wanted: int
) -> GenerateQuestions:
    """The task that shows the evidence; `name` is how a question should call a node."""
    number = {node: id for id, node in evidence.node_of.items()}
    label = graph.ontology.label
    return GenerateQuestions(
        word=number[evidence.word],
        nodes=tuple(
            Node(id=id, type=label(graph.types(node)[0]), name=cut(name(node), TEXT))
            for id, node in evidence.node_of.items()
        ),
        facts=tuple(
            Fact(id=id, head=number[t.head], relation=label(t.relation), tail=number[t.tail])
            for id, t in evidence.triple_of.items()
        ),
        wanted=wanted,
    )
