"""Systems are found by name, set by text, described, and run: also one that somebody else has written."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import orjson
import pytest

from clwqa_bench import runner, systems
from clwqa_bench.commands import systems as command
from clwqa_bench.llm.tasks import AnswerClosedBook
from clwqa_bench.predictions import TraceEvent
from clwqa_bench.registry import PluginError, Registry
from clwqa_bench.runs import read_run
from clwqa_bench.systems import (
    Context,
    Resources,
    SettingError,
    Settings,
    Trace,
    dataset_cache,
    load_system,
    parse_settings,
)
from tests import process, tiny_dataset
from tests.conftest import REPOSITORY, Result
from tests.core.scripted import Scripted

PAGE = REPOSITORY / "docs" / "extend" / "system.md"


def block(language: str, number: int = 0) -> str:
    """A block of the page in a language, by default the first."""
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[number]


@pytest.fixture
def registry(install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Install systems from source text: ``registry({"name": "module:Class"}, {"module.py": "..."})``."""

    def add(entries: dict[str, str], files: dict[str, str]) -> Path:
        lines = "\n".join(f"{name} = {value}" for name, value in entries.items())
        site = install("madeup-systems", "1.0", files, f"[clwqa_bench.systems]\n{lines}\n")
        for module in (systems, command):
            monkeypatch.setattr(module, "SYSTEMS", Registry("clwqa_bench.systems", "system"))
        return site

    return add


@pytest.fixture
def explainer(registry: Callable[..., Path]) -> Path:
    """The worked example of the page, installed as the page says."""
    entries = tomllib.loads(block("toml"))["project"]["entry-points"]["clwqa_bench.systems"]
    return registry(entries, {"explainer.py": block("python")})


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    tiny_dataset.write(tmp_path / "tiny")
    return tmp_path / "tiny"


# --- by name ------------------------------------------------------------------------------------------------


def test_an_unknown_name_is_answered_with_the_nearest(explainer: Path) -> None:
    with pytest.raises(PluginError, match="there is no system 'explaner'") as caught:
        load_system("explaner")
    assert "did you mean 'explainer'" in caught.value.fix


TAKES_LLM = """
from clwqa_bench.systems import Settings, System

class other(System):
    name = "other"

    class Config(Settings):
        llm: str = ""
"""


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("def other(): pass", "is not a System"),
        (
            "from clwqa_bench.systems import System\nclass other(System):\n    name = 'else'",
            "calls itself 'else'",
        ),
        ("from clwqa_bench.systems import System\nclass other(System): pass", "calls itself None"),
        ("import madeup_nothing", "cannot be loaded"),
        (TAKES_LLM, "has a setting 'llm'"),
        (TAKES_LLM.replace("llm", "kg"), "has a setting 'kg'"),
    ],
)
def test_what_is_no_system_is_said_to_be_none(registry: Callable[..., Path], source: str, what: str) -> None:
    module = f"madeup_{abs(hash(source))}"
    registry({"other": f"{module}:other"}, {f"{module}.py": source})
    with pytest.raises(PluginError, match=rf"system 'other' .*{what}"):
        load_system("other")


CARD = """
from clwqa_bench.systems import Card, System
class other(System):
    "Tells its card."
    name = "other"
    card = Card(citation="Somebody 2026", calls="1 + width", weaknesses=("hubs", "long paths"))
"""


def test_a_card_is_shown(registry: Callable[..., Path], cli: Callable[..., Result]) -> None:
    registry({"other": "madeup_card:other"}, {"madeup_card.py": CARD})
    shown = cli("systems", "info", "other").out.rstrip()
    assert [re.split(" {2,}", line.strip()) for line in shown.splitlines()[-5:]] == [
        ["citation", "Somebody 2026"],
        ["calls", "1 + width"],
        ["index", "none"],
        ["weaknesses", "hubs"],
        ["long paths"],
    ]


def test_what_a_question_took_is_told_from_the_package(
    registry: Callable[..., Path], cli: Callable[..., Result]
) -> None:
    took = {"backbone": "none/lexical", "dataset": "tiny", "questions": 1200, "calls": 2.25, "seconds": 0.01}
    files = {
        "madeup_pack/__init__.py": "",
        "madeup_pack/system.py": CARD,
        "madeup_pack/measured.json": orjson.dumps({"other": took}).decode(),
    }
    registry({"other": "madeup_pack.system:other"}, files)
    assert orjson.loads(cli("systems", "info", "other", "--json").out)["measured"] == took
    shown = " ".join(cli("systems", "info", "other").out.split())
    assert "took 2.2 calls and 0.0100 s per question (none/lexical, 1,200 questions of tiny)" in shown


# --- settings -----------------------------------------------------------------------------------------------


class Knobs(Settings):
    width: int = 3
    share: float = 0.5
    strict: bool = False
    order: Literal["size", "name"] = "size"


def test_settings_are_converted_to_the_type_of_their_field() -> None:
    texts = {"width": "7", "share": "0.25", "strict": "true", "order": "name"}
    assert parse_settings("s", Knobs, texts) == Knobs(width=7, share=0.25, strict=True, order="name")
    assert parse_settings("s", Knobs, {}) == Knobs()


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"widht": "7"}, "field widht: s has no setting 'widht'. Fix: did you mean 'width'."),
        ({"x": "7"}, "field x: s has no setting 'x'. Fix: use a setting of s (width, share, strict, order)."),
        ({"width": "wide"}, "field width: s cannot take 'wide': Input should be a valid integer"),
        ({"order": "age"}, "field order: s cannot take 'age': Input should be 'size' or 'name'"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(texts: dict[str, str], message: str) -> None:
    with pytest.raises(SettingError) as caught:
        parse_settings("s", Knobs, texts)
    assert str(caught.value).startswith(message)


def test_a_system_without_settings_says_so() -> None:
    with pytest.raises(SettingError, match="s has no setting 'x'") as caught:
        parse_settings("s", Settings, {"x": "1"})
    assert "it has none" in caught.value.fix


# --- trace --------------------------------------------------------------------------------------------------


def test_time_counts_to_the_stage_that_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 3.0, 6.0, 10.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    trace = Trace(_since=time.perf_counter())
    for stage in ("link", "retrieve", "link"):
        trace.add(TraceEvent(stage=stage))  # type: ignore[arg-type]
    seconds = {stage: used.seconds for stage, used in trace.usage().items()}
    assert seconds == {"link": 1.0 + 3.0, "retrieve": 2.0, "answer": 4.0}


@pytest.mark.parametrize("stage", [None, "reflect"])
def test_a_reply_counts_to_the_stage_of_its_task_or_the_one_named(
    monkeypatch: pytest.MonkeyPatch, stage: Literal["reflect"] | None
) -> None:
    clock = iter([0.0, 1.0, 3.0, 6.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    ctx = Context(kg=None, rng=None, trace=Trace(_since=time.perf_counter()), llm=Scripted())  # type: ignore[arg-type]
    ctx.trace.add(TraceEvent(stage="link"))
    reply = asyncio.run(ctx.ask(AnswerClosedBook(question="t00"), stage))
    assert (reply.status, ctx.trace.replies) == ("ok", {"ok": 1})
    usage = ctx.trace.usage()
    used = usage[stage or "answer"]
    assert (used.calls, used.attempts, used.tokens_in, used.cost) == (1, 2, 100, 0.5)
    assert sum(used.seconds for used in usage.values()) == 6.0


# --- what is kept -------------------------------------------------------------------------------------------


def test_what_is_derived_has_a_place_that_everything_it_depends_on_decides(tmp_path: Path) -> None:
    resources = Resources(kg=None, ontology=None, train=lambda: iter(()), cache=tmp_path)  # type: ignore[arg-type]
    place = resources.derived("index", "1.0", Knobs().model_dump())
    assert place.parent == tmp_path
    assert place.name.startswith("index-")
    assert place == resources.derived("index", "1.0", Knobs().model_dump())
    others = {
        resources.derived("index", "1.1", Knobs().model_dump()),
        resources.derived("index", "1.0", Knobs(width=4).model_dump()),
        resources.derived("model", "1.0", Knobs().model_dump()),
    }
    assert len({place, *others}) == 4
    assert not list(tmp_path.iterdir())


def test_other_data_have_another_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert dataset_cache("graph", "questions") == dataset_cache("graph", "questions")
    assert dataset_cache("graph", "questions") != dataset_cache("graph", "others")
    assert dataset_cache("graph", "questions").is_relative_to(tmp_path / "clwqa-bench")


# --- the commands -------------------------------------------------------------------------------------------


def test_systems_are_listed_without_being_loaded(
    cli: Callable[..., Result], registry: Callable[..., Path]
) -> None:
    registry({"loud": "madeup_loud:Loud"}, {"madeup_loud.py": '"""A loud one."""\nraise RuntimeError\n'})
    listed = {entry["name"]: entry for entry in json.loads(cli("systems", "list", "--json").out)}
    assert listed["loud"] == {"name": "loud", "summary": "A loud one.", "problem": None}
    assert "A loud one." in cli("systems", "list").out


def test_info_says_what_a_system_does_and_can_be_set_to(cli: Callable[..., Result], explainer: Path) -> None:
    found = json.loads(cli("systems", "info", "explainer", "--json").out)
    assert found["summary"] == "Answers every question with what the dictionary says of the word it quotes."
    assert found["settings"] == [
        {
            "name": "relation",
            "default": "hasExplanation",
            "description": "The relation to follow.",
            "type": "string",
        }
    ]
    assert "--set relation=hasExplanation" in cli("systems", "info", "explainer").out
    assert (found["uses_llm"], found["oracle"], found["oracles"]) == (False, [], [])


def test_info_says_that_a_model_is_asked_and_what_gold_can_be_given(
    cli: Callable[..., Result], registry: Callable[..., Path]
) -> None:
    source = (
        '"""Asks."""\nfrom clwqa_bench.systems import System\nclass Asks(System):\n'
        '    name = "asks"\n    uses_llm = True\n    oracles = ("anchors", "evidence")\n'
    )
    registry({"asks": "madeup_asks:Asks"}, {"madeup_asks.py": source})
    shown = cli("systems", "info", "asks").out
    assert "asks a language model: --llm lexical" in shown
    assert "can take from the gold: --oracle anchors, --oracle evidence" in shown


def test_the_worked_example_runs_and_its_settings_count(
    cli: Callable[..., Result], explainer: Path, tiny: Path, tmp_path: Path
) -> None:
    ask = ("run", "explainer", "--dataset", str(tiny), "--split", "validation", "--json")
    summary = json.loads(cli(*ask, "--out", str(tmp_path / "run")).out)
    assert (summary["title"], summary["statuses"]) == ("explainer [none/lexical]", {"ok": 1})
    (prediction,) = read_run(tmp_path / "run").predictions
    assert [(a.entity_id, a.text) for a in prediction.answers] == [("expl:2", "比喻没有眼光，取舍不当。")]
    assert prediction.answers[0].support == tuple(piece.id for piece in prediction.evidence.triples)
    other = cli(*ask, "--out", str(tmp_path / "run"), "--set", "relation=hasSource")
    assert (other.code, json.loads(other.out)["field"]) == (2, "config.relation")
    cli(*ask, "--out", str(tmp_path / "other"), "--set", "relation=hasSource")
    assert read_run(tmp_path / "other").predictions[0].answers[0].text == "韩非子·外储说左上"


def test_the_worked_example_that_asks_a_model_runs(
    cli: Callable[..., Result],
    registry: Callable[..., Path],
    tiny: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = f"{block('python')}\n\n{block('python', 1)}"
    registry({"guesser": "guesser:Guesser"}, {"guesser.py": source})
    monkeypatch.setattr(runner, "open_llm", lambda *_: Scripted())
    done = cli("run", "guesser", "--dataset", str(tiny), "--out", str(tmp_path / "run"), "--llm", "openai:x")
    assert (done.code, "guesser [test/scripted-1]" in done.out) == (0, True)
    for prediction in read_run(tmp_path / "run").predictions:
        assert [answer.text for answer in prediction.answers] == ["史记"]
        assert prediction.usage["answer"].calls == 1


def test_the_worked_example_is_short() -> None:
    assert len(block("python").splitlines()) <= 45


FAILS = '''
"""Fails on every question."""

from clwqa_bench.systems import System


class Fails(System):
    name = "fails"

    async def answer(self, question, ctx):
        raise RuntimeError("no luck")
'''


def test_a_run_with_errors_ends_and_says_so_with_its_exit_code(
    cli: Callable[..., Result], registry: Callable[..., Path], tiny: Path, tmp_path: Path
) -> None:
    registry({"fails": "madeup_fails:Fails"}, {"madeup_fails.py": FAILS})
    done = cli("run", "fails", "--dataset", str(tiny), "--out", str(tmp_path / "run"))
    assert (done.code, "2 error" in done.out) == (1, True)
    assert "the system failed, first with RuntimeError: no luck" in done.err
    assert cli("run", "fails", "--dataset", str(tiny), "--out", str(tmp_path / "run")).code == 1


def test_a_sample_says_that_it_is_one(
    cli: Callable[..., Result], explainer: Path, tiny: Path, tmp_path: Path
) -> None:
    done = cli("run", "explainer", "--dataset", str(tiny), "--out", str(tmp_path / "run"), "--sample", "1")
    assert "explainer [none/lexical]: 1 sampled questions, 1 asked now" in done.out


def test_a_setting_without_a_value_is_bad_usage(
    cli: Callable[..., Result], explainer: Path, tiny: Path, tmp_path: Path
) -> None:
    done = cli(
        "run", "explainer", "--dataset", str(tiny), "--out", str(tmp_path / "run"), "--set", "relation"
    )
    assert (done.code, "is not KEY=VALUE" in done.err) == (2, True)


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_known_before_the_first_question(
    explainer: Path, tiny: Path, tmp_path: Path
) -> None:
    shut = tmp_path / "shut"
    shut.mkdir(mode=0o555)
    for out in (shut, shut / "run"):
        done = process.run(
            "run", "explainer", "--dataset", tiny, "--out", out, "--json", before=process.obey_permissions,
            env={"PYTHONPATH": f"{explainer}:{process.SEARCH_PATH}"},
        )  # fmt: skip
        error = json.loads(done.out)
        assert (done.code, error["what"]) == (2, "Permission denied")
        assert error["file"].startswith(str(shut))
        assert "questions" not in done.err


SLOW = '''
"""Takes its time."""

import asyncio

from clwqa_bench.predictions import Prediction
from clwqa_bench.systems import System


class Slow(System):
    name = "slow"

    async def answer(self, question, ctx):
        if question.id == "q6":
            print("asked", flush=True)
            await asyncio.sleep(60)
        return Prediction(id=question.id, status="empty")
'''


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_a_run_stopped_from_outside_keeps_what_it_has(
    registry: Callable[..., Path], tiny: Path, tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    site = registry({"slow": "madeup_slow:Slow"}, {"madeup_slow.py": SLOW})
    running: subprocess.Popen[str] = process.start(
        "run", "slow", "--dataset", tiny, "--out", tmp_path / "run",
        env={"PYTHONPATH": f"{site}:{process.SEARCH_PATH}"},
    )  # fmt: skip
    assert running.stdout is not None
    assert running.stdout.readline() == "asked\n"
    running.send_signal(sent)
    done = process.finish(running)
    assert done.code == code
    assert ("interrupted; the same command goes on" in done.err) == (sent == signal.SIGINT)
    assert [prediction.id for prediction in read_run(tmp_path / "run").predictions] == ["q5"]
