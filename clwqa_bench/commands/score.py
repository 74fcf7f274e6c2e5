"""Score predictions: every metric on every stratum, with intervals, on all questions of the split."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group

from clwqa_bench.commands import common
from clwqa_bench.console import emit
from clwqa_bench.errors import MetricError, PredictionError
from clwqa_bench.metrics import Metric, chosen, select
from clwqa_bench.scoring import LEVEL, RESAMPLES, ScoreTable
from clwqa_bench.scoring import score as compute


def score(
    runs: common.RunArguments,
    dataset: common.DatasetOption = common.DATASET,
    split: common.SplitOption = None,
    metric: common.MetricsOption = None,
    strata: Annotated[bool, typer.Option(help="Also score every stratum: hops, category, ...")] = True,
    full: Annotated[bool, typer.Option("--full", help="Print the tables of every family of strata.")] = False,
    resamples: common.ResamplesOption = RESAMPLES,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="Level of the intervals.")] = LEVEL,
    judge: Annotated[
        Path | None, typer.Option(help="A judge's verdicts (`judge run`), for metrics with match=judge.")
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(help="Score one file of another project: pog, tog, rog, gcr, metaqa or jsonl."),
    ] = None,
    gold: Annotated[Path | None, typer.Option(help="With --format: the file with the gold answers.")] = None,
    gold_format: Annotated[
        str | None, typer.Option(help="With --gold: webqsp, cwq, grailqa, metaqa or jsonl.")
    ] = None,
    json: common.JsonOption = False,
) -> None:
    """Score runs on a dataset; a question without a usable answer counts as 0.

    With --format, what the other project's script would print stands beside the strict numbers.

    Example: clwqa-bench score runs/kg-lookup --metric headline
    """
    metrics = select(metric or ["default"])
    if format is not None:
        if split is not None or judge is not None:
            raise PredictionError("--split and --judge are of no use with --format", fix="leave them out")
        _foreign(runs, format, gold, gold_format, metrics if metric else None, resamples, level, json)
        return
    if gold is not None or gold_format is not None:
        raise PredictionError("--gold without --format", fix="say whose file it is, as in --format pog")
    verdicts = None
    if judge is not None:
        from clwqa_bench.judge import read_verdicts  # only who has rulings reads them

        verdicts = read_verdicts(judge).rulings
    tables = [
        compute(
            grid,
            chosen(metric, grid.gold),
            title=title,
            manifest=run.manifest,
            strata=strata,
            resamples=resamples,
            level=level,
            notes=run.notes,
        ).table
        for title, run, grid in common.open_runs(runs, dataset, split, verdicts)
    ]
    if not any(table.metrics for table in tables):
        reasons = "; ".join(dict.fromkeys(reason for table in tables for reason in table.left_out.values()))
        raise MetricError(f"none of these metrics can be measured: {reasons}", fix="ask for others")
    emit([table.as_dict() for table in tables], json, lambda _: _draw(tables, full))


def _foreign(
    runs: list[Path],
    format: str,
    gold: Path | None,
    gold_format: str | None,
    metrics: tuple[Metric, ...] | None,
    resamples: int,
    level: float,
    json: bool,
) -> None:
    from clwqa_bench.commands.foreign import score_foreign  # only who has such files reads them

    if len(runs) != 1:
        raise PredictionError(
            f"--format with {len(runs)} files", fix="score one file of another project at a time"
        )
    score_foreign(
        runs[0], format, gold, gold_format, json=json, resamples=resamples, level=level, metrics=metrics
    )


def _draw(tables: list[ScoreTable], full: bool) -> Group:
    from clwqa_bench.report.terminal import render  # not needed, and not paid for, with --json

    return Group(*(render(table, full=full) for table in tables))
