"""Runs can be stopped anywhere, belong to one configuration and one process, and survive what systems do."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from operator import itemgetter
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

import numpy as np
import pytest

from clwqa_bench import asking, run_folder, runner
from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import PredictionError
from clwqa_bench.forecast import forecast
from clwqa_bench.predictions import PredictedAnswer, Prediction, TraceEvent
from clwqa_bench.records import QuestionView
from clwqa_bench.registry import PluginError
from clwqa_bench.runner import Pace, Summary, run
from clwqa_bench.runs import gold_of, read_run, sampled
from clwqa_bench.systems import Context, Resources, Settings, System
from tests.core.scripted import QUESTIONS, small_dataset


class Dice(System):
    """Answers with a number drawn for the question; what the tests vary, it does at the question `at`."""

    name = "dice"

    class Config(Settings):
        sides: int = 1_000_000

    config: Config

    def __init__(
        self, sides: int = 1_000_000, act: Callable[[], Any] = lambda: None, at: str = "t05"
    ) -> None:
        super().__init__(self.Config(sides=sides))
        self.act, self.at = act, at
        self.asked: list[str] = []

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        self.asked.append(question.id)
        ctx.trace.add(TraceEvent(stage="link", entities=("word:守株待兔",)))
        returned = self.act() if question.id == self.at else None
        text = str(ctx.rng.integers(self.config.sides))
        return returned or Prediction(id=question.id, status="ok", answers=(PredictedAnswer(text=text),))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Twelve questions, t00 to t11."""
    return small_dataset(tmp_path_factory.mktemp("runner") / "small")


def ask(dataset: Dataset, out: Path, system: System | None = None, **options: Any) -> Summary:
    return run(system or Dice(), dataset, "test", out, **options)


def content(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run in their order, without the seconds."""
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    return [{key: value for key, value in json.loads(line).items() if key != "usage"} for line in lines]


@pytest.fixture
def whole(dataset: Dataset, tmp_path: Path) -> list[dict[str, Any]]:
    """What a run that nothing disturbs writes."""
    ask(dataset, tmp_path / "whole")
    return content(tmp_path / "whole")


# --- what is written ----------------------------------------------------------------------------------------


def test_every_question_is_answered_once_in_the_order_of_ids(dataset: Dataset, tmp_path: Path) -> None:
    summary = ask(dataset, tmp_path / "run")
    assert (summary.questions, summary.asked, summary.statuses) == (QUESTIONS, QUESTIONS, {"ok": QUESTIONS})
    assert [line["id"] for line in content(tmp_path / "run")] == [f"t{n:02}" for n in range(QUESTIONS)]


def test_a_run_is_read_back_and_fits_the_gold_it_was_asked(dataset: Dataset, tmp_path: Path) -> None:
    ask(dataset, tmp_path / "run", seed=7)
    found = read_run(tmp_path / "run")
    assert found.manifest is not None
    assert (found.manifest.system, found.manifest.seed, found.manifest.sample) == ("dice", 7, None)
    assert found.manifest.config == {"sides": 1_000_000}
    assert found.on(gold_of(dataset, "test")).outcomes == ("ok",) * QUESTIONS


def test_trace_and_time_by_stage_are_filled_in(dataset: Dataset, tmp_path: Path) -> None:
    ask(dataset, tmp_path / "run")
    for prediction in read_run(tmp_path / "run").predictions:
        assert [event.stage for event in prediction.trace] == ["link"]
        assert set(prediction.usage) == {"link", "answer"}
        assert all(used.seconds >= 0 for used in prediction.usage.values())


@pytest.mark.parametrize("frozen", [False, True])
def test_the_garbage_collector_is_left_as_it_was(dataset: Dataset, tmp_path: Path, frozen: bool) -> None:
    before = gc.get_threshold()
    gc.unfreeze()
    try:
        if frozen:
            gc.freeze()
        ask(dataset, tmp_path / "run")
        assert (gc.get_threshold(), gc.get_freeze_count() > 0) == (before, frozen)
    finally:
        gc.unfreeze()


def test_the_seed_and_the_id_alone_decide_what_is_drawn(dataset: Dataset, tmp_path: Path) -> None:
    texts = {}
    for name, options in {"all": {}, "few": {"sample": 3}, "other": {"seed": 1}}.items():
        ask(dataset, tmp_path / name, **options)
        texts[name] = {line["id"]: line["answers"] for line in content(tmp_path / name)}
    assert texts["few"].items() <= texts["all"].items()
    assert texts["other"] != texts["all"]
    assert len({str(answers) for answers in texts["all"].values()}) == QUESTIONS


def test_a_sample_is_marked_and_a_whole_split_is_not(dataset: Dataset, tmp_path: Path) -> None:
    for sample, marked in ((3, 3), (QUESTIONS, None)):
        summary = ask(dataset, tmp_path / str(sample), sample=sample)
        manifest = read_run(tmp_path / str(sample)).manifest
        assert manifest is not None
        assert (summary.questions, summary.sample, manifest.sample) == (sample, marked, marked)


def test_a_larger_sample_contains_a_smaller_and_another_seed_draws_another() -> None:
    ids = [f"q{n:03}" for n in range(100)]
    ten = sampled(ids, 10, seed=1)
    assert len(ten) == 10
    assert ten < sampled(ids, 20, seed=1)
    assert ten == sampled(ids[::-1], 10, seed=1)
    assert ten != sampled(ids, 10, seed=2)
    assert sampled(ids, None, seed=1) == sampled(ids, 500, seed=1) == set(ids)


def test_a_sample_is_scored_on_the_questions_it_was_asked(dataset: Dataset, tmp_path: Path) -> None:
    ask(dataset, tmp_path / "few", sample=3)
    grid = read_run(tmp_path / "few").on(gold_of(dataset, "test"))
    assert len(grid) == 3
    assert grid.outcomes.count("missing") == 0


# --- what systems do ----------------------------------------------------------------------------------------


def crash() -> None:
    raise RuntimeError("想不出来")


WRONG = {
    "raises": (crash, "RuntimeError: 想不出来"),
    "raises something unprintable": (lambda: json.loads("\udc80"), "JSONDecodeError: "),
    "returns no prediction": (lambda: "史记", "TypeError: answer() returned str, not a Prediction"),
    "answers another question": (
        lambda: Prediction(id="t06", status="empty"),
        "ValueError: answer() returned a prediction for 't06'",
    ),
    "breaks the record": (lambda: Prediction(id="t05", status="ok"), "ValidationError: "),
    "cannot be written": (
        lambda: Prediction(
            id="t05", status="empty", trace=(TraceEvent(stage="link", detail={"x": object()}),)
        ),
        "PydanticSerializationError: ",
    ),
    "writes a novel": (
        lambda: Prediction(id="t05", status="empty", raw_answer="x" * (16 << 20)),
        "ValueError: the prediction takes",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_goes_wrong_with_one_question_is_written_down_and_the_run_goes_on(
    dataset: Dataset, tmp_path: Path, whole: list[dict[str, Any]], name: str
) -> None:
    act, message = WRONG[name]
    summary = ask(dataset, tmp_path / "run", Dice(act=act))
    assert summary.statuses == {"error": 1, "ok": QUESTIONS - 1}
    assert summary.error is not None
    assert summary.error.startswith(message)
    lines = content(tmp_path / "run")
    assert (lines[5]["status"], lines[5]["trace"]) == ("error", whole[5]["trace"])
    assert lines[:5] + lines[6:] == whole[:5] + whole[6:]
    assert read_run(tmp_path / "run").predictions[5].error == summary.error


def test_a_system_that_cannot_be_prepared_is_named_and_nothing_is_asked(
    dataset: Dataset, tmp_path: Path
) -> None:
    class Unready(Dice):
        def prepare(self, resources: Resources) -> None:
            raise KeyError("model")

    with pytest.raises(PluginError, match="system 'dice' cannot be prepared: KeyError: 'model'"):
        ask(dataset, tmp_path / "run", Unready())
    assert content(tmp_path / "run") == []


def test_a_folder_where_nothing_was_asked_is_as_good_as_new(dataset: Dataset, tmp_path: Path) -> None:
    class Unready(Dice):
        def prepare(self, resources: Resources) -> None:
            raise KeyError(self.config.sides)

    with pytest.raises(PluginError):
        ask(dataset, tmp_path / "run", Unready(sides=0))
    there = (dataset, "test", tmp_path / "run")
    assert forecast(Dice(sides=6), *there).questions == QUESTIONS
    ask(dataset, tmp_path / "run", Dice(sides=6))
    manifest = read_run(tmp_path / "run").manifest
    assert manifest is not None
    assert manifest.config["sides"] == 6
    with pytest.raises(PredictionError, match="belongs to another run"):
        ask(dataset, tmp_path / "run", Dice(sides=7))
    with pytest.raises(PredictionError, match="belongs to another run"):
        forecast(Dice(sides=7), *there)


def test_a_system_sees_the_text_the_graph_and_the_train_split(dataset: Dataset, tmp_path: Path) -> None:
    class Curious(Dice):
        seen: ClassVar[dict[str, Any]] = {}

        def prepare(self, resources: Resources) -> None:
            self.seen["train"] = [question.split for question in resources.train()]

        async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
            self.seen |= {"question": question.model_dump(), "gold": ctx.gold, "kg": ctx.kg.lookup("史记")}
            return await super().answer(question, ctx)

    ask(dataset, tmp_path / "run", Curious(), sample=1)
    assert Curious.seen["train"] == ["train"]
    assert Curious.seen["question"].keys() == {"id", "text"}
    assert Curious.seen["gold"] is None
    assert Curious.seen["kg"] == ("book:史记",)


def test_only_a_declared_oracle_gets_gold_and_its_run_is_marked(dataset: Dataset, tmp_path: Path) -> None:
    class Cheat(Dice):
        oracle = ("answers",)

        async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
            assert ctx.gold is not None
            assert ctx.gold.id == question.id
            return await super().answer(question, ctx)

    assert ask(dataset, tmp_path / "run", Cheat()).statuses == {"ok": QUESTIONS}
    manifest = read_run(tmp_path / "run").manifest
    assert manifest is not None
    assert manifest.oracle == ("answers",)


def test_a_trace_that_cannot_be_written_costs_the_trace_only(dataset: Dataset, tmp_path: Path) -> None:
    class Opaque(Dice):
        async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
            ctx.trace.add(TraceEvent(stage="link", detail={"model": object()}))
            return await super().answer(question, ctx)

    assert ask(dataset, tmp_path / "run", Opaque(), sample=1).statuses == {"error": 1}
    (prediction,) = read_run(tmp_path / "run").predictions
    assert (prediction.trace, "PydanticSerializationError" in (prediction.error or "")) == ((), True)


# --- stopped ------------------------------------------------------------------------------------------------


WATCHED = {asking.__file__, runner.__file__, run_folder.__file__}


class Waiting(Dice):
    """Gives way now and then, so that questions end in another order than they began."""

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        for _ in range(int(question.id[1:]) * 7 % 5):
            await asyncio.sleep(0)
        return await super().answer(question, ctx)


def run_and_die(dataset: Dataset, out: Path, after: int, pace: Pace) -> int:
    """Run in a child process that is killed after so many lines of the runner's code (0: never).

    Returns the number of lines it came to if it was not killed, else 0.
    """
    reader, pipe = os.pipe()
    child = os.fork()
    if child == 0:
        executed = 0

        def shoot(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal executed
            if frame.f_code.co_filename not in WATCHED:
                return None
            executed += event == "line"
            if executed == after > 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return shoot

        sys.settrace(shoot)
        try:
            ask(dataset, out, Waiting(), pace=pace)
            os.write(pipe, str(executed).encode("ascii"))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(pipe)
    status = os.waitpid(child, 0)[1]
    with os.fdopen(reader, "rb") as stream:
        executed = int(stream.read() or 0)
    assert os.WIFSIGNALED(status) == bool(after)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return executed


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("concurrency", [1, 4])
def test_killed_anywhere_the_same_call_ends_with_the_same_run(
    dataset: Dataset, tmp_path: Path, whole: list[dict[str, Any]], concurrency: int
) -> None:
    pace = Pace(concurrency)
    lines = run_and_die(dataset, tmp_path / "alive", 0, pace)
    assert (content(tmp_path / "alive") == whole) == (concurrency == 1), "only one at a time keeps the order"
    left = set()
    for after in np.linspace(1, lines * 0.98, 24, dtype=int).tolist():
        out = tmp_path / str(after)
        run_and_die(dataset, out, after, pace)
        left.add(len(content(out)) if (out / "items.jsonl").exists() else -1)
        ask(dataset, out, Waiting(), pace=pace)
        assert sorted(content(out), key=itemgetter("id")) == whole, f"killed after line {after}"
        assert (out / "run.json").read_bytes() == (tmp_path / "alive" / "run.json").read_bytes()
    assert len(left) > 5, "the kills hit too few different states to prove anything"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_retry_killed_anywhere_ends_with_the_same_run_and_keeps_every_former_line_once(
    dataset: Dataset, tmp_path: Path, whole: list[dict[str, Any]]
) -> None:
    def broken(name: str) -> Path:
        ask(dataset, tmp_path / name, Dice(act=crash), pace=pace)
        return tmp_path / name

    pace = Pace(retry=True)
    lines = run_and_die(dataset, broken("alive"), 0, pace)
    for after in np.linspace(lines * 0.05, lines * 0.98, 12, dtype=int).tolist():
        out = broken(str(after))
        run_and_die(dataset, out, after, pace)
        ask(dataset, out, Waiting(), pace=pace)
        assert sorted(content(out), key=itemgetter("id")) == whole, f"killed after line {after}"
        former = [json.loads(line) for line in (out / "retries.jsonl").read_bytes().splitlines()]
        assert [(line["id"], line["status"]) for line in former] == [("t05", "error")]


def test_what_cannot_be_written_whole_is_not_written_at_all(
    dataset: Dataset, tmp_path: Path, whole: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    append_line = run_folder.append_line

    def on_a_full_disk(stream: FileIO, line: bytes) -> None:
        """There is room for four and a half lines."""
        room = 4.5 * len(line)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(room), resource.RLIM_INFINITY))
        try:
            append_line(stream, line)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    with monkeypatch.context() as full:
        full.setattr(run_folder, "append_line", on_a_full_disk)
        with pytest.raises(OSError, match="File too large") as caught:
            ask(dataset, tmp_path / "run")
    assert caught.value.filename == str(tmp_path / "run" / "items.jsonl")
    assert content(tmp_path / "run") == whole[:4]
    assert ask(dataset, tmp_path / "run").asked == QUESTIONS - 4
    assert content(tmp_path / "run") == whole


@pytest.mark.parametrize("concurrency", [1, 8])
def test_an_interrupt_is_heard_between_questions_and_the_run_goes_on_later(
    dataset: Dataset, tmp_path: Path, whole: list[dict[str, Any]], concurrency: int
) -> None:
    interrupted = Dice(act=lambda: signal.raise_signal(signal.SIGINT))
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # ignored where tests run in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            ask(dataset, tmp_path / "run", interrupted, pace=Pace(concurrency))
    finally:
        signal.signal(signal.SIGINT, before)
    assert content(tmp_path / "run") == whole[:6]
    system = Dice()
    ask(dataset, tmp_path / "run", system)
    assert system.asked == [line["id"] for line in whole[6:]]
    assert content(tmp_path / "run") == whole


@pytest.mark.parametrize("torn", [1, 40, "all but the newline"])
def test_an_unfinished_last_line_is_cut_off_and_its_question_asked_again(
    dataset: Dataset,
    tmp_path: Path,
    whole: list[dict[str, Any]],
    torn: int | str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ask(dataset, tmp_path / "run")
    items = tmp_path / "run" / "items.jsonl"
    lines = items.read_bytes().splitlines(keepends=True)
    rest = lines[4][:torn] if isinstance(torn, int) else lines[4].rstrip(b"\n")
    items.write_bytes(b"".join(lines[:4]) + rest)
    assert ask(dataset, tmp_path / "run").asked == QUESTIONS - 4
    assert f"cut off an unfinished last line of {len(rest):,} bytes" in capsys.readouterr().err
    assert content(tmp_path / "run") == whole


def test_a_finished_run_asks_nothing(dataset: Dataset, tmp_path: Path) -> None:
    ask(dataset, tmp_path / "run")
    before = (tmp_path / "run" / "items.jsonl").read_bytes()
    system = Dice()
    assert ask(dataset, tmp_path / "run", system).asked == 0
    assert system.asked == []
    assert (tmp_path / "run" / "items.jsonl").read_bytes() == before


# --- whose folder it is -------------------------------------------------------------------------------------


def test_another_configuration_is_refused_and_every_difference_named(
    dataset: Dataset, tmp_path: Path
) -> None:
    ask(dataset, tmp_path / "run")
    before = content(tmp_path / "run")
    with pytest.raises(PredictionError) as caught:
        ask(dataset, tmp_path / "run", Dice(sides=6), seed=3, sample=2)
    assert caught.value.file == str(tmp_path / "run" / "run.json")
    assert caught.value.field == "config.sides, sample, seed"
    assert "config.sides is 1000000 there and 6 now" in caught.value.what
    assert content(tmp_path / "run") == before


def test_a_second_run_is_kept_out_while_the_first_goes_on(dataset: Dataset, tmp_path: Path) -> None:
    met = []

    def intrude() -> None:
        with (
            ThreadPoolExecutor() as other,
            pytest.raises(PredictionError, match="another run is writing here") as caught,
        ):
            other.submit(ask, dataset, tmp_path / "run").result()
        met.append(caught.value.file)

    assert ask(dataset, tmp_path / "run", Dice(act=intrude)).statuses == {"ok": QUESTIONS}
    assert met == [str(tmp_path / "run")]


def test_a_folder_with_something_else_in_it_is_left_alone(dataset: Dataset, tmp_path: Path) -> None:
    with pytest.raises(PredictionError, match="the folder is not a run"):
        ask(dataset, dataset.root)
    assert not {"items.jsonl", ".lock"} & {path.name for path in dataset.root.iterdir()}


def test_a_damaged_manifest_is_named(dataset: Dataset, tmp_path: Path) -> None:
    ask(dataset, tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text("{}", encoding="utf-8")
    with pytest.raises(PredictionError, match="Field required") as caught:
        ask(dataset, tmp_path / "run")
    assert caught.value.file == str(tmp_path / "run" / "run.json")
