"""XLSX workbooks: the one place that knows openpyxl, which is there only with the extra `review`."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from clwqa_builders.review.records import ReviewError

WIDTHS: Mapping[str, int] = {
    "question": 42, "answers": 30, "node": 36, "paths": 46, "passages": 60, "said": 46, "comment": 30,
}  # fmt: skip
"""Of columns by name, in characters."""
WIDTH = 16


@dataclass(frozen=True)
class Table:
    """A table with some columns hidden, the first ``frozen`` always in view, and some filled in from a list."""

    columns: Sequence[str]
    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    hidden: Sequence[str]
    frozen: int
    chosen: Sequence[str]
    choices: Sequence[str]


def available() -> bool:
    return find_spec("openpyxl") is not None


def write(table: Table) -> bytes:
    """The workbook; every cell is text, also one that begins like a formula."""
    from openpyxl import Workbook
    from openpyxl.styles import Alignment, Font

    book = Workbook()
    page = book.active
    page.title = "review"
    for number, row in enumerate([table.titles, *table.rows], start=1):
        for place, text in enumerate(row, start=1):
            cell = page.cell(number, place, printable(text))
            cell.data_type = "s"
            cell.alignment = Alignment(wrap_text=True, vertical="top")
            cell.font = Font(bold=number == 1)
    page.freeze_panes = page.cell(2, table.frozen + 1)
    _lay_out(page, table)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def read(path: Path, content: bytes) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells of the first sheet.  Raises ReviewError for what is no workbook."""
    if not available():
        fix = "install clwqa-bench with the extra `review`, or save the sheet as CSV UTF-8"
        raise ReviewError("reading XLSX needs openpyxl", fix=fix, file=path)
    from openpyxl import load_workbook

    try:
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError, OSError) as error:
        raise ReviewError(f"not an XLSX workbook ({error})", fix="save the sheet again", file=path) from None
    for number, cells in enumerate(book.worksheets[0].iter_rows(values_only=True), start=1):
        yield number, ["" if cell is None else str(cell) for cell in cells]


def printable(text: str) -> str:
    """Text without the control characters that the file format has no way to write."""
    return "".join(char for char in text if char.isprintable() or char in "\n\t\u3000\xa0")


def _lay_out(page: Any, table: Table) -> None:
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    formula = f'"{",".join(table.choices)}"'
    listed = DataValidation(type="list", formula1=formula, allow_blank=True, showErrorMessage=True)
    page.add_data_validation(listed)
    for place, column in enumerate(table.columns, start=1):
        letter = get_column_letter(place)
        page.column_dimensions[letter].width = WIDTHS.get(column, WIDTH)
        page.column_dimensions[letter].hidden = column in table.hidden
        if column in table.chosen:
            listed.add(f"{letter}2:{letter}{len(table.rows) + 1}")
