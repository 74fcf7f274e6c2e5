"""Every system under bounds of what one question may take: it makes no more calls, and answers from what there is."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clwqa_baselines.graphrag.system import GraphRag
from clwqa_baselines.graphrag.tasks import (
    AnswerFromTables,
    FoundPoint,
    MapReports,
    Points,
    RateReport,
    Rating,
    ReducePoints,
    Response,
    WriteReport,
)
from clwqa_bench.asking import Setup, ask
from clwqa_bench.llm.tasks import Task
from clwqa_bench.predictions import Prediction
from clwqa_bench.records import QuestionView
from clwqa_bench.systems import Bounds, Resources, System, load_system
from tests.baselines import conformance
from tests.baselines.conformance import ASKING, NO_GOLD
from tests.baselines.culture import Double, answer_of
from tests.baselines.graphrag.prisms import SMALL, prisms, resources, written
from tests.baselines.misbehaving import Misbehaving

SEVERAL = [  # calls a question, one after the other
    ("ceaf", {}),
    ("mindmap", {"no_mention": "answer"}),
    ("mindmap", {"no_mention": "answer", "probe": "true"}),
    ("byokg-rag", {}),
    ("tog", {}),
    ("pog", {}),
    ("graphrag", {"mode": "dynamic"}),
]
QUESTION = QuestionView(id="q", text="“守株待兔”所出的书是谁写的？")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Resources:
    return conformance.tiny(tmp_path_factory.mktemp("tiny"))


def put(system: System, given: Resources, bounds: Bounds) -> tuple[Prediction, Misbehaving]:
    """What the runner makes of the question, and the model that was asked."""
    llm = Misbehaving(given.llm)
    setup = Setup(system, replace(given, llm=llm), NO_GOLD, bounds=bounds)
    return asyncio.run(ask(setup, QUESTION)).prediction, llm


@pytest.mark.parametrize("name", ASKING)
def test_one_call_is_enough_for_an_early_answer(name: str, tiny: Resources) -> None:
    system = load_system(name)
    system.prepare(tiny)
    whole, llm = put(system, tiny, Bounds())
    early, few = put(system, tiny, Bounds(calls=1))
    assert few.calls <= 1
    assert early.status in ("ok", "empty")
    assert "exception" not in early.flags
    assert ("truncated" in early.flags) == (llm.calls > 1 or "truncated" in whole.flags)


@pytest.mark.parametrize(("name", "settings"), SEVERAL)
def test_however_many_calls_there_may_be(name: str, settings: dict[str, str], tiny: Resources) -> None:
    """Each bound below what the question takes is kept to and said; the first that is enough changes nothing."""
    system = load_system(name, settings)
    system.prepare(tiny)
    whole, llm = put(system, tiny, Bounds())
    assert llm.calls > 1
    for most in range(1, llm.calls + 2):
        found, made = put(system, tiny, Bounds(calls=most))
        assert made.calls <= most
        assert "exception" not in found.flags
        assert found.status in ("ok", "empty")
        if made.calls < llm.calls:
            assert "truncated" in found.flags
    assert (found.answers, found.evidence, found.flags) == (whole.answers, whole.evidence, whole.flags)


@pytest.mark.parametrize("name", ["tog", "pog", "byokg-rag"])
def test_what_was_gathered_before_the_bound_is_answered_from(name: str, tiny: Resources) -> None:
    system = load_system(name)
    system.prepare(tiny)
    _, llm = put(system, tiny, Bounds())
    found, few = put(system, tiny, Bounds(calls=llm.calls - 1))
    assert found.evidence.ids()
    assert few.asked[-1].stage == "answer"


# ---------------------------------------------------------------------- GraphRAG, many calls at once


def play(folder: Path, calls: int, answer: str = "a2", **settings: Any) -> tuple[Prediction, list[Task[Any]]]:
    """A question about the prisms; every report is relevant and has one point."""

    def reply(task: Task[Any]) -> Any:
        match task:
            case WriteReport():
                return written(task)
            case RateReport():
                return Rating(rating=5)
            case MapReports():
                return Points(points=(FoundPoint(description="a2 与 a1 相连", score=50),))
            case AnswerFromTables() | ReducePoints():
                return Response(response=answer)
        raise AssertionError(task.id)

    kg = prisms(folder)
    system = GraphRag(SMALL.model_copy(update=settings))
    system.prepare(resources(kg, folder, written))
    llm = Double(reply)
    return answer_of(system, "谁与 a1 相连？", kg, llm, bounds=Bounds(calls)), llm.asked


def kinds(asked: list[Task[Any]]) -> list[str]:
    return [type(task).__name__ for task in asked]


def test_batches_that_may_not_be_asked_about_have_no_points(tmp_path: Path) -> None:
    found, asked = play(tmp_path, 3, mode="global", batch_tokens=1)
    assert kinds(asked) == ["MapReports", "MapReports", "ReducePoints"]
    (reduce,) = [task for task in asked if isinstance(task, ReducePoints)]
    assert [point.analyst for point in reduce.points] == [1, 2]
    assert found.status == "ok"


def test_reports_that_may_not_be_rated_are_left_out_and_the_relevant_ones_shown_as_they_are(
    tmp_path: Path,
) -> None:
    found, asked = play(tmp_path, 2, mode="dynamic", repeats=1)
    assert kinds(asked) == ["RateReport", "AnswerFromTables"]
    (rated, shown) = asked
    assert isinstance(rated, RateReport)
    assert isinstance(shown, AnswerFromTables)
    assert [row.title for row in shown.reports] == [rated.title]
    assert [text.kind for text in found.evidence.texts] == ["community"]
    assert found.status == "ok"


def test_prose_is_read_by_the_dictionary_if_there_is_no_call_for_it(tmp_path: Path) -> None:
    found, asked = play(
        tmp_path, 1, "答案是 a2 无疑。", mode="report-retrieval", retriever="bm25", response_type="prose"
    )
    assert kinds(asked) == ["AnswerFromTables"]
    assert ([answer.text for answer in found.answers], found.adapter) == (["a2"], "dictionary")
