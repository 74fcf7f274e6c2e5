"""G-Retriever's evaluators, after its ``evaluate.py``, one per data set.

Its label is one string, the golds joined by ``|``; it is rebuilt from ``golds`` and split again, so a name that
holds ``|`` falls apart and no gold at all becomes one empty gold, which matches everything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from clwqa_bench.legacy import rog
from clwqa_bench.legacy.base import LegacyRow, LegacyScore, LegacyTotal, need_rows, text_of

SOURCE = "G-Retriever"
_STANCE = re.compile("[Ss]upport|[Cc]ounter")


def webqsp(rows: Sequence[LegacyRow]) -> list[LegacyScore]:
    """RoG's five values with ``|`` and line ends between items; duplicates and blank items are kept."""
    return [
        rog.score(
            text_of(row, number, SOURCE).replace("|", "\n").split("\n"),
            label_of(row).split("|"),
            SOURCE,
            number,
        )
        for number, row in enumerate(rows, start=1)
    ]


def scene_graph(rows: Sequence[LegacyRow]) -> list[LegacyScore]:
    """``hit``: the label is inside the prediction, case counting."""
    return [
        LegacyScore(hit=float(label_of(row) in text_of(row, number, SOURCE)))
        for number, row in enumerate(rows, start=1)
    ]


def expla_graph(rows: Sequence[LegacyRow]) -> list[LegacyScore]:
    """``hit``: the first "support" or "counter" in the prediction, capital or not, is the label."""
    scores = []
    for number, row in enumerate(rows, start=1):
        first = _STANCE.search(text_of(row, number, SOURCE))
        scores.append(LegacyScore(hit=float(first is not None and first[0].lower() == label_of(row))))
    return scores


def total(rows: Sequence[LegacyRow]) -> LegacyTotal:
    """What the script prints for WebQSP.  What it returns, and papers call accuracy, is ``hit``."""
    need_rows(rows, SOURCE)
    return rog.means(webqsp(rows))


def label_of(row: LegacyRow) -> str:
    """The golds as G-Retriever stores them."""
    return "|".join(row.golds)
