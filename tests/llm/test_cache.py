"""The cache of replies: what makes a hit, what is never kept, and what happens when the file is not usable."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from clwqa_bench.commands.cache import app
from clwqa_bench.dataset import Dataset
from clwqa_bench.llm.cache import ReplyCache
from clwqa_bench.llm.protocol import Limits
from clwqa_bench.llm.talk import request_of
from clwqa_bench.llm.tasks import ExtractAnswers, render
from clwqa_bench.predictions import RunManifest
from clwqa_bench.runs import dataset_ref
from tests import tiny_dataset as tiny
from tests.llm.play import KEY, TASK, FakeClock, backend, do
from tests.llm.server import Act, Server, fails, says, serving

KEPT = {"endpoint": "https://example.org/v1", "model": "m", "revision": "", "max_tokens": None}
KEY_THEN = "7ece45ad0021bf55112193ad2793e07a47c41abf5db13b9b9a825310f0cb8fbd"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as running:
        yield running


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "replies.sqlite"


def test_the_same_request_is_asked_once(server: Server, file: Path) -> None:
    (first,) = do(backend(server, cache=file, price_in=1))
    llm = backend(server, cache=file, price_in=1)
    (second,) = do(llm)
    assert len(server.requests) == 1
    assert (second.value, second.raw) == (first.value, first.raw)
    assert (first.cached, second.cached) == (False, True)
    usage = second.usage
    assert (usage.calls, usage.cached, usage.attempts, usage.tokens_in, usage.cost) == (1, 1, 0, 100, 0)
    assert llm.options.activity.cached == 1


@pytest.mark.parametrize(
    "other",
    [
        {"temperature": 0.7},
        {"revision": "b"},
        {"max_tokens": 100},
        {"extra": '{"top_k": 1}'},
        {"format": "prompt"},
        {"model": "test-model-2"},
        {"repeat": 1},
    ],
)
def test_whatever_may_change_a_reply_is_part_of_the_key(
    server: Server, file: Path, other: dict[str, Any]
) -> None:
    do(backend(server, cache=file))
    do(backend(server, cache=file, **other))
    assert len(server.requests) == 2


def test_a_temperature_of_the_task_is_part_of_the_key(server: Server, file: Path) -> None:
    warm = TASK.model_copy(update={"temperature": 0.4})
    do(backend(server, cache=file))
    do(backend(server, cache=file), warm)
    assert len(server.requests) == 2
    (reply,) = do(backend(server, cache=file), warm)
    assert (reply.cached, len(server.requests)) == (True, 2)
    (reply,) = do(backend(server, cache=file, temperature=0.4))
    assert reply.cached, "it is the same request"


def test_without_one_the_key_is_as_before_there_were_any(server: Server) -> None:
    """Kept replies stay valid; the key was taken down then."""
    identity = {**KEPT, "parameters": {"temperature": 0.0}}
    request = request_of(TASK, render(TASK), identity, 0, "json_object")
    assert request.key == KEY_THEN
    assert "temperature" not in TASK.model_dump()


def test_how_fast_it_is_asked_is_not(server: Server, file: Path) -> None:
    do(backend(server, cache=file))
    do(backend(server, cache=file, rpm=10, timeout=3, concurrency=1, attempts=2, price_in=9, repairs=0))
    assert len(server.requests) == 1


@pytest.mark.parametrize("act", [fails(413), says("抱歉，我不能回答。"), says("李白")])
def test_failures_are_not_kept(server: Server, file: Path, act: Act) -> None:
    server.script(says('{"answers": ["杜甫"]}'))
    do(backend(server, cache=file), ExtractAnswers(question="谁？", text="杜甫"))
    server.always = act
    for _ in range(2):
        (reply,) = do(backend(server, cache=file, repairs=0))
        assert reply.status != "ok"
    assert len(server.requests) == 3


def test_a_used_up_budget_does_not_close_the_cache(server: Server, file: Path) -> None:
    do(backend(server, cache=file))
    (reply,) = do(backend(server, cache=file, limits=Limits(calls=0)))
    assert reply.status == "ok"


def test_no_pickle_and_no_other_code_in_it(server: Server, file: Path) -> None:
    do(backend(server, cache=file))
    with sqlite3.connect(file) as connection:
        (row,) = connection.execute("SELECT request, input, value FROM replies")
    request, task, value = map(orjson.loads, row)
    assert request["model"] == "test-model"
    assert task["question"] == TASK.question
    assert value == {"answers": ["李白"]}


# ---------------------------------------------------------------------- faults


@pytest.mark.parametrize("content", [b"not a database" * 100, b"SQLite format 3\x00" + b"\xff" * 4000])
def test_a_damaged_file_is_moved_aside_and_a_new_one_begun(
    server: Server, file: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    file.parent.mkdir()
    file.write_bytes(content)
    for _ in range(2):
        (reply,) = do(backend(server, cache=file))
        assert reply.status == "ok"
    assert len(server.requests) == 1
    assert (file.parent / "replies.sqlite.damaged-1").read_bytes() == content
    assert capsys.readouterr().err.count("warning") == 1


def test_a_file_of_another_layout_is_kept_too(
    server: Server, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.parent.mkdir()
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    do(backend(server, cache=file))
    assert "it has layout 99, not 1" in " ".join(capsys.readouterr().err.split())
    assert (file.parent / "replies.sqlite.damaged-1").is_file()


def test_a_locked_file_is_waited_for_and_then_done_without(
    server: Server, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    do(backend(server, cache=file))
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    cache = ReplyCache(file, patience=0.05)
    cache.put_format("e", "m", "prompt")
    assert "locked" in capsys.readouterr().err
    assert cache.format("e", "m") is None
    assert capsys.readouterr().err == ""
    holder.execute("ROLLBACK")
    holder.close()


def test_a_folder_that_cannot_be_written_costs_only_the_cache(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    (reply,) = do(backend(server, cache=tmp_path / "file" / "replies.sqlite"))
    assert reply.status == "ok"
    assert "going on without it" in " ".join(capsys.readouterr().err.split())


# ---------------------------------------------------------------------- the command


@pytest.fixture
def command(file: Path) -> Callable[..., Any]:
    def run(*arguments: str) -> Any:
        done = CliRunner().invoke(app, [*arguments, "--cache", str(file), "--json"])
        assert done.exception is None, done.output
        return orjson.loads(done.stdout)

    return run


def test_stats_and_clear(server: Server, file: Path, command: Callable[..., Any]) -> None:
    do(backend(server, cache=file))
    (row,) = command("stats")["replies"]
    assert (row["task"], row["model"], row["replies"], row["tokens_in"]) == (TASK.id, "test-model", 1, 100)
    assert command("clear", "--yes")["forgotten"] == 1
    assert command("stats")["replies"] == []


def test_explain_says_hit_or_which_part_of_the_key_is_different(
    server: Server, file: Path, tmp_path: Path, command: Callable[..., Any]
) -> None:
    llm = backend(server, FakeClock(), cache=file)
    do(llm)

    def explained(**changes: object) -> dict[str, Any]:
        request = tmp_path / "request.json"
        asked = {"task": TASK.id, "input": TASK.model_dump(), "llm": {**llm.describe(), **changes}}
        request.write_bytes(orjson.dumps(asked))
        (one,) = command("explain", str(request))
        return one

    assert explained()["hit"] is True
    missed = explained(revision="b", language="en")
    assert missed["hit"] is False
    assert [difference["field"] for difference in missed["differs"]] == ["messages", "revision"]
    with ReplyCache(file) as cache:
        assert missed["nearest"] == request_of(TASK, render(TASK), llm.describe(), 0, "json_object").key
        assert cache.inputs(TASK.question) == [{"task": TASK.id, "input": TASK.model_dump(mode="json")}]


def test_explain_of_a_run_looks_at_what_was_asked_about_a_question(
    server: Server, file: Path, tmp_path: Path, command: Callable[..., Any]
) -> None:
    data, run = tmp_path / "data", tmp_path / "run"
    tiny.write(data)
    question = next(Dataset.open(data).view("test"))
    llm = backend(server, cache=file)
    do(llm, ExtractAnswers(question=question.text, text="李白"))
    manifest = RunManifest(
        system="ceaf",
        config={"llm": {**llm.describe(), "revision": "b"}},
        dataset=dataset_ref(Dataset.open(data), "test"),
        code_version="1",
    )
    run.mkdir()
    (run / "run.json").write_text(manifest.model_dump_json(), encoding="utf-8")
    (run / "items.jsonl").write_text("", encoding="utf-8")
    (one,) = command("explain", "--run", str(run), "--id", question.id, "--dataset", str(data))
    assert [difference["field"] for difference in one["differs"]] == ["revision"]


def test_explain_without_anything_kept(server: Server, file: Path, tmp_path: Path) -> None:
    llm = backend(server, cache=file)
    do(llm)
    with ReplyCache(file) as cache:
        cache.clear()
        found = cache.explain(request_of(TASK, render(TASK), llm.describe(), 0, "json_object"))
    assert (found.hit, found.nearest, found.differs) == (False, None, ())


def test_a_cache_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["stats", "--cache", str(tmp_path / "none.sqlite")])
    assert "there is no cache of replies" in str(done.exception)
