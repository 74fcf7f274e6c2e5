"""ToG and PoG with `--llm lexical`: the rules of their tasks explore, and find, what the question asks for."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clwqa_baselines.exploring.explorer import Explorer
from clwqa_baselines.pog import PoG
from clwqa_baselines.tog import ToG
from clwqa_bench.dataset import Dataset
from clwqa_bench.diagnostics import diagnose
from clwqa_bench.grid import align
from clwqa_bench.llm.lexical import Lexical
from clwqa_bench.llm.tasks import render
from clwqa_bench.predictions import Prediction
from clwqa_bench.records import QuestionView
from clwqa_bench.runs import gold_of
from clwqa_bench.systems import Context, Resources
from tests import tiny_dataset
from tests.baselines.wordings import learned_from

SYSTEMS: list[type[Explorer]] = [ToG, PoG]
BOOK, PERIOD = "请问“四面楚歌”的出处是哪部典籍？", "“四面楚歌”出处的作者生活在什么时代？"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("tiny")
    tiny_dataset.write(folder)
    return Dataset.open(folder)


@pytest.fixture(scope="module")
def resources(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Resources:
    kg = dataset.kg()
    given = Resources(kg, kg.ontology, learned_from, cache=tmp_path_factory.mktemp("cache"))
    return replace(given, llm=Lexical(given))


def ask(kind: type[Explorer], resources: Resources, text: str, id: str = "q", **settings: Any) -> Prediction:
    system = kind(kind.Config(**settings))
    system.prepare(resources)
    ctx = Context(kg=resources.kg, rng=np.random.default_rng(0), llm=resources.llm)
    found = asyncio.run(system.answer(QuestionView(id=id, text=text), ctx))
    return found.model_copy(update={"trace": tuple(ctx.trace.events), "usage": ctx.trace.usage()})


def test_tog_finds_what_its_depth_reaches(resources: Resources) -> None:
    assert [answer.entity_id for answer in ask(ToG, resources, BOOK).answers] == ["book:史记"]
    assert ask(ToG, resources, PERIOD).flags == ("parametric", "no_evidence")
    assert [a.entity_id for a in ask(ToG, resources, PERIOD, depth=4).answers] == ["period:汉"]


def test_pog_finds_both(resources: Resources) -> None:
    assert [answer.entity_id for answer in ask(PoG, resources, BOOK).answers] == ["book:史记"]
    found = ask(PoG, resources, PERIOD)
    assert [answer.entity_id for answer in found.answers] == ["period:汉"]
    (plan,) = [event for event in found.trace if event.stage == "plan"]
    assert plan.detail["objectives"] == ["由“四面楚歌”找到历史时期"]


@pytest.mark.parametrize("kind", SYSTEMS)
def test_the_same_question_is_always_answered_alike(resources: Resources, kind: type[Explorer]) -> None:
    once, again = (ask(kind, resources, PERIOD).model_copy(update={"usage": {}}) for _ in range(2))
    assert once == again


@pytest.mark.parametrize("kind", SYSTEMS)
@pytest.mark.parametrize(
    ("text", "topics"),
    [("From which book does 四面楚歌 come?", ("word:四面楚歌",)), ("Who wrote it?", ())],
)
def test_a_question_in_english_starts_from_what_it_names(
    resources: Resources, kind: type[Explorer], text: str, topics: tuple[str, ...]
) -> None:
    found = ask(kind, resources, text)
    assert found.topics == topics
    assert found.status == ("empty" if not topics else found.status)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_the_diagnosis_reads_the_trace(resources: Resources, dataset: Dataset, kind: type[Explorer]) -> None:
    found = [ask(kind, resources, BOOK, "q5"), ask(kind, resources, PERIOD, "q6", depth=4)]
    diagnosis = diagnose(align(gold_of(dataset, "test"), found), resources.ontology, resamples=50, by=())
    assert {"linking", "retrieval", "ranking"} <= set(diagnosis.traced)
    cells = [diagnosis.cell(name) for name in ("anchor-f1", "coverage", "retention")]
    assert [cell and (cell.value, cell.n) for cell in cells] == [(1.0, 2)] * 3


@pytest.mark.parametrize("kind", SYSTEMS)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_prompt_can_be_written(
    resources: Resources, kind: type[Explorer], language: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    do = Lexical.do

    async def noting(self: Lexical, task: Any) -> Any:
        asked.append(task)
        return await do(self, task)

    monkeypatch.setattr(Lexical, "do", noting)
    ask(kind, resources, PERIOD)
    for task in asked:
        system, user = render(task, language)
        assert "JSON" in system["content"]
        assert PERIOD in user["content"]
        assert "{{" not in user["content"]
