"""Scoring: predictions on their grid in, a table of numbers with their uncertainty out.  No model is run.

`score` is a pure function of gold, predictions and metrics; the seed of its bootstrap comes from the ids of the
questions, so the same file gives the same bits on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.errors import MetricError
from clwqa_bench.grid import OUTCOMES, Grid, Outcome
from clwqa_bench.matching import HEADLINE
from clwqa_bench.metrics import SUITE_VERSION, Columns, Metric
from clwqa_bench.predictions import DatasetRef, RunManifest
from clwqa_bench.stats import Resamples, Sample, intervals, seed_of, standard_error

RESAMPLES, LEVEL = 10_000, 0.95
SMALL = 30  # below so many questions a number is marked: its interval says more than it does
MANY_ANSWERS = 50  # more answers than this to one question look like a list of everything
WHOLE = "all"
BEYOND = (
    5  # resamples that must lie outside an interval, on both sides together, for its ends to mean anything
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One number: a metric on the questions of a stratum it is defined on, `n` of them in `clusters` fact groups.

    `low` and `high` bound the bootstrap interval, `se` is the closed-form standard error; all three are None where
    one fact group leaves the spread unknown.
    """

    metric: str
    stratum: str
    value: float
    n: int
    clusters: int
    low: float | None
    high: float | None
    se: float | None

    @property
    def small(self) -> bool:
        """True if there are too few questions to say much."""
        return self.n < SMALL

    def as_dict(self) -> dict[str, Any]:
        """The number as JSON values."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"small": self.small}


@dataclass(frozen=True)
class ScoreTable:
    """All numbers of one run, with what is needed to compute them again and to doubt them."""

    title: str
    ref: DatasetRef
    manifest: RunManifest | None
    suite: str
    metrics: tuple[str, ...]
    strata: tuple[str, ...]
    cells: tuple[Cell, ...]
    left_out: Mapping[str, str]
    outcomes: Mapping[Outcome, tuple[str, ...]]
    notes: Mapping[str, int]
    level: float
    resamples: int
    seed: int

    def cell(self, metric: str, stratum: str = WHOLE) -> Cell | None:
        """One number, or None if the metric was left out or no question of the stratum has it."""
        return next((c for c in self.cells if (c.metric, c.stratum) == (metric, stratum)), None)

    @property
    def n(self) -> int:
        """Questions of the split, answered or not."""
        return sum(len(ids) for ids in self.outcomes.values())

    def as_dict(self) -> dict[str, Any]:
        """The table as JSON values (no NaN in it)."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            "schema_version": 1,
            **plain,
            "ref": self.ref.model_dump(),
            "manifest": self.manifest and self.manifest.model_dump(),
            "cells": [cell.as_dict() for cell in self.cells],
            "n": self.n,
            "seed": f"{self.seed:x}",  # wider than the integers other programs read
        }


@dataclass(frozen=True)
class Scored:
    """A table together with the grid and the metrics it was computed from, for whoever wants to look inside."""

    table: ScoreTable
    grid: Grid
    metrics: tuple[Metric, ...]


def score(
    grid: Grid,
    metrics: Sequence[Metric],
    *,
    title: str = "predictions",
    manifest: RunManifest | None = None,
    strata: bool = True,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    notes: Mapping[str, int] | None = None,
) -> Scored:
    """Every metric on all questions and, with `strata`, on each stratum, with clustered bootstrap intervals.

    A metric that the predictions cannot be measured with is left out, with the reason; for Hits@k of unranked
    answers E[Hits]@k, its expectation under random order, takes the place.  An empty answer counts as 0.  `notes`
    are counts of the caller's that a reader should know.  Raises MetricError for too few resamples.
    """
    if resamples * (1 - level) < BEYOND:
        raise MetricError(
            f"{resamples:,} resamples do not tell the ends of a {100 * level:g} % interval",
            fix=f"ask for {math.ceil(BEYOND / (1 - level)):,} or more",
        )
    ids = grid.gold.ids
    columns, left_out = _columns(grid, metrics)
    masks = {WHOLE: np.ones(len(grid), bool), **(grid.gold.strata if strata else {})}
    clusters = grid.gold.clusters
    names, samples = [], []
    for metric, found in columns.items():
        for stratum, mask in masks.items():
            rows = np.flatnonzero(mask & found.applies)
            if len(rows):
                names.append((str(metric), stratum))
                samples.append(Sample(found.values[rows], clusters[rows], metric.reduce))
    seed = seed_of(ids, "bootstrap")
    plan = Resamples(int(clusters.max(initial=-1)) + 1, resamples, seed)
    bounds = intervals(samples, plan, level)
    table = ScoreTable(
        title=title,
        ref=grid.gold.ref,
        manifest=manifest,
        suite=SUITE_VERSION,
        metrics=tuple(str(metric) for metric in columns),
        strata=tuple(masks),
        cells=tuple(map(_cell, names, samples, bounds)),
        left_out=left_out,
        outcomes=_outcomes(grid, ids),
        notes={**_notes(grid, columns), **(notes or {})},
        level=level,
        resamples=resamples,
        seed=seed,
    )
    return Scored(table, grid, tuple(columns))


def _columns(grid: Grid, metrics: Iterable[Metric]) -> tuple[dict[Metric, Columns], dict[str, str]]:
    columns: dict[Metric, Columns] = {}
    left_out: dict[str, str] = {}
    for metric in dict.fromkeys(metrics):
        try:
            found = metric.columns(grid)
        except MetricError as error:
            left_out[str(metric)] = f"{error.what}; {error.fix}"
            if metric.measure == "Hits" and grid.unranked:
                metric = replace(metric, measure="E[Hits]")
                columns.setdefault(metric, metric.columns(grid))
            continue
        if found.applies.any():
            columns[metric] = found
        else:
            left_out[str(metric)] = "none of the questions or predictions has what it measures"
    return columns, left_out


def _cell(name: tuple[str, str], sample: Sample, bounds: tuple[float, float] | None) -> Cell:
    metric, stratum = name
    low, high = bounds or (None, None)
    return Cell(
        metric, stratum, float(sample.estimate), len(sample.columns), _distinct(sample.clusters), low, high,
        standard_error(sample),
    )  # fmt: skip


def _distinct(codes: NDArray[np.int64]) -> int:
    return int(np.count_nonzero(np.bincount(codes)))


def _outcomes(grid: Grid, ids: Sequence[str]) -> dict[Outcome, tuple[str, ...]]:
    by_outcome: dict[Outcome, list[str]] = {outcome: [] for outcome in OUTCOMES}
    for id, outcome in zip(ids, grid.outcomes, strict=True):
        by_outcome[outcome].append(id)
    return {outcome: tuple(found) for outcome, found in by_outcome.items()}


def _notes(grid: Grid, metrics: Iterable[Metric]) -> dict[str, int]:
    """Counts a reader should know before believing a number."""
    policies = {metric.match for metric in metrics if metric.match and not metric.match.is_legacy}
    matched = [grid.matches(policy) for policy in sorted(policies, key=str)]
    return {
        "unjudged": max((int(m.unjudged.sum()) for m in matched), default=0),
        "short_golds": max((int(m.short.sum()) for m in matched), default=0),
        "ambiguous_surface": int(grid.matches(HEADLINE).ambiguous.sum()),
        "unranked_predictions": len(grid.unranked),
        f"more_than_{MANY_ANSWERS}_answers": sum(len(answers) > MANY_ANSWERS for answers in grid.answers),
        "parametric_answers": sum(a.source == "parametric" for answers in grid.answers for a in answers),
        "predictions_without_evidence": sum(
            p is not None and p.status == "ok" and not p.evidence.ids() for p in grid.predictions
        ),
    }
