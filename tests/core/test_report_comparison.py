"""Families of paired tests: what is in them, what is left out, and who may stand at which rank."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clwqa_bench.commands.common import distinct_titles
from clwqa_bench.comparison import ALIKE, BLUNT, compare
from clwqa_bench.console import to_json
from clwqa_bench.errors import PredictionError
from clwqa_bench.grid import Gold, GoldQuestion, Grid, align
from clwqa_bench.metrics import Metric
from clwqa_bench.predictions import DatasetRef, PredictedAnswer, Prediction, RunManifest
from clwqa_bench.records import Answer

HITS, F1 = Metric.parse("Hits@1"), Metric.parse("F1")
GOLD = Gold(
    DatasetRef(name="forty", version="1.0.0", content="c", split="test"),
    tuple(
        GoldQuestion(f"q{n:02}", f"第{n}问？", (Answer(entity_id=f"e:{n}", label=f"答案{n}"),), f"g{n}")
        for n in range(40)
    ),
)


def right_on(count: int, *, ranked: bool = True, gold: Gold = GOLD) -> Grid:
    """A system that answers the first `count` questions rightly, the others wrongly."""
    texts = [f"答案{n}" if n < count else "不知" for n in range(40)]
    answers = [(PredictedAnswer(text=text), PredictedAnswer(text="甲")) for text in texts]
    return align(
        gold,
        [Prediction(id=f"q{n:02}", status="ok", ranked=ranked, answers=a) for n, a in enumerate(answers)],
    )


RUNS = {"strong": right_on(36), "weak": right_on(8), "near": right_on(35)}


def test_every_pair_under_every_metric_is_one_family() -> None:
    family = compare(RUNS, [HITS, F1], resamples=500)
    assert family.size == 6
    assert {(p.a, p.b) for p in family.pairs} == {("strong", "weak"), ("strong", "near"), ("weak", "near")}
    pair = family.pair(str(HITS), "weak", "strong")
    assert pair is not None
    assert (pair.test.delta, pair.test.wins, pair.test.losses) == (pytest.approx(0.7), 28, 0)
    assert pair.significant
    assert all(pair.p >= pair.test.p_permutation for pair in family.pairs)


def test_ranks_hold_apart_only_what_differs() -> None:
    family = compare(RUNS, [HITS], resamples=500)
    assert [(r.best, r.worst) for r in family.ranks[str(HITS)]] == [(1, 2), (3, 3), (1, 2)]


def test_asking_for_more_corrects_for_more() -> None:
    one = compare({"a": right_on(20), "b": right_on(26)}, [HITS], resamples=500)
    two = compare({"a": right_on(20), "b": right_on(26)}, [HITS, F1], resamples=500)
    assert one.pairs[0].test == two.pairs[0].test
    assert two.pairs[0].p > one.pairs[0].p


def test_a_test_that_cannot_find_anything_says_so() -> None:
    assert not compare(RUNS, [HITS], resamples=500).blunt
    assert compare(RUNS, [HITS, F1], resamples=100).blunt  # 6 tests, and no p is below 1/101


def test_equal_runs_are_told_from_a_test_that_is_too_coarse() -> None:
    same = compare({"a": RUNS["weak"], "b": RUNS["weak"]}, [HITS], resamples=500)
    assert (same.blunt, same.alike) == (False, True)
    assert same.caution == ALIKE
    near = compare(
        {"strong": RUNS["strong"], "near": RUNS["near"]}, [HITS], resamples=500
    )  # one group of forty
    assert (near.blunt, near.alike) == (False, True)
    assert compare(RUNS, [HITS], resamples=500).caution is None


def test_few_fact_groups_cannot_find_anything_however_many_resamples() -> None:
    few = Gold(GOLD.ref, GOLD.questions[:5])
    texts = ("答案{}", "不知")
    right, wrong = (
        align(
            few,
            [
                Prediction(id=f"q{n:02}", status="ok", answers=(PredictedAnswer(text=text.format(n)),))
                for n in range(5)
            ],
        )
        for text in texts
    )
    family = compare({"right": right, "wrong": wrong}, [F1], resamples=10_000)
    assert family.pairs[0].p == 2 / 2**5  # swap nothing, or everything
    assert family.caution == BLUNT


def test_a_metric_that_one_run_cannot_have_is_left_out_for_all() -> None:
    family = compare({"a": right_on(20), "b": right_on(26, ranked=False)}, [HITS, F1], resamples=100)
    assert family.metrics == (str(F1),)
    assert family.left_out[str(HITS)].startswith("b: ")


def test_one_run_or_other_questions_are_errors() -> None:
    with pytest.raises(PredictionError, match="needs two runs"):
        compare({"a": RUNS["weak"]}, [F1])
    other = Gold(replace_version(GOLD.ref), GOLD.questions)
    with pytest.raises(PredictionError, match=r"forty 1\.0\.0.*forty 2\.0\.0"):
        compare({"a": RUNS["weak"], "b": right_on(3, gold=other)}, [F1])


def test_as_json() -> None:
    manifest = RunManifest(system="near", dataset=GOLD.ref, code_version="1", oracle=("link",))
    family = compare(RUNS, [HITS], resamples=100, manifests={"near": manifest})
    plain = json.loads(to_json(family.as_dict()))
    first = plain["pairs"][0]
    assert (first["a"], first["b"], first["value_a"], plain["family"]) == ("strong", "weak", 0.9, 3)
    assert plain["ranks"][str(HITS)][1] == {"best": 3, "worst": 3}
    assert plain["manifests"]["near"]["oracle"] == ["link"]
    assert plain["manifests"]["weak"] is None


@pytest.mark.parametrize(
    ("runs", "titles"),
    [
        ([("a", "x"), ("b", "y")], ["a", "b"]),
        ([("a", "runs/x"), ("a", "runs/y"), ("b", "z")], ["a (x)", "a (y)", "b"]),
        ([("a", "1/x"), ("a", "2/x")], ["a (1/x)", "a (2/x)"]),
    ],
)
def test_runs_of_the_same_name_are_told_apart(runs: list[tuple[str, str]], titles: list[str]) -> None:
    assert distinct_titles([(title, Path(path)) for title, path in runs]) == titles


def replace_version(ref: DatasetRef) -> DatasetRef:
    return ref.model_copy(update={"version": "2.0.0"})
