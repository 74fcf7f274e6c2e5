"""GCR's variants for predictions that carry reasoning paths, after its ``qa_utils.py``.

Left open by what is known of the script, and decided here: a mark's text ends where the other mark begins; an item
without a mark gives nothing to that list; where a question has no gold path its path score is left out in all three
variants, as the path-only one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clwqa_bench.legacy.base import LegacyScore, LegacyTotal, need_rows
from clwqa_bench.legacy.gcr import SOURCE, score
from clwqa_bench.legacy.rog import means

JOINT = ("Reasoning path:", "the answer is: ")
HEADED = ("# Reasoning Path:", "# Answer:")


@dataclass(frozen=True, slots=True)
class PathRow:
    """Generated texts in rank order, gold answers, and gold paths written as the predicted ones are."""

    prediction: tuple[str, ...]
    golds: tuple[str, ...]
    gold_paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PathScore:
    """One row: answers against gold answers, paths against gold paths (None without one), paths against answers."""

    answer: LegacyScore
    path: LegacyScore | None
    path_answer: LegacyScore


def joint(rows: Sequence[PathRow]) -> list[PathScore]:
    """Texts such as ``Reasoning path: a -> r -> b, the answer is: b``; every list is scored on its own."""
    return [_score(row, number, JOINT, raw=False) for number, row in enumerate(rows, start=1)]


def with_answers(rows: Sequence[PathRow]) -> list[PathScore]:
    """Texts with the headings ``# Reasoning Path:`` and ``# Answer:``.

    Hit and accuracy of the answers are those of the whole text, so naming the gold inside a path counts.
    """
    return [_score(row, number, HEADED, raw=True) for number, row in enumerate(rows, start=1)]


def paths_only(rows: Sequence[PathRow]) -> list[LegacyScore | None]:
    """Texts that are paths; None for a question without a gold path, which the source skips."""
    return [
        score(row.prediction, row.gold_paths, number) if row.gold_paths else None
        for number, row in enumerate(rows, start=1)
    ]


def total_paths(scores: Sequence[LegacyScore | None]) -> LegacyTotal:
    """The printed means over the questions with a gold path."""
    kept = [score for score in scores if score is not None]
    need_rows(kept, SOURCE)
    return replace(means(kept), denominator="questions with a gold path")


def _score(row: PathRow, number: int, marks: tuple[str, str], *, raw: bool) -> PathScore:
    path_mark, answer_mark = marks
    paths = _after(row.prediction, path_mark, answer_mark)
    answers = _after(row.prediction, answer_mark, path_mark)
    return PathScore(
        answer=score(answers, row.golds, number, joined=" ".join(row.prediction) if raw else None),
        path=score(paths, row.gold_paths, number) if row.gold_paths else None,
        path_answer=score(paths, row.golds, number),
    )


def _after(texts: Sequence[str], mark: str, end: str) -> list[str]:
    """What follows ``mark`` up to ``end`` in each text; nothing, which is dropped as blank, without the mark."""
    return [text.partition(mark)[2].partition(end)[0].strip() for text in texts]
