"""Reading answers off triples: put together to walks that begin at what the question names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from clwqa_baselines.rules.fitting import fitting
from clwqa_baselines.rules.ways import Reached, kind
from clwqa_bench.kg.protocol import GraphStore, Sense, Triple
from clwqa_bench.linking import Signature
from clwqa_bench.llm.rules import Rules
from clwqa_bench.records import Record

LONGEST = 4  # triples that are put together
MOST = 4_000  # walks


class Edge(Record):
    """A triple with what its ends are called and their most specific types ("" without types)."""

    head: str
    relation: str
    tail: str
    names: tuple[str, str]
    types: tuple[str, str]


def edge(triple: Triple, graph: GraphStore, name: Callable[[str], str]) -> Edge:
    """A triple of a graph; `name` says what a node is called."""
    head, tail = triple.head, triple.tail
    return Edge(
        head=head,
        relation=triple.relation,
        tail=tail,
        names=(name(head), name(tail)),
        types=(kind(graph, head), kind(graph, tail)),
    )


class Answer(NamedTuple):
    """What a walk leads to, how well it fits the question, and the places of the edges that it takes."""

    name: str
    score: float
    edges: tuple[int, ...]


def read_off(
    question: str, edges: Sequence[Edge], rules: Rules, *, guessing: bool = False
) -> tuple[Answer, ...]:
    """What the edges say to a question; see `fitting`.

    Where they show nothing of what it names, that is nothing, or if `guessing` each end is reached from the other.
    """
    steps = _steps(edges)
    named = (node for anchor in rules.linker().link(question).anchors for node in anchor.entities)
    roots = [node for node in dict.fromkeys(named) if node in steps]
    if not roots and not guessing:
        return ()
    walks: dict[Reached, tuple[int, ...]] = {}
    for walk in _walks(roots or list(steps), steps, LONGEST if roots else 1):
        walks.setdefault(walk.reached, walk.edges)
    fit = fitting(question, walks, rules)
    return tuple(Answer(one.name, fit.score, walks[one]) for one in fit.reached)


class _Step(NamedTuple):
    """An edge as it is walked: relation, direction, node reached, its name and type, the place of the edge."""

    relation: str
    sense: Sense
    node: str
    name: str
    type: str
    edge: int


class _Walk(NamedTuple):
    """The nodes met, what the last one is called, the way, and the edges taken."""

    nodes: tuple[str, ...]
    name: str = ""
    way: Signature = ()
    edges: tuple[int, ...] = ()

    def then(self, step: _Step) -> _Walk:
        """One step longer."""
        way = (*self.way, (step.relation, step.sense, step.type))
        return _Walk((*self.nodes, step.node), step.name, way, (*self.edges, step.edge))

    @property
    def reached(self) -> Reached:
        return Reached(node=self.nodes[-1], name=self.name, root=self.nodes[0], way=self.way)


def _steps(edges: Iterable[Edge]) -> Mapping[str, Sequence[_Step]]:
    steps: dict[str, list[_Step]] = defaultdict(list)
    for place, e in enumerate(edges):
        steps[e.head].append(_Step(e.relation, "out", e.tail, e.names[1], e.types[1], place))
        steps[e.tail].append(_Step(e.relation, "in", e.head, e.names[0], e.types[0], place))
    return steps


def _walks(roots: Iterable[str], steps: Mapping[str, Sequence[_Step]], longest: int) -> Iterator[_Walk]:
    """Walks that meet no node twice, the shortest first, so many at most."""
    walks = [_Walk((root,)) for root in roots]
    left = MOST
    for _ in range(longest):
        longer = (
            walk.then(step) for walk in walks for step in steps[walk.nodes[-1]] if step.node not in walk.nodes
        )
        walks = list(islice(longer, left))
        left -= len(walks)
        yield from walks
