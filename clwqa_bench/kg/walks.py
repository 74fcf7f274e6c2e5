"""Path operations on a topology, in integers: typed walks, simple paths, shortest paths, neighbourhoods.

Each path operation returns (raw paths, total); beyond ``limit`` paths are counted and not kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from clwqa_bench.kg.layout import Ints
from clwqa_bench.kg.topology import Hop, Plan, Topology

RawPath = tuple[tuple[int, ...], tuple[int, ...]]  # nodes, edge codes
RawPaths = tuple[list[RawPath], int]
Accept = Callable[[RawPath, Hop], bool]

MANY = 128  # so many unfinished walks are worth the fixed cost of array operations


def follow(
    topology: Topology, starts: Sequence[int], plans: Sequence[Plan], *, simple: bool, limit: int | None
) -> RawPaths:
    """Every walk from the starts whose steps fit the plans, in order.

    A few walks are extended one by one, which takes microseconds; many at once by :func:`_follow_many`.
    """
    walks: list[RawPath] = [((start,), ()) for start in starts]
    for depth, plan in enumerate(plans):
        if len(walks) > MANY:
            return _follow_many(topology, walks, plans[depth:], simple=simple, limit=limit)
        walks = [
            ((*nodes, target), (*edges, edge))
            for nodes, edges in walks
            for target, edge in topology.hops(nodes[-1], plan)
            if not (simple and target in nodes)
        ]
    return walks[:limit], len(walks)


def _follow_many(
    topology: Topology, walks: list[RawPath], plans: Sequence[Plan], *, simple: bool, limit: int | None
) -> RawPaths:
    """``follow`` with walks as rows of two arrays."""
    nodes = np.asarray([walk[0] for walk in walks], dtype=np.int32).T
    edges = np.asarray([walk[1] for walk in walks], dtype=np.int32).T.reshape(len(nodes) - 1, len(walks))
    for plan in plans:
        row, target, edge = topology.expand(nodes[-1], plan)
        if simple:
            fresh = (nodes[:, row] != target).all(axis=0)
            row, target, edge = row[fresh], target[fresh], edge[fresh]
        nodes, edges = np.vstack([nodes[:, row], target]), np.vstack([edges[:, row], edge])
    kept = [list(zip(*columns[:, :limit].tolist(), strict=True)) for columns in (nodes, edges)]
    return list(zip(*kept, strict=True)), nodes.shape[1]


def enumerate_paths(
    topology: Topology,
    starts: Sequence[int],
    max_length: int,
    plan: Plan,
    *,
    accept: Accept | None,
    limit: int | None,
) -> RawPaths:
    """Every simple path of 1 to ``max_length`` edges from the starts, each before its extensions."""
    paths: list[RawPath] = []
    total = 0
    hops_of = cache(lambda node: topology.hops(node, plan))
    ends_of = cache(lambda node: Counter(target for target, _ in hops_of(node)))

    def grow(nodes: tuple[int, ...], edges: tuple[int, ...]) -> None:
        nonlocal total
        hops, last = hops_of(nodes[-1]), len(nodes) == max_length
        full = limit is not None and len(paths) >= limit
        if full and last and accept is None:  # the last level need only be counted
            ends = ends_of(nodes[-1])
            total += len(hops) - sum(ends[node] for node in nodes)
            return
        for hop in hops:
            if hop[0] in nodes or (accept is not None and not accept((nodes, edges), hop)):
                continue
            path = (*nodes, hop[0]), (*edges, hop[1])
            total += 1
            if limit is None or len(paths) < limit:
                paths.append(path)
            if not last:
                grow(*path)

    for start in starts if max_length > 0 else ():
        grow((start,), ())
    return paths, total


def shortest(
    topology: Topology,
    sources: Sequence[int],
    target: int,
    max_length: int,
    plan: Plan,
    *,
    every: bool,
    limit: int | None,
) -> RawPaths:
    """Shortest paths from the nearest of the sources; one unless ``every``."""
    distance = _distances_to(topology, sources, target, max_length, plan.senses)
    nearest = min((d for s in sources if (d := int(distance[s])) >= 0), default=-1)
    starts = [s for s in sources if nearest >= 0 and distance[s] == nearest]

    @cache
    def onward(node: int) -> list[Hop]:
        wanted = distance[node] - 1
        return [hop for hop in topology.hops(node, plan) if distance[hop[0]] == wanted]

    @cache
    def count(node: int) -> int:
        return 1 if node == target else sum(count(hop[0]) for hop in onward(node))

    def grow(nodes: tuple[int, ...], edges: tuple[int, ...]) -> Iterator[RawPath]:
        if nodes[-1] == target:
            yield nodes, edges
            return
        for reached, edge in onward(nodes[-1]):
            yield from grow((*nodes, reached), (*edges, edge))

    total = sum(map(count, starts)) if every else min(1, len(starts))
    walk = (path for start in starts for path in grow((start,), ()))
    return [next(walk) for _ in range(total if limit is None else min(total, limit))], total


def khop(topology: Topology, starts: Sequence[int], k: int, senses: tuple[int, ...]) -> Ints:
    """Nodes within ``k`` steps of any start, nearest first, then by node."""
    seen = np.zeros(len(topology.type_code), dtype=bool)
    seen[list(starts)] = True
    levels = [np.asarray(starts, dtype=np.int32)]
    for _ in range(k):
        levels.append(topology.frontier(levels[-1], senses, seen))
    return np.concatenate(levels)


def _distances_to(
    topology: Topology, sources: Sequence[int], target: int, max_length: int, senses: tuple[int, ...]
) -> Ints:
    """Steps from each node to the target (-1: not found), filled in only until a source is met."""
    distance = np.full(len(topology.type_code), -1, dtype=np.int32)
    seen = np.zeros(len(topology.type_code), dtype=bool)
    seen[target] = True
    level = np.asarray([target], dtype=np.int32)
    backwards = tuple(1 - sense for sense in senses)
    for step in range(max_length + 1):
        distance[level] = step
        if not len(level) or any(distance[s] >= 0 for s in sources):
            break
        level = topology.frontier(level, backwards, seen)
    return distance
