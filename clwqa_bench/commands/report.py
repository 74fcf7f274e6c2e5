"""Scores as a page, a LaTeX or Markdown table, or CSV."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clwqa_bench.commands.common import (
    DATASET,
    DatasetOption,
    JsonOption,
    MetricsOption,
    ResamplesOption,
    RunArguments,
    SplitOption,
    open_runs,
)
from clwqa_bench.comparison import Family, compare
from clwqa_bench.console import emit, say
from clwqa_bench.errors import MetricError, PredictionError
from clwqa_bench.metrics import HEADLINE, Metric, chosen, select
from clwqa_bench.report.items import Selection
from clwqa_bench.report.names import main_metric
from clwqa_bench.report.results import Column, by_metric, by_stratum, results
from clwqa_bench.scoring import RESAMPLES, Scored, ScoreTable, score

if TYPE_CHECKING:
    from clwqa_bench.diagnostics import Diagnosis

STDOUT = Path("-")
FORMATS = ("html", "latex", "markdown", "csv")


@dataclass(frozen=True)
class _Request:
    """What is wanted.  `tested` metrics stand in the tables and are the family of tests."""

    tested: tuple[Metric, ...]
    by: str | None
    baseline: str | None
    resamples: int
    selection: Selection


def report(
    runs: RunArguments,
    dataset: DatasetOption = DATASET,
    split: SplitOption = None,
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write a LaTeX table.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a Markdown table.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write every number as CSV.")] = None,
    metric: MetricsOption = None,
    by: Annotated[
        str | None, typer.Option(help="Tables by hops, category, ... under one metric instead of by metric.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Mark what differs from this run rather than from the best.")
    ] = None,
    errors_only: Annotated[
        bool, typer.Option("--errors-only", help="The page holds no right answers.")
    ] = False,
    max_items: Annotated[
        int | None, typer.Option(min=1, help="The page holds at most so many questions.")
    ] = None,
    resamples: ResamplesOption = RESAMPLES,
    json: JsonOption = False,
) -> None:
    """Write scores as a page, a LaTeX or Markdown table, or CSV; "-" stands for stdout.

    Several runs of one split go into one table or page, tested against each other.

    Example: clwqa-bench report runs/ceaf runs/tog --html report.html --latex table.tex
    """
    targets = {name: path for name, path in zip(FORMATS, (html, latex, markdown, csv), strict=True) if path}
    _check_targets(targets, json)
    tested = select(metric) if metric else HEADLINE
    request = _Request(tested, by, baseline, resamples, Selection(errors_only, max_items))
    opened = open_runs(runs, dataset, split)
    scored = [
        score(
            grid,
            chosen(metric, grid.gold),
            title=title,
            manifest=run.manifest,
            resamples=resamples,
            notes=run.notes,
        )
        for title, run, grid in opened
    ]
    family = _family(scored, request)
    for name, path in targets.items():
        _write(path, _made(name, scored, family, request))
        if path != STDOUT:
            say(f"{path} written")
    if json:
        emit(targets, json, str)


def _check_targets(targets: Mapping[str, Path], json: bool) -> None:
    if not targets:
        options = ", ".join(f"--{name}" for name in FORMATS)
        raise MetricError("nothing to write", fix=f"add one of {options} with a file name, or - for stdout")
    if sum(path == STDOUT for path in targets.values()) + json > 1:
        raise MetricError("only one thing can go to stdout", fix="name a file for the others")


def _made(name: str, scored: Sequence[Scored], family: Family | None, request: _Request) -> str:
    """The text of one format; what makes it is imported when it is asked for."""
    tables = [run.table for run in scored]
    if name == "csv":
        from clwqa_bench.report.frame import to_csv

        return to_csv(tables)
    columns, baseline = _columns(tables, request), request.baseline
    if name == "html":
        from clwqa_bench.report.html import html

        diagnoses = _diagnoses(scored)
        return html(
            scored, columns, family, baseline=baseline, diagnoses=diagnoses, selection=request.selection
        )
    table = results(tables, columns, family, baseline)
    if name == "latex":
        from clwqa_bench.report.latex import latex

        return latex(table)
    from clwqa_bench.report.markdown import markdown

    return markdown(table)


def _columns(tables: Sequence[ScoreTable], request: _Request) -> tuple[Column, ...]:
    """With --by the strata under the main metric, else one column per metric."""
    metrics = list(map(str, request.tested))
    if request.by is None:
        return by_metric(tables, metrics)
    return by_stratum(tables, request.by, main_metric(metrics))


def _family(scored: Sequence[Scored], request: _Request) -> Family | None:
    """Tests of all pairs under all metrics shown; None for one run."""
    if len(scored) < 2:
        return None
    runs = {run.table.title: run.grid for run in scored}
    tested = request.tested
    if request.by is not None:
        tested = (Metric.parse(main_metric(map(str, tested))),)
    return compare(runs, tested, resamples=request.resamples)


def _diagnoses(scored: Sequence[Scored]) -> dict[str, Diagnosis]:
    """Where each run lost its questions, by title; runs that recorded nothing or have no ranking are left out."""
    from clwqa_bench.diagnostics import diagnose
    from clwqa_bench.kg.memory import MemoryGraph

    graph = scored[0].grid.gold.graph
    if not isinstance(graph, MemoryGraph):
        return {}
    found: dict[str, Diagnosis] = {}
    for run in scored:
        try:
            found[run.table.title] = diagnose(run.grid, graph.ontology, resamples=100)
        except (PredictionError, MetricError) as error:
            say(f"{run.table.title}: no waterfall: {error.what}")
    return found


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all; "-" is stdout."""
    if path == STDOUT:
        sys.stdout.write(text)
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8", newline="")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
