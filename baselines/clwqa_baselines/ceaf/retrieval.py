"""Stage 2: from elements to type paths, from type paths to evidence paths (seed paper sec. 4.2).

Step A searches the ontology's type graph, which has a few dozen nodes; its result depends on elements alone and is
kept.  Step B fills the type paths with nodes of the graph.  Nothing here looks at the words of a question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from clwqa_bench.kg.protocol import GraphStore, Path, Paths
from clwqa_bench.ontology import CATEGORY_TYPE, Ontology

TypePath = tuple[str, ...]
"""Elements from an anchor's to the one asked for."""


@dataclass(frozen=True, slots=True)
class AnchorNodes:
    """One anchor: the nodes its mention was linked to, and the elements it was given."""

    nodes: tuple[str, ...]
    elements: tuple[str, ...]
    mention: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """What is retrieved for: anchors, and the element of the answer (None: any)."""

    anchors: tuple[AnchorNodes, ...]
    target: str | None


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Candidate paths in canonical order, and how many more the safety cap cut off."""

    paths: tuple[Path, ...] = ()
    capped: int = 0

    def __or__(self, other: Retrieved) -> Retrieved:
        return Retrieved(merge((self.paths, other.paths)), self.capped + other.capped)


@dataclass(frozen=True)
class TypeGraph:
    """Step A on an ontology, with a bound on length and on coming back to an element."""

    ontology: Ontology
    d_max: int = 3
    allow_repeat: int = 1
    through_categories: bool = False
    _found: dict[tuple[tuple[str, ...], str | None], tuple[TypePath, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def type_paths(self, elements: Iterable[str], target: str | None) -> tuple[TypePath, ...]:
        """All type paths of 1 to `d_max` edges from an element to `target` or a subtype, shortest first.

        A multi-source breadth-first search.  A path comes back to elements it has been at (those alone, not the ones
        above or below) at most `allow_repeat` times.  The last element is narrowed to the target if that is more
        specific; None stands for every element.
        """
        key = tuple(elements), target
        if key not in self._found:
            self._found[key] = tuple(dict.fromkeys(self._search(*key)))
        return self._found[key]

    def _search(self, elements: tuple[str, ...], target: str | None) -> Iterator[TypePath]:
        level: list[TypePath] = [(element,) for element in elements]
        for _ in range(self.d_max):
            level = [(*path, element) for path in level for element in self._next(path)]
            for path in level:
                if (end := self._end(path[-1], target)) is not None:
                    yield (*path[:-1], end)

    def _next(self, path: TypePath) -> tuple[str, ...]:
        if len(path) > 1 and not self.through_categories and path[-1] in self._categories:
            return ()
        reached = dict.fromkeys(edge.type for edge in self.ontology.type_neighbours(path[-1]))
        return tuple(e for e in reached if len(path) + 1 - len({*path, e}) <= self.allow_repeat)

    def _end(self, element: str, target: str | None) -> str | None:
        """The element a path ends at: the more specific of the two if one is above the other, else None."""
        if target is None or self.ontology.is_a(element, target):
            return element
        return target if self.ontology.is_a(target, element) else None

    def of(self, query: Query) -> tuple[TypePath, ...]:
        """The type paths of all anchors of a query."""
        found = (self.type_paths(anchor.elements, query.target) for anchor in query.anchors)
        return tuple(dict.fromkeys(chain.from_iterable(found)))

    @cached_property
    def _categories(self) -> frozenset[str]:
        known = CATEGORY_TYPE in self.ontology.type_terms
        return self.ontology.with_descendants([CATEGORY_TYPE]) if known else frozenset()


def retrieve(query: Query, graph: GraphStore, types: TypeGraph, *, cap: int) -> Retrieved:
    """Steps A and B from every anchor, merged; `cap` bounds the paths of one type path and anchor."""
    found = [
        instantiate(anchor.nodes, elements, graph, cap)
        for anchor in query.anchors
        for elements in dict.fromkeys(path[1:] for path in types.type_paths(anchor.elements, query.target))
    ]
    return Retrieved(merge(found), sum(paths.total - len(paths) for paths in found))


def instantiate(nodes: Iterable[str], elements: Sequence[str], graph: GraphStore, cap: int) -> Paths:
    """Step B: simple paths from the nodes whose next nodes are of the elements, over any relation, either way."""
    return graph.follow(nodes, [(None, "both", element) for element in elements], limit=cap)


def merge(found: Iterable[Sequence[Path]]) -> tuple[Path, ...]:
    """All distinct paths in canonical order.

    Paths are the same if they have the same triples in the same order, walked the same way: the one triple between
    two anchors is two paths, since each ends at the other anchor.
    """
    return tuple(sorted({path for paths in found for path in paths}, key=canonical))


def canonical(path: Path) -> tuple[object, ...]:
    """Sort key: shorter paths first, then by ids."""
    return len(path), path.nodes, path.relations, path.senses


def reached_by_all(paths: Sequence[Path], anchors: Sequence[AnchorNodes]) -> tuple[Path, ...]:
    """The paths to nodes that some path from every anchor ends at; all paths if there is no such node."""
    ends = [{path.nodes[-1] for path in paths if path.nodes[0] in anchor.nodes} for anchor in anchors]
    shared = set.intersection(*ends) if ends else set()
    return tuple(path for path in paths if path.nodes[-1] in shared) or tuple(paths)
