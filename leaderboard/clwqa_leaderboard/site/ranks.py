"""Which ranks each of many systems may have, in closed form.

`clwqa-bench compare` tests pairs by swapping the two systems on random fact groups.  With m systems there are
m(m-1)/2 tests, and after Holm's correction 10,000 swaps cannot make any of 1,000 pairs significant.  So the tail of
the same test is bounded instead of sampled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.stats import RankInterval, cluster_sums, holm, rank_intervals
from clwqa_bench.stats.draws import FloatArray, IntArray

BOUND = 3.179  # 1 / (4 P(N >= sqrt 2)), rounded up
_NOISE = 1e-12  # relative: what is left of a difference between equal systems


def ranks(values: FloatArray, clusters: IntArray, *, alpha: float = 0.05) -> tuple[RankInterval, ...]:
    """The ranks, from 1, that each system may have.

    `values`: (questions, systems), more is better; `clusters`: the fact group of each question as a code.
    Some interval is wrong with a probability of at most `alpha`.
    """
    count = values.shape[1]
    pairs = np.triu_indices(count, 1)
    sums = cluster_sums(values, clusters, int(clusters.max()) + 1)
    deltas = values.mean(axis=0)[pairs[0]] - values.mean(axis=0)[pairs[1]]
    p = swap_p(sums)[pairs].tolist()
    return rank_intervals(deltas.tolist(), holm(p) if p else (), alpha=alpha)


def swap_p(sums: FloatArray) -> FloatArray:
    """Two-sided p of every pair of systems if whole clusters are swapped at random, (systems, systems).

    `sums`: (clusters, systems).  The difference under random swaps is a sum of the clusters' differences with random
    signs; its tail is at most `BOUND` times that of a normal variable with the same variance, for any number of
    clusters (Bentkus and Dzindzalieta 2015, "A tight Gaussian bound for weighted sums of Rademacher random variables").
    """
    products, totals = sums.T @ sums, sums.sum(axis=0)
    squares = np.diag(products)
    both = squares[:, None] + squares[None, :]
    variance = both - 2 * products
    equal = variance <= _NOISE * both
    z = np.abs(totals[:, None] - totals[None, :]) / np.sqrt(np.where(equal, 1.0, variance))
    bounded: FloatArray = np.where(equal, 1.0, np.minimum(1.0, 2 * BOUND * _upper_tail(z)))
    return bounded


def _upper_tail(z: NDArray[np.float64]) -> FloatArray:
    """P(N >= z) of a standard normal variable."""
    from scipy.special import ndtr

    tail: FloatArray = ndtr(-z)
    return tail
