"""Reading an answer off triples without a language model, for the rules of tasks that show a few of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from clwqa_baselines.fitting import Reached, Way, fitting, kind
from clwqa_bench.kg.protocol import Direction, GraphStore, Triple
from clwqa_bench.llm.rules import Rules
from clwqa_bench.records import Record

LONGEST = 4  # steps that are put together
MOST_WAYS = 2_000


class Edge(Record):
    """A triple with what its ends are called and their most specific types ("" without types)."""

    head: str
    relation: str
    tail: str
    names: tuple[str, str]
    types: tuple[str, str]


def edge(triple: Triple, graph: GraphStore, name: Callable[[str], str]) -> Edge:
    """A triple of a graph; `name` says what a node is called."""
    ends = triple.head, triple.tail
    return Edge(
        head=triple.head,
        relation=triple.relation,
        tail=triple.tail,
        names=(name(ends[0]), name(ends[1])),
        types=(kind(graph, ends[0]), kind(graph, ends[1])),
    )


def read_off(question: str, edges: Sequence[Edge], rules: Rules) -> tuple[str, ...]:
    """What the edges say to a question; see `fitting`.

    Edges are put together to ways that begin at what the question names; where they show nothing of it, each end is
    reached from the other.
    """
    steps = _steps(edges)
    named = (node for anchor in rules.linker().link(question).anchors for node in anchor.entities)
    roots = [node for node in dict.fromkeys(named) if node in steps]
    longest = LONGEST if roots else 1
    return fitting(question, _reached(roots or list(steps), steps, longest), rules)


Step = tuple[str, Direction, str, str, str]  # relation, direction, node reached, its name, its type


def _steps(edges: Iterable[Edge]) -> Mapping[str, Sequence[Step]]:
    steps: dict[str, list[Step]] = defaultdict(list)
    for one in edges:
        steps[one.head].append((one.relation, "out", one.tail, one.names[1], one.types[1]))
        steps[one.tail].append((one.relation, "in", one.head, one.names[0], one.types[0]))
    return steps


def _reached(roots: Iterable[str], steps: Mapping[str, Sequence[Step]], longest: int) -> Iterator[Reached]:
    """Ends of simple walks, the shortest first, so many at most."""
    walks: list[tuple[tuple[str, ...], Way]] = [((root,), ()) for root in roots]
    for _ in range(longest):
        grown: list[tuple[tuple[str, ...], Way]] = []
        for nodes, way in walks:
            for relation, sense, node, name, type_ in steps[nodes[-1]]:
                if node not in nodes and len(grown) < MOST_WAYS:
                    grown.append(((*nodes, node), (*way, (relation, sense, type_))))
                    yield Reached(node=node, name=name, root=nodes[0], way=grown[-1][1])
        walks = grown
