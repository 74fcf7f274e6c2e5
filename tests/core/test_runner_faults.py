"""Runs against an endpoint that misbehaves, over real HTTP, and on a disk that is full."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clwqa_bench.dataset import Dataset
from clwqa_bench.llm.protocol import Limits, LLMError, Options
from clwqa_bench.predictions import StageUsage
from clwqa_bench.runner import Model, Pace, Summary, run
from clwqa_bench.runs import read_run
from tests import process
from tests.core.scripted import IDS, QUESTIONS, Asker, content, small_dataset
from tests.llm.server import Server, breaks_off, drops, fails, hangs, lingers, says, serving

SOON = "0.01"  # seconds until the endpoint wants to be asked again


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return small_dataset(tmp_path_factory.mktemp("runner-faults") / "small")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback-0123456789")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as running:
        yield running


def ask(dataset: Dataset, server: Server, out: Path, pace: Pace | None = None, **options: Any) -> Summary:
    settings = {"base_url": server.url, "format": "json_object", "price_in": "1", "price_out": "1"}
    given = Options(settings=settings | options.pop("settings", {}), **options)
    return run(Asker(), dataset, "test", out, model=Model("openai:test-model", given), pace=pace)


def usage(folder: Path) -> dict[str, StageUsage]:
    return {prediction.id: prediction.usage["answer"] for prediction in read_run(folder).predictions}


# --- an endpoint --------------------------------------------------------------------------------------------


def test_an_endpoint_that_stumbles_costs_attempts_and_no_question(
    dataset: Dataset, server: Server, tmp_path: Path
) -> None:
    stumble = fails(429, Retry_After=SOON)
    server.script(stumble, fails(503, Retry_After=SOON), stumble, says("谁知道呢"))
    summary = ask(dataset, server, tmp_path / "run", Pace(concurrency=1))
    assert summary.statuses == {"ok": QUESTIONS}
    used = usage(tmp_path / "run")
    assert (used["t00"].attempts, used["t00"].calls, used["t01"].attempts) == (5, 1, 1)
    assert (used["t00"].tokens_in, used["t01"].tokens_in) == (200, 100), "what could not be read was paid for"
    assert used["t01"].cost == pytest.approx(120e-6)
    assert summary.llm == "16 requests, 1 repairs, 3 retries (429: 2, 503: 1)"
    manifest = read_run(tmp_path / "run").manifest
    assert manifest is not None
    assert (manifest.backbone, manifest.config["llm"]["endpoint"]) == ("openai/test-model", server.url)


def test_whatever_the_endpoint_does_every_question_ends_with_its_status(
    dataset: Dataset, server: Server, tmp_path: Path
) -> None:
    server.script(
        fails(500), drops, breaks_off, hangs, fails(429), says(None, refusal="不行"), says(""), says('{"answers": []}')
    )  # fmt: skip
    once = {"attempts": "1", "timeout": "0.3", "repairs": "0"}
    ask(dataset, server, tmp_path / "run", Pace(concurrency=1), settings=once)
    statuses = [prediction.status for prediction in read_run(tmp_path / "run").predictions]
    assert statuses == [
        "error",
        "error",
        "error",
        "timeout",
        "error",
        "refused",
        "unparsed",
        "empty",
        *["ok"] * 4,
    ]


def test_a_question_too_slow_is_given_up_and_the_run_is_as_fast_as_its_workers(
    dataset: Dataset, server: Server, tmp_path: Path
) -> None:
    server.script(hangs, *[lingers(0.05)] * 8)
    summary = ask(dataset, server, tmp_path / "run", Pace(concurrency=4, timeout=0.5))
    assert summary.statuses == {"ok": 11, "timeout": 1}
    assert server.most_in_flight == 4


def test_the_same_command_spends_the_next_budget_on_what_the_last_did_not_reach(
    dataset: Dataset, server: Server, tmp_path: Path
) -> None:
    first = ask(dataset, server, tmp_path / "run", Pace(concurrency=3), limits=Limits(calls=5))
    assert first.statuses == {"ok": 5, "skipped": 7}
    assert len(server.requests) == 5
    assert ask(dataset, server, tmp_path / "run", limits=Limits(calls=50)).asked == 0
    second = ask(dataset, server, tmp_path / "run", Pace(retry=True), limits=Limits(calls=50))
    assert (second.asked, second.statuses, len(server.requests)) == (7, {"ok": QUESTIONS}, QUESTIONS)
    assert {line["status"] for line in content(tmp_path / "run", "retries.jsonl")} == {"skipped"}


def test_what_was_paid_for_is_not_paid_for_again_in_another_run(
    dataset: Dataset, server: Server, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        ask(dataset, server, tmp_path / name, cache=tmp_path / "replies.sqlite")
    assert len(server.requests) == QUESTIONS
    assert content(tmp_path / "first") == content(tmp_path / "second")
    assert all((u.cached, u.attempts, u.cost) == (1, 0, 0) for u in usage(tmp_path / "second").values())


def test_a_key_that_is_refused_ends_the_run_with_nothing_written_of_the_question(
    dataset: Dataset, server: Server, tmp_path: Path
) -> None:
    server.script(says('{"answers": ["李白"]}'), fails(401, "bad key"))
    with pytest.raises(LLMError, match="bad key"):
        ask(dataset, server, tmp_path / "run", Pace(concurrency=1))
    assert [line["id"] for line in content(tmp_path / "run")] == IDS[:1]


# --- a disk -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_full_disk_is_said_and_the_same_command_goes_on_when_there_is_room(
    dataset: Dataset, tmp_path: Path
) -> None:
    def command(name: str, **options: Any) -> Any:
        return process.run(
            "run", "random", "--dataset", dataset.root, "--out", tmp_path / name, "--json",
            env={"XDG_CACHE_HOME": str(tmp_path / "cache")}, **options,
        )  # fmt: skip

    assert command("whole").code == 0  # and the graph's index is made
    done = command("run", before=process.limit_files(1_500))
    error = json.loads(done.out)
    assert (done.code, error["what"]) == (2, "File too large")
    assert error["file"] == str(tmp_path / "run" / "items.jsonl")
    assert "that the disk is not full" in error["fix"]
    kept = content(tmp_path / "run")
    assert 0 < len(kept) < QUESTIONS
    assert json.loads(command("run").out)["asked"] == QUESTIONS - len(kept)
    assert content(tmp_path / "run") == content(tmp_path / "whole")
