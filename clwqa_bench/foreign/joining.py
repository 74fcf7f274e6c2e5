"""Which question a row of a result file belongs to: by id where there is one, else by the text of the question.

PoG and ToG write no ids.  A text that several questions share is no id, so the rule is spelled out: as many rows as
questions are joined in the order of the two files; one row answers all of them, since the system saw the same words;
rows that repeat one another to the letter count once.  Anything else is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clwqa_bench.errors import PredictionError
from clwqa_bench.foreign.gold import ForeignGold, ForeignQuestion
from clwqa_bench.foreign.native import READERS
from clwqa_bench.foreign.results import ResultRow, Results
from clwqa_bench.grid import Grid, align

SHOWN = 60  # characters of a question an error message shows

Owners = tuple[ForeignQuestion, ...]


@dataclass(frozen=True)
class Joined:
    """Rows on questions: `owners[i]` are the questions row i answers, () for a row that repeats an earlier one.

    `shared` are the texts that several questions of the gold have and some row answers.
    """

    owners: tuple[Owners, ...]
    grid: Grid
    shared: tuple[str, ...]

    @property
    def repeated(self) -> int:
        """How many rows were left out because they repeat an earlier one."""
        return self.owners.count(())


def join(results: Results, gold: ForeignGold) -> Joined:
    """Place the rows of a file on the questions of its gold.

    Raises PredictionError for a row of no question, and for rows that cannot be told apart.
    """
    by_id: dict[str, list[ForeignQuestion]] = {question.id: [question] for question in gold.questions}
    by_text: dict[str, list[ForeignQuestion]] = {}
    for question in gold.questions:
        by_text.setdefault(question.text, []).append(question)
    places_of: dict[tuple[str, bool], list[int]] = {}
    for place, row in enumerate(results.rows):
        key = (row.question or "", False) if row.id is None else (row.id, True)
        places_of.setdefault(key, []).append(place)
    owners: list[Owners] = [()] * len(results.rows)
    for (name, is_id), places in places_of.items():
        asked = (by_id if is_id else by_text).get(name)
        if not asked:
            raise _unknown(results.rows[places[0]], gold)
        for place, found in _divide(asked, places, results.rows).items():
            owners[place] = found
    shared = [name for name, is_id in places_of if not is_id and len(by_text[name]) > 1]
    return Joined(tuple(owners), _grid(results, gold, owners), tuple(shared))


def _divide(
    asked: Sequence[ForeignQuestion], places: Sequence[int], rows: Sequence[ResultRow]
) -> dict[int, Owners]:
    """Which of the questions of one name each of its rows answers."""
    if len(places) == len(asked):
        return {place: (question,) for place, question in zip(places, asked, strict=True)}
    if len({rows[place].output for place in places}) == 1:
        return {places[0]: tuple(asked)}
    first, second = rows[places[0]].item, rows[places[1]].item
    raise second.error(
        f"another answer to the question of {f'line {first.line}' if first.line else first.path}: "
        f"{len(places)} rows for {len(asked)} of the gold",
        "keep one row per question; which one counts is not for the scorer to guess",
        "question" if rows[places[0]].id is None else "id",
    )


def _unknown(row: ResultRow, gold: ForeignGold) -> PredictionError:
    where = f"is not in the gold {gold.path} ({len(gold.questions)} questions)"
    fix = "name the gold file the system was run on"
    if row.id is None:
        return row.item.error(f"the question {(row.question or '')[:SHOWN]!r} {where}", fix, "question")
    if row.question is not None:
        fix += "; or take the field out, to join by the text of the question"
    return row.item.error(f"{row.id} {where}", fix, "id")


def _grid(results: Results, gold: ForeignGold, owners: Sequence[Owners]) -> Grid:
    """The predictions on all questions that have gold."""
    read = READERS[results.format]
    pairs = [
        (row, question.id)
        for row, of_row in zip(results.rows, owners, strict=True)
        for question in of_row
        if question.answers
    ]
    return align(
        gold.gold,
        [read(row.output).prediction(id, row.output, row.ranked) for row, id in pairs],
        where=lambda place: (results.path, pairs[place][0].item.line),
    )
