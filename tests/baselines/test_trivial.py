"""The reference lines on a graph small enough to check by hand, and what they score on the real one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from clwqa_baselines.trivial.kg_lookup import KgLookup, link
from clwqa_baselines.trivial.majority import Majority
from clwqa_baselines.trivial.oracle import Oracle
from clwqa_baselines.trivial.random_entity import RandomEntity
from clwqa_bench.dataset import Dataset
from clwqa_bench.linking import Gazetteer
from clwqa_bench.metrics import Metric
from clwqa_bench.predictions import Prediction
from clwqa_bench.records import Split, TripleRef
from clwqa_bench.registry import Registry
from clwqa_bench.runner import run
from clwqa_bench.runs import gold_of, read_run
from clwqa_bench.systems import System
from tests import tiny_dataset

TRIVIAL = (KgLookup, Majority, Oracle, RandomEntity)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("trivial") / "tiny"
    tiny_dataset.write(folder)
    return Dataset.open(folder)


def predictions(system: System, dataset: Dataset, out: Path, split: Split = "test") -> dict[str, Prediction]:
    run(system, dataset, split, out)
    return {prediction.id: prediction for prediction in read_run(out).predictions}


def answers(prediction: Prediction) -> list[str | None]:
    return [answer.entity_id for answer in prediction.answers]


def value(metric: str, dataset: Dataset, out: Path, split: Split = "test") -> float:
    """A metric of a finished run."""
    return float(Metric.parse(metric).per_question(read_run(out).on(gold_of(dataset, split))).mean())


@pytest.mark.parametrize("kind", TRIVIAL, ids=lambda kind: kind.name)
def test_each_is_installed_under_its_name(kind: type[System]) -> None:
    assert Registry("clwqa_bench.systems", "system").load(kind.name) is kind


@pytest.mark.parametrize("kind", TRIVIAL, ids=lambda kind: kind.name)
def test_ranked_answers_with_ids_or_none(kind: type[System], tiny: Dataset, tmp_path: Path) -> None:
    for prediction in predictions(kind(), tiny, tmp_path / "run").values():
        assert prediction.ranked
        assert all(answers(prediction))
        shown = prediction.evidence.ids()
        assert all(shown.issuperset(answer.support) for answer in prediction.answers)


# --- random -------------------------------------------------------------------------------------------------


def test_random_draws_from_all_entities_anew_for_every_question(tiny: Dataset, tmp_path: Path) -> None:
    drawn = Counter(
        answers(prediction)[0]
        for seed in range(60)
        for out in [tmp_path / str(seed)]
        if run(RandomEntity(), tiny, "train", out, seed=seed)
        for prediction in read_run(out).predictions
    )
    assert set(drawn) == set(tiny.kg().entities())


# --- majority -----------------------------------------------------------------------------------------------


def test_majority_answers_with_the_commonest_of_the_train_split(tiny: Dataset, tmp_path: Path) -> None:
    """Of the train answers 五蠹, 韩非子, 韩非, 司马迁 each occurs once: the least id comes first."""
    found = predictions(Majority(Majority.Config(answers=2)), tiny, tmp_path / "run")
    for prediction in found.values():
        assert answers(prediction) == ["book:韩非子", "chapter:韩非子/五蠹"]


# --- kg-lookup ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("“守株待兔”出自哪里？", ["word:守株待兔"]),
        ("《史记》是谁写的？", ["book:史记"]),
        ("“四面楚歌”和《韩非子》有关吗？", ["word:四面楚歌", "book:韩非子"]),
        ("意思是“比喻死守经验，不知变通”的成语是什么？", ["expl:1"]),  # a part of its text
        ("“完全不相干的一句话”出自哪里？", []),
        ("司马迁写过什么？", ["person:司马迁"]),  # nothing marked: the longest name
        ("史记·项羽本纪收在哪部书里？", ["chapter:史记/项羽本纪"]),
        ("这是什么？", []),
    ],
)
def test_the_entity_a_question_names(tiny: Dataset, text: str, named: list[str]) -> None:
    assert list(link(text, Gazetteer(tiny.kg(), similar=0.3))) == named


def test_lookup_follows_the_relation_whose_label_is_in_the_question(tiny: Dataset, tmp_path: Path) -> None:
    """q1 asks 出自何篇, and hasSource is called 出自."""
    found = predictions(KgLookup(), tiny, tmp_path / "run", "train")["q1"]
    assert answers(found) == ["chapter:韩非子/五蠹"]
    assert found.topics == ("word:守株待兔",)
    (piece,) = found.evidence.triples
    assert piece.triple == TripleRef(head="word:守株待兔", relation="hasSource", tail="chapter:韩非子/五蠹")
    assert found.answers[0].support == (piece.id,)
    stages = {event.stage: event for event in found.trace}
    assert list(stages) == ["link", "retrieve", "rank", "answer"]
    assert stages["link"].entities == found.topics
    assert set(stages["rank"].triples) == {piece.triple} < set(stages["retrieve"].triples)


def test_lookup_gives_no_more_answers_than_it_is_told_to(tiny: Dataset, tmp_path: Path) -> None:
    for limit in (1, 2):
        found = predictions(KgLookup(KgLookup.Config(answers=limit)), tiny, tmp_path / str(limit))
        assert {len(prediction.answers) for prediction in found.values()} <= set(range(1, limit + 1))


# --- oracle -------------------------------------------------------------------------------------------------


def test_the_oracle_gives_the_gold_with_the_paths_to_it(tiny: Dataset, tmp_path: Path) -> None:
    found = predictions(Oracle(), tiny, tmp_path / "run")
    for question in tiny.questions("test"):
        prediction = found[question.id]
        assert answers(prediction) == [answer.entity_id for answer in question.answers]
        assert set(prediction.evidence.shown()) == set(question.evidence)
        assert [path.triples for path in prediction.evidence.paths] == [question.evidence]
        assert prediction.answers[0].support == ("p1",)
    manifest = read_run(tmp_path / "run").manifest
    assert manifest is not None
    assert manifest.oracle == ("answers",)


@pytest.mark.slow
def test_the_oracle_scores_one_on_the_real_dataset(built: Path, tmp_path: Path) -> None:
    dataset = Dataset.open(built, verify=False)
    run(Oracle(), dataset, "validation", tmp_path / "run")
    for metric in ("Hits@1", "F1", "EM", "EvidenceF1"):
        assert value(metric, dataset, tmp_path / "run", "validation") == 1.0


@pytest.mark.slow
def test_the_lines_stand_in_their_order_on_the_real_dataset(built: Path, tmp_path: Path) -> None:
    dataset = Dataset.open(built, verify=False)
    hits = []
    for kind in (RandomEntity, Majority, KgLookup):
        run(kind(), dataset, "validation", tmp_path / kind.name, sample=500)
        hits.append(value("Hits@1", dataset, tmp_path / kind.name, "validation"))
    assert hits == sorted(set(hits)), hits
