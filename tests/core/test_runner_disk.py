"""When an answer is safe against a power failure: what is written is forced to disk soon, and only then counted."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clwqa_bench import runner
from clwqa_bench.dataset import Dataset
from clwqa_bench.predictions import PredictedAnswer, Prediction
from clwqa_bench.records import QuestionView
from clwqa_bench.run_folder import SYNC_EVERY
from clwqa_bench.runner import Summary, run
from clwqa_bench.systems import Context, System
from tests.core.scripted import IDS, QUESTIONS, small_dataset

OFTEN, LONG = 0.01, 20.0
"""Seconds: how often a test looks, and when it gives up; what it waits for should happen within a tenth of a second."""


class Hesitant(System):
    """Answers at once, but the last question only when it is `ready`, or has waited for `LONG`."""

    name = "hesitant"

    def __init__(self, ready: Callable[[], bool] = lambda: True) -> None:
        super().__init__(self.Config())
        self.ready, self.waited = ready, 0.0

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        began = time.monotonic()
        while question.id == IDS[-1] and not self.ready() and self.waited < LONG:
            await asyncio.sleep(OFTEN)
            self.waited = time.monotonic() - began
        return Prediction(id=question.id, status="ok", answers=(PredictedAnswer(text="史记"),))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Twelve questions, t00 to t11."""
    return small_dataset(tmp_path_factory.mktemp("runner-disk") / "small")


def ask(dataset: Dataset, out: Path, system: System) -> Summary:
    return run(system, dataset, "test", out)


@pytest.fixture
def forced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lines the run had each time something was forced to disk."""
    items, seen = tmp_path / "run" / "items.jsonl", list[int]()

    def sync(_: int) -> None:
        seen.append(len(items.read_bytes().splitlines()) if items.exists() else 0)

    monkeypatch.setattr(os, "fsync", sync)
    return seen


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many questions the progress bar has counted, each time it was told of any."""
    seen = [0]

    class Bar:
        def advance(self, steps: int = 1) -> None:
            seen.append(seen[-1] + steps)

    @contextmanager
    def progress(_: str, total: int) -> Iterator[Bar]:
        yield Bar()

    monkeypatch.setattr(runner, "progress", progress)
    return seen


def test_what_is_written_is_forced_to_disk_soon_also_if_nothing_follows(
    dataset: Dataset, tmp_path: Path, forced: list[int]
) -> None:
    system = Hesitant(lambda: forced[-1] == QUESTIONS - 1)
    assert ask(dataset, tmp_path / "run", system).statuses == {"ok": QUESTIONS}
    assert system.waited < LONG, "eleven answers are safe while the twelfth is waited for"


def test_nothing_counts_as_done_before_it_is_forced_to_disk(
    dataset: Dataset, tmp_path: Path, forced: list[int], told: list[int]
) -> None:
    seen: list[tuple[int, int]] = []

    def counted() -> bool:
        seen.append((told[-1], forced[-1]))
        return told[-1] == QUESTIONS - 1

    ask(dataset, tmp_path / "run", Hesitant(counted))
    assert all(done <= safe for done, safe in seen)
    assert seen[-1] == (QUESTIONS - 1, QUESTIONS - 1)
    assert told[-1] == QUESTIONS


def test_answers_that_come_quickly_are_forced_together(
    dataset: Dataset, tmp_path: Path, forced: list[int]
) -> None:
    seconds = ask(dataset, tmp_path / "run", Hesitant()).seconds
    once_and_for_all = 4  # the manifest, its folder, the last lines, and the file when it is closed
    assert len(forced) <= once_and_for_all + seconds / SYNC_EVERY
    assert forced[-1] == QUESTIONS


def test_a_disk_that_fails_while_a_question_is_waited_for_ends_the_run(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = False

    def sync(_: int) -> None:
        if gone:
            raise OSError(errno.EIO, "the disk is gone")

    def breaks() -> bool:
        nonlocal gone
        gone = True
        return False

    monkeypatch.setattr(os, "fsync", sync)
    system = Hesitant(breaks)
    with pytest.raises(OSError, match="the disk is gone"):
        ask(dataset, tmp_path / "run", system)
    assert system.waited < LONG, "nothing more is asked"
