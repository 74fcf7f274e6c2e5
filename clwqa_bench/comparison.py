"""Systems against each other on the same questions: every pair and every metric asked for is one family of tests.

All pairs are tested on the questions that every system is measured on, by swapping whole fact groups; Holm's
correction runs over the whole family, so asking more costs more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.errors import MetricError, PredictionError
from clwqa_bench.grid import Gold, Grid
from clwqa_bench.metrics import Columns, Metric
from clwqa_bench.predictions import DatasetRef, RunManifest
from clwqa_bench.stats import (
    Comparison,
    Flips,
    RankInterval,
    Resamples,
    Sample,
    holm,
    paired_differences,
    rank_intervals,
    seed_of,
)

RESAMPLES, LEVEL, ALPHA = 10_000, 0.95, 0.05
BLUNT = "no difference could be significant with so few resamples or fact groups and so many tests"
ALIKE = "the runs differ on too few fact groups for any difference to be significant"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two systems under one metric; `delta` of the test is `a` minus `b`, `p` is corrected for the family."""

    metric: str
    a: str
    b: str
    test: Comparison
    p: float

    @property
    def significant(self) -> bool:
        """True if the two differ by more than chance explains, at 5 % for the whole family."""
        return self.p <= ALPHA


@dataclass(frozen=True)
class Family:
    """All pairs of some systems under some metrics, and the ranks each system may truly have.

    `manifests` are of those systems that came with one.
    """

    ref: DatasetRef
    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    pairs: tuple[Pair, ...]
    ranks: Mapping[str, tuple[RankInterval, ...]]
    left_out: Mapping[str, str]
    resamples: int
    level: float
    seed: int
    manifests: Mapping[str, RunManifest]

    @property
    def size(self) -> int:
        """Tests that Holm's correction runs over."""
        return len(self.pairs)

    @property
    def blunt(self) -> bool:
        """True if no difference, however large, could be significant: too few resamples or fact groups."""
        groups = max((pair.test.clusters for pair in self.pairs), default=0)
        exact = groups < self.resamples.bit_length()  # then all 2**groups ways are tried
        return self.size * _least_p(2**groups if exact else self.resamples, exact) > ALPHA

    @property
    def alike(self) -> bool:
        """True if no difference can be significant because no pair differs on enough fact groups."""
        least = min((_least_p(pair.test.permutations, pair.test.exact) for pair in self.pairs), default=1.0)
        return self.size * least > ALPHA

    @property
    def caution(self) -> str | None:
        """Why it says nothing that nothing is significant, if so: the design, or else the runs at hand."""
        return BLUNT if self.blunt else ALIKE if self.alike else None

    def pair(self, metric: str, one: str, other: str) -> Pair | None:
        """The test of two systems, in either order; None if there is none."""
        wanted = {one, other}
        return next((p for p in self.pairs if p.metric == metric and {p.a, p.b} == wanted), None)

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "schema_version": 1,
            "ref": self.ref.model_dump(),
            "systems": self.systems,
            "metrics": self.metrics,
            "family": self.size,
            "blunt": self.blunt,
            "alike": self.alike,
            "caution": self.caution,
            "manifests": {
                system: manifest.model_dump() if (manifest := self.manifests.get(system)) else None
                for system in self.systems
            },
            "pairs": [
                {
                    **asdict(pair.test),
                    "metric": pair.metric,
                    "a": pair.a,
                    "b": pair.b,
                    "value_a": pair.test.a,
                    "value_b": pair.test.b,
                    "p_holm": pair.p,
                    "significant": pair.significant,
                }
                for pair in self.pairs
            ],
            "ranks": {metric: [asdict(rank) for rank in ranks] for metric, ranks in self.ranks.items()},
            "left_out": self.left_out,
            "resamples": self.resamples,
            "level": self.level,
            "seed": f"{self.seed:x}",  # wider than the integers other programs read
        }


def compare(
    runs: Mapping[str, Grid],
    metrics: Sequence[Metric],
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    manifests: Mapping[str, RunManifest] | None = None,
) -> Family:
    """Test every pair of runs under every metric.

    A metric that one of the runs cannot be measured with is left out of the family, with the reason.
    Raises PredictionError for fewer than two runs, or runs on different questions.
    """
    gold = _same_gold(runs)
    measured, left_out = _measured(runs, metrics)
    clusters = gold.clusters
    samples = [
        (_sample(metric, by_run[a], rows, clusters), _sample(metric, by_run[b], rows, clusters))
        for metric, (by_run, rows) in measured.items()
        for a, b in combinations(runs, 2)
    ]
    groups, seed = int(clusters.max(initial=-1)) + 1, seed_of([q.id for q in gold.questions], "compare")
    tests = paired_differences(
        samples, Resamples(groups, resamples, seed), Flips(groups, resamples, seed), level
    )
    corrected = holm([test.p_permutation for test in tests]) if tests else ()
    names = [(str(metric), a, b) for metric in measured for a, b in combinations(runs, 2)]
    pairs = tuple(Pair(*name, test, p) for name, test, p in zip(names, tests, corrected, strict=True))
    return Family(
        ref=gold.ref,
        systems=tuple(runs),
        metrics=tuple(map(str, measured)),
        pairs=pairs,
        ranks={str(metric): _ranks(metric, pairs) for metric in measured},
        left_out=left_out,
        resamples=resamples,
        level=level,
        seed=seed,
        manifests=manifests or {},
    )


def _least_p(ways: int, exact: bool) -> float:
    """The smallest p of a permutation test; of all ways two are the most extreme: swap nothing, swap everything."""
    return 2 / ways if exact else 1 / (ways + 1)


def _same_gold(runs: Mapping[str, Grid]) -> Gold:
    if len(runs) < 2:
        raise PredictionError("a comparison needs two runs", fix="name at least two different runs")
    (first, grid), *others = runs.items()
    for title, other in others:
        if other.gold.ids != grid.gold.ids and other.gold.ref == grid.gold.ref:
            raise PredictionError(
                f"{first} was asked {len(grid)} questions and {title} other {len(other)} of {_of(grid.gold.ref)}",
                fix="compare whole runs, or samples of one size and seed",
            )
        if other.gold.ref != grid.gold.ref:
            raise PredictionError(
                f"{first} answers {_of(grid.gold.ref)}, {title} answers {_of(other.gold.ref)}",
                fix="compare runs on the same dataset version and split",
            )
    return grid.gold


def _of(ref: DatasetRef) -> str:
    return f"{ref.name} {ref.version} ({ref.split}, content {ref.content[:12]})"


def _measured(
    runs: Mapping[str, Grid], metrics: Sequence[Metric]
) -> tuple[dict[Metric, tuple[dict[str, Columns], NDArray[np.intp]]], dict[str, str]]:
    """Columns by run and the rows that all runs are measured on, by metric; reasons for the others."""
    measured: dict[Metric, tuple[dict[str, Columns], NDArray[np.intp]]] = {}
    left_out: dict[str, str] = {}
    for metric in dict.fromkeys(metrics):
        by_run: dict[str, Columns] = {}
        for title, grid in runs.items():
            try:
                by_run[title] = metric.columns(grid)
            except MetricError as error:
                left_out.setdefault(str(metric), f"{title}: {error.what}; {error.fix}")
        if str(metric) in left_out:
            continue
        rows = np.flatnonzero(np.all([columns.applies for columns in by_run.values()], axis=0))
        if len(rows):
            measured[metric] = by_run, rows
        else:
            left_out[str(metric)] = "there is no question on which every run is measured"
    return measured, left_out


def _sample(metric: Metric, columns: Columns, rows: NDArray[np.intp], clusters: NDArray[np.int64]) -> Sample:
    return Sample(columns.values[rows], clusters[rows], metric.reduce)


def _ranks(metric: Metric, pairs: Sequence[Pair]) -> tuple[RankInterval, ...]:
    own = [pair for pair in pairs if pair.metric == str(metric)]
    return rank_intervals(
        [pair.test.delta for pair in own],
        [pair.p for pair in own],
        alpha=ALPHA,
        higher_is_better=metric.direction > 0,
    )
