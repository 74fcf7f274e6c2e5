"""What tasks carry for rules: ways through the graph and what they lead to.  No prompt shows any of it but names and
labels.
"""

from __future__ import annotations

from collections.abc import Callable

from clwqa_bench.kg.protocol import GraphStore, Path, Sense
from clwqa_bench.linking import Signature
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import Record


class Offer(Record):
    """A relation that can be walked, and the label under which a model is offered it."""

    label: str
    relation: str
    sense: Sense


class Reached(Record):
    """A node that a way leads to and what it is called, the node where the way begins, and the way."""

    node: str
    name: str
    root: str
    way: Signature


def reached(path: Path, graph: GraphStore, name: Callable[[str], str], place: int = -1) -> Reached:
    """The node at a place of a walk (by default its end), over the way from the first node.

    `name` says what a node is called.
    """
    last = range(len(path.nodes))[place]
    node = path.nodes[last]
    return Reached(node=node, name=name(node), root=path.nodes[0], way=way_of(path, graph)[:last])


def way_of(path: Path, graph: GraphStore) -> Signature:
    """Relation, direction and most specific type reached, step by step."""
    steps = zip(path.relations, path.senses, path.nodes[1:], strict=True)
    return tuple((relation, sense, kind(graph, node)) for relation, sense, node in steps)


def kind(graph: GraphStore, node: str) -> str:
    """The most specific type of a node, "" in a graph without types."""
    return next(iter(graph.types(node)), "")


def may_be(type_: str, target: str, ontology: Ontology) -> bool:
    """Whether a node of a type may be of the element asked for: one is the other or stands above it."""
    if type_ not in ontology.type_terms or target not in ontology.type_terms:
        return True
    return ontology.is_a(type_, target) or ontology.is_a(target, type_)
