"""Runs that ask a language model: what it costs, when it fails, when the money is gone, and what is asked again."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from clwqa_bench import forecast as forecasting
from clwqa_bench import run_folder, runner
from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import PredictionError
from clwqa_bench.forecast import Forecast, forecast
from clwqa_bench.llm.protocol import Estimate, LLMError, Options
from clwqa_bench.llm.tasks import AnswerClosedBook
from clwqa_bench.predictions import Prediction, TraceEvent
from clwqa_bench.records import QuestionView
from clwqa_bench.runner import Model, Pace, Summary, run
from clwqa_bench.runs import read_run
from clwqa_bench.systems import Context, Resources, SettingError, System
from tests.core.scripted import IDS, QUESTIONS, Asker, Scripted, content, failed, small_dataset

Opener = Callable[..., Scripted]
TWICE = Asker.Config(twice=True)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return small_dataset(tmp_path_factory.mktemp("runner-llm") / "small")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Opener:
    """``script({"t05": reply})`` is the model that the next run opens."""

    def use(replies: dict[str, Any] | None = None, **fields: Any) -> Scripted:
        llm = Scripted(replies or {}, **fields)

        def opened(spec: str, resources: Resources, options: Options) -> Scripted:
            llm.options = options
            return llm

        monkeypatch.setattr(runner, "open_llm", opened)
        monkeypatch.setattr(forecasting, "open_llm", opened)
        return llm

    return use


def ask(dataset: Dataset, out: Path, system: System | None = None, **options: Any) -> Summary:
    return run(system or Asker(), dataset, "test", out, **options)


def by_id(folder: Path) -> dict[str, Prediction]:
    return {prediction.id: prediction for prediction in read_run(folder).predictions}


# --- what a call takes --------------------------------------------------------------------------------------


def test_what_a_call_takes_counts_to_its_stage(dataset: Dataset, tmp_path: Path, script: Opener) -> None:
    script()
    ask(dataset, tmp_path / "run", Asker(TWICE))
    usage = by_id(tmp_path / "run")["t00"].usage
    assert set(usage) == {"link", "answer", "reflect"}
    assert usage["link"].calls == 0
    for stage in ("answer", "reflect"):
        used = usage[stage]
        assert (used.calls, used.attempts, used.tokens_in, used.tokens_out, used.cost) == (1, 2, 100, 20, 0.5)
        assert used.seconds < 3, "the seconds are those that passed here, not those of the reply"


def test_the_model_is_part_of_the_identity_and_is_closed(
    dataset: Dataset, tmp_path: Path, script: Opener
) -> None:
    llm = script()
    assert ask(dataset, tmp_path / "run").title == "asker [test/scripted-1]"
    manifest = read_run(tmp_path / "run").manifest
    assert manifest is not None
    assert manifest.config["llm"] == {"backend": "test", "model": "scripted-1", "language": "zh"}
    assert llm.closed == 1
    other = script(model="scripted-2")
    with pytest.raises(PredictionError, match="belongs to another run") as caught:
        ask(dataset, tmp_path / "run")
    assert caught.value.field == "backbone, config.llm.model"
    assert (other.asked, other.closed) == ([], 1)


def test_a_system_that_asks_none_needs_none(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "open_llm", lambda *_: pytest.fail("a model was opened"))

    class Silent(Asker):
        uses_llm = False

        async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
            return Prediction(id=question.id, status="empty")

    assert ask(dataset, tmp_path / "run", Silent()).statuses == {"empty": QUESTIONS}

    class Undeclared(Asker):
        uses_llm = False

    with pytest.raises(LLMError, match="this run has no language model"):
        ask(dataset, tmp_path / "other", Undeclared())


def test_the_model_is_seen_at_work(
    dataset: Dataset, tmp_path: Path, script: Opener, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(runner, "SHOW_EVERY", 0)
    script(before=lambda: asyncio.sleep(0))
    summary = ask(dataset, tmp_path / "run", pace=Pace(concurrency=1))
    assert summary.llm == "12 requests"
    assert "\n3 requests\n4 requests\n" in capsys.readouterr().err


# --- many at a time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 5, 100])
def test_so_many_questions_are_in_work_and_no_more(
    dataset: Dataset, tmp_path: Path, script: Opener, concurrency: int
) -> None:
    in_work, most = 0, 0

    async def together() -> None:
        nonlocal in_work, most
        in_work += 1
        most = max(most, in_work)
        for _ in range(2 * QUESTIONS):
            await asyncio.sleep(0)
        in_work -= 1

    script(before=together)
    ask(dataset, tmp_path / "run", pace=Pace(concurrency=concurrency))
    assert most == min(concurrency, QUESTIONS)
    assert [line["id"] for line in content(tmp_path / "run")] == IDS


def test_answers_are_written_as_they_come(dataset: Dataset, tmp_path: Path, script: Opener) -> None:
    asked = 0

    async def the_first_waits() -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            while asked < QUESTIONS:
                await asyncio.sleep(0)

    script(before=the_first_waits)
    ask(dataset, tmp_path / "run", pace=Pace(concurrency=2))
    assert read_run(tmp_path / "run").predictions[-1].id == "t00"
    assert [line["id"] for line in content(tmp_path / "run")] == IDS


# --- too slow -----------------------------------------------------------------------------------------------


def test_a_question_that_takes_too_long_is_a_timeout_with_its_trace(
    dataset: Dataset, tmp_path: Path, script: Opener
) -> None:
    hang = {"t05"}

    class Slow(Asker):
        async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
            ctx.trace.add(TraceEvent(stage="plan"))
            await asyncio.sleep(60 if question.id in hang else 0)
            return await super().answer(question, ctx)

    script()
    assert ask(dataset, tmp_path / "run", Slow(), pace=Pace(timeout=0.05)).statuses == {
        "ok": 11,
        "timeout": 1,
    }
    late = by_id(tmp_path / "run")["t05"]
    assert (late.status, late.error, [event.stage for event in late.trace]) == (
        "timeout",
        "no answer after 0.05 s",
        ["plan"],
    )


@pytest.mark.parametrize("error", [TimeoutError("its own"), asyncio.CancelledError("its own")])
def test_what_the_system_raises_itself_is_its_error(
    dataset: Dataset, tmp_path: Path, script: Opener, error: BaseException
) -> None:
    script({"t05": error})
    assert ask(dataset, tmp_path / "run", pace=Pace(timeout=60)).statuses == {"error": 1, "ok": 11}
    assert by_id(tmp_path / "run")["t05"].error == f"{type(error).__name__}: its own"


# --- the end of the run, and of the money -------------------------------------------------------------------


def test_what_no_question_survives_ends_the_run_and_the_same_call_goes_on(
    dataset: Dataset, tmp_path: Path, script: Opener
) -> None:
    llm = script({"t05": LLMError("no balance", fix="pay")})
    with pytest.raises(LLMError, match="no balance"):
        ask(dataset, tmp_path / "run", pace=Pace(concurrency=1))
    assert llm.closed == 1
    assert [line["id"] for line in content(tmp_path / "run")] == IDS[:5]
    script()
    assert ask(dataset, tmp_path / "run").asked == QUESTIONS - 5
    assert [line["status"] for line in content(tmp_path / "run")] == ["ok"] * QUESTIONS


def test_a_question_the_budget_did_not_reach_is_skipped_whatever_the_system_makes_of_it(
    dataset: Dataset, tmp_path: Path, script: Opener
) -> None:
    script({"t05": failed("skipped"), "t06": failed("error")})
    summary = ask(dataset, tmp_path / "run", Asker(Asker.Config(stubborn=True)))
    assert summary.statuses == {"ok": 11, "skipped": 1}
    skipped = by_id(tmp_path / "run")["t05"]
    assert (skipped.answers, skipped.error) == ((), "the budget was used up")
    assert [answer.text for answer in by_id(tmp_path / "run")["t06"].answers] == ["?"]


# --- asking again -------------------------------------------------------------------------------------------

TROUBLE = {f"t0{n}": failed(status) for n, status in enumerate(("error", "timeout", "skipped", "refused"))}


def test_failures_stay_until_a_retry_asks_them_again_and_are_kept_beside(
    dataset: Dataset, tmp_path: Path, script: Opener
) -> None:
    script(TROUBLE)
    ask(dataset, tmp_path / "run")
    before = (tmp_path / "run" / "items.jsonl").read_bytes().splitlines()
    again = script({"t00": failed("error")})
    assert ask(dataset, tmp_path / "run").asked == 0
    summary = ask(dataset, tmp_path / "run", pace=Pace(retry=True))
    assert (summary.asked, summary.retried, again.asked) == (3, 3, IDS[:3])
    assert summary.statuses == {"error": 1, "ok": 10, "refused": 1}
    assert (tmp_path / "run" / "retries.jsonl").read_bytes().splitlines() == before[:3]
    script()
    assert ask(dataset, tmp_path / "run", pace=Pace(retry=True)).statuses == {"ok": 11, "refused": 1}
    assert [line["id"] for line in content(tmp_path / "run", "retries.jsonl")] == ["t00", *IDS[:3]]
    assert read_run(tmp_path / "run").asked_again == 3
    assert ask(dataset, tmp_path / "run", pace=Pace(retry=True)).retried == 0


def test_a_retry_killed_between_its_two_steps_keeps_everything_once(
    dataset: Dataset, tmp_path: Path, script: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(TROUBLE)
    ask(dataset, tmp_path / "run")
    before = content(tmp_path / "run")
    with monkeypatch.context() as broken:
        broken.setattr(run_folder, "write_whole", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ask(dataset, tmp_path / "run", pace=Pace(retry=True))
    assert content(tmp_path / "run") == before
    with (tmp_path / "run" / "retries.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"id": "torn')
    script()
    ask(dataset, tmp_path / "run", pace=Pace(retry=True))
    assert content(tmp_path / "run", "retries.jsonl") == before[:3]
    assert [line["status"] for line in content(tmp_path / "run")[:4]] == ["ok", "ok", "ok", "refused"]


# --- oracles ------------------------------------------------------------------------------------------------


def test_gold_is_given_for_the_stages_asked_for_and_the_run_is_marked(
    dataset: Dataset, tmp_path: Path, script: Opener
) -> None:
    seen: dict[str, Any] = {}

    class Shown(Asker):
        async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
            seen[question.id] = (ctx.gold and ctx.gold.id, ctx.oracle)
            return await super().answer(question, ctx)

    script()
    ask(dataset, tmp_path / "gold", Shown(), oracle=("evidence", "anchors"))
    assert seen == {id: (id, ("anchors", "evidence")) for id in IDS}
    manifest = read_run(tmp_path / "gold").manifest
    assert manifest is not None
    assert manifest.oracle == ("anchors", "evidence")
    ask(dataset, tmp_path / "none", Shown())
    assert seen == dict.fromkeys(IDS, (None, ()))


def test_a_stage_that_cannot_be_replaced_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="asker cannot take 'stage9' from the gold") as caught:
        ask(dataset, tmp_path / "run", oracle=("stage9",))
    assert (caught.value.fix, caught.value.field) == ("use one of anchors, evidence", "oracle")
    assert not (tmp_path / "run").exists()


def test_a_stage_that_the_settings_leave_nothing_of_is_refused_before_anything_is_prepared(
    dataset: Dataset, tmp_path: Path
) -> None:
    class Choosy(Asker):
        def check_oracle(self, oracle: Sequence[str]) -> None:
            if self.config.twice and "anchors" in oracle:
                raise SettingError("twice=true has no anchors", fix="leave twice out", field="oracle")

        def prepare(self, resources: Resources) -> None:
            pytest.fail("it was prepared")

    for command in (ask, dry):
        with pytest.raises(SettingError, match="twice=true has no anchors"):
            command(dataset, tmp_path / "run", Choosy(TWICE), oracle=("evidence", "anchors"))
    assert not (tmp_path / "run").exists()


# --- before anything is paid --------------------------------------------------------------------------------


def dry(dataset: Dataset, out: Path, system: System | None = None, **options: Any) -> Forecast:
    return forecast(system or Asker(TWICE), dataset, "test", out, **options)


def test_a_dry_run_prices_every_call_and_writes_nothing(
    dataset: Dataset, tmp_path: Path, script: Opener
) -> None:
    llm = script()
    found = dry(dataset, tmp_path / "run")
    assert found.title == "asker-twice [test/scripted-1]"
    assert (found.questions, found.tried) == (QUESTIONS, QUESTIONS)
    (calls,) = found.tasks.values()
    assert calls == found.total
    assert (calls.calls, calls.tokens_in, calls.tokens_out, calls.cost) == (24, 2_400, 24 * 1_024, 6.0)
    assert forecasting.WITH_STAND_IN in found.unknown
    assert not (tmp_path / "run").exists()
    assert llm.closed == 2, "the model and what stood in for it"


class Reporter(Asker):
    """Asks before the first question as well."""

    name = "reporter"

    def prepare(self, resources: Resources) -> None:
        assert resources.llm is not None
        self.dry = resources.dry
        for text in ("one", "two", "three"):
            resources.wait(resources.llm.do(AnswerClosedBook(question=text)))


def test_what_is_asked_before_the_first_question_counts_once(
    dataset: Dataset, tmp_path: Path, script: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    script()
    monkeypatch.setattr(forecasting, "TRIED", 4)
    system = Reporter()
    assert dry(dataset, tmp_path / "run", system).total.calls == 3 + QUESTIONS
    assert system.dry
    ask(dataset, tmp_path / "run", system, sample=1)
    assert not system.dry


def test_a_dry_run_reckons_from_a_few_and_counts_only_what_is_missing(
    dataset: Dataset, tmp_path: Path, script: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    script({**TROUBLE, "t05": LLMError("no balance", fix="pay")})
    with pytest.raises(LLMError):
        ask(dataset, tmp_path / "run", Asker(TWICE), pace=Pace(concurrency=1))
    script()
    monkeypatch.setattr(forecasting, "TRIED", 4)
    found = dry(dataset, tmp_path / "run")
    assert (found.questions, found.tried, found.total.calls) == (7, 4, 14)
    assert dry(dataset, tmp_path / "run", retry=True).questions == 7 + 3
    with pytest.raises(PredictionError, match="belongs to another run"):
        dry(dataset, tmp_path / "run", seed=4)


def test_without_a_stand_in_a_dry_run_says_that_it_sees_first_calls_only(
    dataset: Dataset, tmp_path: Path, script: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    script()

    def none(*_: object) -> None:
        raise LLMError("no such thing", fix="none")

    monkeypatch.setattr(forecasting, "open_llm", none)
    found = dry(dataset, tmp_path / "run")
    assert found.total.calls == QUESTIONS
    assert forecasting.WITHOUT_STAND_IN in found.unknown


# --- the command --------------------------------------------------------------------------------------------


@pytest.fixture
def command(
    cli: Callable[..., Any], script: Opener, dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """``run asker`` with more options."""
    from clwqa_bench.commands import run as module

    monkeypatch.setattr(module, "load_system", lambda name, settings: Asker())
    monkeypatch.setenv("CLWQA_LLM_CACHE", str(tmp_path / "replies.sqlite"))
    return lambda *options: cli(
        "run", "asker", "--dataset", str(dataset.root), "--out", str(tmp_path / "run"), *options
    )


def test_the_command_hands_its_options_on(
    command: Callable[..., Any], script: Opener, tmp_path: Path
) -> None:
    llm = script()
    done = command(
        "--llm", "openai:x", "--llm-set", "rpm=3", "--language", "en", "--max-calls", "7", "--max-tokens", "8",
        "--max-cost", "0.5", "--seed", "3", "--sample", "4", "--oracle", "evidence", "--timeout", "9",
    )  # fmt: skip
    assert (done.code, "asker [test/scripted-1]: 4 sampled questions" in done.out) == (0, True)
    options = llm.options
    assert (options.language, options.settings, options.seed) == ("en", {"rpm": "3"}, 3)
    assert (options.limits.calls, options.limits.tokens, options.limits.cost) == (7, 8, 0.5)
    assert options.cache == tmp_path / "replies.sqlite"
    command("--no-cache", "--out", str(tmp_path / "other"))
    assert llm.options.cache is None


def test_the_command_says_how_to_ask_failures_again(command: Callable[..., Any], script: Opener) -> None:
    script(TROUBLE)
    done = command()
    assert done.code == 1
    assert "1 error, 1 skipped, 1 timeout: the same command with --retry asks them again" in done.err
    script()
    again = command("--retry")
    assert (again.code, "3 asked now" in again.out, "3 of them again" in again.out) == (0, True, True)


def test_a_dry_run_shows_calls_tokens_money_and_what_is_not_known(
    command: Callable[..., Any], script: Opener, tmp_path: Path
) -> None:
    script()
    done = command("--dry-run")
    assert done.code == 0
    assert re.search(r"answer-closed-book +12 +1,200 +12,288 +3\.0000", done.out)
    assert "not known in advance:\n- what is asked after a first reply" in done.out
    assert json.loads(command("--dry-run", "--json").out)["total"]["calls"] == QUESTIONS
    assert not (tmp_path / "run").exists()


def test_without_a_price_a_dry_run_says_that_the_cost_is_unknown(
    command: Callable[..., Any], script: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    script()
    monkeypatch.setattr(Scripted, "estimate", lambda self, task: Estimate(100, task.max_tokens, None))
    assert re.search(r"total +12 +1,200 +12,288 +unknown", command("--dry-run").out)
    assert json.loads(command("--dry-run", "--json").out)["total"]["cost"] is None


def test_a_model_for_a_system_that_asks_none_is_refused(
    cli: Callable[..., Any], dataset: Dataset, tmp_path: Path
) -> None:
    done = cli(
        "run", "random", "--dataset", str(dataset.root), "--out", str(tmp_path / "run"), "--llm", "lexical"
    )
    assert (done.code, "random asks no language model. Fix: leave --llm out" in done.err) == (2, True)


def test_model_and_pace_have_defaults_that_are_not_shared() -> None:
    assert Model().options.activity is not Model().options.activity
