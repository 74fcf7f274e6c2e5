"""Parsed rows as JSON lines, so that a finished parse need not be repeated."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from clwqa_builders.extract.records import (
    Citation,
    CrossRef,
    Derivation,
    Example,
    Gloss,
    ParsedRow,
    RawRow,
)


def dump_rows(rows: Iterable[ParsedRow], path: Path) -> None:
    """Write one row per line, in the given order."""
    with path.open("wb") as file:
        file.writelines(orjson.dumps(row) + b"\n" for row in rows)


def load_rows(path: Path) -> list[ParsedRow]:
    """The inverse of :func:`dump_rows`."""
    with path.open("rb") as file:
        return [_row(orjson.loads(line)) for line in file]


def _row(data: dict[str, Any]) -> ParsedRow:
    derivation, example, gloss = data["derivation"], data["example"], data["gloss"]
    return ParsedRow(
        raw=RawRow(**data["raw"]),
        derivation=Derivation(
            derivation["kind"],
            tuple(Citation(**c) for c in derivation["citations"]),
            derivation["allusion"],
            _refs(derivation["crossrefs"]),
        ),
        example=None
        if example is None
        else Example(
            example["text"], None if example["citation"] is None else Citation(**example["citation"])
        ),
        gloss=Gloss(
            gloss["text"],
            gloss["sense"],
            tuple((p, t) for p, t in gloss["components"]),
            _refs(gloss["crossrefs"]),
        ),
    )


def _refs(items: list[dict[str, Any]]) -> tuple[CrossRef, ...]:
    return tuple(CrossRef(**item) for item in items)
