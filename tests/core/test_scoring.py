"""Scoring worked out by hand on six questions, and what may never change a number."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.errors import MetricError, PredictionError
from clwqa_bench.grid import Gold, GoldQuestion, align
from clwqa_bench.metrics import Metric
from clwqa_bench.predictions import DatasetRef, PredictedAnswer, Prediction
from clwqa_bench.records import Answer
from clwqa_bench.scoring import Scored, score

REF = DatasetRef(name="six", version="1.0.0", content="c", split="test")
HITS, F1, MICRO = (Metric.parse(name) for name in ("Hits@1", "F1", "F1(agg=micro)"))


def question(id: str, group: str, hops: int, *golds: str) -> GoldQuestion:
    answers = tuple(Answer(entity_id=f"e:{name}", label=name) for name in golds)
    return GoldQuestion(id, f"{id}？", answers, group, (f"hops={hops}",))


SIX = Gold(
    REF,
    (
        question("q1", "守株待兔", 1, "韩非子"),
        question("q2", "守株待兔", 2, "韩非"),
        question("q3", "四面楚歌", 1, "史记"),
        question("q4", "四面楚歌", 2, "司马迁"),
        question("q5", "唇亡齿寒", 1, "左传", "墨子"),
        question("q6", "画蛇添足", 2, "战国策"),
    ),
)


def answered(id: str, *texts: str, ranked: bool = True) -> Prediction:
    answers = tuple(PredictedAnswer(text=text) for text in texts)
    return Prediction(id=id, status="ok", ranked=ranked, answers=answers)


# Right, wrong-then-right, half of two golds; q4 refused, q5 partly, q6 not handed in.
GIVEN = (
    answered("q1", "《韩非子》"),
    answered("q2", "孟子", "韩非"),
    answered("q3", "汉书"),
    Prediction(id="q4", status="refused"),
    answered("q5", "左传"),
)


def scored(*predictions: Prediction, **options: object) -> Scored:
    return score(align(SIX, predictions), (HITS, F1, MICRO), resamples=200, **options)  # type: ignore[arg-type]


def test_every_question_of_the_split_counts_whatever_was_handed_in() -> None:
    table = scored(*GIVEN).table
    # Hits@1: q1 and q5 of six.  F1: 1 + 2/3 + 0 + 0 + 2/3 + 0 over six.
    # micro: 3 right of 5 items and 7 golds, so 2 * 3 / (5 + 7).
    assert [table.cell(str(m)).value for m in (HITS, F1, MICRO)] == pytest.approx([2 / 6, 7 / 18, 0.5])  # type: ignore[union-attr]
    assert all(cell.n == 6 for cell in table.cells if cell.stratum == "all")
    assert table.n == 6
    assert table.outcomes["refused"] == ("q4",)
    assert table.outcomes["missing"] == ("q6",)
    assert table.outcomes["ok"] == ("q1", "q2", "q3", "q5")


def test_strata_divide_the_questions_and_small_ones_are_marked() -> None:
    table = scored(*GIVEN).table
    one, two = (table.cell(str(HITS), f"hops={hops}") for hops in (1, 2))
    assert one is not None
    assert two is not None
    assert (one.value, one.n, one.clusters) == (pytest.approx(2 / 3), 3, 3)
    assert (two.value, two.n, two.clusters) == (0.0, 3, 3)
    assert one.small
    assert scored(*GIVEN, strata=False).table.strata == ("all",)


def test_unranked_answers_get_no_hits_at_1_but_everything_else() -> None:
    table = scored(*GIVEN[:1], answered("q2", "韩非", "孟子", ranked=False)).table
    assert table.cell(str(HITS)) is None
    assert "in no order" in table.left_out[str(HITS)]
    assert table.cell(str(F1)).value == pytest.approx((1 + 2 / 3) / 6)  # type: ignore[union-attr]
    assert table.notes["unranked_predictions"] == 1


def test_the_expectation_takes_the_place_of_hits_that_cannot_be_measured() -> None:
    expected = Metric.parse("E[Hits]@1")
    found = score(align(SIX, [answered("q2", "韩非", "孟子", ranked=False)]), (HITS,), resamples=200)
    assert found.metrics == (expected,)
    assert found.table.cell(str(expected)).value == pytest.approx(0.5 / 6)  # type: ignore[union-attr]


def test_too_few_resamples_for_a_level_are_refused() -> None:
    with pytest.raises(
        MetricError, match=r"200 resamples do not tell the ends of a 99\.9 % interval"
    ) as error:
        scored(*GIVEN, level=0.999)
    assert "5,000" in error.value.fix


def test_half_of_a_submission_has_the_rest_as_missing() -> None:
    whole, first, second = (scored(*part).table for part in (GIVEN, GIVEN[:2], GIVEN[2:]))
    for metric in (HITS, F1):
        values = [table.cell(str(metric)).value for table in (whole, first, second)]  # type: ignore[union-attr]
        assert values[0] == pytest.approx(values[1] + values[2])


@given(order=st.permutations(range(5)), gold_order=st.permutations(range(6)))
def test_the_order_of_lines_and_questions_changes_not_one_bit(
    order: list[int], gold_order: list[int]
) -> None:
    shuffled = Gold(REF, tuple(SIX.questions[i] for i in gold_order))
    there = score(align(shuffled, [GIVEN[i] for i in order]), (F1, MICRO), resamples=200).table
    assert there == scored(*GIVEN).table or there.cells == tuple(
        cell for cell in scored(*GIVEN).table.cells if cell.metric != str(HITS)
    )


def test_asking_for_more_metrics_changes_no_number() -> None:
    alone = score(align(SIX, GIVEN), (F1,), resamples=200).table
    together = scored(*GIVEN).table
    assert alone.cell(str(F1)) == together.cell(str(F1))


def test_intervals_hold_the_value_and_grow_with_the_level() -> None:
    narrow, wide = (scored(*GIVEN, level=level).table.cell(str(F1)) for level in (0.5, 0.97))
    assert narrow is not None
    assert wide is not None
    assert wide.low < narrow.low <= narrow.value <= narrow.high < wide.high  # type: ignore[operator]


def test_a_table_is_json_without_nan() -> None:
    plain = scored(*GIVEN).table.as_dict()
    text = json.dumps(plain, allow_nan=False, ensure_ascii=False)
    assert json.loads(text)["cells"][0]["metric"] == str(HITS)
    assert plain["schema_version"] == 1


def test_ten_thousand_answers_to_one_question_are_scored_and_noted() -> None:
    dump = answered("q1", *(f"书{i}" for i in range(9_999)), "韩非子")
    table = scored(dump).table
    assert table.cell(str(HITS)).value == 0  # type: ignore[union-attr]
    assert table.cell(str(F1)).value == pytest.approx(2 / 10_001 / 6)  # type: ignore[union-attr]
    assert table.notes["more_than_50_answers"] == 1


@pytest.mark.parametrize(
    ("extra", "says"), [("q1", "a second prediction for q1"), ("q9", "q9 is not among the 6 questions")]
)
def test_a_wrong_id_stops_everything(extra: str, says: str) -> None:
    with pytest.raises(PredictionError, match=says):
        align(SIX, (*GIVEN, answered(extra, "x")))


def test_the_seed_comes_from_the_questions_alone() -> None:
    assert scored().table.seed == scored(*GIVEN).table.seed
    fewer = Gold(REF, SIX.questions[:5])
    assert score(align(fewer, GIVEN), (F1,), resamples=200).table.seed != scored().table.seed


def test_nobody_answered_scores_exactly_zero() -> None:
    cells = scored().table.cells
    assert np.all(np.array([cell.value for cell in cells]) == 0.0)
