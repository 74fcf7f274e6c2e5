"""How sure a number is: percentile bootstrap and cluster-robust closed form, for any smooth metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from clwqa_bench.stats.draws import Block, FloatArray, IntArray, Resamples, cluster_sums

Reduce: TypeAlias = Callable[[FloatArray], FloatArray]
Interval: TypeAlias = tuple[float, float]


def identity(means: FloatArray) -> FloatArray:
    """The reduce of a macro mean: the mean of the one column is the value."""
    return means[..., 0]


@dataclass(frozen=True, eq=False)
class Sample:
    """One metric of one system on some questions: what intervals and comparisons are computed from.

    ``columns`` (questions, c): finite numbers per question.  ``clusters`` (questions,): code of the fact group
    each belongs to, from ``cluster_codes`` of the *whole* question list.  ``reduce``: smooth function from
    column means (..., c) to metric values (...), elementwise and finite also for the means of one question.
    Raises ValueError for anything else.
    """

    columns: FloatArray
    clusters: IntArray
    reduce: Reduce = identity

    def __post_init__(self) -> None:
        if self.columns.ndim != 2 or not self.columns.size:
            raise ValueError(f"columns must be (questions, c) and not empty, got shape {self.columns.shape}")
        if self.clusters.shape != self.columns.shape[:1]:
            raise ValueError(f"{len(self.columns)} rows of columns, cluster codes {self.clusters.shape}")
        if not np.issubdtype(self.clusters.dtype, np.integer) or self.clusters.min() < 0:
            raise ValueError("cluster codes must be whole numbers from 0")
        if not np.isfinite(self.columns).all():
            raise ValueError("columns hold NaN or infinity")

    @cached_property
    def means(self) -> FloatArray:
        """Column means, (c,)."""
        return self.columns.mean(axis=0)

    @property
    def estimate(self) -> float:
        """The metric on these questions."""
        return float(reduced(self, self.means))

    @property
    def values(self) -> FloatArray:
        """The metric on each question alone, (questions,)."""
        return reduced(self, self.columns)


def reduced(sample: Sample, means: FloatArray) -> FloatArray:
    """``sample.reduce(means)``, (..., c) -> (...); raises ValueError if it is not finite."""
    values = sample.reduce(means)
    if np.shape(values) != means.shape[:-1] or not np.isfinite(values).all():
        raise ValueError(f"reduce must give finite values of shape {means.shape[:-1]}")
    return values


def bootstrap(samples: Iterable[Sample], resamples: Resamples) -> Iterator[FloatArray]:
    """The metric on every resample of the questions, per sample an array (resamples in which it has any,).

    All samples see the same resamples, whatever part of the questions each covers.  Ask for all in one call.
    """
    kept: list[Sample] = []

    def blocks() -> Iterator[Block]:
        for sample in samples:
            kept.append(sample)
            ones = np.ones((len(sample.columns), 1))
            sums = cluster_sums(np.hstack([sample.columns, ones]), sample.clusters, resamples.clusters)
            present = np.flatnonzero(sums[:, -1])
            yield present, sums[present]

    for index, totals in enumerate(resamples.sums(blocks())):
        drawn = totals if totals[-1].all() else totals[:, totals[-1] > 0]
        yield reduced(kept[index], (drawn[:-1] / drawn[-1]).T)


def interval(values: FloatArray, level: float = 0.95) -> Interval:
    """Percentile interval of bootstrap values (Efron and Tibshirani 1993, ch. 13), interpolated linearly."""
    if not values.size or not np.isfinite(values).all():
        raise ValueError("bootstrap values are missing or not finite")
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def intervals(samples: Iterable[Sample], resamples: Resamples, level: float = 0.95) -> list[Interval | None]:
    """Percentile interval per sample; None where all questions are one cluster and the spread is unknown."""
    samples = list(samples)
    return [
        interval(values, level) if _several(sample) else None
        for sample, values in zip(samples, bootstrap(samples, resamples), strict=True)
    ]


def standard_error(sample: Sample) -> float | None:
    """Cluster-robust standard error by linearisation; None for a single cluster.

    The sandwich of Cameron and Miller (2015), "A Practitioner's Guide to Cluster-Robust Inference", with their
    correction C/(C-1): for a plain mean it is that of OLS on a constant with clustered covariance, and with
    every question a cluster of its own it is s/sqrt(n).
    """
    sizes = np.bincount(sample.clusters)
    count = np.count_nonzero(sizes)
    if count < 2:
        return None
    influence = (sample.columns - sample.means) @ _gradient(sample)
    sums = cluster_sums(influence[:, None], sample.clusters, len(sizes))[sizes > 0]
    return math.sqrt(count / (count - 1) * float(np.sum(sums**2))) / len(influence)


def closed_form_interval(sample: Sample, level: float = 0.95) -> Interval | None:
    """Estimate and normal quantiles times ``standard_error``; not cut off at the ends of the metric's range."""
    error = standard_error(sample)
    if error is None:
        return None
    margin = NormalDist().inv_cdf((1 + level) / 2) * error
    return sample.estimate - margin, sample.estimate + margin


def _several(sample: Sample) -> bool:
    return bool(sample.clusters.min() != sample.clusters.max())


def _gradient(sample: Sample) -> FloatArray:
    """Central differences of reduce at the column means, (c,); steps relative to each column's size."""
    means = sample.means
    size = np.sqrt(np.mean(sample.columns**2, axis=0))
    steps = np.diag(np.cbrt(np.finfo(np.float64).eps) * np.where(size > 0, size, 1.0))
    above, below = means + steps, means - steps
    # divided by the step as it came out in floating point, so that a linear reduce has no error at all
    return (reduced(sample, above) - reduced(sample, below)) / np.diag(above - below)
