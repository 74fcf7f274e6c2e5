"""What the seed paper reports, for orientation beside our figures: `elsewhere.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from clwqa_bench.records import Record

HEADED = "Reported elsewhere, other data and models"


class Elsewhere(Record):
    """Figures with their place in the paper, and what its text says without a figure."""

    source: str
    unit: str = "per cent"
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]
    says: tuple[str, ...]


@cache
def elsewhere() -> dict[str, Elsewhere]:
    """By experiment."""
    text = files(__package__).joinpath("elsewhere.toml").read_text(encoding="utf-8")
    return {name: Elsewhere.model_validate(found) for name, found in tomllib.loads(text).items()}
