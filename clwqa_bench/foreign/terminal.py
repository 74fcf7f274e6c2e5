"""The two scores of a result file for the terminal, and the bridge between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from clwqa_bench.foreign.original import Original
from clwqa_bench.foreign.side_by_side import Bridge, Example, SideBySide, some
from clwqa_bench.metrics import Metric
from clwqa_bench.report.names import count, interval, metric_name, percent
from clwqa_bench.report.terminal import caption
from clwqa_bench.scoring import Cell

COUNTERPARTS = {
    "Exact Match": "Hits@1",
    "hit": "Hits@1",
    "accuracy": "R",
    "f1": "F1",
    "precision": "P",
    "recall": "R",
}
"""What a source prints -> our metric for the same thing."""

BY_STRATUM = ("Hits@1", "F1")
PRINTS_PERCENT = ("RoG", "GCR")


def render(both: SideBySide) -> RenderableType:
    """Numbers side by side, the bridge, strata, what became of every question, and notes."""
    return Group(*_parts(both))


def _parts(both: SideBySide) -> Iterator[RenderableType]:
    yield Text(both.strict.title, style="bold")
    yield Text(caption(both.strict), style="dim")
    yield Text()
    yield _numbers(both)
    if both.original:
        yield Text(f"\n{_prints(both.original)}")
    if both.original and both.bridge:
        yield Text()
        yield _bridge(both.original.source, both.bridge)
        yield Text(_gap(both.bridge))
    if both.strict.metrics and len(both.strict.strata) > 1:
        yield Text()
        yield _strata(both)
    yield Text()
    yield Text("\n".join(_remarks(both)))


def _numbers(both: SideBySide) -> Table:
    theirs = both.original
    source = f"{theirs.source}'s script" if theirs else "no script"
    drawn = _grid(
        source, Column("value", justify="right"), "", "ours", Column("value", justify="right"), "interval"
    )
    used = set()
    for name, value in _printed(theirs):
        cell = _ours(both, COUNTERPARTS.get(name, ""))
        used.add(cell and cell.metric)
        drawn.add_row(Text(name), percent(value), "", *_cells(cell))
    for metric in both.strict.metrics:
        cell = both.strict.cell(metric)
        if metric not in used and cell:
            drawn.add_row("", "", "", *_cells(cell))
    return drawn


def _printed(theirs: Original | None) -> list[tuple[str, float]]:
    """The shares a source prints; its counts go into the line below the table."""
    if theirs is None or theirs.total is None:
        return []
    scale = 100 if theirs.source in PRINTS_PERCENT else 1
    values = theirs.total.values.items()
    return [(k, v / scale) for k, v in values if k in COUNTERPARTS or k.startswith("path")]


def _ours(both: SideBySide, label: str) -> Cell | None:
    """Our number of that short name; for Hits@1 of unranked answers, its expectation."""
    labels = (label, "E[Hits@1] under random order") if label == "Hits@1" else (label,)
    for wanted in labels:
        for metric in both.strict.metrics:
            if Metric.parse(metric).label == wanted:
                return both.strict.cell(metric)
    return None


def _cells(cell: Cell | None) -> tuple[Text, str, Text]:
    if cell is None:
        return Text("–"), "", Text()
    return Text(metric_name(cell.metric).en), percent(cell.value), Text(interval(cell.low, cell.high), "dim")


def _prints(theirs: Original) -> str:
    if theirs.total is None:
        return f"{theirs.source} prints nothing: {theirs.crash}"
    values = ", ".join(
        f"{name} {value:.0f}" if value.is_integer() else f"{name} {value}"
        for name, value in theirs.total.values.items()
    )
    return f"{theirs.source} prints: {values}; over {count(theirs.total.n)} {theirs.total.denominator}"


def _bridge(source: str, bridge: Bridge) -> Table:
    drawn = _grid(Column("rows", justify="right"), f"from {source}'s count to ours", "examples")
    drawn.add_row(count(bridge.right), f"right for {source}, of {count(bridge.rows)} rows", "")
    for step in bridge.steps:
        drawn.add_row(f"{step.change:+,}", step.meaning, Text("\n".join(map(_example, step.examples))))
    drawn.add_row(count(bridge.strict), f"right here, of {count(bridge.questions)} questions", "")
    if bridge.without_row:
        drawn.add_row(
            "", f"questions without a row: {count(bridge.without_row)}; 0 here, not counted there", ""
        )
    return drawn


def _gap(bridge: Bridge) -> str:
    theirs, matched, ours = map(percent, bridge.shares)
    return f"\n{theirs} % of their rows; {matched} % of them with our matching; {ours} % of all questions"


def _example(example: Example) -> str:
    place = f"line {example.line}" if example.line else example.id
    return f"{place}: {example.output or 'nothing'} (gold: {', '.join(example.golds)})"


def _strata(both: SideBySide) -> Table:
    metrics = _by_stratum(both)
    drawn = _grid("stratum", *_headings(metrics), Column("n", justify="right"), "")
    for stratum in both.strict.strata:
        cells = [both.strict.cell(metric, stratum) for metric in metrics]
        parts = [part for cell in cells for part in _cells(cell)[1:]]
        if first := cells[0]:
            drawn.add_row(Text(stratum), *parts, count(first.n), "few" if first.small else "")
    return drawn


def _by_stratum(both: SideBySide) -> tuple[str, ...]:
    """The usual two metrics; where they were not asked for, the first two that were."""
    usual = [cell.metric for label in BY_STRATUM if (cell := _ours(both, label))]
    return tuple(usual or both.strict.metrics[: len(BY_STRATUM)])


def _headings(metrics: Iterable[str]) -> Iterator[str | Column]:
    for metric in metrics:
        yield Column(metric_name(metric).en, justify="right")
        yield ""


def _remarks(both: SideBySide) -> Iterator[str]:
    for outcome, ids in both.strict.outcomes.items():
        if ids and outcome != "ok":
            yield f"{outcome}, counts as 0: {some(ids)}"
    for metric, why in both.strict.left_out.items():
        yield f"left out: {metric}: {why}"
    yield from both.notes


def _grid(*headings: str | Column) -> Table:
    return Table(*headings, box=None, pad_edge=False, header_style="dim")
