"""One table of several runs, before it is LaTeX or Markdown: what stands in each cell, and what the caption owes.

Columns are pairs of a metric and a stratum, so "runs by metrics" and "runs by hops under one metric" are one thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clwqa_bench.comparison import ALPHA, Family
from clwqa_bench.errors import MetricError
from clwqa_bench.metrics import Metric
from clwqa_bench.predictions import RunManifest
from clwqa_bench.report.names import (
    AGREE,
    AGREE_MARK,
    count,
    dimension_name,
    dimensions,
    interval,
    is_legacy,
    level_name,
    metric_name,
    notes_of,
    percent,
    stratum_name,
    stratum_parts,
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
    return (
        *(Column(metric, name, headings[name]) for name in found[dimension]),
        Column(metric, WHOLE, "All"),
    )


def results(
    tables: Sequence[ScoreTable],
    columns: Sequence[Column],
    family: Family | None = None,
    baseline: str | None = None,
) -> Results:
    """Lay out the runs; `family` marks what differs significantly from the best of the column or from a baseline.

    Raises MetricError when the baseline is none of the runs.
    """
    titles = [table.title for table in tables]
    if baseline is not None and baseline not in titles:
        raise MetricError(f"no run is called {baseline!r}", fix=f"use one of {', '.join(titles)}")
    columns = tuple(columns)
    by_column = [_entries(tables, column, family, baseline) for column in columns]
    rows = tuple((title_of(t), tuple(found[i] for found in by_column)) for i, t in enumerate(tables))
    entries = [entry for found in by_column for entry in found]
    return Results(columns, rows, _caption(tables, columns, family, baseline, entries))


def title_of(table: ScoreTable) -> str:
    """The run's title, with what a reader must know before comparing it."""
    return qualified(table.title, table.manifest)


def qualified(title: str, manifest: RunManifest | None) -> str:
    """A title with what the manifest says that must be known: gold was used, or not the whole split was asked."""
    if manifest is None:
        return title
    remarks = []
    if manifest.oracle:
        remarks.append(f"oracle {', '.join(manifest.oracle)}")
    if manifest.sample is not None:
        remarks.append(f"sample of {count(manifest.sample)}")
    return title + (f" ({'; '.join(remarks)})" if remarks else "")


def _entries(
    tables: Sequence[ScoreTable], column: Column, family: Family | None, baseline: str | None
) -> list[Entry]:
    cells = [table.cell(column.metric, column.stratum) for table in tables]
    direction = Metric.parse(column.metric).direction
    best = max((cell.value * direction for cell in cells if cell), default=None)
    is_best = [cell is not None and cell.value * direction == best for cell in cells]
    reference = baseline or next((t.title for t, b in zip(tables, is_best, strict=True) if b), None)
    several = sum(cell is not None for cell in cells) > 1
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
    tables: Sequence[ScoreTable],
    columns: Sequence[Column],
    family: Family | None,
    baseline: str | None,
    entries: Sequence[Entry],
) -> str:
    """What is needed to read the numbers and to get them again."""
    first = tables[0]
    parts = [
        f"{first.ref.name} {first.ref.version}, {first.ref.split} split, {count(first.n, 'question')}, in per cent",
        *_what_of(columns),
        f"metric suite {first.suite}",
    ]
    if len(tables) == 1:
        parts.append(intervals_note(first))
        if any(entry.interval == AGREE_MARK for entry in entries):
            parts.append(f"{AGREE_MARK} {AGREE.en}")
    if family is not None:
        parts += _tests_of(family, baseline)
    if any(is_legacy(column.metric) for column in columns):
        parts.append(f"{LEGACY_MARK} another project's scoring script, inflated, not comparable")
    if any(entry.small for entry in entries):
        parts.append(f"{SMALL_MARK} fewer than 30 questions")
    parts += _notes_of(tables)
    return "; ".join(parts) + "."


def _what_of(columns: Sequence[Column]) -> Iterator[str]:
    if len({column.stratum for column in columns}) > 1:
        dimension = stratum_parts(columns[0].stratum)[0]
        yield f"{metric_name(columns[0].metric).en} by {dimension_name(dimension).en.lower()}"
    metrics = [Metric.parse(column.metric) for column in columns]
    if policies := dict.fromkeys(str(metric.match) for metric in metrics if metric.match):
        yield f"answers matched by {' and '.join(policies)}"


def _tests_of(family: Family, baseline: str | None) -> Iterator[str]:
    reference = f"from {baseline}" if baseline else "from the best of the column"
    yield (
        f"{DIFFERS_MARK} differs {reference}: p ≤ {ALPHA:g}, two-sided paired permutation test by fact group, "
        f"Holm over {count(family.size, 'test')}"
    )
    if family.caution:
        yield family.caution
    if family.left_out:
        yield f"not tested: {', '.join(metric_name(metric).en for metric in family.left_out)}"


def _notes_of(tables: Sequence[ScoreTable]) -> Iterator[str]:
    """What a reader should know before believing a number, and of which runs unless it is so of all."""
    held: dict[str, list[str]] = {}
    for table in tables:
        for note in notes_of(table.notes):
            held.setdefault(note.en, []).append(title_of(table))
    for text, titles in held.items():
        yield text if len(titles) == len(tables) else f"{', '.join(titles)}: {text}"


def intervals_note(table: ScoreTable) -> str:
    """How the intervals came about."""
    return f"{level_name(table.level)} intervals from {count(table.resamples)} bootstrap resamples of fact groups"
