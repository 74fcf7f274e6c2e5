"""Say where a run loses its questions: stage indicators and a waterfall that sums to 100 %."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from clwqa_bench.commands import common
from clwqa_bench.console import emit, warn
from clwqa_bench.dataset import Dataset
from clwqa_bench.diagnostics import Diagnosis, Level, Loss
from clwqa_bench.diagnostics import diagnose as compute
from clwqa_bench.matching import HEADLINE, Policy
from clwqa_bench.report.names import level_name
from clwqa_bench.scoring import LEVEL, RESAMPLES, WHOLE, Cell

Family = Literal["hops", "category", "upper", "answers", "kind", "method", "view"]


def diagnose(
    run: common.RunArgument,
    dataset: common.DatasetOption = common.DATASET,
    split: common.SplitOption = None,
    by: Annotated[Family | None, typer.Option(help="Also show every hop band, every category, ...")] = None,
    loss: Annotated[
        Loss,
        typer.Option(help="What is lost: a wrong first answer (hits), or any gold answer missing (recall)."),
    ] = "hits",
    support: Annotated[
        Level,
        typer.Option(
            help="When a path supports the answer: it is the standard path (same), runs over the same relations "
            "(compatible), or merely reaches a gold answer (reaching)."
        ),
    ] = "compatible",
    top: Annotated[
        int | None, typer.Option(min=1, help="K of the ranking; by default whatever the system kept.")
    ] = None,
    match: Annotated[str, typer.Option(help="When an answer is right: a matching policy.")] = str(HEADLINE),
    resamples: common.ResamplesOption = RESAMPLES,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="Level of the intervals.")] = LEVEL,
    json: common.JsonOption = False,
) -> None:
    """Say where a run loses its questions: five stage indicators, and a waterfall that sums to 100 %.

    Works on the traces a system leaves; what it did not trace is named, never guessed.

    Example: clwqa-bench diagnose runs/kg-lookup --by hops
    """
    policy = Policy.parse(match)
    [(_, read, grid)] = common.open_runs([run], dataset, split)
    result = compute(
        grid,
        Dataset.open(dataset, verify=False).kg().ontology,
        title=read.title,
        manifest=read.manifest,
        policy=policy,
        loss=loss,
        support=support,
        top=top,
        by=[by] if by else [],
        resamples=resamples,
        level=level,
    )
    _warn(result)
    emit(result.as_dict(), json, lambda _: _draw(result))


def _warn(result: Diagnosis) -> None:
    if result.oracle:
        warn(
            f"gold stands in for {', '.join(result.oracle)}: these are not the numbers of a system on its own"
        )
    if result.untraced:
        some = f"{len(result.untraced):,} predictions have neither trace nor evidence"
        warn(f"{some} (first: {result.untraced[0]}); the indicators leave them out")
    if result.cut:
        some = f"{len(result.cut):,} traces hold a list that was cut (first: {result.cut[0]})"
        warn(f"{some}; coverage and retention may be too low where the system cut it itself")


# ---------------------------------------------------------------------- tables for people


def _draw(result: Diagnosis) -> RenderableType:
    strata = [name for name in result.waterfalls if name != WHOLE]
    parts: list[RenderableType] = [Text(_heading(result)), Text(), _indicators(result, strata), Text()]
    parts += [_waterfall(result, strata)]
    if result.not_traced:
        lines = [
            f"not traced: {result.labels[name]} (needs {need})" for name, need in result.not_traced.items()
        ]
        parts += [Text(), Text("\n".join(lines))]
    return Group(*parts)


def _heading(result: Diagnosis) -> str:
    lost = "no right answer at rank 1" if result.loss == "hits" else "a gold answer missing"
    ref = result.ref
    lines = [
        f"{result.title} on {ref.name} {ref.version}, {ref.split}",
        f"lost: {lost} ({result.policy}); supporting path: {result.support}; top: {result.top or 'all kept'}",
    ]
    if result.oracle:
        lines.insert(1, f"ORACLE RUN: gold stands in for {', '.join(result.oracle)}")
    return "\n".join(lines)


def _indicators(result: Diagnosis, strata: list[str]) -> Table:
    right = [
        Column(name, justify="right") for name in ("all", f"{level_name(result.level)} CI", "n", *strata)
    ]
    table = Table("indicator", *right, box=None)
    for name, label in result.labels.items():
        if name not in result.not_traced:
            whole = result.cell(name)
            count = f"{whole.n:,}" if whole else "0"
            cells = [result.cell(name, stratum) for stratum in strata]
            table.add_row(
                label if label.startswith("(") else f"   {label}",
                _percent(whole),
                _interval(whole),
                count,
                *map(_percent, cells),
            )
    return table


def _interval(cell: Cell | None) -> str:
    if cell is None or cell.low is None or cell.high is None:
        return ""
    return f"{100 * cell.low:.1f}-{100 * cell.high:.1f}"


def _percent(cell: Cell | None) -> str:
    """In per cent; a star marks fewer questions than say much."""
    return "-" if cell is None else f"{100 * cell.value:.1f}{'*' if cell.small else ''}"


def _waterfall(result: Diagnosis, strata: list[str]) -> Table:
    right = [Column(name, justify="right") for name in ("questions", "%", *strata)]
    table = Table("where questions end", *right, box=None)
    of_stratum = [{stage: percent for stage, _, percent in result.rows(name)} for name in strata]
    for stage, count, percent in result.rows():
        table.add_row(
            stage, f"{count:,}", f"{percent:.1f}", *(f"{p.get(stage, 0.0):.1f}" for p in of_stratum)
        )
    table.add_section()
    sums = [sum(count for _, count, _ in result.rows(name)) for name in (WHOLE, *strata)]
    table.add_row("all", f"{sums[0]:,}", "100.0" if sums[0] else "0.0", *("100.0" for _ in strata))
    return table
