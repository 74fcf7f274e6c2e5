"""The deterministic stratified draw: which instances become questions.

Every cell (split x hop x category) takes its quota round-robin over templates and, within a template, one instance of
each source before a second of any, so that no template, book or word dominates.  Caps (docs/adr/0006): no template
above a fifth of its hop, no word above twelve questions, one question for one fact asked of the same anchors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clwqa_builders.questions.balance import Counts, rake, split_table

TEMPLATE_SHARE = 0.2
WORD_CAPS = (3, 6, 9, 12)  # the cap grows pass by pass, so that all words have their turn
MAX_REPLANS = 8

Ints = NDArray[np.int64]
Cell = tuple[int, int, int]  # split, hop, category


@dataclass(frozen=True, slots=True)
class Pool:
    """Parallel arrays over all usable instances.

    ``hop`` and ``category`` are row and column numbers of the quota table, ``template`` and ``split`` small integers,
    ``source`` the entity that the draw spreads over, ``fact`` equal for instances that ask the same of the same
    anchors, ``priority`` a seeded random order.  ``words[i]`` are the culture-loaded words of instance i.
    """

    template: Ints
    hop: Ints
    category: Ints
    split: Ints
    source: Ints
    fact: NDArray[np.uint64]
    priority: NDArray[np.uint64]
    words: Sequence[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Chosen instance numbers (ascending) and the (hops x categories) plan they fill, with the supply per cell."""

    chosen: Ints
    plan: Counts
    supply: Counts


def draw(
    pool: Pool,
    hop_totals: Counts,
    category_targets: Counts,
    shares: NDArray[np.float64],
    template_share: float = TEMPLATE_SHARE,
) -> Drawn:
    """Choose instances: hop totals exact, splits exact per hop, categories as near as the supply allows.

    A cell that turns out to hold less than planned (caps bind) lowers its capacity and the table is planned anew;
    the few questions still missing after MAX_REPLANS plans come from other categories of the same split and hop.
    """
    shape = (len(shares), len(hop_totals), len(category_targets))
    supply = np.zeros(shape, dtype=np.int64)
    np.add.at(supply, (pool.split, pool.hop, pool.category), 1)
    capacity = np.floor(np.min(supply / shares[:, None, None], axis=0)).astype(np.int64)
    template_cap = np.floor(template_share * np.outer(shares, hop_totals)).astype(np.int64)
    cells = _cells(pool)
    for _ in range(MAX_REPLANS):
        quotas = split_table(rake(hop_totals, category_targets, capacity), shares)
        taking = _Taking(pool, template_cap, {cell: list(members) for cell, members in cells.items()}, quotas)
        taking.fill()
        short = (taking.got < quotas).any(axis=0)
        if not short.any():
            break
        reached = np.floor(np.min(taking.got / shares[:, None, None], axis=0)).astype(np.int64)
        capacity = np.where(short, np.minimum(capacity, reached), capacity)
    taking.top_up()
    return Drawn(np.sort(np.array(taking.chosen, dtype=np.int64)), taking.got.sum(axis=0), supply.sum(axis=0))


def presentation_order(pool: Pool) -> Ints:
    """Instances in the order in which their cell is offered them.

    Within a (cell, template): first instances of all sources, then second ones, ...; across templates: round-robin.
    """
    cell = (pool.split * 1000 + pool.hop) * 1000 + pool.category
    rank_in_source = rank_within(pool.priority, cell, pool.template, pool.source)
    place = rank_within(rank_in_source.astype(np.uint64), cell, pool.template, tie=pool.priority)
    return np.lexsort((pool.priority, pool.template, place, cell))


def rank_within(value: NDArray[np.uint64], *keys: Ints, tie: NDArray[np.uint64] | None = None) -> Ints:
    """Position of each item, by value, among the items with the same keys (from 0)."""
    order = np.lexsort(([] if tie is None else [tie]) + [value, *keys])
    changed = np.zeros(len(order), dtype=bool)
    for key in keys:
        sorted_key = key[order]
        changed[1:] |= sorted_key[1:] != sorted_key[:-1]
    changed[:1] = True
    starts = np.maximum.accumulate(np.where(changed, np.arange(len(order)), 0))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - starts
    return rank


class _Taking:
    """One walk over the cells: what has been chosen so far, and how often every template, word and fact."""

    def __init__(
        self, pool: Pool, template_cap: Counts, cells: dict[Cell, list[int]], quotas: Counts
    ) -> None:
        self.chosen: list[int] = []
        self.got = np.zeros_like(quotas)
        self._quotas, self._cells, self._words = quotas, cells, pool.words
        self._template_cap = template_cap.tolist()
        self._template_of, self._fact_of = pool.template.tolist(), pool.fact.tolist()
        self._templates: Counter[tuple[int, int]] = Counter()
        self._word_uses: Counter[int] = Counter()
        self._facts: set[int] = set()

    def fill(self) -> None:
        """Take up to the quotas, scarcest cells first, with the cap per word growing from pass to pass."""
        for word_cap in WORD_CAPS:
            scarcity = {cell: len(rest) / max(1, self._quotas[cell]) for cell, rest in self._cells.items()}
            for cell in sorted(scarcity, key=lambda cell: (scarcity[cell], cell)):
                self._take(cell, int(self._quotas[cell] - self.got[cell]), word_cap)

    def top_up(self) -> None:
        """Make every split's hop total full from the categories that have most left."""
        missing = (self._quotas - self.got).sum(axis=2)
        for split, hop in zip(*np.nonzero(missing), strict=True):
            rest = [cell for cell in self._cells if cell[:2] == (split, hop)]
            for cell in sorted(rest, key=lambda cell: (-len(self._cells[cell]), cell)):
                missing[split, hop] -= self._take(cell, int(missing[split, hop]), WORD_CAPS[-1])

    def _take(self, cell: Cell, need: int, word_cap: int) -> int:
        """Take at most ``need`` instances of a cell within the caps; returns how many were there to take."""
        split, hop, _ = cell
        cap, members, kept = self._template_cap[split][hop], self._cells[cell], list[int]()
        position = taken = 0
        while position < len(members) and taken < need:
            i = members[position]
            position += 1
            slot = (split, self._template_of[i])
            if self._fact_of[i] in self._facts or self._templates[slot] >= cap:
                continue
            if any(self._word_uses[word] >= word_cap for word in self._words[i]):
                kept.append(i)
                continue
            taken += 1
            self.chosen.append(i)
            self._facts.add(self._fact_of[i])
            self._templates[slot] += 1
            self._word_uses.update(self._words[i])
        self._cells[cell] = kept + members[position:]
        self.got[cell] += taken
        return taken


def _cells(pool: Pool) -> dict[Cell, list[int]]:
    """The members of every (split, hop, category), in the order in which they are offered."""
    order = presentation_order(pool)
    keys = zip(
        pool.split[order].tolist(), pool.hop[order].tolist(), pool.category[order].tolist(), strict=True
    )
    cells: dict[Cell, list[int]] = {}
    for key, i in zip(keys, order.tolist(), strict=True):
        cells.setdefault(key, []).append(i)
    return cells
