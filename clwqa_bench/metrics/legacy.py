"""The evaluators of other papers as metrics, such as ``F1(match=legacy-rog)``: comparable, and never a headline.

On our grid: all questions of the split in the order of ids, and no answer, whatever the reason, is an empty
prediction, where the original leaves the row out.  PoG's script lets a row it cannot read be scored by the response
of the row before; here that is the question before in the order of ids.  RoG's precision and F1 exceed 1 when one
item holds several golds, and are left as they are.  What a script prints over its own file is another number:
`clwqa-bench score --format`.
"""

from __future__ import annotations

from collections.abc import Callable

from clwqa_bench.errors import MetricError
from clwqa_bench.grid import Grid
from clwqa_bench.legacy import LEGACY, LegacyCrash, LegacyRow, LegacyScore, row_for
from clwqa_bench.metrics.measure import Columns, Form, Measure, Settings, once_per_grid

FIELDS = {"Hit": "hit", "Accuracy": "accuracy", "P": "precision", "R": "recall", "F1": "f1"}


@once_per_grid
def scores(grid: Grid, evaluator: str) -> tuple[LegacyScore, ...]:
    """What the evaluator makes of every question.  Raises MetricError where the original crashes."""
    rows = [_row(grid, row, evaluator) for row in range(len(grid))]
    try:
        return tuple(LEGACY[evaluator](rows))
    except LegacyCrash as error:
        raise MetricError(error.what, fix=error.fix) from error


def _row(grid: Grid, row: int, evaluator: str) -> LegacyRow:
    """The row as the evaluator sees it; the final text of a question without an answer is not shown to it."""
    prediction, golds = grid.predictions[row], grid.gold.questions[row].answers
    return row_for(
        evaluator,
        [answer.text for answer in grid.answers[row]],
        prediction.raw_answer if prediction is not None and prediction.status == "ok" else None,
        [(gold.label, *gold.aliases) for gold in golds],
    )


def _columns(name: str, field: str) -> Callable[[Grid, Settings], Columns]:
    def build(grid: Grid, settings: Settings) -> Columns:
        values = [getattr(score, field) for score in scores(grid, settings.policy.name)]
        if None in values:
            raise MetricError(
                f"{settings.policy} knows no {name}", fix=f"ask for Hit(match={settings.policy})"
            )
        return Columns.of(values)

    return build


MEASURES = tuple(
    Measure(name, "legacy", {None: Form(_columns(name, field))}, matched=True)
    for name, field in FIELDS.items()
)
