"""How the rules of several systems tell the answer among what they were shown: by the shape of the way to it.

A language model reads "守株待兔 -> 出自 -> 五蠹" and sees whether it answers the question.  `--llm lexical` has the
linker's model for the shapes of ways instead.  What a row of evidence leads to goes with a task as `Reached`, which no
prompt shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from clwqa_bench.kg.protocol import Direction, GraphStore, Path
from clwqa_bench.llm.rules import Rules
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import Record

Way = tuple[tuple[str, Direction, str], ...]
"""Relation, direction and most specific type reached, step by step; see `clwqa_bench.linking.models`."""


class Reached(Record):
    """A node that evidence leads to and what it is called, the node where the way to it begins, and the way."""

    node: str
    name: str
    root: str
    way: Way


def reached(path: Path, graph: GraphStore, name: Callable[[str], str], place: int = -1) -> Reached:
    """The node at a place of a walk (by default its end), over the way from the first node.

    `name` says what a node is called.
    """
    last = range(len(path.nodes))[place]
    steps = zip(path.relations[:last], path.senses, path.nodes[1:], strict=False)
    way = tuple((relation, sense, kind(graph, node)) for relation, sense, node in steps)
    node = path.nodes[last]
    return Reached(node=node, name=name(node), root=path.nodes[0], way=way)


def kind(graph: GraphStore, node: str) -> str:
    """The most specific type of a node, "" in a graph without types."""
    return next(iter(graph.types(node)), "")


def fitting(question: str, found: Iterable[Reached], rules: Rules) -> tuple[str, ...]:
    """The names that fit the question best; none if nothing is of the element it asks for.

    Ways that begin at what the question names count before any others.  From each thing it names the best way counts,
    with all that it leads to.  What these have in common is the answer, since two things are named to ask what they
    share; if that is nothing, the one with the best way decides.  What is named itself is no answer.
    """
    linker = rules.linker()
    linked = linker.link(question)
    named = {node: anchor.mention for anchor in linked.anchors for node in anchor.entities}
    by_mention: dict[str | None, dict[Way, list[str]]] = {}
    for one in found:
        if one.node not in named and may_be(one.way[-1][2], linked.target_element, linker.ontology):
            by_mention.setdefault(named.get(one.root), {}).setdefault(one.way, []).append(one.name)
    if len(by_mention) > 1:
        by_mention.pop(None, None)
    best: list[tuple[float, tuple[str, ...]]] = []
    for ways in by_mention.values():
        scores = dict(zip(ways, linker.scores(question, tuple(ways)), strict=True))
        way = max(scores, key=scores.__getitem__)
        best.append((scores[way], tuple(dict.fromkeys(ways[way]))))
    if not best:
        return ()
    shared = set.intersection(*(set(names) for _, names in best))
    first = max(best, key=lambda one: one[0])[1]
    return tuple(name for name in first if name in shared) or first


def may_be(type_: str, target: str, ontology: Ontology) -> bool:
    """Whether a node of a type may be of the element asked for: one is the other or stands above it."""
    if type_ not in ontology.type_terms or target not in ontology.type_terms:
        return True
    return ontology.is_a(type_, target) or ontology.is_a(target, type_)
