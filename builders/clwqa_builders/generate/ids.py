"""A file with ids, one on each line: what a person, or `review report --failed`, writes."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from clwqa_bench.errors import DatasetError

HOW = "name a file with an id on each line, in UTF-8"


def read_ids(path: Path, known: Container[str], among: str) -> tuple[str, ...]:
    """The ids in a file, in its order; empty lines and a byte order mark say nothing.

    Raises DatasetError naming the line of one that is there twice, or is not among the `known` ones, which `among`
    says in words.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError:
        raise DatasetError("the file is missing or cannot be read", fix=HOW, file=path) from None
    except UnicodeDecodeError:
        raise DatasetError("not UTF-8", fix=HOW, file=path) from None
    found: dict[str, None] = {}
    for number, line in enumerate(lines, start=1):
        if not (id := line.strip()):
            continue
        if id in found:
            raise DatasetError(f"{id!r} is there twice", fix="list it once", file=path, line=number)
        if id not in known:
            fix = "list ids of the dataset, split or generation named"
            raise DatasetError(f"{id!r} is none of {among}", fix=fix, file=path, line=number)
        found[id] = None
    return tuple(found)
