"""Answers that are numbers or yes and no, and questions whose answer is a list: how they are matched and measured."""

from __future__ import annotations

import pytest

from clwqa_bench.grid import Gold, GoldQuestion, align
from clwqa_bench.literals import chinese, literal_id, number, truth
from clwqa_bench.matching import HEADLINE, match_answers
from clwqa_bench.metrics import Metric, chosen
from clwqa_bench.predictions import DatasetRef, PredictedAnswer, Prediction
from clwqa_bench.records import Answer


@pytest.mark.parametrize(
    ("gold", "text", "right"),
    [
        (number(12, "个"), "12", True),
        (number(12, "个"), "１２", True),
        (number(12, "个"), "十二", True),
        (number(12, "个"), "12 个", True),
        (number(12, "个"), "十二个。", True),
        (number(12, "个"), "约12", False),
        (number(12, "个"), "13", False),
        (number(12, "个"), "2", False),
        (number(2, "部"), "两部", True),
        (number(2.5, "个"), "二点五", True),
        (number(2.5, "个"), "2", False),
        (truth(True), "是", True),
        (truth(True), "Yes", True),
        (truth(True), "不是", False),
        (truth(False), "否", True),
    ],
)
def test_matching(gold: Answer, text: str, right: bool) -> None:
    assert match_answers(HEADLINE, [PredictedAnswer(text=text)], [gold]).right == right


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "零"), (2, "二"), (10, "十"), (11, "十一"), (20, "二十"), (105, "一百零五"), (110, "一百一十"),
        (1010, "一千零一十"), (3000, "三千"), (2.5, "二点五"), (-221, "负二百二十一"), (-0.5, "负零点五"),
        (10_000, "一万"), (12_010, "一万二千零一十"), (300_405, "三十万零四百零五"), (70_000_100, "七千万零一百"),
    ],
)  # fmt: skip
def test_chinese_numerals(value: float, text: str) -> None:
    assert chinese(value) == text


def test_values_of_every_engine() -> None:
    assert [literal_id(v) for v in (3, 3.0, 2.5, 1.4000000000000001, 123456.75, True, False)] == [
        "number:3", "number:3", "number:2.5", "number:1.4", "number:123456.75", "truth:yes", "truth:no",
    ]  # fmt: skip


LIST = tuple(Answer(entity_id=f"e{n}", label=f"甲{n}") for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("given", "whole", "pairs"),
    [
        (["e1", "e2", "e3"], 1, 1),
        (["e3", "e2", "e1"], 0, 0),
        (["e1", "e3", "e2"], 0, 2 / 3),
        (["e1", "e2"], 0, 1 / 3),
        (["e1", "x", "e2", "e3"], 0, 1),
        ([], 0, 0),
    ],
)
def test_lists(given: list[str], whole: float, pairs: float) -> None:
    ref = DatasetRef(name="d", version="1", content="c", split="test")
    ranking = GoldQuestion("q1", "排序", LIST, "g1", ordered=True)
    other = GoldQuestion("q2", "列举", LIST, "g2")
    gold = Gold(ref, (ranking, other))
    answers = tuple(PredictedAnswer(text=id, entity_id=id) for id in given)
    status = "ok" if given else "empty"
    grid = align(gold, [Prediction(id="q1", status=status, ranked=True, answers=answers)])
    measured = [Metric.parse(name).per_question(grid) for name in ("ListEM", "PairOrder")]
    assert [m[0] for m in measured] == pytest.approx([whole, pairs])
    assert all(m[1] != m[1] for m in measured)  # not defined where the answer is no list


def test_lists_are_measured_where_there_are_some() -> None:
    ref = DatasetRef(name="d", version="1", content="c", split="test")
    plain = Gold(ref, (GoldQuestion("q", "谁", LIST, "g"),))
    assert not any(metric.measure == "ListEM" for metric in chosen(None, plain))
    assert any(
        m.measure == "ListEM"
        for m in chosen(None, Gold(ref, (GoldQuestion("q", "谁", LIST, "g", ordered=True),)))
    )
