"""Fact groups: words whose derivations tell the same fact, and the split each group belongs to.

A group (derivation cluster) joins words that share a quotation, an allusion or a gloss, that are order variants, or
that refer to one another.  A question is usable only when all culture-loaded words on its evidence lie in one split,
so no fact group can cross a split (docs/adr/0004).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

Ints = NDArray[np.int64]


def clusters(size: int, pairs: Iterable[tuple[Ints, Ints]]) -> Ints:
    """Group number of each of ``size`` nodes, given arrays of joined nodes; the number is the least member's index."""
    heads, tails = zip(*pairs, strict=True)
    head, tail = np.concatenate(heads), np.concatenate(tails)
    graph = coo_array((np.ones(len(head), dtype=np.int8), (head, tail)), shape=(size, size))
    count, label = connected_components(graph, directed=False)
    least = np.full(count, size, dtype=np.int64)
    np.minimum.at(least, label, np.arange(size))
    return least[label]


def joined_by(members: Ints, keys: Ints) -> tuple[Ints, Ints]:
    """Pairs (member, next member) for members that share a key, as a chain per key."""
    order = np.lexsort((members, keys))
    members, keys = members[order], keys[order]
    same = keys[1:] == keys[:-1]
    return members[:-1][same], members[1:][same]


def assign_splits(
    weights: NDArray[np.float64],
    shares: NDArray[np.float64],
    priority: NDArray[np.uint64],
    importance: NDArray[np.float64] | None = None,
) -> Ints:
    """Split of each group so that every stratum of the supply is shared out in proportion.

    ``weights`` is (groups x strata): usable questions per stratum; heavy groups are placed first, each into the split
    whose strata lack it most (ties by ``priority``, then the first split).  ``importance`` (strata,) says how much it
    matters that a stratum is shared out well; all alike by default.  Returns (groups,) split numbers.
    """
    totals = np.maximum(weights.sum(axis=0), 1.0)
    scaled = weights / totals
    matters = scaled if importance is None else scaled * importance
    missing = np.outer(shares, np.ones(weights.shape[1]))
    order = np.lexsort((priority, -weights.sum(axis=1)))
    split = np.zeros(len(weights), dtype=np.int64)
    for group in order:
        gain = (missing / shares[:, None]) @ matters[group]
        best = int(np.argmax(gain))
        split[group] = best
        missing[best] -= scaled[group]
    return split
