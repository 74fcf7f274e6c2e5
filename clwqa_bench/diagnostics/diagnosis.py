"""One run diagnosed: indicators with intervals, and a waterfall, for all questions and for strata of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from clwqa_bench.diagnostics.indicators import Case, Indicator, indicators
from clwqa_bench.diagnostics.support import Level, Support
from clwqa_bench.diagnostics.trace import read_trails
from clwqa_bench.diagnostics.waterfall import RIGHT, Loss, Share, attribute, waterfall
from clwqa_bench.errors import PredictionError
from clwqa_bench.grid import Grid
from clwqa_bench.matching import HEADLINE, Policy
from clwqa_bench.metrics.measure import Mask
from clwqa_bench.ontology import Ontology
from clwqa_bench.predictions import DatasetRef, RunManifest
from clwqa_bench.scoring import LEVEL, RESAMPLES, WHOLE, Cell
from clwqa_bench.stats import Resamples, Sample, intervals, seed_of, standard_error


@dataclass(frozen=True)
class Diagnosis:
    """Where a run loses its questions.  `labels` names the indicators, `not_traced` what each missing one lacks;
    `waterfalls` and `cells` are by stratum, "all" first; `questions` lists ids by stage, those answered right left out.

    `untraced` questions have no trace or evidence, though the run has; `cut` ones have a list that is not complete.
    """

    title: str
    ref: DatasetRef
    manifest: RunManifest | None
    policy: str
    loss: Loss
    support: Level
    top: int | None
    traced: tuple[str, ...]
    labels: Mapping[str, str]
    not_traced: Mapping[str, str]
    cells: tuple[Cell, ...]
    waterfalls: Mapping[str, tuple[Share, ...]]
    questions: Mapping[str, tuple[str, ...]]
    untraced: tuple[str, ...]
    cut: tuple[str, ...]
    level: float
    resamples: int

    @property
    def oracle(self) -> tuple[str, ...]:
        """Stages that were replaced by gold, as the run says."""
        return self.manifest.oracle if self.manifest else ()

    def cell(self, indicator: str, stratum: str = WHOLE) -> Cell | None:
        """One number, or None if it was not traced or is defined on none of the questions."""
        return next((c for c in self.cells if (c.metric, c.stratum) == (indicator, stratum)), None)

    def rows(self, stratum: str = WHOLE) -> list[tuple[str, int, float]]:
        """The waterfall as plain data: (stage, questions, per cent)."""
        return [(share.stage, share.count, share.percent) for share in self.waterfalls[stratum]]

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON values (no NaN in it)."""
        plain = asdict(self) | {
            "ref": self.ref.model_dump(),
            "manifest": self.manifest and self.manifest.model_dump(),
        }
        return {"schema_version": 1, "oracle": list(self.oracle), **plain}


def diagnose(
    grid: Grid,
    ontology: Ontology,
    *,
    title: str = "predictions",
    manifest: RunManifest | None = None,
    policy: Policy = HEADLINE,
    loss: Loss = "hits",
    support: Level = "compatible",
    top: int | None = None,
    by: Collection[str] = ("hops", "category"),
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Diagnosis:
    """Diagnose a run from its traces, on all questions and on the strata of the families `by`.

    `top` is K of the ranking, None for all that the system kept.
    Raises PredictionError when nothing was traced, MetricError when `loss` is "hits" and answers are not ranked.
    """
    trails = read_trails(grid.predictions, top)
    if not trails.traced:
        raise PredictionError(
            "no prediction holds a trace or evidence, so no stage can be looked at",
            fix="record at least the `retrieve` stage, or the evidence shown, with every prediction; "
            "docs/diagnostics.md lists what each stage should hold",
        )
    case = Case(grid, trails, Support(support, ontology, grid.gold.graph), policy)
    measured = indicators(case)
    stages = attribute(case, loss)
    ids = [question.id for question in grid.gold.questions]
    masks = {WHOLE: np.ones(len(grid), bool)}
    masks |= {name: mask for name, mask in grid.gold.strata.items() if name.partition("=")[0] in by}
    return Diagnosis(
        title=title,
        ref=grid.gold.ref,
        manifest=manifest,
        policy=str(policy),
        loss=loss,
        support=support,
        top=top,
        traced=tuple(sorted(trails.traced)),
        labels={indicator.name: indicator.label for indicator in measured},
        not_traced={indicator.name: indicator.lacks for indicator in measured if indicator.lacks},
        cells=tuple(_cells(grid, measured, masks, resamples, level)),
        waterfalls={
            name: waterfall([stages[row] for row in np.flatnonzero(mask)], trails.traced)
            for name, mask in masks.items()
        },
        questions=_by_stage(ids, stages),
        untraced=tuple(id for id, p, t in zip(ids, grid.predictions, trails.of, strict=True) if p and not t),
        cut=tuple(id for id, trail in zip(ids, trails.of, strict=True) if trail and trail.cut),
        level=level,
        resamples=resamples,
    )


def _cells(
    grid: Grid, measured: Sequence[Indicator], masks: Mapping[str, Mask], resamples: int, level: float
) -> Iterator[Cell]:
    clusters = grid.gold.clusters
    names, samples = [], []
    for indicator in measured:
        for stratum, mask in masks.items():
            rows = np.flatnonzero(mask & indicator.columns.applies)
            if len(rows):
                names.append((indicator.name, stratum))
                samples.append(Sample(indicator.columns.values[rows], clusters[rows]))
    seed = seed_of([question.id for question in grid.gold.questions], "bootstrap")
    plan = Resamples(int(clusters.max(initial=-1)) + 1, resamples, seed)
    for name, sample, bounds in zip(names, samples, intervals(samples, plan, level), strict=True):
        low, high = bounds or (None, None)
        groups = len(np.unique(sample.clusters))
        error = standard_error(sample)
        yield Cell(*name, sample.estimate, len(sample.columns), groups, low, high, error)


def _by_stage(ids: Sequence[str], stages: Sequence[str]) -> dict[str, tuple[str, ...]]:
    lost: dict[str, list[str]] = {}
    for id, stage in zip(ids, stages, strict=True):
        if stage != RIGHT:
            lost.setdefault(stage, []).append(id)
    return {stage: tuple(found) for stage, found in sorted(lost.items())}
