"""Path evidence: a chain of shortest paths through the entities of the question (paper sec. 3.1).

The search is that of the published code.  One thing is put right: it compared names written in two ways, so that a
path over an entity that is still to be visited was never noticed unless its name was a single word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, islice, product
from math import prod
from typing import NamedTuple

from clwqa_bench.kg.protocol import GraphStore, Path

Chain = tuple[Path, ...]
"""Paths each of which begins where the one before ends."""


class Pair(NamedTuple):
    """Paths from one entity to another, and the waiting entity that the only one of them visits on its way, if any.

    `cut` if there were paths that were not looked at and might have been kept.
    """

    paths: Sequence[Path]
    via: str | None = None
    cut: bool = False


@dataclass
class Chains:
    """Ways through entities; `cut` if there were some that were not looked at."""

    found: list[Chain] = field(default_factory=list)
    cut: bool = False


@dataclass(frozen=True)
class Finder:
    """Shortest paths between two entities, of which at most `most` are looked at; `text` writes a path down, which
    decides what is kept of many."""

    graph: GraphStore
    length: int
    kept: int
    most: int
    directed: bool
    text: Callable[[Path], str]

    def __call__(self, start: str, end: str, waiting: Sequence[str]) -> Pair:
        """All shortest paths; but if one visits a waiting entity, that one alone.  Of too many, the shortest texts."""
        found = self.graph.shortest(
            [start], end, max_length=self.length, directed=self.directed, every=True, limit=self.most
        )
        for path in found:
            for node in path.nodes[1:-1]:
                if node in waiting:
                    return Pair((path,), node)
        if len(found) <= self.kept:
            return Pair(found, cut=found.truncated)
        shortest = sorted(found, key=lambda path: len(self.text(path)))[: self.kept]
        return Pair(shortest, cut=found.truncated)


def chains(entities: Sequence[str], between: Callable[[str, str, Sequence[str]], Pair], most: int) -> Chains:
    """Ways through the entities in their order, at most so many from each beginning.

    Where no path leads on, the entity that could not be reached is dropped and a new chain begins at the one after it.
    """
    every = Chains()
    if not entities:
        return every
    start, *waiting = entities
    broken = True
    while broken:
        broken, segments = False, list[Sequence[Path]]()
        while waiting:
            end = waiting.pop(0)
            paths, via, cut = between(start, end, waiting)
            every.cut |= cut
            if not paths:
                if waiting:
                    broken, start = True, waiting.pop(0)
                break
            segments.append(paths)
            if via is not None:
                waiting.remove(via)
            start = end
        if segments:
            every.found += islice(product(*segments), most)
            every.cut |= prod(map(len, segments)) > most
    return every


def joined(found: Chain) -> Path:
    """A chain as one walk."""
    return reduce(
        lambda one, other: Path(
            one.nodes + other.nodes[1:], one.relations + other.relations, one.senses + other.senses
        ),
        found,
    )


def select(found: Sequence[Chain], budget: int) -> list[int]:
    """Places of the chains that are told, balanced over the entities they begin at.

    As many for each as the budget allows, the last one filling the rest; if there are at least as many beginnings as
    the budget has places, the first chain of each.
    """
    places: dict[str, list[int]] = {}
    for place, one in enumerate(found):
        places.setdefault(one[0].nodes[0], []).append(place)
    if len(places) >= budget:
        return [first for first, *_ in places.values()][:budget]
    quota = budget // max(1, len(places))
    *groups, last = places.values() or [[]]
    kept = list(chain.from_iterable(group[:quota] for group in groups))
    return kept + last[: budget - len(kept)]
