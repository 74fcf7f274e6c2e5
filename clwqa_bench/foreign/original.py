"""What the source's own script prints for its own file: its extraction, its gold, its denominator.

One thing a script reads is not in these files: PoG's lists of further aliases, so PoG may accept a little more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from clwqa_bench.foreign.gold import ForeignGold
from clwqa_bench.foreign.results import ResultRow, Results
from clwqa_bench.legacy import LegacyCrash, LegacyRow, LegacyScore, LegacyTotal, gcr, gcr_paths, pog, rog, tog
from clwqa_bench.legacy.twoway import EMPTY, FRAGMENT, INSIDE

SOURCES: Final = {"pog": "PoG", "tog": "ToG", "rog": "RoG", "gcr": "GCR"}
"""Formats whose source has a script, and what it is called."""

REASONS: Final = {
    "fragment": "the output is a fragment of a gold",
    "inside": "a gold is inside a longer output",
    "stale": "the output cannot be read, and the response of the row before is scored",
    "empty": "the output is empty, which is inside every gold",
    "seam": "a gold lies across two of the answers",
    "bare": "the gold normalises to nothing, which is inside everything",
    "path": "a gold is named in the reasoning path, not in the answer",
    "spelling": "equal only as the source spells: spaces, articles or punctuation deleted",
}
"""Why the source's script counts a row that ours does not."""


@dataclass(frozen=True)
class Original:
    """The source's result.  `places` are the rows it scores and `scores` their values; both empty if it crashes."""

    source: str
    total: LegacyTotal | None
    crash: str | None
    places: tuple[int, ...] = ()
    scores: tuple[LegacyScore, ...] = ()


def original(results: Results, gold: ForeignGold) -> Original | None:
    """Run the source's evaluator over the rows as they stand; None where the format has none."""
    source = SOURCES.get(results.format)
    if source is None:
        return None
    try:
        total, scores, places = _run(results, gold)
    except LegacyCrash as error:
        return Original(source, None, error.what)
    return Original(source, total, None, places or tuple(range(len(scores))), tuple(scores))


def reason(format: str, score: LegacyScore) -> str:
    """The key of REASONS under which a hit falls that is right for the source only."""
    if format in ("pog", "tog"):
        branch, _, how = score.note.partition(": ")
        return "stale" if branch == pog.STALE else _TWO_WAY.get(how, "spelling")
    if score.recall == 0:  # the hit is one of the whole text, the rest of the answers alone
        return "path"
    return next((key for remark, key in _REMARKS.items() if remark in score.note.split("; ")), "spelling")


_TWO_WAY: Final = {FRAGMENT: "fragment", INSIDE: "inside", EMPTY: "empty"}
_REMARKS: Final = {
    "gold inside an item": "inside",
    "gold across two items": "seam",
    "gold that normalises to nothing": "bare",
}


def _run(
    results: Results, gold: ForeignGold
) -> tuple[LegacyTotal, Sequence[LegacyScore], tuple[int, ...] | None]:
    """What the script prints, its scores, and the rows they are of if these are not all rows."""
    rows = results.rows
    if results.format == "pog":
        given = _with_gold(rows, gold)
        place_of = {id(row): place for place, row in enumerate(given)}
        kept = pog.counted(given)
        return pog.total(given), pog.evaluate(kept), tuple(place_of[id(row)] for row in kept)
    if results.format == "tog":
        given = _with_gold(rows, gold, objects=True)
        return tog.total(given), tog.evaluate(given), None
    if results.format == "gcr" and any(gcr_paths.HEADED[1] in text for row in rows for text in _texts(row)):
        return *_paths(rows), None
    module = rog if results.format == "rog" else gcr
    given = [LegacyRow(row.output, row.golds or ()) for row in rows]
    return module.total(given), module.evaluate(given), None


def _with_gold(rows: Sequence[ResultRow], gold: ForeignGold, *, objects: bool = False) -> list[LegacyRow]:
    """Rows with the gold of the first question that has the row's text, as PoG and ToG find it.

    With `objects` answers of CWQ that are plain texts crash.
    """
    first = {question.text: question for question in reversed(gold.questions)}
    by_id = {question.id: question for question in gold.questions}
    given = []
    for number, row in enumerate(rows, start=1):
        question = first.get(row.question or "") or by_id[row.id or ""]
        if objects and question.bare:
            tog.cwq_golds(question.surfaces, number)
        given.append(LegacyRow(str(row.output), question.surfaces, row.question))
    return given


def _paths(rows: Sequence[ResultRow]) -> tuple[LegacyTotal, list[LegacyScore]]:
    """GCR's script for outputs that hold reasoning paths; its values for paths go by their own names."""
    scores = gcr_paths.with_answers(
        [gcr_paths.PathRow(_texts(row), row.golds or (), row.gold_paths) for row in rows]
    )
    answers = [score.answer for score in scores]
    total = rog.means(answers)
    values = dict(total.values)
    for name, of_part in (
        ("path", [score.path for score in scores if score.path is not None]),
        ("path answer", [score.path_answer for score in scores]),
    ):
        if of_part:
            part = rog.means(of_part).values
            values |= {f"{name} {key}": part[key] for key in ("f1", "precision", "recall")}
    return replace(total, values=values), answers


def _texts(row: ResultRow) -> tuple[str, ...]:
    return (row.output,) if isinstance(row.output, str) else row.output
