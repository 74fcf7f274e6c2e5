"""What one question may take of the language model: where it stops, what becomes of it, and what run.json says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clwqa_bench import runner
from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import PredictionError
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.llm.protocol import Options
from clwqa_bench.llm.tasks import AnswerClosedBook
from clwqa_bench.predictions import PredictedAnswer, Prediction
from clwqa_bench.records import QuestionView
from clwqa_bench.runner import Model, run
from clwqa_bench.runs import read_manifest, read_run
from clwqa_bench.systems import Bounds, Context, Guard, OutOfBounds, Resources, System
from tests.core.scripted import Asker, Scripted, ok, small_dataset

TASK = AnswerClosedBook(question="t00：谁？")
TWICE = Asker.Config(twice=True)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return small_dataset(tmp_path_factory.mktemp("bounds") / "small")


@pytest.fixture(autouse=True)
def llm(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """The model of every run here: each call takes 100 + 20 tokens."""
    found = Scripted()

    def opened(spec: str, resources: Resources, options: Options) -> Scripted:
        found.options = options
        return found

    monkeypatch.setattr(runner, "open_llm", opened)
    return found


def first(folder: Path) -> Prediction:
    return read_run(folder).predictions[0]


class Careful(System):
    """Looks things up by the model until it may not any more, then answers with as many names as it has looked up."""

    name = "careful"
    uses_llm = True

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        looked_up = 0
        try:
            for _ in range(10):
                await ctx.ask(AnswerClosedBook(question=question.text), "expand")
                looked_up += 1
        except OutOfBounds:
            pass
        await ctx.ask(AnswerClosedBook(question=question.text), last=True)
        answers = tuple(PredictedAnswer(text=f"第{n}个") for n in range(looked_up + 1))
        return Prediction(id=question.id, status="ok", answers=answers)


# --- a question -----------------------------------------------------------------------------------------------


def asked_until_stopped(bounds: Bounds, clock: Callable[[], float] = lambda: 0.0) -> int:
    """Calls of a question before one is refused, and the last one is not."""
    ctx = Context(
        kg=MemoryGraph.__new__(MemoryGraph),
        rng=np.random.default_rng(0),
        llm=Scripted(),
        guard=Guard(bounds, clock),
    )

    async def go() -> int:
        for made in range(10):
            try:
                await ctx.ask(TASK)
            except OutOfBounds:
                await ctx.ask(TASK, last=True)
                return made
        return 10

    made = asyncio.run(go())
    assert ctx.guard.hit == (made < 10)
    return made


@pytest.mark.parametrize(
    ("bounds", "made"),
    [
        (Bounds(), 10),
        (Bounds(calls=1), 0),
        (Bounds(calls=4), 3),
        (Bounds(calls=11), 10),
        (Bounds(tokens=120), 1),
        (Bounds(tokens=121), 2),
        (Bounds(calls=9, tokens=360), 3),
    ],
)
def test_one_call_is_kept_back_for_the_answer_and_tokens_are_counted_as_they_come(
    bounds: Bounds, made: int
) -> None:
    assert asked_until_stopped(bounds) == made


def test_seconds_are_those_since_the_question_was_begun() -> None:
    ticks = iter(range(1000, 1100, 2))  # the clock is looked at once for each call
    assert asked_until_stopped(Bounds(seconds=5.0), lambda: float(next(ticks))) == 2


def test_what_is_kept_back_is_free_again_once_the_answer_was_asked_for() -> None:
    guard = Guard(Bounds(calls=2))
    guard.admit(last=True)
    guard.admit(last=False)  # such as picking the answers out of it
    with pytest.raises(OutOfBounds, match="after 2 calls"):
        guard.admit(last=False)


def test_a_reply_from_the_cache_counts_as_when_it_was_made(
    dataset: Dataset, tmp_path: Path, llm: Scripted
) -> None:
    run(Careful(), dataset, "test", tmp_path / "new", model=Model(bounds=Bounds(tokens=240)))
    kept = replace(
        ok(), usage=ok().usage.model_copy(update={"cached": 1, "attempts": 0, "cost": 0.0}), cached=True
    )
    llm.script = dict.fromkeys((f"t{n:02}" for n in range(12)), kept)
    run(Careful(), dataset, "test", tmp_path / "again", model=Model(bounds=Bounds(tokens=240)))
    for new, again in zip(
        read_run(tmp_path / "new").predictions, read_run(tmp_path / "again").predictions, strict=True
    ):
        assert len(new.answers) == 3
        assert new.answers == again.answers


# --- a run ----------------------------------------------------------------------------------------------------


def test_a_system_that_stops_early_is_flagged(dataset: Dataset, tmp_path: Path, llm: Scripted) -> None:
    run(Careful(), dataset, "test", tmp_path / "run", model=Model(bounds=Bounds(calls=4)))
    found = first(tmp_path / "run")
    assert (found.status, len(found.answers), found.flags) == ("ok", 4, ("truncated",))
    assert sum(used.calls for used in found.usage.values()) == 4
    assert len(llm.asked) == 4 * 12


def test_one_that_does_not_stop_has_no_answer(dataset: Dataset, tmp_path: Path) -> None:
    """And is no failure: nothing is asked again."""
    summary = run(Asker(TWICE), dataset, "test", tmp_path / "run", model=Model(bounds=Bounds(calls=2)))
    assert summary.statuses == {"empty": 12}
    assert summary.error is None
    found = first(tmp_path / "run")
    assert (found.answers, found.flags, found.error) == ((), ("truncated",), None)
    assert [event.stage for event in found.trace] == ["link"]


def test_one_that_needs_no_more_is_not_flagged(dataset: Dataset, tmp_path: Path) -> None:
    run(Asker(TWICE), dataset, "test", tmp_path / "run", model=Model(bounds=Bounds(calls=3)))
    found = first(tmp_path / "run")
    assert (found.status, found.flags) == ("ok", ())


def test_bounds_are_part_of_the_identity_and_of_the_title(dataset: Dataset, tmp_path: Path) -> None:
    bounds = Bounds(calls=5, seconds=60.0)
    summary = run(Asker(TWICE), dataset, "test", tmp_path / "run", model=Model(bounds=bounds))
    manifest = read_manifest(tmp_path / "run" / "run.json")
    assert manifest.config["question"] == {"calls": 5, "seconds": 60.0}
    assert (
        summary.title
        == "asker-twice=True,question_calls=5,question_seconds=60.0 [test/scripted-1]".replace(
            "twice=True", "twice"
        )
    )
    with pytest.raises(PredictionError) as caught:
        run(Asker(TWICE), dataset, "test", tmp_path / "run", model=Model(bounds=Bounds(calls=6)))
    assert caught.value.field == "config.question.calls, config.question.seconds"


def test_without_bounds_nothing_is_written_about_them(dataset: Dataset, tmp_path: Path) -> None:
    run(Asker(), dataset, "test", tmp_path / "run")
    written = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert "question" not in written["config"]
    assert written["variant"] == ""
