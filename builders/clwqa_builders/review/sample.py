"""Which items are read, and by whom: a seeded, stratified draw, the same whatever the order of what it draws from."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence


def allocate(cells: Mapping[str, int], size: int) -> dict[str, int]:
    """Seats of each stratum in a sample: one for each while there are enough, the rest in proportion (Sainte-Laguë).

    No stratum gets more than it has.

    >>> allocate({"a": 90, "b": 9, "c": 1}, 10)
    {'a': 8, 'b': 1, 'c': 1}
    """
    seats = dict.fromkeys(sorted(cells), 1 if size >= len(cells) else 0)
    waiting = [(-count / (2 * seats[cell] + 1), cell) for cell, count in sorted(cells.items())]
    heapq.heapify(waiting)
    for _ in range(min(size, sum(cells.values())) - sum(seats.values())):
        while seats[cell := heapq.heappop(waiting)[1]] >= cells[cell]:
            pass
        seats[cell] += 1
        heapq.heappush(waiting, (-cells[cell] / (2 * seats[cell] + 1), cell))
    return seats


def draw(cell_of: Mapping[str, str], size: int, seed: int) -> list[str]:
    """``size`` ids (or all) by their strata, strata taking turns, so that any beginning is spread over them."""
    own: defaultdict[str, list[str]] = defaultdict(list)
    for id in sorted(cell_of, key=lambda id: hashed(seed, "draw", id)):
        own[cell_of[id]].append(id)
    seats = allocate(Counter(cell_of.values()), size)
    turns = [
        ((place + 0.5) / seats[cell], hashed(seed, "turn", id), id)
        for cell, ids in own.items()
        for place, id in enumerate(ids[: seats[cell]])
    ]
    return [id for _, _, id in sorted(turns)]


def assign(
    ids: Sequence[str], people: Sequence[str], overlap: float, seed: int
) -> dict[str, tuple[str, ...]]:
    """What each person reads, in an order of their own: the first ``overlap`` of the ids, and a part of the rest."""
    common = min(len(ids), round(overlap * len(ids)))
    reading = {person: list(ids[:common]) for person in people}
    for place, id in enumerate(ids[common:]):
        reading[people[place % len(people)]].append(id)
    return {
        person: tuple(sorted(own, key=lambda id, who=person: hashed(seed, "order", who, id)))  # type: ignore[misc]
        for person, own in reading.items()
    }


def hashed(seed: int, *key: str) -> int:
    """A fixed pseudo-random number for a key."""
    text = "\x1f".join((str(seed), "review", *key))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest(), "big")
