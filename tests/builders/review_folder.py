"""A review of the tiny dataset, and readers who fill in its sheets."""

from __future__ import annotations

import atexit
import csv
import io
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from clwqa_builders.review import export, page, sheets
from clwqa_builders.review.folder import SHEETS, Review
from clwqa_builders.review.forms import QUESTIONS, Kind
from clwqa_builders.review.sheets import Sheet
from clwqa_builders.validate.tables import DatasetTables
from tests import tiny_dataset

READERS = ("甲", "乙")
CRITERIA = [criterion.id for criterion in QUESTIONS.criteria]
ENTRY = """
[clwqa_bench.commands]
review = clwqa_builders.review.commands:app
"""
Table = list[list[str]]


@cache
def tiny() -> Path:
    """The tiny dataset, written once for all tests of this process."""
    folder = Path(tempfile.mkdtemp(prefix="clwqa-tiny-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    tiny_dataset.write(folder)
    return folder


def made(folder: Path, kind: Kind = "questions", people: Sequence[str] = READERS, **options: Any) -> Review:
    """The review in `folder/review` of the dataset in `folder/data`, with its sheets; all of it read by all."""
    if not (folder / "data").exists():
        shutil.copytree(tiny(), folder / "data")
    request = export.Request(kind, people, **{"number": 99, "overlap": 1.0} | options)
    review = export.export(DatasetTables.open(folder / "data"), request, folder / "review")
    own = sheets.annotator_sheets(review)
    sheets.write(folder / "review" / SHEETS, own, {sheet.person: page.html(sheet) for sheet in own})
    return review


def table(path: Path) -> Table:
    """The rows of an exported sheet, titles first."""
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def as_csv(rows: Table, delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


def column(rows: Table, name: str) -> int:
    """Where the column is whose title begins with the name."""
    return [title.split()[0] for title in rows[0]].index(name)


def filled(rows: Table, verdict: Callable[[str, str], str], criteria: Sequence[str]) -> Table:
    """The table with a verdict of (item, criterion) in every cell to fill in."""
    rows = [list(row) for row in rows]
    for row in rows[1:]:
        for criterion in criteria:
            row[column(rows, criterion)] = verdict(row[column(rows, "item")], criterion)
    return rows


def lines(sheet: Sheet, verdicts: Mapping[str, Mapping[str, str]], comment: str = "") -> bytes:
    """The verdict file that the page saves."""
    plan = sheet.review.plan
    head = {"review": plan.id, "dataset": plan.edition, "annotator": sheet.person, "role": sheet.role}
    return b"".join(
        orjson.dumps(
            {
                **head,
                "item": id,
                "shown": sheet.review.items[id].shown,
                "verdicts": own,
                "comment": comment,
            }
        )
        + b"\n"
        for id, own in verdicts.items()
    )


def ruled(review: Review, person: str, number: int, verdict: str, comment: str = "") -> Path:
    """A verdict file of one person who says the same of every criterion of an item."""
    sheet = next(sheet for sheet in sheets.annotator_sheets(review) if sheet.person == person)
    path = review.folder / f"{person}-{number}-{verdict}-{comment}.jsonl"
    path.write_bytes(lines(sheet, {f"q{number}": dict.fromkeys(CRITERIA, verdict)}, comment))
    return path
