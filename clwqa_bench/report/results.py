"""One table of several runs, before it is LaTeX or Markdown: what stands in each cell, and what the caption owes.

Columns are pairs of a metric and a stratum, so "runs by metrics" and "runs by hops under one metric" are one thing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clwqa_bench.comparison import ALPHA, Family
from clwqa_bench.errors import MetricError
from clwqa_bench.metrics import Metric
from clwqa_bench.report.names import (
    count,
    dimension_name,
    dimensions,
    interval,
    is_legacy,
    metric_name,
    percent,
    stratum_name,
)
from clwqa_bench.scoring import WHOLE, Cell, ScoreTable

ABSENT = "–"
SMALL_MARK, DIFFERS_MARK, LEGACY_MARK = "*", "†", "‡"


@dataclass(frozen=True, slots=True)
class Column:
    """A metric on a stratum, and the heading readers see."""

    metric: str
    stratum: str
    heading: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What a cell shows.  `best`: no run has a better value; `differs`: significantly unlike the reference."""

    value: str
    interval: str = ""
    best: bool = False
    differs: bool = False
    small: bool = False


@dataclass(frozen=True)
class Results:
    """A finished table: `rows[i]` is the name of a run and one entry per column."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, tuple[Entry, ...]], ...]
    caption: str

    @property
    def marks(self) -> frozenset[str]:
        """Marks that occur, so that no legend explains what is not there."""
        entries = [entry for _, row in self.rows for entry in row]
        found = {SMALL_MARK} if any(entry.small for entry in entries) else set()
        return frozenset(found | ({DIFFERS_MARK} if any(entry.differs for entry in entries) else set()))


def by_metric(tables: Sequence[ScoreTable], metrics: Sequence[str]) -> tuple[Column, ...]:
    """One column per metric, on all questions, whatever run has it."""
    known = {metric for table in tables for metric in table.metrics}
    marks = {metric: LEGACY_MARK if is_legacy(metric) else "" for metric in metrics}
    return tuple(Column(m, WHOLE, metric_name(m).en + marks[m]) for m in metrics if m in known)


def by_stratum(tables: Sequence[ScoreTable], dimension: str, metric: str) -> tuple[Column, ...]:
    """One column per stratum of a dimension ("hops"), and one for all questions.

    Raises MetricError for a dimension that the dataset does not have.
    """
    found = dimensions(dict.fromkeys(name for table in tables for name in table.strata))
    if dimension not in found:
        raise MetricError(f"there are no strata by {dimension!r}", fix=f"use one of {', '.join(found)}")
    headings = {name: stratum_name(name).en for name in found[dimension]}
    return (*(Column(metric, name, headings[name]) for name in found[dimension]), Column(metric, WHOLE, "All"))


def results(
    tables: Sequence[ScoreTable],
    columns: Sequence[Column],
    family: Family | None = None,
    baseline: str | None = None,
) -> Results:
    """Lay out the runs; `family` marks what differs significantly from the best of the column or from a baseline.

    Raises MetricError when the baseline is none of the runs.
    """
    titles = [title_of(table) for table in tables]
    if baseline is not None and baseline not in [table.title for table in tables]:
        raise MetricError(f"no run is called {baseline!r}", fix=f"use one of {', '.join(titles)}")
    columns = tuple(columns)
    by_column = [_entries(tables, column, family, baseline) for column in columns]
    rows = tuple((title, tuple(found[i] for found in by_column)) for i, title in enumerate(titles))
    made = Results(columns, rows, "")
    return Results(columns, rows, _caption(tables, made, family, baseline))


def title_of(table: ScoreTable) -> str:
    """The run's title, with what a reader must know before comparing it."""
    manifest = table.manifest
    if manifest is None:
        return table.title
    remarks = []
    if manifest.oracle:
        remarks.append(f"oracle {', '.join(manifest.oracle)}")
    if manifest.sample is not None:
        remarks.append(f"sample of {count(manifest.sample)}")
    return table.title + (f" ({'; '.join(remarks)})" if remarks else "")


def _entries(
    tables: Sequence[ScoreTable], column: Column, family: Family | None, baseline: str | None
) -> list[Entry]:
    cells = [table.cell(column.metric, column.stratum) for table in tables]
    direction = Metric.parse(column.metric).direction
    best = max((cell.value * direction for cell in cells if cell), default=None)
    is_best = [cell is not None and cell.value * direction == best for cell in cells]
    reference = baseline or next((t.title for t, b in zip(tables, is_best, strict=True) if b), None)
    several = len(tables) > 1
    return [
        _entry(
            cell,
            best=several and top,
            differs=column.stratum == WHOLE and _differs(family, column.metric, table.title, reference),
        )
        for table, cell, top in zip(tables, cells, is_best, strict=True)
    ]


def _entry(cell: Cell | None, *, best: bool, differs: bool) -> Entry:
    if cell is None:
        return Entry(ABSENT)
    return Entry(percent(cell.value), interval(cell.low, cell.high), best, differs, cell.small)


def _differs(family: Family | None, metric: str, title: str, reference: str | None) -> bool:
    if family is None or reference is None or title == reference:
        return False
    pair = family.pair(metric, title, reference)
    return pair is not None and pair.significant


def _caption(
    tables: Sequence[ScoreTable], made: Results, family: Family | None, baseline: str | None
) -> str:
    """What is needed to read the numbers and to get them again."""
    first = tables[0]
    policies = dict.fromkeys(str(m.match) for c in made.columns if (m := Metric.parse(c.metric)).match)
    parts = [
        f"{first.ref.name} {first.ref.version}, {first.ref.split} split, {count(first.n)} questions, in per cent",
        *_what_of(made.columns, policies),
        f"metric suite {first.suite}",
    ]
    if len(tables) == 1:
        parts.append(intervals_note(first))
    if family is not None:
        reference = f"from {baseline}" if baseline else "from the best of the column"
        parts.append(
            f"{DIFFERS_MARK} differs {reference}: p ≤ {ALPHA:g}, two-sided paired permutation test by fact group, "
            f"Holm over {family.size} tests"
        )
    if any(is_legacy(column.metric) for column in made.columns):
        parts.append(f"{LEGACY_MARK} another project's scoring script, inflated, not comparable")
    if SMALL_MARK in made.marks:
        parts.append(f"{SMALL_MARK} fewer than 30 questions")
    return "; ".join(parts) + "."


def _what_of(columns: Sequence[Column], policies: Mapping[str, None]) -> list[str]:
    found = [f"answers matched by {' and '.join(policies)}"] if policies else []
    if len({column.stratum for column in columns}) > 1:
        dimension = columns[0].stratum.partition("=")[0]
        found.insert(0, f"{metric_name(columns[0].metric).en} by {dimension_name(dimension).en.lower()}")
    return found


def intervals_note(table: ScoreTable) -> str:
    """How the intervals came about."""
    return (
        f"{table.level:.0%} intervals from {count(table.resamples)} bootstrap resamples of fact groups, "
        f"seed {table.seed}"
    )
