"""PoG's evaluator, after its ``eval/eval.py``: what it prints as "Exact Match" and reports as accuracy or Hits@1.

Left open by what is known of the script, and decided here:
- in the second step both quotes may be of either kind, an inner quote of either kind ends the string, an empty string
  is no match, white space may stand around the colon, and of several lists the last one counts;
- an element of that list that is no text crashes;
- a list leaves the response that a later row may fall back on as it was;
- of duplicates the last row is scored, at the place of the first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from clwqa_bench.legacy.base import LegacyRow, LegacyScore, LegacyTotal, crash, need_rows, text_of
from clwqa_bench.legacy.twoway import MISS, compare

SOURCE = "PoG"
WHOLE = "whole text"
JSON = "JSON"
STRING = "last Answer string"
LIST = "Answer list"
STALE = "stale response"

_STRING = re.compile(r"""["']Answer["']\s*:\s*["']([^"']+)["']""")
_LIST = re.compile(r"""["']Answer["']\s*:\s*(\[.*?\])""", re.DOTALL)


def evaluate(rows: Sequence[LegacyRow]) -> list[LegacyScore]:
    """``hit`` of every row, in the order of the file; a row may be scored by the response of the row before.

    ``note`` reads ``BRANCH: HOW``, e.g. ``JSON: gold inside prediction``.
    Raises LegacyCrash for a list that is not JSON, and for a stale response where there is none yet.
    """
    scores = []
    response: str | None = None
    for number, row in enumerate(rows, start=1):
        branch, compared = _read(text_of(row, number, SOURCE), number)
        if branch == STALE:
            if response is None:
                raise crash(
                    SOURCE, number, "no answer can be read and there is no earlier response to fall back on"
                )
            compared = [response]
        elif branch != LIST:
            response = compared[0]
        how = next((how for text in compared if (how := compare(text, row.golds)) != MISS), MISS)
        scores.append(LegacyScore(hit=float(how != MISS), note=f"{branch}: {how}"))
    return scores


def counted(rows: Iterable[LegacyRow]) -> list[LegacyRow]:
    """The rows PoG scores: one per question text, the last one winning."""
    keyed = ((index if row.question is None else row.question, row) for index, row in enumerate(rows))
    return list(dict(keyed).values())


def total(rows: Sequence[LegacyRow]) -> LegacyTotal:
    """What PoG prints: a share of the rows that are there, so a skipped or crashed question does not count."""
    kept = counted(rows)
    need_rows(kept, SOURCE)
    scores = evaluate(kept)
    right = sum(score.hit for score in scores)
    listed = sum(not score.hit and not score.note.startswith(WHOLE) for score in scores)
    values = {"Exact Match": right / len(kept), "right": right, "listed as errors": float(listed)}
    return LegacyTotal(values, len(kept), "rows in the output file, one per question text (the last)")


def _read(text: str, number: int) -> tuple[str, list[str]]:
    """The branch taken and the strings it compares; none for a stale response."""
    start = text.find("{")
    if start < 0:
        return WHOLE, [text]
    if (answer := _from_json(text[start:])) is not None:
        return JSON, [answer]
    if strings := _STRING.findall(text):
        return STRING, strings[-1:]
    if lists := _LIST.findall(text):
        return LIST, _elements(lists[-1], number)
    return STALE, []


def _from_json(tail: str) -> str | None:
    try:
        data = json.loads(tail)
        return str(data["A"]["Answer"] if "A" in data else data["Answer"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _elements(text: str, number: int) -> list[str]:
    try:
        elements = json.loads(text)
    except ValueError as error:
        raise crash(SOURCE, number, f"the list after Answer is not JSON ({error})") from error
    if not all(isinstance(element, str) for element in elements):
        raise crash(SOURCE, number, "the list after Answer holds something that is not a text")
    return elements
