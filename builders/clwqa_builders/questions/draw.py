"""The deterministic stratified draw: which instances become questions.

Every cell (split x hop x category) takes its quota round-robin over templates and, within a template, one instance of
each source before a second of any, so that no template, book or word dominates.  Caps (docs/adr/0006): no template
above a fifth of its hop, no word above twelve questions, one question for one fact asked of the same anchors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clwqa_builders.questions.balance import Counts, rake, split_table

TEMPLATE_SHARE = 0.2
WORD_CAPS = (3, 6, 9, 12)  # the cap grows pass by pass, so that all words have their turn
MAX_REPLANS = 12

Ints = NDArray[np.int64]


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


def draw(pool: Pool, hop_totals: Counts, category_targets: Counts, shares: NDArray[np.float64]) -> Drawn:
    """Choose instances: hop totals exact, splits exact per cell, categories as near as the supply allows.

    A cell that turns out to hold less than planned (caps bind) lowers its capacity and the table is planned anew.
    """
    shape = (len(shares), len(hop_totals), len(category_targets))
    supply = np.zeros(shape, dtype=np.int64)
    np.add.at(supply, (pool.split, pool.hop, pool.category), 1)
    capacity = np.floor(np.min(supply / shares[:, None, None], axis=0)).astype(np.int64)
    order = presentation_order(pool)
    for _ in range(MAX_REPLANS):
        plan = rake(hop_totals, category_targets, capacity)
        quotas = split_table(plan, shares)
        chosen, got = _take(pool, order, quotas, hop_totals, shares)
        if (got == quotas).all():
            break
        reached = np.floor(np.min(got / shares[:, None, None], axis=0)).astype(np.int64)
        short = (got < quotas).any(axis=0)
        capacity = np.where(short, np.minimum(capacity, reached), capacity)
    return Drawn(np.sort(chosen), got.sum(axis=0), supply.sum(axis=0))


def presentation_order(pool: Pool) -> Ints:
    """Instances in the order in which their cell is offered them.

    Within a (cell, template): first instances of all sources, then second ones, ...; across templates: round-robin.
    """
    cell = (pool.split * 1000 + pool.hop) * 1000 + pool.category
    rank_in_source = _rank(pool.priority, cell, pool.template, pool.source)
    place = _rank(rank_in_source.astype(np.uint64), cell, pool.template, tie=pool.priority)
    return np.lexsort((pool.priority, pool.template, place, cell))


def _rank(value: NDArray[np.uint64], *keys: Ints, tie: NDArray[np.uint64] | None = None) -> Ints:
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


def _take(
    pool: Pool, order: Ints, quotas: Counts, hop_totals: Counts, shares: NDArray[np.float64]
) -> tuple[Ints, Counts]:
    """Walk the cells, scarcest first, taking instances up to the quotas and caps."""
    got = np.zeros_like(quotas)
    template_cap = np.floor(TEMPLATE_SHARE * np.outer(shares, hop_totals)).astype(int).tolist()
    template_count: dict[tuple[int, int], int] = {}
    word_count: dict[int, int] = {}
    facts: set[int] = set()
    chosen: list[int] = []
    by_cell = _cells(pool, order)
    split_of, hop_of = pool.split.tolist(), pool.hop.tolist()
    template_of, fact_of = pool.template.tolist(), pool.fact.tolist()
    for word_cap in WORD_CAPS:
        for (split, hop, category), members in sorted(
            by_cell.items(), key=lambda item: (len(item[1]) / max(1, quotas[item[0]]), item[0])
        ):
            need = int(quotas[split, hop, category] - got[split, hop, category])
            left = []
            for position, i in enumerate(members):
                if need == 0:
                    left.extend(members[position:])
                    break
                slot = (split_of[i], template_of[i])
                if fact_of[i] in facts or template_count.get(slot, 0) >= template_cap[split][hop_of[i]]:
                    continue
                words = pool.words[i]
                if any(word_count.get(w, 0) >= word_cap for w in words):
                    left.append(i)
                    continue
                need -= 1
                chosen.append(i)
                facts.add(fact_of[i])
                template_count[slot] = template_count.get(slot, 0) + 1
                for w in words:
                    word_count[w] = word_count.get(w, 0) + 1
            got[split, hop, category] = quotas[split, hop, category] - need
            by_cell[split, hop, category] = left
    return np.array(chosen, dtype=np.int64), got


def _cells(pool: Pool, order: Ints) -> dict[tuple[int, int, int], list[int]]:
    cells: dict[tuple[int, int, int], list[int]] = {}
    keys = zip(
        pool.split[order].tolist(), pool.hop[order].tolist(), pool.category[order].tolist(), strict=True
    )
    for key, i in zip(keys, order.tolist(), strict=True):
        cells.setdefault(key, []).append(i)
    return cells
