"""Score predictions: every metric on every stratum, with intervals, on all questions of the split."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group

from clwqa_bench.commands import common
from clwqa_bench.console import emit
from clwqa_bench.metrics import select
from clwqa_bench.scoring import LEVEL, RESAMPLES, ScoreTable
from clwqa_bench.scoring import score as compute


def score(
    runs: common.RunArguments,
    dataset: common.DatasetOption = common.DATASET,
    split: common.SplitOption = None,
    metric: common.MetricsOption = None,
    strata: Annotated[bool, typer.Option(help="Also score every stratum: hops, category, ...")] = True,
    resamples: common.ResamplesOption = RESAMPLES,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="Level of the intervals.")] = LEVEL,
    judge: Annotated[
        Path | None, typer.Option(help="A judge's rulings (`judge import`), for metrics with match=judge.")
    ] = None,
    json: common.JsonOption = False,
) -> None:
    """Score runs on a dataset; a question without a usable answer counts as 0.

    Example: clwqa-bench score runs/kg-lookup --metric headline
    """
    metrics = select(metric or [])
    verdicts = None
    if judge is not None:
        from clwqa_bench.judge import read_verdicts  # only who has rulings reads them

        verdicts = read_verdicts(judge).rulings
    tables = [
        compute(
            grid,
            metrics,
            title=run.title,
            manifest=run.manifest,
            strata=strata,
            resamples=resamples,
            level=level,
        ).table
        for run, grid in common.open_runs(runs, dataset, split, verdicts)
    ]
    emit([table.as_dict() for table in tables], json, lambda _: _draw(tables))


def _draw(tables: list[ScoreTable]) -> Group:
    from clwqa_bench.report.terminal import render

    return Group(*map(render, tables))
