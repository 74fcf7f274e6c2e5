"""What the evaluators of other papers take, what they give back, and how they end when they crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clwqa_bench.errors import ClwqaError


class LegacyCrash(ClwqaError):
    """The original script ends with an exception on this row, so there is no number of its to show."""


def crash(source: str, row: int, why: str) -> LegacyCrash:
    """The error for row number ``row`` (from 1) on which the script of ``source`` crashes."""
    return LegacyCrash(
        f"the original evaluator of {source} crashes on row {row}: {why}",
        fix="leave the row out and say so, or use the strict policy (match=alias), which scores every row",
    )


@dataclass(frozen=True, slots=True)
class LegacyRow:
    """One row of an output file.

    ``prediction``: the text as the system wrote it, or its list of texts in rank order.
    ``golds``: the strings its script compares with, in file order, duplicates kept; with aliases where the
    source adds them (PoG, ToG on CWQ), labels alone where it does not (RoG, GCR, G-Retriever).
    ``question``: the text by which PoG tells duplicates; None is never a duplicate.
    """

    prediction: str | tuple[str, ...]
    golds: tuple[str, ...]
    question: str | None = None


@dataclass(frozen=True, slots=True)
class LegacyScore:
    """One row's values as the source computes them: RoG's precision and F1 can exceed 1.

    None stands where the source defines no such value.  ``note`` names the branch that fired.
    """

    hit: float
    accuracy: float | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class LegacyTotal:
    """What the source prints over a file: ``values`` over ``n`` rows, and which rows those are."""

    values: Mapping[str, float]
    n: int
    denominator: str


Evaluate = Callable[[Sequence[LegacyRow]], list[LegacyScore]]


def text_of(row: LegacyRow, number: int, source: str) -> str:
    """The prediction of a row whose script expects a text."""
    if isinstance(row.prediction, str):
        return row.prediction
    raise crash(source, number, "the prediction is a list where it expects a text")


def list_of(row: LegacyRow, number: int, source: str) -> tuple[str, ...]:
    """The prediction of a row whose script expects a list."""
    if isinstance(row.prediction, str):
        raise crash(source, number, "the prediction is a text where it expects a list")
    return row.prediction


def need_rows(rows: Sequence[object], source: str) -> None:
    """Every script divides by the number of its rows."""
    if not rows:
        raise LegacyCrash(
            f"the original evaluator of {source} divides by zero: there is no row",
            fix="give it at least one row",
        )


def percent(values: Sequence[float]) -> float:
    """Mean times 100."""
    return sum(values) * 100 / len(values)
