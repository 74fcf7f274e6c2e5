"""Shares with intervals and agreement of raters, against published examples and independent implementations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as reference_fleiss
from statsmodels.stats.proportion import proportion_confint

from clwqa_bench.stats import ratings

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability": twelve units, up to four observers each
KRIPPENDORFF = [
    [1, 1, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4], [4, 4, 4, 4],
    [1, 1, 2, 1], [2, 2, 2, 2], [5, 5, 5], [1, 1], [3],
]  # fmt: skip

codes = st.sampled_from("abc")
pairs = st.lists(st.tuples(codes, codes), min_size=2, max_size=30).filter(
    lambda rated: len({code for pair in rated for code in pair}) > 1
)


@pytest.mark.parametrize(("order", "alpha"), [(None, 0.743), ((1, 2, 3, 4, 5), 0.815)])
def test_alpha_of_the_published_example(order: tuple[int, ...] | None, alpha: float) -> None:
    assert ratings.krippendorff_alpha(KRIPPENDORFF, order) == pytest.approx(alpha, abs=5e-4)


@given(pairs)
def test_cohen_is_that_of_scikit_learn(rated: list[tuple[str, str]]) -> None:
    found = ratings.cohen_kappa(rated)
    assert found == pytest.approx(cohen_kappa_score(*zip(*rated, strict=True)))


@given(st.lists(st.tuples(codes, codes, codes), min_size=2, max_size=20))
def test_fleiss_is_that_of_statsmodels(rated: list[tuple[str, str, str]]) -> None:
    found = ratings.fleiss_kappa(rated)
    if len({code for own in rated for code in own}) == 1:
        assert found is None
    else:
        numbers = [["abc".index(code) for code in own] for own in rated]
        assert found == pytest.approx(reference_fleiss(aggregate_raters(numbers)[0]))


@given(pairs)
def test_raters_who_always_agree_agree_perfectly(rated: list[tuple[str, str]]) -> None:
    same = [(one, one) for pair in rated for one in pair]
    assert ratings.cohen_kappa(same) == ratings.fleiss_kappa(same) == pytest.approx(1)
    assert ratings.krippendorff_alpha(same) == ratings.krippendorff_alpha(same, "abc") == pytest.approx(1)


def test_no_chance_no_kappa() -> None:
    alike = [("a", "a")] * 5
    assert (
        ratings.cohen_kappa(alike) is ratings.fleiss_kappa(alike) is ratings.krippendorff_alpha(alike) is None
    )
    assert ratings.observed_agreement(alike) == 1
    assert ratings.cohen_kappa([]) is ratings.fleiss_kappa([]) is ratings.observed_agreement([["a"]]) is None


@given(st.integers(0, 40), st.integers(1, 40))
def test_the_interval_is_wilsons(right: int, more: int) -> None:
    n = right + more
    expected = proportion_confint(right, n, method="wilson")
    assert ratings.wilson(right / n, n) == pytest.approx(expected, abs=1e-12)
    found = ratings.share([1.0] * right + [0.0] * more, [1.0] * n)
    assert found is not None
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)


def test_unequal_weights_widen_the_interval() -> None:
    values = [1.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    even, uneven = ratings.share(values, [2.0] * 6), ratings.share(values, [9, 1, 1, 1, 9, 1])
    assert even is not None
    assert uneven is not None
    assert uneven.value == pytest.approx(12 / 22)
    assert uneven.high - uneven.low > even.high - even.low
    assert ratings.share([], []) is None
