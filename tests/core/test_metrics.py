"""Metrics: what their names mean, the worked example, and what holds for any predictions."""

from __future__ import annotations

import random
import re
import weakref
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clwqa_bench.errors import MetricError
from clwqa_bench.grid import Gold, GoldQuestion, Grid, align
from clwqa_bench.matching import HEADLINE as ALIAS
from clwqa_bench.matching import Policy
from clwqa_bench.metrics import DEFAULT, HEADLINE, Metric, select
from clwqa_bench.metrics.base import LEGACY, MEASURES
from clwqa_bench.metrics.measure import once_per_grid
from clwqa_bench.predictions import DatasetRef, PredictedAnswer, Prediction
from clwqa_bench.records import Answer
from tests.core import metric_example as example

ALL = select(["all"])
ANSWERS = select(["answers"])
REF = DatasetRef(name="made up", version="1", content="", split="test")

Golds = Sequence[Sequence[str]]
Given = Sequence[Sequence[str] | None]


def made(golds: Golds, given: Given, *, ranked: bool = True) -> Grid:
    """A grid of questions q00, q01, ... with these golds; None is a question nobody answered."""
    questions = [
        GoldQuestion(f"q{i:02}", "", tuple(Answer(entity_id=name, label=name) for name in names), f"g{i}")
        for i, names in enumerate(golds)
    ]
    predictions = [
        Prediction(
            id=f"q{i:02}",
            status="ok" if names else "empty",
            ranked=ranked,
            answers=tuple(PredictedAnswer(text=name, entity_id=name) for name in names),
        )
        for i, names in enumerate(given)
        if names is not None
    ]
    return align(Gold(REF, tuple(questions)), predictions)


def value(metric: str | Metric, grid: Grid) -> float:
    """The metric on all questions it applies to."""
    metric = Metric.parse(metric) if isinstance(metric, str) else metric
    columns = metric.columns(grid)
    return float(metric.reduce(columns.values[columns.applies].mean(axis=0)))


# --- names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "canonical", "label"),
    [
        ("Hits@1", "Hits(match=alias,text>=0.8)@1", "Hits@1"),
        ("Hits", "Hits(match=alias,text>=0.8)@1", "Hits@1"),
        ("F1", "F1(match=alias,text>=0.8,agg=macro)", "F1"),
        ("F1(agg=of-means)", "F1(match=alias,text>=0.8,agg=of-means)", "F1 of means"),
        ("F1( agg=micro, match=alias, text>=1 )", "F1(match=alias,text>=1,agg=micro)", "micro-F1 (alias,text>=1)"),
        ("E[Hits]@1", "E[Hits](match=alias,text>=0.8)@1", "E[Hits@1] under random order"),
        ("MRR(match=id)@3", "MRR(match=id)@3", "MRR@3 (id)"),
        ("F1(match=contains)", "F1(match=contains,agg=macro)", "F1 (contains)"),
        ("BLEU(agg=corpus)", "BLEU(agg=corpus)", "corpus-BLEU"),
        ("EvidenceR(of=cited)", "EvidenceR(of=cited,agg=macro)", "Evidence R (cited)"),
        ("EvidencenDCG", "EvidencenDCG(of=shown)@10", "Evidence nDCG@10"),
        ("HallucinatedEdges", "HallucinatedEdges(of=shown,agg=micro)", "Hallucinated edges"),
        ("Hit(match=legacy-pog)", "Hit(match=legacy-pog)", "Hit (legacy-pog)"),
    ],
)  # fmt: skip
def test_a_name_is_read_and_printed_in_full(written: str, canonical: str, label: str) -> None:
    metric = Metric.parse(written)
    assert (str(metric), metric.label) == (canonical, label)


def every_metric() -> st.SearchStrategy[Metric]:
    """Any metric there is, with any policy and cutoff."""
    thresholds = st.none() | st.floats(0, 1, exclude_min=True)
    own = st.builds(Policy, st.sampled_from(["alias", "judge"]), thresholds) | st.just(Policy("id"))
    old = st.sampled_from([Policy(name) for name in ("legacy-pog", "legacy-rog")])

    def of(measure: object) -> st.SearchStrategy[Metric]:
        legacy = measure.group == "legacy"
        return st.builds(
            Metric,
            st.just(measure.name),
            match=(old if legacy else own) if measure.matched else st.none(),
            of=st.sampled_from(measure.of or (None,)),
            agg=st.sampled_from(list(measure.forms)),
            k=st.none() if measure.k is None else st.integers(1, 999_999),
        )

    return st.sampled_from([*MEASURES.values(), *LEGACY.values()]).flatmap(of)


@settings(deadline=None)
@given(every_metric())
def test_printing_and_parsing_are_inverse(metric: Metric) -> None:
    again = Metric.parse(str(metric))
    assert again == metric
    assert hash(again) == hash(metric)


@pytest.mark.parametrize(
    ("written", "what", "fix"),
    [
        ("Hit@1", "no metric 'Hit'", "'Hits@1'"),
        ("hits@3", "no metric 'hits'", "'Hits@3'"),
        ("RougeL", "no metric 'RougeL'", "'ROUGE-L'"),
        ("Accuracy", "no metric 'Accuracy'", "use one of Hits, P"),
        ("Hits(match=legacy-pog)@1", "no metric 'Hits' under legacy-pog", "mean 'Hit(match=legacy-pog)'"),
        ("Hit(agg=micro)", "no metric 'Hit'", "mean 'Hits(match=alias,text>=0.8)@1'"),
        ("HubLinkHit@5", "no metric 'HubLinkHit'", "mean 'Recall@5'"),
        ("hublinkhit(match=id)", "no metric 'hublinkhit'", "mean 'Recall(match=id)'"),
        ("Hits@0", "@0 in 'Hits@0' is not a cutoff", "from 1"),
        ("Hits@-1", "@-1", "from 1"),
        ("Hits@", "@ in", "from 1"),
        ("Hits＠1", "full-width signs in 'Hits＠1'", "mean 'Hits@1'"),
        ("Hits@１", "full-width signs in 'Hits@１'", "mean 'Hits@1'"),
        ("F1（agg=micro）", "full-width signs", "mean 'F1(agg=micro)'"),
        ("Ｆ１（ａｇｇ＝ｍｅａｎ）", "F1 has no agg=mean", "macro, of-means, micro"),
        ("F1@3", "F1 has no k", "F1(match=alias,text>=0.8,agg=macro)"),
        ("F1(agg=mean)", "F1 has no agg=mean", "macro, of-means, micro"),
        ("P(agg=of-means)", "P has no agg=of-means", "macro, micro"),
        ("EM(agg=macro)", "EM has no agg", "EM(match=alias,text>=0.8)"),
        ("charF1(match=id)", "charF1 has no match", "charF1"),
        ("F1(of=shown)", "F1 has no of", "F1(match=alias"),
        ("F1(match=alais)", "no matching policy 'alais'", "'alias'"),
        ("F1(match=alias,text>=8)", "8 is not a character F1", "0.8"),
        ("F1(match=alias,text>=0_1)", "is not a threshold", "alias,text>=0.8"),
        ("F1(mtach=id)", "no setting 'mtach' in 'F1(mtach=id)', character 4", "'match'"),
        ("F1(agg=micro, agg=macro)", "agg is set twice in 'F1(agg=micro, agg=macro)', character 15", "keep one"),
        ("F1(agg=micro", "from character 3 on", "NAME(SETTING=VALUE,...)@K"),
        ("F1(macro)", "from character 4 on", "NAME(SETTING=VALUE,...)@K"),
        ("F1 score", "from character 3 on", "NAME(SETTING=VALUE,...)@K"),
        ("", "from character 1 on", "NAME(SETTING=VALUE,...)@K"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_explained(written: str, what: str, fix: str) -> None:
    with pytest.raises(MetricError) as caught:
        Metric.parse(written)
    assert what in caught.value.what
    assert fix in caught.value.fix
    if meant := re.fullmatch("did you mean '(.*[@)].*)'", caught.value.fix):
        assert Metric.parse(meant[1])


def test_a_metric_cannot_be_made_with_settings_its_measure_lacks() -> None:
    with pytest.raises(MetricError, match="F1 needs match"):
        Metric("F1", agg="macro")
    with pytest.raises(MetricError, match="@0 is not a cutoff"):
        Metric("Hits", match=ALIAS, k=0)


def test_the_suite() -> None:
    assert len(set(ALL)) == len(ALL) == len({metric.label for metric in ALL})
    assert all(metric.is_headline and not metric.is_legacy for metric in HEADLINE)
    assert not any(metric.is_legacy for metric in DEFAULT)
    assert {m.measure for m in ALL if m.direction < 0} == {
        "ParametricShare", "HallucinatedEdges", "AnswerWithoutSupport", "CorrectButUnsupported",
    }  # fmt: skip
    assert select(["F1", "headline", "F1"]) == (Metric.parse("F1"), *(m for m in HEADLINE if m.label != "F1"))
    assert not Metric.parse("F1(match=legacy-rog)").is_headline
    assert not Metric.parse("F1(match=contains)").is_headline
    assert not Metric.parse("F1(agg=micro)").is_headline


@pytest.mark.parametrize(
    ("typed", "group"), [("answer", "answers"), ("ALL", "all"), ("Text", "text"), ("ａｌｌ", "all")]
)
def test_a_mistyped_group_is_explained(typed: str, group: str) -> None:
    with pytest.raises(MetricError, match=f"did you mean the group '{group}'"):
        select([typed])


def test_a_judge_that_has_not_ruled_is_not_a_judge_that_says_no() -> None:
    grid = made([["甲"]], [["乙"]])
    metric = Metric.parse("F1(match=judge,text>=0.8)")
    with pytest.raises(MetricError, match=r"no answer has a judge's ruling.*--judge"):
        metric.columns(grid)
    assert value(metric, replace(grid, verdicts={("q00", "乙"): True})) == 1


# --- the worked example -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("metric", "worked"), example.WORKED.items(), ids=list(example.WORKED))
def test_the_example_worked_by_hand(metric: str, worked: float) -> None:
    assert value(metric, example.grid()) == pytest.approx(worked, abs=1e-6)


def test_the_page_shows_the_example() -> None:
    page = example.PAGE.read_text(encoding="utf-8")
    assert page == example.filled(page), "run: python -m tests.core.metric_example"
    assert page.count("<!-- example:") == 3


def test_the_example_has_every_metric() -> None:
    assert set(map(Metric.parse, example.WORKED)) >= set(DEFAULT)


def test_the_order_of_questions_and_golds_does_not_matter() -> None:
    questions = [replace(q, answers=q.answers[::-1]) for q in reversed(example.QUESTIONS)]
    shuffled = align(
        Gold(example.GOLD.ref, tuple(questions), example.GOLD.graph), reversed(example.PREDICTIONS)
    )
    for metric in ALL:
        assert value(metric, shuffled) == value(metric, example.grid()), str(metric)


# --- any predictions ----------------------------------------------------------------------------------------

relaxed = settings(max_examples=50, deadline=None)
names = st.lists(st.sampled_from("甲乙丙丁戊己庚辛"), min_size=1, max_size=5, unique=True)
grids = st.lists(st.tuples(names, names | st.just([]) | st.none()), min_size=1, max_size=6)


@relaxed
@given(grids)
def test_every_answer_metric_lies_between_0_and_1(rows: list[tuple[list[str], list[str] | None]]) -> None:
    grid = made(*zip(*rows, strict=True))
    for metric in ANSWERS:
        per_question = metric.per_question(grid)
        assert np.nanmin(per_question, initial=0) >= 0, str(metric)
        assert np.nanmax(per_question, initial=0) <= 1, str(metric)


@relaxed
@given(st.lists(names, min_size=1, max_size=6))
def test_gold_answers_score_exactly_1_and_no_answers_exactly_0(golds: list[list[str]]) -> None:
    right = [m for m in ANSWERS if m.measure != "ParametricShare"]
    for metric in right:
        assert value(metric, made(golds, golds)) == 1, str(metric)
        assert value(metric, made(golds, [[]] * len(golds))) == 0, str(metric)
        assert value(metric, made(golds, [None] * len(golds))) == 0, str(metric)


@relaxed
@given(names, names)
def test_a_further_right_answer_never_lowers_recall(golds: list[str], answers: list[str]) -> None:
    missing = [gold for gold in golds if gold not in answers]
    for metric in ("R", "Recall@10", "R(agg=micro)", "Recall@2", "Hits@1", "MRR@10", "MAP@10"):
        more = value(metric, made([golds], [[*answers, *missing[:1]]]))
        assert more >= value(metric, made([golds], [answers])), metric


@relaxed
@given(names, names, st.randoms(use_true_random=False))
def test_the_order_of_answers_matters_to_ranked_metrics_only(
    golds: list[str], answers: list[str], shuffle: random.Random
) -> None:
    shuffled = shuffle.sample(answers, len(answers))
    for metric in ("P", "R", "F1", "EM", "F1(agg=of-means)", "F1(agg=micro)", "E[Hits]@1", "E[Hits]@3"):
        one, other = (value(metric, made([golds], [order], ranked=False)) for order in (answers, shuffled))
        assert one == other, metric


def test_half_of_the_predictions_have_half_of_the_score() -> None:
    golds = [["甲"], ["乙", "丙"], ["丁"], ["戊"]]
    for metric in HEADLINE:
        whole, half = (value(metric, made(golds, given)) for given in (golds, [*golds[:2], None, None]))
        assert (whole, half) == (1, 0.5), str(metric)


@pytest.mark.parametrize("status", ["empty", "refused", "unparsed", "error", "timeout", "skipped"])
def test_a_question_without_an_answer_scores_0_whatever_the_reason(status: str) -> None:
    gold = Gold(REF, (GoldQuestion("q0", "", (Answer(entity_id="甲", label="甲"),), "g"),))
    grid = align(gold, [Prediction(id="q0", status=status, raw_answer="甲")])
    for metric in ALL:
        if metric.group in ("answers", "legacy") and metric.columns(grid).applies.any():
            assert value(metric, grid) == 0, str(metric)


# --- ranked and unranked ------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["Hits@1", "Hits@5", "MRR@10", "MAP@10", "Recall@10"])
def test_a_ranked_metric_refuses_answers_in_no_order(metric: str) -> None:
    grid = made([["甲"], ["乙"]], [["甲"], ["丙", "乙"]], ranked=False)
    with pytest.raises(
        MetricError, match=r"1 predictions \(q01, ...\) list several answers in no order.*E\[Hits\]@1"
    ):
        Metric.parse(metric).columns(grid)


def test_a_single_answer_needs_no_order() -> None:
    assert value("Hits@1", made([["甲"]], [["甲"]], ranked=False)) == 1


@relaxed
@given(names, names, st.integers(1, 4))
def test_expected_hits_are_the_mean_over_all_orders(golds: list[str], answers: list[str], k: int) -> None:
    draws = [order for order in product(answers, repeat=len(answers)) if len(set(order)) == len(order)]
    mean = np.mean([any(name in golds for name in order[:k]) for order in draws])
    assert value(f"E[Hits]@{k}", made([golds], [answers], ranked=False)) == pytest.approx(mean)


# --- legacy -------------------------------------------------------------------------------------------------


def test_legacy_metrics_show_the_inflation() -> None:
    golds, prose = [["廉颇", "蔺相如"]], [["是廉颇和蔺相如的故事"]]
    assert value("Hit(match=legacy-rog)", made(golds, prose)) == 1
    assert value("P(match=legacy-rog)", made(golds, prose)) == 2  # two golds in one item
    assert value("F1(match=legacy-rog)", made(golds, prose)) == pytest.approx(4 / 3)
    assert value("F1(match=legacy-gcr)", made(golds, prose)) == 1
    assert value("F1", made(golds, prose)) == 0


def test_a_crash_of_the_original_names_the_row() -> None:
    questions = tuple(GoldQuestion(f"q{i}", "", (Answer(entity_id="甲", label="甲"),), "g") for i in range(2))
    answer = PredictedAnswer(text="甲")
    texts = ('{"A": {"Answer": "甲"}}', '{"Answer": [甲]}')
    given = [
        Prediction(id=f"q{i}", status="ok", answers=(answer,), raw_answer=text)
        for i, text in enumerate(texts)
    ]
    with pytest.raises(MetricError, match="row 2"):
        value("Hit(match=legacy-pog)", align(Gold(REF, questions), given))


def test_a_field_an_evaluator_lacks_is_an_error() -> None:
    with pytest.raises(MetricError, match="legacy-pog knows no F1"):
        value("F1(match=legacy-pog)", example.grid())


# --- the memory ---------------------------------------------------------------------------------------------


def test_what_is_remembered_of_a_grid_goes_with_it() -> None:
    made_for: list[int] = []

    @once_per_grid
    def size(grid: Grid, times: int) -> int:
        made_for.append(times)
        return len(grid) * times

    grid = made([["甲"]], [None])
    assert [size(grid, 2), size(grid, 2), size(grid, 3)] == [2, 2, 3]
    assert made_for == [2, 3]
    gone = weakref.ref(grid)
    del grid
    assert gone() is None
    assert size(made([["甲"], ["乙"]], [None, None]), 2) == 4
