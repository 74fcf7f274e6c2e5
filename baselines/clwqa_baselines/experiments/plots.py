"""A table as a picture: SVG by matplotlib, which is imported only to draw."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from clwqa_baselines.experiments.design import Bars, Curves, Plot, Profile
from clwqa_baselines.experiments.render import title
from clwqa_baselines.experiments.tables import Figure, Row, Table
from clwqa_bench.errors import ClwqaError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
"""Okabe and Ito's, told apart by colour-blind readers too; markers differ as well."""
MARKERS: Final = "osD^vP*X"
FACTOR: Final = {"percent": 100.0, "ms": 1000.0}
STYLE: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "clwqa",  # the same table makes the same file
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
}


class PlotError(ClwqaError):
    """A plot that cannot be drawn here."""


def draw(table: Table, plot: Plot, path: Path) -> None:
    """Draw a table's plot.  Raises PlotError if matplotlib is not installed, OSError if it cannot be written."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure as Picture
    except ModuleNotFoundError:
        raise PlotError("matplotlib is not installed", fix="pip install 'clwqa-bench[plots]'") from None
    with mpl.rc_context(STYLE):
        picture = Picture(layout="constrained")
        match plot:
            case Bars():
                _bars(picture, table, plot)
            case Curves():
                _curves(picture, table, plot)
            case Profile():
                _profile(picture, table, plot)
        picture.suptitle(_heading(table), fontsize=9)
        picture.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _heading(table: Table) -> str:
    sample = f"sample of {table.questions:,}" if table.sample else f"{table.questions:,} questions"
    backbones = {row.backbone for row in table.rows if row.backbone}
    model = f", llm={backbones.pop()}" if len(backbones) == 1 else ""
    ref = table.dataset
    return f"{table.title}\n{ref.name} {ref.version}, {ref.split}, {sample}{model}"


def _named(table: Table, row: Row) -> str:
    several = len({row.backbone for row in table.rows}) > 1
    return f"{title(row)} [{row.backbone}]" if several and row.backbone else title(row)


def _scaled(figure: Figure | None, unit: str) -> tuple[float, float, float]:
    """Value, and how far the interval reaches below and above it, in the unit shown; NaN for nothing."""
    if figure is None:
        return float("nan"), 0.0, 0.0
    by = FACTOR.get(unit, 1.0)
    low = figure.value if figure.low is None else figure.low
    high = figure.value if figure.high is None else figure.high
    return by * figure.value, by * max(0.0, figure.value - low), by * max(0.0, high - figure.value)


def _column(table: Table, heading: str, rows: Sequence[Row]) -> tuple[list[float], list[list[float]]]:
    """Values and the two rows of error bars."""
    place = table.place(heading)
    found = [_scaled(row.cells[place], table.columns[place].unit) for row in rows]
    return [value for value, _, _ in found], [[low for _, low, _ in found], [high for _, _, high in found]]


def _label(table: Table, heading: str) -> str:
    return f"{heading} (%)" if table.columns[table.place(heading)].unit == "percent" else heading


def _bars(picture: Picture, table: Table, plot: Bars) -> None:
    picture.set_size_inches(2.2 + 2.6 * len(plot.headings), 1.1 + 0.3 * len(table.rows))
    panels = picture.subplots(1, len(plot.headings), sharey=True, squeeze=False)[0]
    places = range(len(table.rows))
    for number, (axes, heading) in enumerate(zip(panels, plot.headings, strict=True)):
        values, errors = _column(table, heading, table.rows)
        axes.barh(
            places,
            values,
            xerr=errors if any(map(any, errors)) else None,
            height=0.65,
            color=COLOURS[number],
            ecolor="#333333",
            capsize=2,
        )
        axes.set_xlabel(_label(table, heading))
        axes.grid(visible=False, axis="y")
        axes.set_xlim(left=0)
    panels[0].set_yticks(places, [_named(table, row) for row in table.rows])
    panels[0].invert_yaxis()


def _curves(picture: Picture, table: Table, plot: Curves) -> None:
    picture.set_size_inches(5.2, 3.4)
    axes = picture.subplots()
    series: dict[str, list[Row]] = {}
    several = len({row.backbone for row in table.rows}) > 1
    for row in table.rows:
        series.setdefault(f"{row.series} [{row.backbone}]" if several else row.series, []).append(row)
    for number, (name, rows) in enumerate(series.items()):
        at = [row.x for row in rows if row.x is not None]
        _line(axes, number, name, at, *_column(table, plot.heading, rows))
    axes.set_xticks(sorted({row.x for row in table.rows if row.x is not None}))
    axes.set_xlabel(plot.over)
    axes.set_ylabel(_label(table, plot.heading))
    if len(series) > 1:
        axes.legend(frameon=False)


def _profile(picture: Picture, table: Table, plot: Profile) -> None:
    picture.set_size_inches(6.4, 3.6)
    axes = picture.subplots()
    units = [table.columns[table.place(heading)].unit for heading in plot.headings]
    for number, row in enumerate(table.rows):
        found = [
            _scaled(row.cells[table.place(heading)], unit)
            for heading, unit in zip(plot.headings, units, strict=True)
        ]
        errors = [[low for _, low, _ in found], [high for _, _, high in found]]
        shift = 0.06 * (number - (len(table.rows) - 1) / 2)  # so that intervals do not hide one another
        at = [place + shift for place in range(len(found))]
        _line(axes, number, _named(table, row), at, [value for value, _, _ in found], errors)
    axes.set_ylim(bottom=0)
    axes.set_xticks(range(len(plot.headings)), [_broken(heading) for heading in plot.headings])
    axes.set_xlabel(plot.over)
    axes.set_ylabel(f"{plot.value} (%)" if "percent" in units and "cent" not in plot.value else plot.value)
    if len(table.rows) > 1:
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))


def _broken(heading: str) -> str:
    """A heading on several lines, without the metric that the axis names."""
    words, lines = heading.rpartition(", ")[2].split() if "hop" in heading else heading.split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) > 12:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(filter(None, lines))


def _line(
    axes: Axes, number: int, name: str, at: Sequence[float], values: Sequence[float], errors: Any
) -> None:
    axes.errorbar(
        at, values, yerr=errors, label=name, color=COLOURS[number % len(COLOURS)],
        marker=MARKERS[number % len(MARKERS)], markersize=5, linewidth=1.5, capsize=3,
        linestyle="-" if number < len(COLOURS) else "--",
    )  # fmt: skip
