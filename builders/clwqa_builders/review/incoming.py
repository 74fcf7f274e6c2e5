"""What readers send back, as CSV, XLSX or the page's JSON lines: read strictly, so that nothing is taken for another.

A spreadsheet program may have written the CSV with semicolons or tabs, in UTF-16 or in the Chinese code page of
Windows; all are read. What it changed in the text of an item is an error.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from clwqa_builders.review import workbook
from clwqa_builders.review.folder import Review
from clwqa_builders.review.records import Item, Line, ReviewError, Stored
from clwqa_builders.review.sheets import COMMENT, IDENTITY, NAMES, guarded, shown_texts

SAVE_AS = "save the sheet as XLSX or as “CSV UTF-8 (comma delimited)”"
SEPARATORS = ",;\t"
ENCODINGS = ("utf-8-sig", "gb18030")


@dataclass(frozen=True)
class Row:
    """One ruling as it was sent: where it stands, its fields as text, and the texts it was shown beside."""

    file: Path
    line: int
    fields: Mapping[str, str]
    verdicts: Mapping[str, str]
    texts: Mapping[str, str]
    shown: str | None = None

    def error(self, what: str, fix: str, field: str) -> ReviewError:
        return ReviewError(what, fix=fix, file=self.file, line=self.line, field=field)


def read(paths: Sequence[Path], review: Review) -> tuple[list[Stored], int]:
    """The rulings of all files, and how many rows had none.

    Raises ReviewError for the first thing that is wrong in any of them, so that either all is taken or nothing.
    """
    found: list[Stored] = []
    empty = 0
    for path in paths:
        content = _content(path)
        digest, seen = hashlib.sha256(content).hexdigest(), dict[tuple[str, str, str], int]()
        for row in _rows(path, content, review):
            key = row.fields["role"], row.fields["annotator"], row.fields["item"]
            ruling = _checked(row, review, digest)
            if first := seen.get(key):
                what = f"{row.fields['item']} is ruled on in line {first} already"
                raise row.error(what, "keep one row for each item", "item")
            seen[key] = row.line
            if ruling.verdicts or ruling.comment:
                found.append(ruling)
            else:
                empty += 1
    return found, empty


# ---------------------------------------------------------------------- what a row must be


def _checked(row: Row, review: Review, digest: str) -> Stored:
    _refuse_stranger(row, review)
    item = review.items.get(id := row.fields["item"])
    if item is None:
        what = f"{id!r} is no item of this review" if id else "the item's id is missing"
        raise row.error(what, "restore the id from the exported sheet", "item")
    _refuse_person(row, review)
    _refuse_change(row, item)
    return Stored(
        annotator=row.fields["annotator"],
        role="adjudicator" if row.fields["role"] == "adjudicator" else "annotator",
        item=id,
        verdicts=dict(_verdicts(row, review)),
        comment=row.fields[COMMENT],
        file=row.file.name,
        line=row.line,
        sha256=digest,
    )


def _refuse_stranger(row: Row, review: Review) -> None:
    ours = {"dataset": review.plan.edition, "review": review.plan.id}
    for field, expected in ours.items():
        if (given := row.fields[field]) != expected:
            what = f"{given or 'nothing'!r} where this review has {expected!r}: the sheet belongs to another {field}"
            raise row.error(what, "import it into the review it was exported from", field)


def _refuse_person(row: Row, review: Review) -> None:
    person, role, assigned = row.fields["annotator"], row.fields["role"], review.plan.assigned
    if role not in ("annotator", "adjudicator"):
        raise row.error(f"{role!r} is no role", "restore the cell from the exported sheet", "role")
    if not person:
        raise row.error("the annotator is missing", "restore the name from the exported sheet", "annotator")
    if role == "annotator" and person not in assigned:
        fix = f"restore the name from the exported sheet: {', '.join(assigned)}"
        raise row.error(f"{person!r} is not an annotator of this review", fix, "annotator")
    if role == "annotator" and row.fields["item"] not in assigned[person]:
        what = f"{row.fields['item']} was not given to {person}"
        raise row.error(what, "restore name and id from the exported sheet", "annotator")


def _refuse_change(row: Row, item: Item) -> None:
    if row.shown not in (None, item.shown):
        fix = "export the page again and import its verdict file there"
        raise row.error(f"{item.id} was shown in other words", fix, "shown")
    expected = shown_texts(item)
    for field, text in row.texts.items():
        if field in expected and _plain(text) not in (
            _plain(expected[field]),
            _plain(guarded(expected[field])),
        ):
            lost = (
                " (characters were lost when it was saved)"
                if "?" in text and "?" not in expected[field]
                else ""
            )
            fix = f"restore the cell and write remarks into `comment`; to keep all characters, {SAVE_AS}"
            raise row.error(f"the text was changed{lost}", fix, field)


def _verdicts(row: Row, review: Review) -> Iterator[tuple[str, str]]:
    criteria = [criterion.id for criterion in review.form.criteria]
    for field, written in row.verdicts.items():
        if field not in criteria:
            fix = f"use the criteria {', '.join(criteria)}"
            raise row.error(f"there is no criterion {field!r}", fix, field)
        if not written.strip():
            continue
        if (code := review.form.code(written)) is None:
            known = "; ".join(f"{choice.code} or {choice.zh}" for choice in review.form.choices)
            raise row.error(f"unknown verdict {written!r}", f"write one of {known}", field)
        yield field, code


def _plain(text: str) -> str:
    return "".join(workbook.printable(text).split())


# ---------------------------------------------------------------------- files


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        raise ReviewError("no such file", fix="name the files readers sent back", file=path) from None


def _rows(path: Path, content: bytes, review: Review) -> Iterator[Row]:
    kind = path.suffix.lower()
    if kind == ".jsonl":
        return _json_rows(path, content)
    if kind == ".xlsx":
        return _table_rows(path, workbook.read(path, content), review)
    if kind in (".csv", ".tsv", ".txt"):
        return _table_rows(path, _csv(path, content), review)
    raise ReviewError(f"{kind or 'no ending'} is not read", fix="use .csv, .xlsx or .jsonl", file=path)


def _json_rows(path: Path, content: bytes) -> Iterator[Row]:
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            ruling = Line.model_validate_json(line, strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, first["loc"])) or None
            fix = "import the verdict file as the page saved it"
            raise ReviewError(first["msg"], fix=fix, file=path, line=number, field=field) from None
        fields = {name: str(getattr(ruling, name)) for name in (*IDENTITY, COMMENT)}
        yield Row(path, number, fields, ruling.verdicts, {}, ruling.shown)


def _table_rows(path: Path, table: Iterator[tuple[int, list[str]]], review: Review) -> Iterator[Row]:
    header = next(table, (1, []))[1]
    names = [(title.split() or [""])[0].lower() for title in header]
    _refuse_header(path, names, review)
    criteria = [criterion.id for criterion in review.form.criteria]
    for number, cells in table:
        if not any(cell.strip() for cell in cells):
            continue
        if any(cell.strip() for cell in cells[len(names) :]):
            what = f"{len(cells)} cells under {len(names)} titles"
            raise ReviewError(what, fix=f"restore the row, or {SAVE_AS}", file=path, line=number)
        row = dict(zip(names, [*cells, *[""] * len(names)], strict=False))
        yield Row(
            path,
            number,
            {name: row[name].strip() for name in (*IDENTITY, COMMENT)},
            {name: row[name] for name in criteria},
            {name: row[name] for name in names if name in NAMES and name not in (*IDENTITY, COMMENT)},
        )


def _refuse_header(path: Path, names: Sequence[str], review: Review) -> None:
    wanted = [*IDENTITY, "question", *(criterion.id for criterion in review.form.criteria), COMMENT]
    known = {*wanted, *NAMES, ""}
    missing = [name for name in wanted if name not in names]
    strange = [name for name in names if name not in known]
    twice = [name for name in names if name and names.count(name) > 1]
    for found, what in (
        (missing, "column {} is missing"),
        (strange, "unknown column {}"),
        (twice, "column {} is there twice"),
    ):
        if found:
            fix = "keep the first row and the columns of the exported sheet; write remarks into `comment`"
            raise ReviewError(what.format(repr(found[0])), fix=fix, file=path, line=1, field=found[0])


def _csv(path: Path, content: bytes) -> Iterator[tuple[int, list[str]]]:
    """Row numbers, as a spreadsheet program counts them, and cells; separated by what the first line has most of."""
    text = _decoded(path, content)
    first = text.partition("\n")[0]
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=max(SEPARATORS, key=first.count), strict=True
    )
    number = 0
    try:
        for number, cells in enumerate(reader, start=1):
            yield number, cells
    except csv.Error as error:
        what = f"not a complete table ({error})"
        raise ReviewError(what, fix=f"{SAVE_AS} again", file=path, line=number + 1) from None


def _decoded(path: Path, content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings: tuple[str, ...] = ("utf-16",)
    else:
        encodings = ENCODINGS
    for encoding in encodings:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise ReviewError("neither UTF-8 nor GBK text", fix=SAVE_AS, file=path)
