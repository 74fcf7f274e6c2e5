"""A table in words and figures: Markdown for a page, a sheet for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from clwqa_baselines.experiments.elsewhere import HEADED, elsewhere
from clwqa_baselines.experiments.tables import Figure, Row, Table
from clwqa_bench.report.markdown import escape
from clwqa_bench.report.names import AGREE, AGREE_MARK, count, interval, level_name, percent
from clwqa_bench.report.sheet import Numbers, Sheet
from clwqa_bench.scoring import SMALL

ABSENT = "–"
FEW = "*"


def number(value: float) -> str:
    """A mean, with as many places as tell something."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.2f}"


SHOWN: Final[Mapping[str, Callable[[float], str]]] = {
    "percent": percent,
    "number": number,
    "ms": lambda seconds: number(1000 * seconds),
    "usd": lambda dollars: f"{dollars:.5f}",
    "count": lambda value: f"{value:,.0f}",
}


def value_and_interval(figure: Figure | None, unit: str) -> tuple[str, str]:
    """What stands in a cell."""
    if figure is None:
        return ABSENT, ""
    shown = SHOWN[unit]
    mark = FEW if figure.n < SMALL and unit != "count" else ""
    return shown(figure.value) + mark, interval(figure.low, figure.high, shown)


def title(row: Row) -> str:
    """A row's name, with what a reader must know before comparing it."""
    if not row.partial:
        return row.label
    left = ", ".join(f"{number:,} {status}" for status, number in row.partial.items())
    return f"{row.label} (PARTIAL: {left})"


def caption(table: Table) -> Iterator[str]:
    """What the numbers are of, how they came about, and what is not there; a sentence each."""
    ref = table.dataset
    asked = count(table.questions, "question")
    if table.sample is not None:
        asked = f"a sample of {asked} (seed {table.seed})"
    where = "all splits" if ref.split == "all" else f"{ref.split} split"
    yield f"{ref.name} {ref.version} ({ref.content[:12]}), {where}, {asked}."
    figures = [f for row in table.rows for f in row.cells if f is not None]
    if any(row.run for row in table.rows):
        backbones = dict.fromkeys(row.backbone for row in table.rows)
        yield f"Language model: {', '.join(f'llm={name}' for name in backbones)}."
        if any(column.unit == "percent" for column in table.columns):
            yield f"Shares in per cent; metric suite {table.suite}, answers matched by {table.policy}."
        agree = f"; {AGREE_MARK}: {AGREE.en}" if any(f.low == f.high is not None for f in figures) else ""
        yield (
            f"{level_name(table.level)} intervals from {count(table.resamples)} bootstrap resamples of fact "
            f"groups{agree}."
        )
    if any(figure.n < SMALL for figure in figures):
        yield f"{FEW} on fewer than {SMALL} questions."
    yield from table.notes
    for why in dict.fromkeys(table.left_out.values()):
        labels = [label for label, reason in table.left_out.items() if reason == why]
        yield f"Not in the table: {', '.join(labels)} ({why})."


# ---------------------------------------------------------------------- Markdown


def markdown(table: Table, *, plot: str = "") -> str:
    """The table with its caption, its plot (a path) and what is reported elsewhere."""
    with_model = any(row.backbone for row in table.rows)
    head = ["", *(["llm"] if with_model else []), *(column.heading for column in table.columns)]
    lines = [_line(head), _line(["---", *["---"] * with_model, *("--:" for _ in table.columns)])]
    for row in table.rows:
        cells = [_cell(figure, column.unit) for figure, column in zip(row.cells, table.columns, strict=True)]
        lines.append(_line([escape(title(row)), *[escape(row.backbone)] * with_model, *cells]))
    parts = ["\n".join(lines), escape(" ".join(caption(table)))]
    if plot:
        parts.append(f"![{table.title}]({plot})")
    return "\n\n".join([*parts, *_elsewhere(table.name)])


def _elsewhere(name: str) -> Iterator[str]:
    if (found := elsewhere().get(name)) is None:
        return
    unit = f"; {found.unit}" if found.unit and found.rows else ""
    yield f"**{HEADED}** (the CEAF-CLWQA paper, {found.source}{unit}):"
    if found.rows:
        right = ["---" if isinstance(cell, str) and cell else "--:" for cell in found.rows[0]]
        rows = [[escape(_plain(cell)) for cell in row] for row in found.rows]
        yield "\n".join(map(_line, [found.columns, right, *rows]))
    yield from map(escape, found.says)


def _cell(figure: Figure | None, unit: str) -> str:
    value, spread = value_and_interval(figure, unit)
    return " ".join(filter(None, (escape(value), spread.replace("<", "&lt;").replace(">", "&gt;"))))


def _plain(cell: str | int | float) -> str:
    return f"{cell:.1f}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else cell


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


# ---------------------------------------------------------------------- terminal


def render(table: Table) -> RenderableType:
    """The table for a terminal of any width."""
    columns = [part for c in table.columns for part in (Numbers(c.heading), Numbers("", "left"))]
    sheet = Sheet("", "llm", *columns)
    for row in table.rows:
        cells = [
            part
            for figure, column in zip(row.cells, table.columns, strict=True)
            for part in _dimmed(*value_and_interval(figure, column.unit))
        ]
        sheet.add_row(title(row), row.backbone, *cells)
    notes = Text("\n".join(caption(table)), "dim")
    return Group(Text(f"{table.title} ({table.paper})", "bold"), sheet, notes, *_reported(table.name))


def _dimmed(value: str, spread: str) -> tuple[str, Text]:
    return value, Text(spread, "dim")


def _reported(name: str) -> Iterator[RenderableType]:
    if (found := elsewhere().get(name)) is None:
        return
    yield Text(f"{HEADED} (the CEAF-CLWQA paper, {found.source})", "dim bold")
    if found.rows:
        sheet = Sheet(*found.columns)
        for row in found.rows:
            sheet.add_row(*map(_plain, row))
        yield sheet
    yield Text("\n".join(found.says), "dim")
