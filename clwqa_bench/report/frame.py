"""Scores and per-question values as rows, for spreadsheets and notebooks."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from types import ModuleType
from typing import TYPE_CHECKING, Any

from clwqa_bench.errors import MetricError
from clwqa_bench.scoring import Scored, ScoreTable

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "run", "system", "variant", "backbone", "dataset", "version", "split", "suite",
    "metric", "stratum", "value", "low", "high", "se", "n", "clusters", "small",
)  # fmt: skip


def records(tables: Sequence[ScoreTable]) -> list[dict[str, Any]]:
    """One row per run, metric and stratum, with the keys of COLUMNS; values are shares of 1, unknown ones None."""
    return [
        {**_identity(table), **asdict(cell), "small": cell.small} for table in tables for cell in table.cells
    ]


def to_csv(tables: Sequence[ScoreTable]) -> str:
    """The same as CSV text (RFC 4180), numbers in full precision; a text that a spreadsheet would take for a
    formula is preceded by an apostrophe."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({key: _inert(value) for key, value in row.items()} for row in records(tables))
    return out.getvalue()


def to_frame(tables: Sequence[ScoreTable]) -> pd.DataFrame:
    """The same as a DataFrame.  Raises MetricError if pandas is not installed."""
    return _pandas().DataFrame(records(tables), columns=list(COLUMNS))


def questions_frame(scored: Sequence[Scored]) -> pd.DataFrame:
    """One row per run and question: what became of it, its strata, and every metric's value on it alone.

    A metric that a question is not measured by is NaN there.  Raises MetricError if pandas is not installed.
    """
    pandas = _pandas()
    frames = []
    for run in scored:
        questions = run.grid.gold.questions
        columns: dict[str, Any] = {
            "run": run.table.title,
            "id": [question.id for question in questions],
            "group": [question.group for question in questions],
            "strata": [question.strata for question in questions],
            "outcome": run.grid.outcomes,
            **{str(metric): metric.per_question(run.grid) for metric in run.metrics},
        }
        frames.append(pandas.DataFrame(columns))
    return pandas.concat(frames, ignore_index=True)


def _identity(table: ScoreTable) -> dict[str, Any]:
    manifest = table.manifest
    return {
        "run": table.title,
        "system": manifest.system if manifest else "",
        "variant": manifest.variant if manifest else "",
        "backbone": manifest.backbone if manifest else "",
        "dataset": table.ref.name,
        "version": table.ref.version,
        "split": table.ref.split,
        "suite": table.suite,
    }


def _inert(value: Any) -> Any:
    return (
        f"'{value}"
        if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
        else value
    )


def _pandas() -> ModuleType:
    try:
        import pandas
    except ImportError:
        raise MetricError(
            "a DataFrame needs pandas, which is not installed", fix="pip install pandas, or use the CSV"
        ) from None
    return pandas
