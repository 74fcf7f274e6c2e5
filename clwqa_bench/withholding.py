"""A dataset folder without the gold of a split: what may be in it.

Whoever makes such a folder (`leaderboard withhold`) and whoever sends it (`publish`) go by the same rules.
"""

from __future__ import annotations

import re

from clwqa_bench.records import SPLITS, Split

KEPT = ("id", "question", "split")
"""Columns of a question without gold.  The others are there and blank, so that all splits load as one dataset."""

TABLES = frozenset(
    f"{folder}/{split}.{kind}"
    for folder in ("qa", "scoring_pairs")
    for split in SPLITS
    for kind in ("jsonl", "parquet")
)
FILES = TABLES | {
    "README.md",
    "induction.json",
    "kg.nt.gz",
    "kg/entities.parquet",
    "kg/triples.parquet",
    "ontology.ttl",
    "schema.json",
    "scoring_pairs/adjudicated.tsv",
    "scoring_pairs/adjudication.tsv",
    "statistics.json",
}
"""Files of a dataset that tell no gold of a withheld split.  The others do, or might: reports of a review quote
questions with their ids and remarks, `templates.toml` has the patterns behind the questions, `supply.json` what they
were drawn from, and `croissant.json` the digests of the complete files."""


def may_hold(name: str, split: Split) -> bool:
    """Whether a folder without the gold of this split may hold the file."""
    return name in FILES and name != f"qa/{split}.jsonl"


def public_id(split: Split, mark: str) -> str:
    """The id that a question without gold is published under; `mark` is 16 hexadecimal digits that tell nothing."""
    return f"{split}-{mark}"


def is_public_id(id: str, split: Split) -> bool:
    """Whether it is such an id."""
    return re.fullmatch(public_id(split, "[0-9a-f]{16}"), id) is not None
