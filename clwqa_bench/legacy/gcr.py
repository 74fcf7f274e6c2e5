"""GCR's evaluator, after its ``qa_utils.py``: RoG's functions with a precision that stays below 1.

The variants for reasoning paths are in `clwqa_bench.legacy.gcr_paths`.
Left open by what is known of the script, and decided here: blank means nothing but white space; lists are made
unique by falling frequency and cut to ``top_k`` as in RoG; `at_ranks` takes the first k responses as they stand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clwqa_bench.legacy import rog
from clwqa_bench.legacy.base import LegacyRow, LegacyScore, LegacyTotal, list_of, need_rows

SOURCE = "GCR"
RANKS = (1, 3, 5, 10)


def evaluate(rows: Sequence[LegacyRow], top_k: int = -1) -> list[LegacyScore]:
    """All five values of every row, in the order of the file.  Raises LegacyCrash for a row without gold."""
    return [
        score(rog.items_of(row.prediction, top_k), row.golds, number)
        for number, row in enumerate(rows, start=1)
    ]


def at_ranks(rows: Sequence[LegacyRow], ranks: Sequence[int] = RANKS) -> Mapping[int, list[LegacyScore]]:
    """The values over the first k responses, for every k; ``prediction`` holds the responses in rank order."""
    return {
        k: [
            score(list_of(row, number, SOURCE)[:k], row.golds, number)
            for number, row in enumerate(rows, start=1)
        ]
        for k in ranks
    }


def total(rows: Sequence[LegacyRow], top_k: int = -1) -> LegacyTotal:
    """What GCR prints: means of the per-question values times 100."""
    need_rows(rows, SOURCE)
    return rog.means(evaluate(rows, top_k))


def score(items: Sequence[str], golds: Sequence[str], number: int, joined: str | None = None) -> LegacyScore:
    """The five values for a list of items; hit and accuracy are those of ``joined`` if it is given."""
    items = [item for item in items if item.strip()]
    golds = list(dict.fromkeys(golds))
    text = " ".join(items)
    hit, accuracy = rog.hit_and_accuracy(text if joined is None else joined, golds, SOURCE, number)
    if not items:
        return LegacyScore(hit, accuracy, 0.0, 0.0, 0.0)
    precision = sum(rog.count(item, golds) > 0 for item in items) / len(items)
    recall = rog.count(text, golds) / len(golds)
    note = rog.remarks(items, golds, precision)
    return LegacyScore(hit, accuracy, precision, recall, rog.harmonic(precision, recall), note)
