"""How near scores come to the labels, over all pairs, by element and by band (seed paper sec. 5.4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clwqa_bench.records import BAND_LABELS, ScoringPair

LEAST = 3  # pairs from which a correlation is given


@dataclass(frozen=True, slots=True)
class Epoch:
    """One pass: mean loss over the train pairs while learning, loss on the validation pairs after it."""

    number: int
    train: float
    validation: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Fit:
    """Figures of some pairs; `band` is the share whose score is nearest to the label of its own band.

    `pearson` and `spearman` are None for fewer than three pairs, and where labels or scores are all the same.
    """

    n: int
    mse: float
    mae: float
    band: float
    pearson: float | None
    spearman: float | None


@dataclass(frozen=True, slots=True)
class Statistics:
    """Figures of a part of the scoring pairs."""

    all: Fit
    by_element: dict[str, Fit]
    by_band: dict[str, Fit]


def statistics(records: Sequence[ScoringPair], scores: Sequence[float]) -> Statistics:
    """Figures of scores on the pairs they are for."""
    found = np.asarray(scores, float)
    wanted = np.asarray([record.label for record in records], float)
    by_element: dict[str, list[int]] = defaultdict(list)
    by_band: dict[str, list[int]] = {band: [] for band in BAND_LABELS}
    for place, record in enumerate(records):
        by_element[record.element].append(place)
        by_band[record.band].append(place)
    return Statistics(
        fit(wanted, found),
        {name: fit(wanted[rows], found[rows]) for name, rows in sorted(by_element.items())},
        {name: fit(wanted[rows], found[rows]) for name, rows in by_band.items() if rows},
    )


def fit(wanted: npt.NDArray[np.float64], found: npt.NDArray[np.float64]) -> Fit:
    """Figures of some scores against their labels."""
    off = found - wanted
    middles = np.asarray(sorted(BAND_LABELS.values()))
    nearest = middles[np.abs(found[:, None] - middles).argmin(axis=1)]
    return Fit(
        n=len(wanted),
        mse=float((off**2).mean()),
        mae=float(np.abs(off).mean()),
        band=float(np.isclose(nearest, wanted).mean()),
        pearson=_correlation(wanted, found),
        spearman=_correlation(_ranks(wanted), _ranks(found)),
    )


def _correlation(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float | None:
    if len(one) < LEAST or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(one, other)[0, 1])


def _ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Ranks from 0, the mean of their ranks for equal ones."""
    _, group, size = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(size) - (size + 1) / 2)[group]


def rows(found: Statistics) -> Iterator[tuple[str, Fit]]:
    """All figures with what they are of."""
    yield "all", found.all
    yield from found.by_band.items()
    yield from found.by_element.items()
