"""Intervals, paired tests and ranks, against independent implementations and answers worked out by hand."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from statsmodels.regression.linear_model import OLS
from statsmodels.stats import contingency_tables
from statsmodels.stats.multitest import multipletests

from clwqa_bench.stats import (
    Comparison,
    Flips,
    RankInterval,
    Resamples,
    Sample,
    bootstrap,
    closed_form_interval,
    cluster_codes,
    cluster_sums,
    holm,
    interval,
    intervals,
    mcnemar,
    paired_difference,
    paired_differences,
    rank_intervals,
    seed_of,
    standard_error,
)


def f1(means: np.ndarray) -> np.ndarray:
    """Harmonic mean of mean precision and mean recall, 0 if both are 0."""
    precision, recall = means[..., 0], means[..., 1]
    both = precision + recall
    return np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both != 0)


def column(values: list[float] | np.ndarray, clusters: np.ndarray | None = None) -> Sample:
    """A macro mean; every question is a cluster of its own unless clusters are given."""
    values = np.asarray(values, dtype=np.float64)
    return Sample(values[:, None], np.arange(len(values)) if clusters is None else clusters)


def correlated(rng: np.random.Generator, clusters: int, size: int, shared: float = 0.7) -> Sample:
    """``clusters`` clusters of ``size`` questions whose values lean to one side together; true mean 0.5."""
    codes = np.repeat(np.arange(clusters), size)
    together = rng.random((clusters, 1)).repeat(size, axis=0)
    return Sample(shared * together + (1 - shared) * rng.random((clusters * size, 1)), codes)


def width(bounds: tuple[float, float] | None) -> float:
    assert bounds is not None
    return bounds[1] - bounds[0]


# Seeds and clusters


def test_seed_depends_on_ids_and_purpose_but_not_on_order() -> None:
    assert seed_of(["q2", "q1"], "bootstrap") == seed_of(iter(["q1", "q2"]), "bootstrap")
    different = [(["q1", "q2"], "permutation"), (["q1"], "bootstrap"), (["q1,q2"], "bootstrap")]
    assert len({seed_of(ids, purpose) for ids, purpose in [(["q1", "q2"], "bootstrap"), *different]}) == 4


def test_a_cluster_has_the_same_code_however_questions_are_ordered() -> None:
    assert cluster_codes(["己", "甲", "己", "乙"]).tolist() == [1, 2, 1, 0]
    assert cluster_codes(["乙", "己", "甲"]).tolist() == [0, 1, 2]


def test_cluster_sums_by_hand() -> None:
    columns = np.array([[1.0, 10], [2, 20], [4, 40]])
    assert cluster_sums(columns, np.array([2, 0, 2]), 4).tolist() == [[2, 20], [0, 0], [5, 50], [0, 0]]


def test_seeds_stay_what_they_are() -> None:
    """Another seed would be another interval for every published number."""
    assert seed_of(["q1", "q2"], "bootstrap") == int(
        hashlib.sha256(b'["bootstrap", ["q1", "q2"]]').hexdigest()[:32], 16
    )


# Random draws


def test_resamples_are_draws_with_replacement() -> None:
    counts = np.hstack([entries for _, entries in Resamples(50, 4000, 1).pieces()])
    assert counts.shape == (50, 4000)
    assert (counts.sum(axis=0) == 50).all()
    share = np.array([(counts == k).mean() for k in range(4)])
    assert share == pytest.approx(scipy.stats.binom.pmf(range(4), 50, 1 / 50), abs=0.005)


def test_flips_are_fair_and_independent_signs() -> None:
    signs = np.hstack([entries for _, entries in Flips(70, 4000, 1).pieces()])
    assert np.unique(signs).tolist() == [-1, 1]
    assert np.abs(signs @ signs.T / 4000 - np.eye(70)).max() < 5 / math.sqrt(4000)


@pytest.mark.parametrize("kind", [Resamples, Flips])
def test_memory_is_bounded_by_drawing_in_pieces(kind: type[Resamples] | type[Flips]) -> None:
    where, entries = next(kind(10_000, 10_000, 1).pieces())
    assert entries.shape == (10_000, where.stop - where.start)
    assert entries.size <= 2**18


@pytest.mark.parametrize("kind", [Resamples, Flips])
@pytest.mark.parametrize("cells", [1, 7 * 33, 10**6])
def test_size_of_a_piece_changes_no_bit(kind: type[Resamples] | type[Flips], cells: int) -> None:
    draws = kind(33, 101, 5)
    block = (np.arange(33), np.random.default_rng(0).random((33, 3)))
    expected = next(draws.sums([block]))
    assert np.array_equal(next(replace(draws, cells=cells).sums([block])), expected)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 40), st.just(2)), elements=st.floats(-1e6, 1e6)),
    st.integers(0, 100),
)
def test_sums_do_not_round(sums: np.ndarray, seed: int) -> None:
    """So neither the order of addition nor the other columns can change the last bit."""
    draws = Resamples(len(sums), 20, seed)
    counts = np.hstack([entries for _, entries in draws.pieces()])
    (totals,) = draws.sums([(np.arange(len(sums)), sums)])
    assert np.abs(totals - sums.T @ counts).max() <= 1e-11 * np.abs(sums).max() + 1e-200
    order = np.random.default_rng(seed).permutation(len(sums))
    (shuffled,) = draws.sums([(order, sums[order, 1:])])
    assert np.array_equal(shuffled[0], totals[1])


# Intervals


def test_bootstrap_is_the_metric_on_the_resampled_questions() -> None:
    """Checked by writing the questions of each resample out, for a metric on part of the questions."""
    rng = np.random.default_rng(3)
    sample = Sample(rng.random((60, 2)), rng.integers(3, 15, size=60), f1)
    resamples = Resamples(20, 50, 3)
    (values,) = bootstrap([sample], resamples)
    counts = np.hstack([entries for _, entries in resamples.pieces()]).astype(int)
    for value, weights in zip(values, counts.T, strict=True):
        questions = np.repeat(np.arange(60), weights[sample.clusters])
        assert value == pytest.approx(float(f1(sample.columns[questions].mean(axis=0))), rel=1e-10)


def test_resamples_without_questions_of_the_stratum_are_dropped() -> None:
    stratum = Sample(np.array([[0.0], [1.0]]), np.array([4, 7]))
    resamples = Resamples(30, 2000, 1)
    (values,) = bootstrap([stratum], resamples)
    counts = np.hstack([entries for _, entries in resamples.pieces()])
    assert len(values) == int((counts[4] + counts[7] > 0).sum()) < 2000
    assert set(values) >= {0.0, 0.5, 1.0}


def test_one_metric_alone_has_the_interval_it_has_among_all() -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(40, size=300)
    samples = [
        Sample(rng.random((int(rows.sum()), 2)), codes[rows], f1) for rows in rng.random((25, 300)) < 0.5
    ]
    samples += [Sample(one.columns[:, :1], one.clusters) for one in samples]
    resamples = Resamples(40, 300, 4)
    together = intervals(samples, resamples)
    assert [intervals([sample], resamples)[0] for sample in samples] == together
    assert intervals(reversed(samples), resamples) == together[::-1]


def test_interval_is_between_the_percentiles() -> None:
    assert interval(np.arange(1001.0)[::-1], 0.9) == pytest.approx((50, 950))


def test_bootstrap_agrees_with_scipy_and_with_the_analytic_error() -> None:
    values = np.random.default_rng(5).exponential(size=2000)
    sample = column(values)
    (drawn,) = bootstrap([sample], Resamples(2000, 5000, 5))
    assert drawn.std() == pytest.approx(values.std(ddof=1) / math.sqrt(2000), rel=0.05)
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=5000, method="percentile", rng=5, batch=500
    )
    tolerance = 0.1 * theirs.standard_error  # the Monte Carlo error of a 2.5 % point is about 0.04 of it
    assert interval(drawn) == pytest.approx(tuple(theirs.confidence_interval), abs=tolerance)


@pytest.mark.parametrize("size", [1, 4])
def test_closed_form_equals_statsmodels_with_clusters(size: int) -> None:
    """OLS on a constant; statsmodels' small-sample factor is C/(C-1) x (n-1)/(n-1)."""
    sample = correlated(np.random.default_rng(6), 50, size)
    fit = OLS(sample.columns[:, 0], np.ones(50 * size)).fit(
        cov_type="cluster", cov_kwds={"groups": sample.clusters}, use_t=False
    )
    assert standard_error(sample) == pytest.approx(fit.bse[0], rel=1e-12)
    assert closed_form_interval(sample) == pytest.approx(tuple(fit.conf_int()[0]), rel=1e-12)


def test_closed_form_without_clusters_is_s_over_root_n() -> None:
    values = np.random.default_rng(7).random(80)
    assert standard_error(column(values)) == pytest.approx(scipy.stats.sem(values), rel=1e-12)


def test_closed_form_of_a_smooth_metric_agrees_with_the_delta_method_and_the_bootstrap() -> None:
    rng = np.random.default_rng(8)
    columns = rng.random((3000, 2)) < (0.4, 0.8)
    sample = Sample(columns.astype(float), np.arange(3000), f1)
    p, r = sample.means
    gradient = 2 * np.array([r, p]) ** 2 / (p + r) ** 2
    by_hand = math.sqrt(gradient @ np.cov(columns.T) @ gradient / 3000)
    assert standard_error(sample) == pytest.approx(by_hand, rel=1e-8)
    (drawn,) = bootstrap([sample], Resamples(3000, 2000, 8))
    assert drawn.std() == pytest.approx(by_hand, rel=0.05)


def test_asking_each_question_twice_tells_nothing_new() -> None:
    once = column(np.random.default_rng(9).random(200))
    twice = Sample(np.repeat(once.columns, 2, axis=0), np.repeat(once.clusters, 2))
    careless = Sample(twice.columns, np.arange(400))
    first, second = intervals([once, twice], Resamples(200, 500, 9))
    assert second == pytest.approx(first, rel=1e-10)
    assert closed_form_interval(twice) == pytest.approx(closed_form_interval(once), rel=1e-12)
    (narrow,) = intervals([careless], Resamples(400, 500, 9))
    assert width(narrow) < 0.8 * width(first)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """500 lists of 60 clusters of 5 alike questions; a share of 0.95 has a standard error of 0.01."""
    rng = np.random.default_rng(10)
    samples = [correlated(rng, 60, 5) for _ in range(500)]
    found = {
        "bootstrap": intervals(samples, Resamples(60, 1000, 10)),
        "closed form": [closed_form_interval(sample) for sample in samples],
        "clusters ignored": [closed_form_interval(column(sample.columns[:, 0])) for sample in samples],
    }
    covered = {
        name: np.mean([bounds is not None and bounds[0] <= 0.5 <= bounds[1] for bounds in all_bounds])
        for name, all_bounds in found.items()
    }
    assert covered["bootstrap"] == pytest.approx(0.95, abs=0.025)
    assert covered["closed form"] == pytest.approx(0.95, abs=0.025)
    assert covered["clusters ignored"] < 0.8


def test_one_cluster_says_nothing_about_the_spread() -> None:
    sample = Sample(np.array([[0.0], [1.0]]), np.array([3, 3]))
    assert intervals([sample], Resamples(5, 100, 1)) == [None]
    assert standard_error(sample) is None
    assert closed_form_interval(sample) is None
    compared = paired_difference(sample, sample, Resamples(5, 100, 1), Flips(5, 100, 1))
    assert (compared.low, compared.high, compared.minimal_detectable_difference) == (None, None, None)


# Two systems


def compare(a: Sample, b: Sample, permutations: int = 2000) -> Comparison:
    clusters = int(a.clusters.max()) + 1
    return paired_difference(a, b, Resamples(clusters, 500, 1), Flips(clusters, permutations, 1))


@pytest.mark.parametrize("seed", range(5))
def test_exact_permutation_equals_scipy(seed: int) -> None:
    a, b = np.random.default_rng(seed).integers(0, 4, size=(2, 10)) / 3
    theirs = scipy.stats.permutation_test(
        (a, b), lambda x, y: np.mean(x) - np.mean(y), permutation_type="samples", n_resamples=np.inf
    )
    ours = compare(column(a), column(b))
    assert ours.exact
    assert ours.p_permutation == pytest.approx(theirs.pvalue, rel=1e-12)
    assert ours.permutations == 2 ** int((a != b).sum())


def test_exact_permutation_swaps_whole_clusters_of_any_metric() -> None:
    """Checked by swapping the rows in every possible way."""
    rng = np.random.default_rng(11)
    codes = np.repeat(np.arange(7), 3)
    a, b = (Sample(rng.random((21, 2)) ** power, codes, f1) for power in (1, 2))
    differences = []
    for swapped in itertools.product([False, True], repeat=7):
        rows = np.array(swapped)[codes][:, None]
        mine, yours = np.where(rows, b.columns, a.columns), np.where(rows, a.columns, b.columns)
        differences.append(float(f1(mine.mean(axis=0)) - f1(yours.mean(axis=0))))
    extreme = np.abs(differences) >= abs(a.estimate - b.estimate) - 1e-12
    assert compare(a, b).p_permutation == pytest.approx(extreme.mean(), rel=1e-12)


def test_random_permutation_is_close_to_the_exact_one() -> None:
    rng = np.random.default_rng(12)
    a, b = column(rng.random(12) + 0.2), column(rng.random(12))
    exact, random = compare(a, b, permutations=2**12), compare(a, b, permutations=2**12 - 1)
    assert (exact.exact, random.exact) == (True, False)
    error = math.sqrt(exact.p_permutation * (1 - exact.p_permutation) / 2**12)
    assert random.p_permutation == pytest.approx(exact.p_permutation, abs=4 * error)


def test_p_is_never_zero() -> None:
    assert compare(column(np.ones(100)), column(np.zeros(100)), permutations=999).p_permutation == 1 / 1000


def test_a_system_equals_itself() -> None:
    same = compare(column([0, 1, 1, 0.5]), column([0, 1, 1, 0.5]))
    assert (same.delta, same.low, same.high, same.p_permutation, same.ties) == (0, 0, 0, 1, 4)


def test_p_is_uniform_when_systems_do_not_differ() -> None:
    rng = np.random.default_rng(13)
    codes = np.repeat(np.arange(30), 4)
    values = rng.random((400, 30, 2)).repeat(4, axis=1) + 0.3 * rng.random((400, 120, 2))
    pairs = [(column(one[:, 0], codes), column(one[:, 1], codes)) for one in values]
    found = paired_differences(pairs, Resamples(30, 100, 13), Flips(30, 999, 13))
    assert scipy.stats.kstest([one.p_permutation for one in found], "uniform").pvalue > 0.001


def test_comparison_by_hand() -> None:
    a, b = np.array([1.0, 1, 1, 0, 1, 1, 0.5, 1]), np.array([0.0, 1, 0, 1, 0, 0, 0.5, 0])
    found = compare(column(a), column(b))
    assert (found.a, found.b, found.delta) == (0.8125, 0.3125, 0.5)
    assert (found.wins, found.ties, found.losses) == (5, 2, 1)
    assert (found.n, found.clusters, found.p_mcnemar) == (8, 8, None)
    assert found.p_permutation == (2 * 1 + 2 * 6) / 2**6  # all six signs alike, or all but one
    quantiles = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)
    assert found.minimal_detectable_difference == pytest.approx(quantiles * scipy.stats.sem(a - b))


def test_interval_of_a_difference_is_paired() -> None:
    """Two systems that differ by 0.1 on every question: sure, however much the questions vary."""
    b = np.random.default_rng(14).random(50)
    found = compare(column(b + 0.1), column(b))
    assert (found.low, found.high) == pytest.approx((0.1, 0.1))


@pytest.mark.parametrize("size", [1, 3])
def test_many_pairs_at_once_are_what_each_is_alone(size: int) -> None:
    rng = np.random.default_rng(15)
    codes = rng.integers(9 * size, size=60)
    systems = [Sample(rng.random((60, 2)), codes, f1) for _ in range(4)]
    pairs = list(itertools.combinations(systems, 2))
    resamples, flips = Resamples(9 * size, 200, 1), Flips(9 * size, 2000, 1)
    alone = [paired_difference(a, b, resamples, flips) for a, b in pairs]
    assert paired_differences(pairs, resamples, flips) == alone


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_mcnemar_equals_statsmodels(pairs: list[tuple[bool, bool]]) -> None:
    a, b = np.array(pairs, dtype=np.float64).T
    table = [[sum((x, y) == (i, j) for x, y in pairs) for j in (1, 0)] for i in (1, 0)]
    expected = contingency_tables.mcnemar(table, exact=True).pvalue if (a != b).any() else 1.0
    assert mcnemar(a, b) == pytest.approx(expected, rel=1e-9)
    assert compare(column(a), column(b)).p_mcnemar == mcnemar(a, b)


# Many systems


@settings(max_examples=20)  # statsmodels collects garbage in every call
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_holm_equals_statsmodels(p: list[float]) -> None:
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1], rel=1e-12, abs=1e-300)


def test_holm_by_hand() -> None:
    assert holm([0.04, 0.01, 0.03]) == pytest.approx((0.06, 0.03, 0.06))


RANKS = [
    # differences of systems 0-1, 0-2, 1-2; adjusted p; expected ranks
    ("all differ", (0.3, 0.2, -0.1), (0.01, 0.01, 0.01), [(1, 1), (3, 3), (2, 2)]),
    ("nothing is sure", (0.3, 0.2, -0.1), (1.0, 0.5, 0.06), [(1, 3), (1, 3), (1, 3)]),
    ("only first and last", (0.1, 0.2, 0.1), (0.2, 0.01, 0.2), [(1, 2), (1, 3), (2, 3)]),
    ("alpha itself counts", (0.1, 0.2, 0.1), (0.05, 0.05, 0.2), [(1, 1), (2, 3), (2, 3)]),
]


@pytest.mark.parametrize(("deltas", "p", "expected"), [case[1:] for case in RANKS], ids=[c[0] for c in RANKS])
def test_rank_intervals_by_hand(
    deltas: tuple[float, ...], p: tuple[float, ...], expected: list[tuple[int, int]]
) -> None:
    ranks = tuple(RankInterval(*pair) for pair in expected)
    assert rank_intervals(deltas, p) == ranks
    assert rank_intervals([-delta for delta in deltas], p, higher_is_better=False) == ranks


def test_a_system_alone_is_first() -> None:
    assert rank_intervals([], []) == (RankInterval(1, 1),)


# What is refused

ONE = column([0.0, 1.0])
NO_NUMBER = pytest.mark.parametrize("bad", [math.nan, math.inf])


@NO_NUMBER
def test_values_that_are_no_numbers_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="NaN or infinity"):
        column([0.0, bad])
    with pytest.raises(ValueError, match="reduce must give finite values"):
        _ = Sample(ONE.columns, ONE.clusters, lambda means: means[..., 0] * bad).estimate
    with pytest.raises(ValueError, match="not finite"):
        interval(np.array([0.0, bad]))
    with pytest.raises(ValueError, match="from 0 to 1"):
        holm([0.5, bad])
    with pytest.raises(ValueError, match="NaN or infinity"):
        rank_intervals([bad], [0.5])


REFUSED = {
    "no ids": (lambda: seed_of([], "bootstrap"), "at least one id"),
    "no groups": (lambda: cluster_codes([]), "no questions"),
    "no questions": (lambda: column([]), "not empty"),
    "one-dimensional columns": (lambda: Sample(np.ones(3), np.arange(3)), "not empty, got shape"),
    "more clusters than rows": (lambda: Sample(np.ones((2, 1)), np.arange(3)), "2 rows of columns"),
    "negative cluster": (lambda: Sample(np.ones((2, 1)), np.array([0, -1])), "whole numbers from 0"),
    "cluster as float": (lambda: Sample(np.ones((2, 1)), np.array([0.0, 1.0])), "whole numbers from 0"),
    "no draws": (lambda: Resamples(3, 0, 1), "at least 1"),
    "no clusters": (lambda: Flips(0, 3, 1), "at least 1"),
    "clusters of another list": (lambda: intervals([ONE], Resamples(1, 10, 1)), "expected 0 to 0"),
    "no bootstrap values": (lambda: interval(np.array([])), "missing"),
    "questions of another system": (lambda: compare(ONE, column([1.0])), "same questions"),
    "clusters of another system": (
        lambda: compare(ONE, column([0.0, 1.0], np.array([0, 0]))),
        "same questions",
    ),
    "shares in McNemar's test": (lambda: mcnemar(np.array([0.5]), np.array([1.0])), "0 and 1"),
    "lengths in McNemar's test": (lambda: mcnemar(np.ones(2), np.ones(3)), "same length"),
    "no p-values": (lambda: holm([]), "p-values"),
    "p above 1": (lambda: rank_intervals([0.1], [1.1]), "p-values"),
    "a pair left out": (lambda: rank_intervals([0.1, 0.2], [0.5, 0.5]), "not all pairs"),
    "a p-value left out": (lambda: rank_intervals([0.1], []), "not all pairs"),
}


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
