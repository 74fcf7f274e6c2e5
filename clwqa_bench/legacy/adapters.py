"""From a prediction of ours to the rows of the legacy evaluators, and the names they go by in metrics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from clwqa_bench.errors import ClwqaError
from clwqa_bench.legacy import gcr, gretriever, pog, rog, tog
from clwqa_bench.legacy.base import Evaluate, LegacyRow

LEGACY: Mapping[str, Evaluate] = MappingProxyType(
    {
        "legacy-pog": pog.evaluate,
        "legacy-tog": tog.evaluate,
        "legacy-rog": rog.evaluate,
        "legacy-gcr": gcr.evaluate,
        "legacy-gretriever": gretriever.webqsp,
    }
)
"""Name in metric strings such as ``Hit(match=legacy-pog)`` -> rows in file order to one score per row."""

_FIVE = ("hit", "accuracy", "precision", "recall", "f1")
MEASURES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "legacy-pog": ("hit",),
        "legacy-tog": ("hit",),
        "legacy-rog": _FIVE,
        "legacy-gcr": _FIVE,
        "legacy-gretriever": _FIVE,
    }
)
"""Which fields of LegacyScore an evaluator fills; the others are None."""


def row_for(name: str, texts: Sequence[str], raw: str | None, golds: Sequence[Sequence[str]]) -> LegacyRow:
    """The row that evaluator ``name`` would have seen.

    ``texts``: our answers in rank order.  ``raw``: the system's final text, None if it gave none.  ``golds``: per
    gold its label, then its aliases.

    PoG and ToG read the final text, also an empty one, and accept aliases; without a final text they get the list as
    Python prints it, inside ``{"A": {"Answer": [...]}}`` for PoG.  RoG and GCR get the list, G-Retriever the list
    joined by ``|``; all three compare with labels only.  A prediction without answers is an empty list: a miss, not
    the hit that an empty text is in PoG and ToG, whose own files have no row for it.
    Raises ClwqaError for an unknown name.
    """
    labels = tuple(gold[0] for gold in golds)
    surfaces = tuple(surface for gold in golds for surface in gold)
    match name:
        case "legacy-pog":
            printed = json.dumps({"A": {"Answer": list(texts)}}, ensure_ascii=False)
            return LegacyRow(printed if raw is None else raw, surfaces)
        case "legacy-tog":
            return LegacyRow(str(list(texts)) if raw is None else raw, surfaces)
        case "legacy-rog" | "legacy-gcr":
            return LegacyRow(tuple(texts), labels)
        case "legacy-gretriever":
            return LegacyRow("|".join(texts), labels)
    raise ClwqaError(f"there is no legacy evaluator {name!r}", fix=f"use one of {', '.join(LEGACY)}")
