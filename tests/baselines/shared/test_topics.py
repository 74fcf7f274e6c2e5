"""Where systems that explore start: linked from the question or given, and recorded alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clwqa_baselines.shared.topics import Topic, Topics
from clwqa_bench.dataset import Dataset
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.records import Question, QuestionView
from clwqa_bench.systems import Context, Resources
from tests import tiny_dataset
from tests.baselines.culture import graph
from tests.baselines.worlds import world

FOUR = Topic("word:四面楚歌", "四面楚歌", "四面楚歌")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("tiny")
    tiny_dataset.write(folder)
    return Dataset.open(folder)


@pytest.fixture(scope="module")
def linked(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Topics:
    return Topics.open(resources(dataset, tmp_path_factory.mktemp("cache")))


def resources(dataset: Dataset, cache: Path) -> Resources:
    kg = dataset.kg()
    return Resources(kg, kg.ontology, train=lambda: dataset.questions("train"), cache=cache)


def find(topics: Topics, kg: MemoryGraph, text: str, **how: Any) -> tuple[tuple[Topic, ...], Context]:
    ctx = Context(kg=kg, rng=np.random.default_rng(0), **how)
    return topics.find(QuestionView(id="q", text=text), ctx), ctx


def gold(dataset: Dataset, id: str) -> Question:
    return next(question for question in dataset.questions("test") if question.id == id)


def test_linked_from_the_question_and_traced(dataset: Dataset, linked: Topics) -> None:
    found, ctx = find(linked, dataset.kg(), "请问“四面楚歌”的出处是哪部典籍？")
    assert found == (FOUR,)
    (event,) = ctx.trace.events
    assert (event.stage, event.op, event.entities) == ("link", "linked", ("word:四面楚歌",))
    assert event.detail == {"mentions": {"word:四面楚歌": "四面楚歌"}}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("哪部书既收“四面楚歌”，又收“守株待兔”？", ["四面楚歌", "守株待兔"]),
        ("Which book does 四面楚歌 come from?", ["四面楚歌"]),
        ("“四面楚歌”和“四面楚歌”有何不同？", ["四面楚歌"]),
        ("Who wrote it?", []),
    ],
)
def test_in_the_order_named_each_once(dataset: Dataset, linked: Topics, text: str, named: list[str]) -> None:
    found, _ = find(linked, dataset.kg(), text)
    assert [topic.name for topic in found] == named


def test_given_by_the_oracle_whatever_the_question_says(dataset: Dataset, linked: Topics) -> None:
    question = gold(dataset, "q5")
    found, ctx = find(linked, dataset.kg(), "？", gold=question, oracle=("anchors",))
    assert found == (FOUR,)
    assert ctx.trace.events[0].op == "gold"


def test_gold_is_not_looked_at_for_another_stage(dataset: Dataset, linked: Topics) -> None:
    found, _ = find(linked, dataset.kg(), "？", gold=gold(dataset, "q5"), oracle=("evidence",))
    assert found == ()


def test_without_a_train_split_names_are_looked_up_alone(tmp_path: Path) -> None:
    kg = graph(tmp_path)
    topics = Topics.open(Resources(kg, kg.ontology, train=_nothing))
    found, _ = find(topics, kg, "《序》和“守株待兔”？")
    assert [(topic.id, topic.name) for topic in found] == [
        ("序一", "序"),
        ("序二", "序"),
        ("守株待兔", "守株待兔"),
    ]


def test_of_one_mention_five_bearers_at_most(tmp_path: Path) -> None:
    same = [f"序{number}" for number in range(7)]
    kg = world(tmp_path, [("序0", "r1", "书")], alone=same, labels=dict.fromkeys(same, "序文"))
    topics = Topics.open(Resources(kg, kg.ontology, train=_nothing))
    found, _ = find(topics, kg, "“序文”？")
    assert [topic.id for topic in found] == same[:5]


def _nothing() -> Iterator[Question]:
    return iter(())
