"""Withheld gold: a folder that calls the gold of a split withheld is published only if it really is without it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from clwqa_bench.dataset import Dataset
from clwqa_bench.records import SPLITS, Split
from clwqa_bench.withholding import KEPT, is_public_id, may_hold
from clwqa_builders.output.schema import QUESTIONS
from clwqa_builders.output.writers import json_lines
from clwqa_builders.publish.errors import PublishError

AGAIN = "make the public folder again with `clwqa-bench leaderboard withhold`"


def withheld(dataset: Dataset) -> Split | None:
    """The split whose gold the manifest calls withheld."""
    return next(filter(dataset.withholds, SPLITS), None)


def refuse_gold(dataset: Dataset, made_again: Collection[str]) -> None:
    """Raise PublishError if a folder without the gold of a split holds some, or a file that may tell it.

    It names file, column and the first row.  Files that are `made_again` may be there, whatever they tell.
    """
    if (split := withheld(dataset)) is None:
        return
    root, public = dataset.root, f"qa/{split}.parquet"
    listed = dataset.manifest.files.keys() - set(made_again)
    for name in sorted({*listed, public}):
        if name not in listed:
            raise _refusal(split, "the manifest lists no file of its questions", root / name)
        if not may_hold(name, split):
            raise _refusal(split, "this file may tell it", root / name)
    asked = _questions_without_gold(root / public, split)
    for name in sorted(listed - {public}):
        for row, told in _questions_in(root / name, listed, split):
            if told in asked:
                raise _refusal(split, f"row {row:,} is about one of its questions", root / name, "question")


def _questions_without_gold(path: Path, split: Split) -> frozenset[str]:
    """The questions' texts.  Raises PublishError if there is anything else in a row."""
    table = pq.read_table(path)
    if table.schema.names != QUESTIONS.names:
        raise _refusal(split, f"the columns are not {', '.join(QUESTIONS.names)}", path)
    rows = table.to_pylist()
    for column in QUESTIONS.names:
        for number, row in enumerate(rows, start=1):
            if not _tells_nothing(column, row[column], split):
                raise _refusal(split, f"row {number:,} ({row['id']}) tells some of it", path, column)
    return frozenset(row["question"] for row in rows)


def _tells_nothing(column: str, value: Any, split: Split) -> bool:
    if column == "id":
        return is_public_id(str(value), split)
    if column == "split":
        return bool(value == split)
    return column in KEPT or _is_blank(value)


def _is_blank(value: Any) -> bool:
    return all(map(_is_blank, value.values())) if isinstance(value, dict) else not value


def _questions_in(path: Path, listed: Collection[str], split: Split) -> Iterator[tuple[int, str]]:
    """Texts that are questions in a table, with the number of the row; none in files that are about the graph.

    Raises PublishError if a JSONL file is not the mirror of its Parquet file, whose questions are looked at.
    """
    folder, mirrored = path.parent.name, path.with_suffix(".parquet")
    if folder not in ("qa", "scoring_pairs"):
        return
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        if "question" not in table.schema.names:
            raise _refusal(split, "this table does not say what its rows are about", path, "question")
        yield from enumerate(table["question"].to_pylist(), start=1)
    elif path.suffix == ".tsv":
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, start=1):
            yield from ((number, cell) for cell in line.split("\t"))
    elif f"{folder}/{mirrored.name}" not in listed:
        raise _refusal(split, f"there is no {mirrored.name} with the same rows", path)
    else:
        table = pq.read_table(mirrored)
        if row := _first_other(path, json_lines(table, table.schema)):
            raise _refusal(split, f"row {row:,} is not that of {mirrored.name}", path)


def _first_other(path: Path, rows: Iterable[bytes]) -> int:
    """The first line that is not that row, 0 if all are."""
    with path.open("rb") as lines:
        pairs = enumerate(zip_longest(lines, rows), start=1)
        return next((n for n, (line, row) in pairs if line is None or row is None or line != row + b"\n"), 0)


def _refusal(split: Split, what: str, path: Path, column: str | None = None) -> PublishError:
    said = f"the gold of the {split} split is to be withheld, and {what}"
    return PublishError(said, fix=AGAIN, file=path, field=column)
