"""RoG's evaluator, after its ``evaluate_results.py``; FiDeLiS, GNN-RAG and others use the same functions.

Left open by what is known of the script, and decided here: no item at all gives precision, recall and F1 of 0;
any negative ``top_k`` means all; items of equal frequency keep their order.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from clwqa_bench.legacy.base import LegacyRow, LegacyScore, LegacyTotal, crash, need_rows, percent, text_of

SOURCE = "RoG"

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(a|an|the)\b")


def normalize(text: str) -> str:
    """Lower-case, without ASCII punctuation and English articles, white space collapsed.

    Full-width punctuation stays.  The source's rule for ``<pad>`` cannot fire, as ``<`` and ``>`` are gone by then.
    """
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def match(prediction: str, gold: str) -> bool:
    """Whether the gold is somewhere inside the prediction; a gold that normalises to nothing always is."""
    return bool(count(prediction, [gold]))


def count(prediction: str, golds: Sequence[str]) -> int:
    """How many of the golds match."""
    said = normalize(prediction)
    return sum(normalize(gold) in said for gold in golds)


def items_of(prediction: str | tuple[str, ...], top_k: int = -1) -> list[str]:
    """Lines of a text, blank ones too; or the unique texts of a list, the most frequent first, cut to ``top_k``."""
    if isinstance(prediction, str):
        return prediction.split("\n")
    by_frequency = [text for text, _ in Counter(prediction).most_common()]
    return by_frequency if top_k < 0 else by_frequency[:top_k]


def evaluate(rows: Sequence[LegacyRow], top_k: int = -1, f1: bool = True) -> list[LegacyScore]:
    """All five values of every row, in the order of the file; without ``f1`` hit and accuracy of the raw text.

    ``note`` lists what no set metric would allow (see `remarks`).
    Raises LegacyCrash for a row without gold (division by zero) and, without ``f1``, for a list.
    """
    scores = []
    for number, row in enumerate(rows, start=1):
        if not f1:
            hit, accuracy = hit_and_accuracy(text_of(row, number, SOURCE), row.golds, SOURCE, number)
            scores.append(LegacyScore(hit, accuracy))
        else:
            scores.append(score(items_of(row.prediction, top_k), row.golds, SOURCE, number))
    return scores


def total(rows: Sequence[LegacyRow], top_k: int = -1, f1: bool = True) -> LegacyTotal:
    """What RoG prints: means of the per-question values times 100.  Its "Hit" is reported as Hits@1."""
    need_rows(rows, SOURCE)
    return means(evaluate(rows, top_k, f1), f1)


def means(scores: Sequence[LegacyScore], f1: bool = True) -> LegacyTotal:
    """The printed means of RoG and GCR."""
    names = ["accuracy", "hit", *(("f1", "precision", "recall") if f1 else ())]
    values = {name: percent([getattr(score, name) for score in scores]) for name in names}
    return LegacyTotal(values, len(scores), "lines of the prediction file that parse as JSON")


def score(items: Sequence[str], golds: Sequence[str], source: str, number: int) -> LegacyScore:
    """The five values for a list of items: golds found in the joined items, over items and over golds."""
    joined = " ".join(items)
    hit, accuracy = hit_and_accuracy(joined, golds, source, number)
    found = count(joined, golds) if items else 0
    precision, recall = (found / len(items) if items else 0.0), found / len(golds)
    note = remarks(items, golds, precision)
    return LegacyScore(hit, accuracy, precision, recall, harmonic(precision, recall), note)


def hit_and_accuracy(text: str, golds: Sequence[str], source: str, number: int) -> tuple[float, float]:
    """Whether some gold is inside ``text``, and the share of golds that are.  Raises LegacyCrash without gold."""
    if not golds:
        raise crash(source, number, "division by zero, the question has no gold")
    found = count(text, golds)
    return float(found > 0), found / len(golds)


def harmonic(precision: float, recall: float) -> float:
    """F1, 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def remarks(items: Sequence[str], golds: Sequence[str], precision: float) -> str:
    """What made a match that set metrics would not count, joined by ``; ``."""
    joined, said = normalize(" ".join(items)), [normalize(item) for item in items]
    keys = [normalize(gold) for gold in golds]
    loose = [key for key in keys if key and key in joined and key not in said]
    inside = [key for key in loose if any(key in item for item in said)]
    found = {
        "gold that normalises to nothing": "" in keys,
        "gold inside an item": bool(inside),
        "gold across two items": len(inside) < len(loose),
        "precision above 1": precision > 1,
    }
    return "; ".join(name for name, holds in found.items() if holds)
