"""Uncertainty and comparison for any metric: a metric is columns per question and a function of their means.

``draws`` makes the random resamples and sign flips, ``estimate`` intervals and standard errors, ``compare``
paired tests of two systems, Holm's correction and rank intervals.  Nothing here knows what a metric means.
"""

from clwqa_bench.stats.compare import (
    Comparison,
    RankInterval,
    holm,
    mcnemar,
    paired_difference,
    paired_differences,
    rank_intervals,
)
from clwqa_bench.stats.draws import Flips, Resamples, cluster_codes, cluster_sums, seed_of
from clwqa_bench.stats.estimate import (
    Interval,
    Reduce,
    Sample,
    bootstrap,
    closed_form_interval,
    identity,
    interval,
    intervals,
    standard_error,
)

__all__ = [
    "Comparison",
    "Flips",
    "Interval",
    "RankInterval",
    "Reduce",
    "Resamples",
    "Sample",
    "bootstrap",
    "closed_form_interval",
    "cluster_codes",
    "cluster_sums",
    "holm",
    "identity",
    "interval",
    "intervals",
    "mcnemar",
    "paired_difference",
    "paired_differences",
    "rank_intervals",
    "seed_of",
    "standard_error",
]
