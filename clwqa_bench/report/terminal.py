"""A ScoreTable for the terminal: headline first, then what it is made of, then what should make a reader careful."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from clwqa_bench.report.names import (
    AGREE,
    AGREE_MARK,
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
    notes_of,
    percent,
    stratum_parts,
)
from clwqa_bench.report.results import intervals_note, title_of
from clwqa_bench.report.sheet import Numbers, Sheet
from clwqa_bench.scoring import WHOLE, Cell, ScoreTable

SHOWN_IDS = 3
MARKS = Numbers("", "left")
SHOWN_DIMENSIONS = ("hops", "category")  # always shown; the others only in full


def render(table: ScoreTable, *, full: bool = False) -> RenderableType:
    """One run.  `full` adds the tables of every family of strata; by default hops and category are shown."""
    return Group(*_parts(table, full))


def caption(table: ScoreTable) -> str:
    """What the numbers are of, and how their intervals came about."""
    ref, manifest = table.ref, table.manifest
    backbone = f"backbone {manifest.backbone}, " if manifest else ""
    agree = any(interval(cell.low, cell.high) == AGREE_MARK for cell in table.cells)
    return (
        f"{ref.name} {ref.version}, {ref.split} split, {backbone}metric suite {table.suite}; values in per cent; "
        f"{intervals_note(table)}{f'; {AGREE_MARK} {AGREE.en}' if agree else ''}"
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


def _values(table: ScoreTable, metrics: Sequence[str]) -> Sheet:
    drawn = Sheet("metric", Numbers("value"), Numbers("interval", "left"), Numbers("n"), MARKS)
    for metric in metrics:
        if cell := table.cell(metric):
            drawn.add_row(
                Text(metric + lower_mark(metric)),
                percent(cell.value),
                interval(cell.low, cell.high),
                count(cell.n),
                _mark(cell),
            )
    return drawn


def _strata(table: ScoreTable, dimension: str, strata: Sequence[str]) -> Sheet:
    metrics = main_metrics(table.metrics)
    headings = [column for m in metrics for column in (Numbers(metric_name(m).en), Numbers("", "left"))]
    drawn = Sheet(dimension_name(dimension).en.lower(), *headings, Numbers("n"), MARKS)
    for stratum in (*strata, WHOLE):
        cells = [table.cell(metric, stratum) for metric in metrics]
        shown = [part for cell in cells for part in _value_and_interval(cell)]
        first = next((cell for cell in cells if cell), None)
        if first is not None:
            drawn.add_row(stratum_parts(stratum)[1], *shown, count(first.n), _mark(first))
    return drawn


def _value_and_interval(cell: Cell | None) -> tuple[str, Text]:
    if cell is None:
        return "–", Text()
    return percent(cell.value), Text(interval(cell.low, cell.high), style="dim")


def _outcomes(table: ScoreTable) -> Sheet:
    drawn = Sheet("status", Numbers("questions"), "counts as", "first ids")
    for outcome, ids in table.outcomes.items():
        if ids:
            effect = "what its answers are worth" if outcome == "ok" else "no answer: 0"
            shown = "" if outcome == "ok" else ", ".join(ids[:SHOWN_IDS])
            drawn.add_row(outcome, count(len(ids)), effect, shown)
    return drawn


def _cautions(table: ScoreTable) -> Iterator[RenderableType]:
    lines = [note.en for note in notes_of(table.notes)]
    lines += [
        f"left out: {', '.join(names)}: {reason}" for reason, names in by_reason(table.left_out).items()
    ]
    if lines:
        yield Text()
        yield Text("\n".join(lines))


def _mark(cell: Cell) -> str:
    return "few" if cell.small else ""
