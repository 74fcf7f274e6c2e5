"""How many questions each hop x category cell gets, and how a cell is shared among the splits.

Hop totals are exact.  Category totals come as near to their targets as the supply allows (raking, also called
iterative proportional fitting, with an upper bound in every cell); a cell that cannot be filled stays short and the
rest of its hop goes to categories with a surplus.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]

HOP_TARGETS = {1: 45_097, 2: 32_570, 3: 15_333, 4: 7_216}  # seed paper sec. 5.1; 4 stands for four and more
CATEGORY_TARGETS = {  # five are printed in the paper; technical and the sum fix the rest (dataset card)
    "arts_literature": 26_500,
    "customs_practices": 22_150,
    "history_geography": 18_400,
    "language_dialects": 13_800,
    "religion_beliefs": 9_500,
    "social_institutions": 5_200,
    "emotions_values": 3_500,
    "technical_specialized": 1_166,
}
SPLIT_SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}
RAKING_ROUNDS = 500


def rake(row_totals: Counts, column_targets: Counts, capacity: Counts) -> Counts:
    """Integer table (rows = hops, columns = categories) under ``capacity`` with the row totals exact where possible.

    Rows win over columns.  A row whose capacity is below its total is filled to capacity.
    """
    cap = capacity.astype(float)
    rows = np.minimum(row_totals.astype(float), cap.sum(axis=1))
    table = np.minimum(np.outer(row_totals, column_targets) / max(column_targets.sum(), 1), cap)
    table = np.where(cap > 0, np.maximum(table, 1e-9), 0.0)
    for _ in range(RAKING_ROUNDS):
        sums = table.sum(axis=0)
        table = np.minimum(
            table * np.divide(column_targets, sums, out=np.ones_like(sums), where=sums > 0), cap
        )
        table = np.vstack(
            [_fill_row(row, total, bound) for row, total, bound in zip(table, rows, cap, strict=True)]
        )
    filled = zip(table, rows, capacity, strict=True)
    return np.vstack([round_to(row, int(total), bound) for row, total, bound in filled])


def _fill_row(row: NDArray[np.float64], total: float, bound: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale a row to its total without passing the bounds."""
    row = row.copy()
    for _ in range(len(row) + 1):
        missing = total - row.sum()
        if abs(missing) < 1e-6:
            break
        free = row < bound - 1e-9 if missing > 0 else row > 0
        if not free.any():
            break
        weight = np.where(free, row, 0.0)
        row = np.clip(row + missing * weight / weight.sum(), 0.0, bound)
    return row


def round_to(row: NDArray[np.float64], total: int, bound: Counts) -> Counts:
    """Largest-remainder rounding to an exact total, never above the bound; ties go to the earlier column."""
    whole = np.minimum(np.floor(row + 1e-9).astype(np.int64), bound)
    order = sorted(range(len(row)), key=lambda i: (-(row[i] - whole[i]), i))
    while (missing := total - int(whole.sum())) > 0:
        open_cells = [i for i in order if whole[i] < bound[i]][:missing]
        if not open_cells:
            break
        whole[open_cells] += 1
    return whole


def apportion(total: int, shares: NDArray[np.float64]) -> Counts:
    """Integers in the proportion of ``shares`` that add up to ``total`` (largest remainder)."""
    return round_to(total * shares, total, np.full(len(shares), total, dtype=np.int64))


def split_table(table: Counts, shares: NDArray[np.float64]) -> Counts:
    """(splits x hops x categories) quotas: each cell in the given proportion, all cells adding up to ``table``.

    Rounding remainders are carried along the row, so that each split's hop total is right to one question as well.
    """
    result = np.zeros((len(shares), *table.shape), dtype=np.int64)
    for hop in range(table.shape[0]):
        done = np.zeros(len(shares), dtype=np.int64)
        cumulative = 0
        for category in range(table.shape[1]):
            cumulative += int(table[hop, category])
            upto = apportion(cumulative, shares)
            cell = np.maximum(upto - done, 0)
            cell[0] += int(table[hop, category]) - int(cell.sum())
            result[:, hop, category] = cell
            done += cell
    return result
