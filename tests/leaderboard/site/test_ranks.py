"""Rank intervals in closed form: what they say by hand, and that they are never bolder than the test they bound."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.stats import Flips, RankInterval, Resamples, Sample, paired_difference
from clwqa_leaderboard.site.ranks import ranks, swap_p


def test_three_systems_by_hand() -> None:
    """The first is right everywhere, the second too but for one question, the third nowhere."""
    one = np.ones(40)
    almost = np.array([0.0, *np.ones(39)])
    none = np.zeros(40)
    found = ranks(np.stack([none, almost, one], axis=1), np.arange(40))
    assert found == (RankInterval(3, 3), RankInterval(1, 2), RankInterval(1, 2))


def test_equal_systems_share_all_ranks() -> None:
    values = np.tile(np.array([[0.1], [0.7], [0.3]]), (1, 3))
    assert ranks(values, np.arange(3)) == (RankInterval(1, 3),) * 3


def test_one_system_is_first() -> None:
    assert ranks(np.ones((4, 1)), np.arange(4)) == (RankInterval(1, 1),)


def test_questions_on_the_same_facts_are_one_piece_of_evidence() -> None:
    values = np.stack([np.ones(60), np.zeros(60)], axis=1)
    assert ranks(values, np.arange(60))[0] == RankInterval(1, 1)
    assert ranks(values, np.arange(60) % 5)[0] == RankInterval(1, 2)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9).filter(any))
def test_the_bound_holds_for_every_swap_test(differences: list[int]) -> None:
    """All ways of swapping are tried: the share as extreme as what was seen is never above the bound."""
    d = np.array(differences, dtype=float)
    sums = [abs(np.dot(signs, d)) for signs in itertools.product((1, -1), repeat=len(d))]
    exact = np.mean(np.array(sums) >= abs(d.sum()) - 1e-9)
    assert exact <= swap_p(np.stack([d, np.zeros_like(d)], axis=1))[0, 1] + 1e-12


def test_close_to_the_permutation_test_it_stands_for() -> None:
    rng = np.random.default_rng(1)
    clusters = np.arange(600) // 3
    a, b = (rng.random(600) < 0.5).astype(float), (rng.random(600) < 0.6).astype(float)
    samples = [Sample(values[:, None], clusters) for values in (a, b)]
    tested = paired_difference(*samples, Resamples(200, 10, 1), Flips(200, 10_000, 1))
    sums = np.stack([np.bincount(clusters, a), np.bincount(clusters, b)], axis=1)
    assert swap_p(sums)[0, 1] == pytest.approx(3.18 * tested.p_permutation, rel=0.1)
