"""Two or more systems on the same questions: paired tests, correction for many pairs, rank intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.stats.draws import Block, Flips, FloatArray, IntArray, Resamples, cluster_sums
from clwqa_bench.stats.estimate import Interval, Sample, intervals, reduced, standard_error

_POWER = 0.8  # of the minimal detectable difference
_TIE = 1e-9  # relative to the metric's value: differences this close are the same number, rounded twice


@dataclass(frozen=True)
class Comparison:
    """System a against system b with one metric on the same ``n`` questions in ``clusters`` fact groups.

    ``delta`` = a - b; ``low``, ``high``: its percentile interval (None: one cluster only).  ``p_permutation``:
    two-sided, over ``permutations`` swaps (all there are if ``exact``).  ``p_mcnemar``: exact, for values of 0
    and 1, else None; it takes questions as independent.  ``wins``: questions on which a's value is greater.
    ``minimal_detectable_difference``: the true difference that such a test finds with a probability of 0.8.
    """

    a: float
    b: float
    delta: float
    low: float | None
    high: float | None
    p_permutation: float
    p_mcnemar: float | None
    wins: int
    ties: int
    losses: int
    n: int
    clusters: int
    permutations: int
    exact: bool
    minimal_detectable_difference: float | None


@dataclass(frozen=True)
class RankInterval:
    """The ranks, from 1, that a system may have given which differences are significant."""

    best: int
    worst: int


def paired_difference(
    a: Sample, b: Sample, resamples: Resamples, flips: Flips, level: float = 0.95
) -> Comparison:
    """``paired_differences`` of one pair."""
    return paired_differences([(a, b)], resamples, flips, level)[0]


def paired_differences(
    pairs: Sequence[tuple[Sample, Sample]], resamples: Resamples, flips: Flips, level: float = 0.95
) -> list[Comparison]:
    """Compare a with b for each pair.  Ask for all pairs and metrics in one call.

    Raises ValueError if the two of a pair are not the same metric on the same questions in the same order, as
    far as columns and clusters tell.
    """
    differences = [_difference(a, b) for a, b in pairs]
    bounds = intervals(differences, resamples, level)
    tests = _permutation_tests(pairs, flips)
    return [
        _comparison(*pair, difference, bound, test, level)
        for pair, difference, bound, test in zip(pairs, differences, bounds, tests, strict=True)
    ]


def mcnemar(a: FloatArray, b: FloatArray) -> float:
    """Exact two-sided p of McNemar (1947) for values of 0 and 1 on the same questions, each (questions,)."""
    from scipy.stats import binomtest  # takes 0.4 s to import

    if len(a) != len(b) or not (_binary(a) and _binary(b)):
        raise ValueError("McNemar's test needs two lists of 0 and 1 of the same length")
    only_a, only_b = int(np.sum(a > b)), int(np.sum(a < b))
    return float(binomtest(only_a, only_a + only_b).pvalue) if only_a + only_b else 1.0


def holm(p: Sequence[float]) -> tuple[float, ...]:
    """p-values of one family adjusted by Holm (1979), in the given order; compare them with alpha as they are."""
    _check_p_values(p)
    order = sorted(range(len(p)), key=lambda index: p[index])
    adjusted = [0.0] * len(p)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = largest
    return tuple(adjusted)


def rank_intervals(
    deltas: Sequence[float],
    adjusted_p: Sequence[float],
    *,
    alpha: float = 0.05,
    higher_is_better: bool = True,
) -> tuple[RankInterval, ...]:
    """Ranks each of m systems may have: 1 + number significantly better .. m - number significantly worse.

    ``deltas`` (value of the first - value of the second) and ``adjusted_p`` (``holm`` over the family) have one
    entry per pair of systems in the order of ``itertools.combinations(range(m), 2)``; no pair means one system.
    """
    count = (1 + math.isqrt(1 + 8 * len(deltas))) // 2
    if len(adjusted_p) != len(deltas) or count * (count - 1) // 2 != len(deltas):
        raise ValueError(f"{len(deltas)} differences and {len(adjusted_p)} p-values are not all pairs")
    if not all(map(math.isfinite, deltas)):
        raise ValueError("differences hold NaN or infinity")
    if deltas:
        _check_p_values(adjusted_p)
    above, below = [0] * count, [0] * count  # how many systems are significantly better, worse
    for (i, j), delta, p in zip(combinations(range(count), 2), deltas, adjusted_p, strict=True):
        if p <= alpha and delta:
            better, worse = (i, j) if (delta > 0) == higher_is_better else (j, i)
            above[worse] += 1
            below[better] += 1
    return tuple(RankInterval(1 + above[i], count - below[i]) for i in range(count))


def _difference(a: Sample, b: Sample) -> Sample:
    """The difference of two systems as a metric of its own, so that its interval needs no other code."""
    if a.columns.shape != b.columns.shape or not np.array_equal(a.clusters, b.clusters):
        raise ValueError("the two systems of a pair must have the same questions, clusters and columns")
    half = a.columns.shape[1]

    def reduce(means: FloatArray) -> FloatArray:
        return a.reduce(means[..., :half]) - a.reduce(means[..., half:])

    return Sample(np.hstack([a.columns, b.columns]), a.clusters, reduce)


def _comparison(
    a: Sample,
    b: Sample,
    difference: Sample,
    bound: Interval | None,
    test: _PermutationTest,
    level: float,
) -> Comparison:
    first, second = a.values, b.values
    error = standard_error(difference)
    # a true difference of this many standard errors is found with the given power, two-sided
    errors = NormalDist().inv_cdf((1 + level) / 2) + NormalDist().inv_cdf(_POWER)
    return Comparison(
        a=a.estimate,
        b=b.estimate,
        delta=a.estimate - b.estimate,
        low=bound[0] if bound else None,
        high=bound[1] if bound else None,
        p_permutation=test.p,
        p_mcnemar=mcnemar(first, second) if _binary(first) and _binary(second) else None,
        wins=int(np.sum(first > second)),
        ties=int(np.sum(first == second)),
        losses=int(np.sum(first < second)),
        n=len(first),
        clusters=len(np.unique(a.clusters)),
        permutations=test.permutations,
        exact=test.exact,
        minimal_detectable_difference=None if error is None else errors * error,
    )


@dataclass(frozen=True)
class _PermutationTest:
    p: float
    permutations: int
    exact: bool


def _permutation_tests(pairs: Sequence[tuple[Sample, Sample]], flips: Flips) -> list[_PermutationTest]:
    """Swap the two systems on whole clusters: all ways if there are at most ``flips.number``, else random ones.

    Clusters on which the two agree change nothing and are left out of the count of ways.  Of all ways, p is the
    share at least as extreme as what was seen, which is one of them; of random ways it is (b + 1)/(B + 1)
    (Phipson and Smyth 2010, "Permutation P-values should never be zero").
    """
    swaps = [_Swap.of(a, b, flips.clusters) for a, b in pairs]
    streamed = flips.sums(swap.block for swap in swaps if not swap.few(flips.number))
    tests = []
    for swap in swaps:
        if swap.few(flips.number):
            extreme = swap.extreme(swap.all_ways())
            tests.append(_PermutationTest(float(extreme.mean()), len(extreme), exact=True))
        else:
            first, second = np.split(next(streamed), 2)
            extreme = swap.extreme(first - second)
            p = (int(extreme.sum()) + 1) / (len(extreme) + 1)
            tests.append(_PermutationTest(p, len(extreme), exact=False))
    return tests


@dataclass(frozen=True)
class _Swap:
    """Two systems and what swapping them on a cluster moves: their means become (total +- signs @ moved) / 2n."""

    metric: Sample  # of either system
    clusters: IntArray  # (m,) the clusters of these questions
    a: FloatArray  # (m, c) column sums of the first system
    b: FloatArray  # (m, c) and of the second

    @classmethod
    def of(cls, a: Sample, b: Sample, count: int) -> _Swap:
        clusters = np.unique(a.clusters)
        first, second = (cluster_sums(one.columns, one.clusters, count)[clusters] for one in (a, b))
        return cls(a, clusters, first, second)

    @property
    def block(self) -> Block:
        # not a - b: the sums of a system are then shared by all its pairs
        return self.clusters, np.hstack([self.a, self.b])

    @property
    def _moved(self) -> FloatArray:
        moved = self.a - self.b
        return moved[moved.any(axis=1)]

    def few(self, limit: int) -> bool:
        return len(self._moved) < limit.bit_length()  # 2**m <= limit

    def all_ways(self) -> FloatArray:
        """Signed sums of what moves for every way of swapping, (c, 2**m)."""
        moved = self._moved
        m = len(moved)
        swapped = np.arange(2**m) >> np.arange(m)[:, None] & 1
        return moved.T @ (1.0 - 2.0 * swapped)

    def extreme(self, signed: FloatArray) -> NDArray[np.bool_]:
        """For signed sums (c, ways): is the difference at least as large as the one seen, whatever its sign?"""
        seen = np.array(self._values(self._moved.sum(axis=0)[:, None]))
        first, second = self._values(signed)
        return np.abs(first - second) >= abs(seen[0, 0] - seen[1, 0]) - _TIE * np.abs(seen).max()

    def _values(self, signed: FloatArray) -> tuple[FloatArray, FloatArray]:
        total, n = (self.a + self.b).sum(axis=0), 2 * len(self.metric.columns)
        return reduced(self.metric, (total + signed.T) / n), reduced(self.metric, (total - signed.T) / n)


def _binary(values: FloatArray) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all())


def _check_p_values(p: Sequence[float]) -> None:
    if not p or not all(0 <= value <= 1 for value in p):  # NaN fails both comparisons
        raise ValueError("needs p-values, each from 0 to 1")
