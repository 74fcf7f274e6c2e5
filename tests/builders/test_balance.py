"""Quota planning: hop totals are exact, categories as near as supply allows, splits proportional."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_builders.questions.balance import (
    CATEGORY_TARGETS,
    HOP_TARGETS,
    apportion,
    rake,
    round_to,
    split_table,
)

PLENTY = np.full((2, 3), 10_000)
SHARES = np.array([0.8, 0.1, 0.1])


def test_the_targets_are_the_papers_total() -> None:
    assert sum(HOP_TARGETS.values()) == 100_216
    assert sum(CATEGORY_TARGETS.values()) == 100_216


def test_with_enough_supply_both_margins_are_exact() -> None:
    table = rake(np.array([60, 40]), np.array([50, 30, 20]), PLENTY)
    assert table.sum(axis=1).tolist() == [60, 40]
    assert table.sum(axis=0).tolist() == [50, 30, 20]


def test_a_short_cell_is_filled_to_its_supply_and_its_category_made_up_in_other_hops() -> None:
    capacity = PLENTY.copy()
    capacity[1, 0] = 5  # of the 20 that proportion would give
    table = rake(np.array([60, 40]), np.array([50, 30, 20]), capacity)
    assert table[1, 0] == 5
    assert table.sum(axis=1).tolist() == [60, 40]
    assert abs(int(table[:, 0].sum()) - 50) <= 1


def test_a_short_category_stays_short_and_the_hop_is_filled_from_the_others() -> None:
    capacity = PLENTY.copy()
    capacity[:, 2] = 3
    table = rake(np.array([60, 40]), np.array([50, 30, 20]), capacity)
    assert table[:, 2].tolist() == [3, 3]
    assert table.sum(axis=1).tolist() == [60, 40]


def test_a_hop_without_enough_supply_is_filled_to_capacity() -> None:
    table = rake(np.array([60, 40]), np.array([50, 50]), np.array([[10, 20], [100, 100]]))
    assert table.sum(axis=1).tolist() == [30, 40]


@given(st.lists(st.integers(0, 300), min_size=6, max_size=6), st.integers(1, 200), st.integers(1, 200))
def test_the_plan_never_exceeds_supply_and_rows_are_full(cells: list[int], one: int, two: int) -> None:
    capacity = np.array(cells).reshape(2, 3)
    table = rake(np.array([one, two]), np.array([one, two, 10]), capacity)
    assert (table <= capacity).all()
    assert (table >= 0).all()
    assert table.sum(axis=1).tolist() == np.minimum([one, two], capacity.sum(axis=1)).tolist()


@pytest.mark.parametrize(
    ("total", "expected"), [(10, [8, 1, 1]), (5, [4, 1, 0]), (1, [1, 0, 0]), (0, [0, 0, 0])]
)
def test_apportion_by_largest_remainder(total: int, expected: list[int]) -> None:
    assert apportion(total, SHARES).tolist() == expected


def test_rounding_respects_the_bound() -> None:
    assert round_to(np.array([1.5, 1.5]), 3, np.array([1, 9])).tolist() == [1, 2]


@given(st.lists(st.integers(0, 5_000), min_size=8, max_size=8))
def test_splitting_a_table_loses_nothing_and_is_proportional(cells: list[int]) -> None:
    table = np.array(cells).reshape(2, 4)
    quotas = split_table(table, SHARES)
    assert (quotas.sum(axis=0) == table).all()
    assert (quotas >= 0).all()
    assert (np.abs(quotas - SHARES[:, None, None] * table) <= 2.5).all()
