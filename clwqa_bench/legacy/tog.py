"""ToG's evaluator, after its ``eval/eval.py``; CoT outputs are scored by the same script.

Left open by what is known of the script, and decided here: the literal NULL is taken out of the count only where
it was read from between braces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clwqa_bench.legacy.base import LegacyRow, LegacyScore, LegacyTotal, crash, need_rows, text_of
from clwqa_bench.legacy.twoway import MISS, compare

SOURCE = "ToG"
WHOLE = "whole text"
BRACES = "braces"
NULL = "NULL: neither right nor wrong"


def extract(text: str) -> str:
    """What is compared: from the first ``{`` to the first ``}``, or everything if there is no ``{``.

    The first ``}`` may come before the ``{``, which leaves nothing; without one the last character is lost.
    """
    start = text.find("{")
    return text if start < 0 else text[start + 1 : text.find("}")]


def evaluate(rows: Sequence[LegacyRow], constraints_refuse: bool = False) -> list[LegacyScore]:
    """``hit`` of every row; ``note`` reads ``BRANCH: HOW``.

    ``constraints_refuse`` is meant to skip refusals and skips none: the script looks for a brace, and does so where
    there is none.  It is kept, and changes nothing, as in the original.
    """
    del constraints_refuse
    return [_score(text_of(row, number, SOURCE), row.golds) for number, row in enumerate(rows, start=1)]


def total(rows: Sequence[LegacyRow], constraints_refuse: bool = False) -> LegacyTotal:
    """What ToG prints; a NULL row is in the denominator and in neither count."""
    need_rows(rows, SOURCE)
    scores = evaluate(rows, constraints_refuse)
    right = sum(score.hit for score in scores)
    wrong = len(scores) - right - sum(score.note == NULL for score in scores)
    values = {"Exact Match": right / len(rows), "right": right, "wrong": wrong}
    return LegacyTotal(values, len(rows), "all rows in the output file, duplicates and NULL included")


def cwq_golds(answers: Sequence[Any], number: int = 1) -> tuple[str, ...]:
    """The golds of one CWQ question (row ``number``): aliases and answer of every answer object.

    Raises LegacyCrash for answers that are plain strings, as CWQ's own file has them.
    """
    golds: list[str] = []
    for answer in answers:
        if not isinstance(answer, dict):
            raise crash(SOURCE, number, "a CWQ answer is no object with `aliases` and `answer`")
        golds += [*answer["aliases"], answer["answer"]]
    return tuple(golds)


def _score(text: str, golds: Sequence[str]) -> LegacyScore:
    response = extract(text)
    braces = "{" in text
    if braces and response == "NULL":
        return LegacyScore(hit=0.0, note=NULL)
    how = compare(response, golds)
    return LegacyScore(hit=float(how != MISS), note=f"{BRACES if braces else WHOLE}: {how}")
