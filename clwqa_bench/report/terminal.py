"""A ScoreTable for the terminal: headline first, then what it is made of, then what should make a reader careful."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from clwqa_bench.report.names import (
    GROUPS,
    by_reason,
    count,
    dimension_name,
    dimensions,
    interval,
    lower_mark,
    main_metrics,
    metric_groups,
    metric_name,
    note_name,
    percent,
    stratum_parts,
)
from clwqa_bench.report.results import intervals_note, title_of
from clwqa_bench.scoring import WHOLE, Cell, ScoreTable

SHOWN_IDS = 3
SHOWN_DIMENSIONS = ("hops", "category")  # always shown; the others only in full


def render(table: ScoreTable, *, full: bool = False) -> RenderableType:
    """One run.  `full` adds the tables of every family of strata; by default hops and category are shown."""
    return Group(*_parts(table, full))


def caption(table: ScoreTable) -> str:
    """What the numbers are of, and how their intervals came about."""
    ref, manifest = table.ref, table.manifest
    backbone = f"backbone {manifest.backbone}, " if manifest else ""
    return (
        f"{ref.name} {ref.version}, {ref.split} split, {backbone}metric suite {table.suite}; values in per cent; "
        f"{intervals_note(table)}"
    )


def _parts(table: ScoreTable, full: bool) -> Iterator[RenderableType]:
    yield Text(title_of(table), style="bold")
    yield Text(caption(table), style="dim")
    groups = metric_groups(table.metrics)
    for group in [group for group in groups if group != "legacy"]:
        yield Text(f"\n{GROUPS[group].en}", "bold")
        yield _values(table, groups[group])
    for dimension, strata in dimensions(table.strata).items():
        if table.metrics and (full or dimension in SHOWN_DIMENSIONS):
            yield Text()
            yield _strata(table, dimension, strata)
    if "legacy" in groups:
        yield Text(f"\n{GROUPS['legacy'].en}", "bold yellow")
        yield _values(table, groups["legacy"])
    yield Text()
    yield _outcomes(table)
    yield from _cautions(table)


def _values(table: ScoreTable, metrics: Sequence[str]) -> Table:
    drawn = _grid("metric", Column("value", justify="right"), "interval", Column("n", justify="right"), "")
    for metric in metrics:
        if cell := table.cell(metric):
            drawn.add_row(
                Text(metric + lower_mark(metric)),
                percent(cell.value),
                Text(interval(cell.low, cell.high)),
                count(cell.n),
                _mark(cell),
            )
    return drawn


def _strata(table: ScoreTable, dimension: str, strata: Sequence[str]) -> Table:
    metrics = main_metrics(table.metrics)
    headings = [c for m in metrics for c in (Column(metric_name(m).en, justify="right"), Column(""))]
    drawn = _grid(dimension_name(dimension).en.lower(), *headings, Column("n", justify="right"), "")
    for stratum in (*strata, WHOLE):
        cells = [table.cell(metric, stratum) for metric in metrics]
        shown = [part for cell in cells for part in _value_and_interval(cell)]
        first = next((cell for cell in cells if cell), None)
        if first is not None:
            drawn.add_row(Text(stratum_parts(stratum)[1]), *shown, count(first.n), _mark(first))
    return drawn


def _value_and_interval(cell: Cell | None) -> tuple[str, Text]:
    if cell is None:
        return "–", Text()
    return percent(cell.value), Text(interval(cell.low, cell.high), style="dim")


def _outcomes(table: ScoreTable) -> Table:
    drawn = _grid("status", Column("questions", justify="right"), "counts as", "first ids")
    for outcome, ids in table.outcomes.items():
        if ids:
            effect = "what its answers are worth" if outcome == "ok" else "no answer: 0"
            shown = "" if outcome == "ok" else ", ".join(ids[:SHOWN_IDS])
            drawn.add_row(Text(outcome), count(len(ids)), effect, Text(shown))
    return drawn


def _cautions(table: ScoreTable) -> Iterator[RenderableType]:
    lines = [f"{count(number)} {note_name(note).en}" for note, number in table.notes.items() if number]
    lines += [
        f"left out: {', '.join(names)}: {reason}" for reason, names in by_reason(table.left_out).items()
    ]
    if lines:
        yield Text()
        yield Text("\n".join(lines))


def _mark(cell: Cell) -> str:
    return "few" if cell.small else ""


def _grid(*headings: str | Column) -> Table:
    return Table(*headings, box=None, pad_edge=False, header_style="dim")
