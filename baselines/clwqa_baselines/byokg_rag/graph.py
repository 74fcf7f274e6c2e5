"""What the graph tools of BYOKG-RAG fetch: merged triples, paths along relations, shortest paths.

Relations have labels, under which the model is offered them and names them.  One that is walked backwards has a ^
before it; there are such only with `inverse_edges`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

from clwqa_baselines.shared.names import relation_labels
from clwqa_bench.kg.protocol import GraphStore, Path, Sense
from clwqa_bench.kg.protocol import Step as Wanted
from clwqa_bench.ontology import Ontology

BACK = "^"


class Move(NamedTuple):
    """A relation and how it is walked."""

    relation: str
    sense: Sense


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of context.  `walks` are ways through the graph from an entity the retrieval began at.

    Paths are shown whole; of a merged triple only the last step of each walk is, the one that the line tells.  The
    result of a query holds whatever the query asked for, walks if it asked for paths.  A note is about the search and
    tells nothing of the graph.
    """

    text: str
    walks: tuple[Path, ...] = ()
    kind: Literal["triple", "path", "query", "note"] = "triple"
    cut: bool = False  # there was more than was read


@dataclass(frozen=True)
class Relations:
    """The relations of a graph by label, see `relation_labels`."""

    graph: GraphStore
    ontology: Ontology
    inverse: bool

    @cached_property
    def moves(self) -> Mapping[str, Move]:
        """What each label means, forwards ones first."""
        labels = relation_labels(self.ontology)
        found = {labels[name]: Move(name, "out") for name in self.graph.schema().relations}
        if self.inverse:
            found |= {BACK + label: Move(move.relation, "in") for label, move in found.items()}
        return found

    @cached_property
    def label(self) -> Mapping[Move, str]:
        """The label of each move."""
        return {move: label for label, move in self.moves.items()}


@dataclass(frozen=True)
class Tools:
    """The graph store as the retrievers see it; `name` says what a node is called."""

    graph: GraphStore
    relations: Relations
    name: Callable[[str], str]
    tails: int
    max_paths: int
    max_distance: int

    # ------------------------------------------------------------------ triples

    def triples(self, walk: Path) -> Iterator[Fact]:
        """Merged triples of the end of a walk: ``head -> relation -> tail | tail``."""
        node = walk.nodes[-1]
        senses: tuple[Sense, ...] = ("out", "in") if self.relations.inverse else ("out",)
        for sense in senses:
            for relation in self.graph.relations(node, sense):
                ends = self.graph.neighbours(node, relation, sense, limit=self.tails)
                walks = tuple(
                    Path((*walk.nodes, end), (*walk.relations, relation), (*walk.senses, sense))
                    for end in ends
                )
                label = self.relations.label[Move(relation, sense)]
                text = f"{self.name(node)} -> {label} -> {self._ends(walks)}"
                yield Fact(text, walks, cut=ends.truncated)

    def label(self, walk: Path) -> str:
        """The label of the last step of a walk."""
        return self.relations.label[Move(walk.relations[-1], walk.senses[-1])]

    def around(self, nodes: Iterable[str], hops: int, most: int = 1_000) -> Iterator[Fact]:
        """Merged triples within some steps, each entity once; at most so many entities are looked at in a step, and
        the facts of a step that has more are marked `cut`."""
        level = [Path((node,)) for node in nodes]
        seen = {walk.nodes[0] for walk in level}
        for _ in range(hops):
            further: list[Path] = []
            for walk in level[:most]:
                for fact in self.triples(walk):
                    yield replace(fact, cut=True) if len(level) > most else fact
                    further += fact.walks
            level = []
            for walk in further:
                if walk.nodes[-1] not in seen:
                    seen.add(walk.nodes[-1])
                    level.append(walk)

    # ------------------------------------------------------------------ paths

    def follow(self, nodes: Iterable[str], labels: Sequence[str]) -> list[Fact]:
        """Every path along exactly these relations; none if one of them does not exist.  Loops are passed over."""
        moves = [self.relations.moves.get(label) for label in labels]
        wanted: list[Wanted] = [(move.relation, move.sense, None) for move in moves if move]
        if not wanted or len(wanted) < len(moves):
            return []
        found = self.graph.follow(nodes, wanted, simple=False, limit=self.max_paths)
        exact = tuple(relation for relation, *_ in wanted)
        paths = [
            path
            for path in found
            if path.relations == exact and all(one != other for one, other in pairwise(path.nodes))
        ]
        return self._merged(paths, cut=found.truncated)

    def shortest(self, nodes: Iterable[str], targets: Iterable[str]) -> list[Fact]:
        """A shortest path from the nearest of some nodes to each target."""
        sources, paths = list(nodes), list[Path]()
        for target in targets:
            starts = [node for node in sources if node != target]
            if starts:
                paths += self.graph.shortest(
                    starts, target, max_length=self.max_distance, directed=not self.relations.inverse
                )
        return self._merged([path for path in paths if len(path)], cut=False)

    def _merged(self, paths: Iterable[Path], *, cut: bool) -> list[Fact]:
        """``start -> r1 > node > r2 -> end | end``: paths that differ in their end alone are one line."""
        lines: dict[tuple[object, ...], list[Path]] = {}
        for path in paths:
            lines.setdefault((path.nodes[:-1], path.relations, path.senses), []).append(path)
        return [
            Fact(f"{self._way(group[0])} -> {self._ends(group)}", tuple(group), "path", cut)
            for group in lines.values()
        ]

    def tell(self, path: Path) -> str:
        """One path in words."""
        return f"{self._way(path)} -> {self._ends([path])}" if len(path) else self.name(path.nodes[0])

    def _ends(self, paths: Iterable[Path]) -> str:
        return " | ".join(self.name(path.nodes[-1]) for path in paths)

    def _way(self, path: Path) -> str:
        labels = [self.relations.label[move] for move in map(Move, path.relations, path.senses)]
        inner = [labels[0]]
        for node, label in zip(path.nodes[1:], labels[1:], strict=False):
            inner += [self.name(node), label]
        return f"{self.name(path.nodes[0])} -> {' > '.join(inner)}"
