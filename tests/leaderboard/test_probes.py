"""Probes, each on the smallest run that it should, and on the nearest one that it should not, find something in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from clwqa_bench.grid import Gold, GoldQuestion, align
from clwqa_bench.predictions import (
    DatasetRef,
    PredictedAnswer,
    Prediction,
    RunManifest,
    StageUsage,
    TraceEvent,
)
from clwqa_bench.records import Answer
from clwqa_leaderboard.probes import Case, Finding, Marks, Standing, probe

REF = DatasetRef(name="d", version="1", content="c", split="test")
USAGE = StageUsage(calls=1, seconds=0.5)
N = 120


def entity(label: str) -> Answer:
    return Answer(entity_id=f"e:{label}", label=label)


def question(number: int, *labels: str) -> GoldQuestion:
    answers = tuple(entity(label) for label in labels or (f"答{number}",))
    return GoldQuestion(f"q{number:03}", "？", answers, f"g{number}")


def said(id: str, *texts: str, usage: Mapping[str, StageUsage] | None = None) -> Prediction:
    answers = tuple(PredictedAnswer(text=text) for text in texts)
    return Prediction(
        id=id, status="ok" if texts else "empty", ranked=True, answers=answers,
        usage={"answer": USAGE} if usage is None else usage,
    )  # fmt: skip


def case(gold: list[GoldQuestion], predictions: list[Prediction], **fields: Any) -> Case:
    others = fields.pop("others", {})
    manifest = RunManifest(system="demo", dataset=REF, code_version="1", **fields)
    return Case(manifest, align(Gold(REF, tuple(gold)), predictions), others)


def found(case: Case, standing: Standing = "ranked") -> list[tuple[str, str]]:
    return [(finding.probe, finding.level) for finding in probe(case, standing)]


def one(case: Case) -> Finding:
    [finding] = probe(case, "ranked")
    return finding


ONE = [question(1)]
TWENTY = [question(number) for number in range(20)]
MANY = [question(number) for number in range(N)]


def answers_to_most(wrong: int = N, text: str = "错") -> list[Prediction]:
    """Predictions for MANY, of which so many are wrong."""
    return [said(q.id, text if row < wrong else q.answers[0].label) for row, q in enumerate(MANY)]


def test_nothing_is_found_in_an_ordinary_run() -> None:
    assert found(case(MANY, answers_to_most(60))) == []


@pytest.mark.parametrize(
    ("fields", "name", "what"),
    [
        ({"oracle": ("anchors", "evidence")}, "oracle", "took anchors, evidence from the gold"),
        ({"sample": 20}, "sample", "20 questions were asked"),
    ],
)
def test_runs_with_gold_or_on_a_part(fields: dict[str, Any], name: str, what: str) -> None:
    finding = one(case(TWENTY, [said(q.id, "错") for q in TWENTY], **fields))
    assert (finding.probe, finding.level) == (name, "reject")
    assert what in finding.what
    assert finding.fix


def test_what_stands_apart_may_be_what_the_ranked_may_not() -> None:
    sampled = case(TWENTY, [said(q.id, "错") for q in TWENTY], sample=20)
    oracle = case(ONE, [said("q001", "错")], oracle=("answers",))
    assert found(sampled, "sample") == [("sample", "remark")]
    assert found(oracle, "sample") == [("oracle", "reject")]
    assert found(oracle, "reference") == [("oracle", "remark")]


@pytest.mark.parametrize(
    ("sample", "seed", "withheld", "expected"),
    [
        (20, 0, False, None),
        (19, 0, False, "19 questions drawn with seed 0"),
        (20, 7, False, "20 questions drawn with seed 7"),
        (20, 0, True, "tell it question by question"),
    ],
)
@pytest.mark.parametrize("standing", ["sample", "reference"])
def test_nobody_chooses_the_questions_of_a_sample(
    sample: int, seed: int, withheld: bool, expected: str | None, standing: Standing
) -> None:
    questions = TWENTY[:sample]
    sampled = case(questions, [said(q.id, "错") for q in questions], sample=sample, seed=seed)
    refused = [f for f in probe(replace(sampled, withheld=withheld), standing) if f.level == "reject"]
    assert [finding.probe for finding in refused] == (["picked"] if expected else [])
    assert all(expected and expected in finding.what and finding.fix for finding in refused)


GOLD_EVENT = TraceEvent(stage="link", op="gold", entities=("e:1",))


@pytest.mark.parametrize("beside", [True, False], ids=["trace beside it", "trace in it"])
def test_a_run_that_hides_the_gold_it_took_is_told_by_its_traces(beside: bool) -> None:
    answered = said("q001", "错")
    kept = answered if beside else answered.model_copy(update={"trace": (GOLD_EVENT,)})
    hidden = replace(case(ONE, [kept]), traces={"q001": (GOLD_EVENT,)} if beside else {})
    finding = one(hidden)
    assert (finding.probe, finding.level, finding.ids) == ("oracle", "reject", ("q001",))
    assert found(hidden, "sample") == [("oracle", "reject")]
    assert found(hidden, "reference") == [("oracle", "remark")]
    honest = replace(hidden, manifest=hidden.manifest.model_copy(update={"oracle": ("anchors",)}))
    assert len(found(honest)) == 1  # it is said once


def test_a_run_that_stopped_is_told_from_one_that_failed() -> None:
    stopped = one(case([question(1), question(2)], [said("q001", "错")]))
    assert (stopped.probe, stopped.level, stopped.ids) == ("partial", "reject", ("q002",))
    assert found(case([question(1), question(2)], [said("q001", "错"), said("q002")])) == []


@pytest.mark.parametrize(
    ("answers", "expected"), [(51, "reject"), (50, "remark"), (11, "remark"), (10, None)]
)
def test_lists_of_everything(answers: int, expected: str | None) -> None:
    listed = case(ONE, [said("q001", *(f"名{number}" for number in range(answers)))])
    levels = [level for name, level in found(listed) if name == "alias-dump"]
    assert levels[:1] == ([expected] if expected else [])


@pytest.mark.parametrize(("wrong", "expected"), [(0, [("gold-copy", "reject")]), (1, [])])
def test_answers_as_right_as_only_the_gold_is(wrong: int, expected: list[tuple[str, str]]) -> None:
    assert found(case(MANY, answers_to_most(wrong))) == expected


def test_a_few_questions_may_all_be_right() -> None:
    assert found(case(ONE, [said("q001", "答1")])) == []


PAIRS = [question(number, *(("甲", "乙") if number % 2 else ("乙", "甲"))) for number in range(60)]
"""Questions with two golds each, in an order that nothing but the gold tells."""


def in_order(order: Callable[[int], str], gold: list[GoldQuestion] = PAIRS) -> Case:
    """Both answers to every question, in the order given; "gold" is that of the gold, "wrong" no answer."""

    def answers(row: int) -> str:
        return {"gold": "".join(a.label for a in gold[row].answers), "wrong": "错"}.get(
            order(row), order(row)
        )

    return case(gold, [said(q.id, *answers(row), "多") for row, q in enumerate(gold)])


@pytest.mark.parametrize("copied", [60, 40])
def test_the_order_of_the_gold_is_known_by_nobody_else(copied: int) -> None:
    finding = one(in_order(lambda row: "gold" if row < copied else "乙甲"))
    assert (finding.probe, finding.level) == ("gold-order", "reject")
    assert f"{copied // 2} questions" in finding.what


@pytest.mark.parametrize(
    "order",
    [
        lambda _: "甲乙",
        lambda _: "乙甲",
        lambda row: "甲乙" if row % 3 else "乙甲",
        lambda row: "gold" if row < 8 else "wrong",
    ],
    ids=["alphabetical", "reversed", "of its own", "too few to say"],
)  # fmt: skip
def test_whatever_order_a_system_prefers_is_nothing_special(order: Callable[[int], str]) -> None:
    assert found(in_order(order)) == []


def test_nor_is_one_that_everybody_can_make() -> None:
    names = ["甲乙" if number % 2 else "丙丁" for number in range(60)]
    ids = {
        "甲": "e:2",
        "乙": "e:1",
        "丙": "e:3",
        "丁": "e:4",
    }  # by id, every other pair is the other way round
    gold = [
        replace(question(number), answers=tuple(Answer(entity_id=ids[n], label=n) for n in sorted(pair)))
        for number, pair in enumerate(names)
    ]
    assert found(in_order(lambda _: "gold", gold)) == []


def test_nor_one_that_is_asked_for() -> None:
    assert found(in_order(lambda _: "gold", [replace(q, ordered=True) for q in PAIRS])) == []


def test_the_same_answers_under_another_name() -> None:
    first = case(MANY, answers_to_most(60))
    copy = one(case(MANY, answers_to_most(60), others={"first@1": first.marks}))
    assert (copy.probe, copy.level) == ("duplicate", "reject")
    assert "first@1" in copy.what


def test_where_nothing_is_right_nobody_copied() -> None:
    fools = [said(q.id, "答案") for q in MANY]
    first = case(MANY, fools)
    assert found(case(MANY, fools, others={"first@1": first.marks})) == []


def test_wrong_answers_in_common_are_a_remark() -> None:
    first = case(MANY, answers_to_most(110)).marks
    nearly = [*answers_to_most(109)]
    assert found(case(MANY, nearly, others={"first@1": first})) == [("duplicate", "remark")]
    other = answers_to_most(110, text="误")
    assert found(case(MANY, other, others={"first@1": first})) == []


def test_marks_tell_answers_apart_and_say_nothing_of_the_rest() -> None:
    plain = Marks.of("abc", [said("a", "甲"), said("b"), None])
    assert plain.marks.tolist()[1:] == [0, 0]
    assert plain.digest == Marks.of("abc", [said("a", "甲", usage={}), said("b"), None]).digest
    assert plain.digest != Marks.of("abc", [said("a", "乙"), said("b"), None]).digest


def test_the_same_answers_to_other_questions_are_another_run() -> None:
    first = Marks.of(["q1"], [said("q1", "甲")])
    other = Marks.of(["q2"], [said("q2", "甲")])
    assert first.digest != other.digest
    assert first.marks.tolist() == other.marks.tolist()


@pytest.mark.parametrize(
    ("usage", "backbone", "expected"),
    [
        ({}, "none/lexical", ("usage", "reject")),
        ({"answer": StageUsage(seconds=0.5)}, "none/lexical", None),
        ({"answer": StageUsage(seconds=0.5)}, "openai/glm", ("usage", "reject")),
        ({"answer": StageUsage()}, "none/lexical", ("latency", "reject")),
        ({"answer": StageUsage(calls=1)}, "openai/glm", ("latency", "reject")),
        ({"answer": StageUsage(calls=9, seconds=0.001)}, "openai/glm", ("latency", "reject")),
        ({"answer": StageUsage(calls=9, cached=9)}, "openai/glm", None),
        ({"answer": StageUsage(calls=1, seconds=0.1, tokens_out=9_000)}, "openai/glm", ("latency", "reject")),
        ({"answer": StageUsage(calls=1, seconds=0.1, tokens_out=90)}, "openai/glm", None),
        ({"answer": StageUsage(calls=9, seconds=0.001)}, "none/lexical", None),
        ({"answer": StageUsage(seconds=1e9)}, "none/lexical", ("latency", "reject")),
    ],
)  # fmt: skip
def test_what_answers_cost_and_how_long_they_took(
    usage: dict[str, StageUsage], backbone: str, expected: tuple[str, str] | None
) -> None:
    assert found(case(ONE, [said("q001", "错", usage=usage)], backbone=backbone)) == (
        [expected] if expected else []
    )


def test_some_answers_without_usage_are_a_remark() -> None:
    mixed = case([question(1), question(2)], [said("q001", "错"), said("q002", "错", usage={})])
    assert found(mixed) == [("usage", "remark")]
