"""GCR's variants for predictions with reasoning paths."""

from __future__ import annotations

import pytest

from clwqa_bench.legacy import LegacyCrash
from clwqa_bench.legacy.gcr_paths import PathRow, joint, paths_only, total_paths, with_answers

PATH = "守株待兔 -> 出自 -> 韩非子"
WRONG = "守株待兔 -> 近义 -> 刻舟求剑"


def test_joint() -> None:
    row = PathRow(
        (
            f"Reasoning path: {PATH}\nso the answer is: 韩非子",
            f"Reasoning path: {WRONG}\nso the answer is: 庄子",
        ),
        golds=("韩非子",),
        gold_paths=(PATH,),
    )
    (score,) = joint([row])
    assert (score.answer.precision, score.answer.recall) == (0.5, 1.0)
    assert score.path is not None
    assert (score.path.precision, score.path.recall) == (0.5, 1.0)
    assert (score.path_answer.hit, score.path_answer.precision) == (1.0, 0.5)


def test_a_path_ends_where_the_answer_begins() -> None:
    (score,) = joint([PathRow((f"Reasoning path: {WRONG}, the answer is: 韩非子",), ("韩非子",), (PATH,))])
    assert (score.answer.hit, score.path_answer.hit) == (1.0, 0.0)


def test_joint_texts_without_marks_give_nothing() -> None:
    (score,) = joint([PathRow(("韩非子",), ("韩非子",), (PATH,))])
    assert (score.answer.hit, score.path_answer.hit) == (0.0, 0.0)


def test_naming_the_answer_inside_a_path_counts() -> None:
    row = PathRow((f"# Reasoning Path:\n{PATH}\n# Answer:\n庄子",), golds=("韩非子",), gold_paths=(PATH,))
    (score,) = with_answers([row])
    assert (score.answer.hit, score.answer.accuracy) == (1.0, 1.0)
    assert (score.answer.precision, score.answer.recall, score.answer.f1) == (0.0, 0.0, 0.0)
    assert score.path is not None
    assert score.path.f1 == 1.0


def test_a_question_without_a_gold_path_is_skipped() -> None:
    rows = [PathRow((PATH, WRONG), ("韩非子",), (PATH,)), PathRow((PATH,), ("韩非子",), ())]
    scores = paths_only(rows)
    assert scores[1] is None
    assert with_answers(rows)[1].path is None
    total = total_paths(scores)
    assert (total.values["precision"], total.n, total.denominator) == (50, 1, "questions with a gold path")


def test_an_answer_score_without_gold_crashes() -> None:
    with pytest.raises(LegacyCrash, match="GCR crashes on row 1"):
        joint([PathRow((), (), (PATH,))])


def test_no_question_with_a_gold_path() -> None:
    with pytest.raises(LegacyCrash, match="GCR divides by zero"):
        total_paths([None])
