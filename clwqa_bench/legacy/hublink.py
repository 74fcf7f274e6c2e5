"""HubLink's evaluators of retrieved units: triples written as strings, or entities.

Rows are `LegacyRow`: ``prediction`` holds the units in rank order, ``golds`` the gold units.
Left open by what is known of the code, and decided here: F1 and F2 come from the unrounded precision and recall; for
MAP a context finds the first gold it contains that no earlier one found, and the sum goes over the ranks that find
one; without a gold the ranked values follow the rule of the set values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clwqa_bench.legacy.base import LegacyRow, LegacyTotal, list_of, need_rows

SOURCE = "HubLink"


@dataclass(frozen=True, slots=True)
class UnitScore:
    """Set values of one question, rounded to two decimals; false negatives fall below 0 in document mode only."""

    precision: float
    recall: float
    f1: float
    f2: float
    false_negatives: int


@dataclass(frozen=True, slots=True)
class RankedScore:
    """Values of one question over the first k contexts.  ``hit`` is the share of golds found: recall@k."""

    hit: float
    exact: float
    mrr: float
    map: float


def evaluate(rows: Sequence[LegacyRow], documents: bool = False) -> list[UnitScore]:
    """Precision, recall, F1 and F2 over sets of equal strings.

    With ``documents`` the units are the documents of the contexts and every context counts, so that two contexts
    of one gold document are two finds.
    """
    return [
        _units(list_of(row, number, SOURCE), row.golds, documents) for number, row in enumerate(rows, start=1)
    ]


def ranked(rows: Sequence[LegacyRow], k: int) -> list[RankedScore]:
    """hit@k, EM@k, MRR@k and MAP@k; a gold is found where it is inside a context, whatever the case."""
    return [
        _ranked(list_of(row, number, SOURCE)[:k], row.golds, k) for number, row in enumerate(rows, start=1)
    ]


def total(rows: Sequence[LegacyRow], k: int = 10) -> LegacyTotal:
    """The summary; its F1 and F2 are those of mean precision and mean recall, not means."""
    need_rows(rows, SOURCE)
    units, ranks = evaluate(rows), ranked(rows, k)
    precision = sum(score.precision for score in units) / len(rows)
    recall = sum(score.recall for score in units) / len(rows)
    values = {
        "precision": precision,
        "recall": recall,
        "f1": _f(precision, recall, beta=1),
        "f2": _f(precision, recall, beta=2),
        **{f"{name}@{k}": sum(getattr(s, name) for s in ranks) / len(rows) for name in RankedScore.__slots__},
    }
    return LegacyTotal(values, len(rows), "questions in the result file")


def _units(contexts: Sequence[str], golds: Sequence[str], documents: bool) -> UnitScore:
    if not golds:
        value = 0.0 if contexts else 1.0
        return UnitScore(value, value, value, value, 0)
    wanted = set(golds)
    shown = list(contexts) if documents else list(set(contexts))
    found = sum(unit in wanted for unit in shown)
    precision, recall = (found / len(shown) if shown else 0.0), found / len(wanted)
    f1, f2 = _f(precision, recall, beta=1), _f(precision, recall, beta=2)
    return UnitScore(round(precision, 2), round(recall, 2), round(f1, 2), round(f2, 2), len(wanted) - found)


def _ranked(contexts: Sequence[str], golds: Sequence[str], k: int) -> RankedScore:
    if not golds:
        value = 0.0 if contexts else 1.0
        return RankedScore(value, value, value, value)
    lowered = [context.lower() for context in contexts]
    wanted = {gold.lower() for gold in golds}
    ranks = _ranks_of_finds(lowered, [gold.lower() for gold in dict.fromkeys(golds)])
    first = next((i for i, context in enumerate(lowered, 1) if any(gold in context for gold in wanted)), None)
    return RankedScore(
        hit=sum(any(gold in context for context in lowered) for gold in wanted) / len(wanted),
        exact=sum(context in golds for context in contexts) / len(contexts) if contexts else 0.0,
        mrr=1 / first if first else 0.0,
        map=sum(found / rank for found, rank in enumerate(ranks, start=1)) / min(len(wanted), k),
    )


def _ranks_of_finds(contexts: Sequence[str], golds: list[str]) -> list[int]:
    """The ranks, from 1, at which a gold not found before is found; one gold per context."""
    ranks = []
    for rank, context in enumerate(contexts, start=1):
        found = next((gold for gold in golds if gold in context), None)
        if found is not None:
            golds.remove(found)
            ranks.append(rank)
    return ranks


def _f(precision: float, recall: float, beta: int) -> float:
    weighted = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / weighted if weighted else 0.0
