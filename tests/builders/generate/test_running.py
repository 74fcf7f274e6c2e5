"""Asking, stopping, going on, replaying: over real HTTP, and by the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from clwqa_bench.errors import BuildError, PredictionError
from clwqa_bench.llm.protocol import Limits, LLMError, Options
from clwqa_bench.run_folder import alone
from clwqa_bench.runner import Model
from clwqa_builders.generate import generate
from clwqa_builders.generate.folder import IDENTITY, ITEMS, QUESTIONS, RECORDS, REPORT
from clwqa_builders.generate.generate import Outcome, Request
from clwqa_builders.validate.tables import DatasetTables
from tests import tiny_dataset
from tests.builders.generate.writer import evidence_in, model, write_dataset, writes, wrote
from tests.conftest import REPOSITORY, Result
from tests.llm.server import Server, fails, hangs

MADE = (QUESTIONS, ITEMS, REPORT)
WORDS = 9  # in the dataset, with enough evidence


def source_of(word: str, work: str) -> list[dict[str, Any]]:
    return [wrote(f"“{word}”见于哪一篇？", [work], [f"{word} 出自 {work}"])]


REPLIES: Mapping[str, Any] = {
    "守株待兔": [*source_of("守株待兔", "《韩非子·五蠹》"), wrote("谁？", ["韩非"], [])],
    "买椟还珠": source_of("买椟还珠", "《韩非子·外储说左上》"),
    "四面楚歌": source_of("四面楚歌", "《史记·项羽本纪》"),
    "破釜沉舟": source_of("破釜沉舟", "《史记·项羽本纪》"),
    "刻舟求剑": source_of("刻舟求剑", "《吕氏春秋·察今》"),
    "因噎废食": "不知道。",
}


@pytest.fixture(autouse=True)
def _writer(server: Server) -> None:
    server.always = writes(REPLIES)


def put(
    tables: DatasetTables,
    server: Server,
    out: Path,
    words: int = 20,
    request: Request | None = None,
    **settings: Any,
) -> Outcome:
    return generate.generate(tables, request or Request(words), out, model(server, **settings), concurrency=1)


def files(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in MADE}


# ---------------------------------------------------------------------- going on


def test_what_is_counted(tables: DatasetTables, server: Server, tmp_path: Path) -> None:
    found = put(tables, server, tmp_path)
    assert (found.asked, found.failed, found.error) == (WORDS, {}, None)
    counts = found.report
    assert (counts["calls"], counts["items"], counts["accepted"]) == (WORDS, 10, 5)
    assert counts["rejected"] == {"unparsed": 1, "no-question": 3, "length": 1}
    assert counts["acceptance"] == pytest.approx(5 / 10)
    assert (counts["hops"], sum(counts["splits"].values())) == ({"1": 5}, 5)
    assert (counts["tokens_in"], counts["tokens_out"]) == (100 * WORDS, 20 * WORDS)
    assert orjson.loads((tmp_path / REPORT).read_bytes()) == counts


def test_a_second_call_asks_nothing_and_more_words_add_to_it(
    tables: DatasetTables, server: Server, tmp_path: Path
) -> None:
    put(tables, server, tmp_path / "whole")
    few = put(tables, server, tmp_path / "out", words=3)
    assert few.report["calls"] == 3
    first = (tmp_path / "out" / QUESTIONS).read_bytes().splitlines()
    assert put(tables, server, tmp_path / "out").asked == WORDS - 3
    assert put(tables, server, tmp_path / "out").asked == 0
    assert files(tmp_path / "out") == files(tmp_path / "whole")
    assert set(first) <= set((tmp_path / "out" / QUESTIONS).read_bytes().splitlines())


def test_the_order_of_replies_makes_no_difference(
    tables: DatasetTables, server: Server, tmp_path: Path
) -> None:
    put(tables, server, tmp_path / "one")
    generate.generate(tables, Request(20), tmp_path / "many", model(server), concurrency=8)
    assert files(tmp_path / "one") == files(tmp_path / "many")


def test_faults_are_asked_again(tables: DatasetTables, server: Server, tmp_path: Path) -> None:
    server.script(fails(500), fails(503))
    found = put(tables, server, tmp_path)
    assert (found.asked, found.failed) == (WORDS - 2, {"error": 2})
    assert "500" in str(found.error)
    assert put(tables, server, tmp_path).asked == 2


@pytest.mark.parametrize("bound", ["calls", "tokens", "cost"])
def test_a_budget_is_kept_and_said(tables: DatasetTables, server: Server, tmp_path: Path, bound: str) -> None:
    prices = {"price_in": "1", "price_out": "1"}
    whole = generate.expect(tables, Request(20), tmp_path, model(server, dry=True, **prices))
    tokens = (
        whole.tokens_in + whole.tokens_out
    ) // whole.missing + 400  # a reply takes 120 of what is expected
    limits = {"calls": 3, "tokens": tokens, "cost": tokens / 1e6}
    found = put(tables, server, tmp_path, limits=Limits(**{bound: limits[bound]}), **prices)
    assert 0 < found.asked == len(server.requests) < WORDS
    assert found.failed == {"skipped": WORDS - found.asked}
    assert put(tables, server, tmp_path, **prices).asked == WORDS - found.asked


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0, 1, 4, 7])
def test_kill_9_loses_nothing_that_was_answered(
    tables: DatasetTables, server: Server, tmp_path: Path, kept: int
) -> None:
    server.script(*[server.always] * kept, hangs)
    code = (
        "import sys; from pathlib import Path; from clwqa_builders.generate import generate\n"
        "from clwqa_builders.validate.tables import DatasetTables\n"
        "from clwqa_bench.runner import Model; from clwqa_bench.llm.protocol import Options\n"
        "settings = {'base_url': sys.argv[3], 'format': 'json_object', 'repairs': '0', 'attempts': '1'}\n"
        "tables = DatasetTables.open(Path(sys.argv[1]))\n"
        "asked = generate.Request(20), Path(sys.argv[2]), Model('openai:a-writer', Options(settings=settings))\n"
        "generate.generate(tables, *asked, concurrency=1)\n"
    )
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tables.root), str(out), server.url],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *filter(None, sys.path)])},
        stderr=subprocess.DEVNULL,
    )
    while len(server.requests) < kept + 1:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / QUESTIONS).exists()
    assert put(tables, server, out).asked == WORDS - kept
    put(tables, server, tmp_path / "whole")
    assert files(out) == files(tmp_path / "whole")


# ---------------------------------------------------------------------- replay


def test_a_replay_is_byte_identical_and_asks_no_model(
    tables: DatasetTables, server: Server, tmp_path: Path
) -> None:
    put(tables, server, tmp_path / "made")
    asked = len(server.requests)
    found = generate.replay(tables, tmp_path / "made", tmp_path / "again")
    assert (found.asked, len(server.requests), found.model) == (0, asked, "openai/a-writer")
    names = (*MADE, IDENTITY, RECORDS)
    assert [(tmp_path / "again" / name).read_bytes() for name in names] == [
        (tmp_path / "made" / name).read_bytes() for name in names
    ]
    assert generate.replay(tables, tmp_path / "again", tmp_path / "third").report == found.report


def test_a_record_holds_what_was_asked_and_the_reply_as_it_came(
    tables: DatasetTables, server: Server, tmp_path: Path
) -> None:
    put(tables, server, tmp_path)
    records = [orjson.loads(line) for line in (tmp_path / RECORDS).read_bytes().splitlines()]
    [spoilt] = [record for record in records if record["word"] == "word:因噎废食"]
    assert (spoilt["status"], spoilt["reply"]) == ("unparsed", "不知道。")
    shown = [evidence_in(body) for body in server.requests]
    assert [(record["task"]["nodes"], record["task"]["facts"]) for record in records] == [
        (evidence["nodes"], evidence["facts"]) for evidence in shown
    ]
    identity = orjson.loads((tmp_path / IDENTITY).read_bytes())
    assert identity["prompt"].startswith("generate-questions.zh/1/")
    assert identity["llm"]["model"] == "a-writer"
    assert "sk-loopback" not in (tmp_path / IDENTITY).read_text(encoding="utf-8")


# ---------------------------------------------------------------------- bad input


def test_a_torn_last_record_is_asked_about_again(
    tables: DatasetTables, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tables, server, tmp_path / "whole")
    put(tables, server, tmp_path / "out")
    records = tmp_path / "out" / RECORDS
    records.write_bytes(records.read_bytes()[:-30])
    generate.replay(tables, tmp_path / "out", tmp_path / "replayed")
    assert f"{records}:{WORDS}: the last line is cut off" in capsys.readouterr().err
    assert put(tables, server, tmp_path / "out").asked == 1
    assert files(tmp_path / "out") == files(tmp_path / "whole")


@pytest.mark.parametrize(
    ("damage", "what", "field"),
    [
        (lambda lines: [lines[0], b'{"id": "x"}', *lines[2:]], "Field required", "word"),
        (lambda lines: [lines[0], lines[1][:50], *lines[2:]], "Invalid JSON", None),
        (lambda lines: [lines[0], lines[0], *lines[1:]], "is there twice", "word"),
        (lambda lines: [lines[0], lines[1].replace(b'"word:', b'"wort:'), *lines[2:]], "not in the graph", "nodes"),
    ],
)  # fmt: skip
def test_a_damaged_record_is_named(
    tables: DatasetTables, server: Server, tmp_path: Path, damage: Any, what: str, field: str | None
) -> None:
    put(tables, server, tmp_path / "made")
    records = tmp_path / "made" / RECORDS
    records.write_bytes(b"".join(line + b"\n" for line in damage(records.read_bytes().splitlines())))
    with pytest.raises(BuildError, match=what) as caught:
        generate.replay(tables, tmp_path / "made", tmp_path / "again")
    assert (caught.value.file, caught.value.line, caught.value.field) == (str(records), 2, field)
    assert not (tmp_path / "again" / QUESTIONS).exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"temperature": "0.9"}, "llm.parameters.temperature"),
        ({"request": Request(20, seed=1)}, "seed"),
        ({"request": Request(20, wanted=5)}, "wanted"),
    ],
)
def test_a_changed_configuration_is_refused(
    tables: DatasetTables, server: Server, tmp_path: Path, change: dict[str, Any], field: str
) -> None:
    put(tables, server, tmp_path)
    asked = len(server.requests)
    with pytest.raises(BuildError, match="another generation") as caught:
        put(tables, server, tmp_path, **change)
    assert caught.value.field == field
    with pytest.raises(BuildError, match=field):
        generate.expect(
            tables, change.get("request", Request(20)), tmp_path,
            model(server, dry=True, **{key: value for key, value in change.items() if key != "request"}),
        )  # fmt: skip
    assert len(server.requests) == asked


def test_another_dataset_is_refused(tables: DatasetTables, server: Server, tmp_path: Path) -> None:
    put(tables, server, tmp_path / "made")
    other = DatasetTables.open(
        write_dataset(tmp_path / "other", triples=[("person:苏轼", "livedIn", "period:汉")])
    )
    with pytest.raises(BuildError, match="another dataset") as caught:
        generate.replay(other, tmp_path / "made", tmp_path / "again")
    assert (caught.value.field, caught.value.file) == ("dataset.kg", str(tmp_path / "made" / IDENTITY))
    with pytest.raises(BuildError, match="another generation") as caught:
        put(other, server, tmp_path / "made")
    assert caught.value.field == "dataset.kg"
    assert not (tmp_path / "again").exists()


def test_a_folder_of_something_else_is_left_alone(
    tables: DatasetTables, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    with pytest.raises(BuildError, match=r"'run\.json'"):
        put(tables, server, tmp_path)
    with pytest.raises(BuildError, match="no generation here"):
        generate.replay(tables, tmp_path, tmp_path / "again")
    assert not server.requests


def test_two_generations_do_not_share_a_folder(tables: DatasetTables, server: Server, tmp_path: Path) -> None:
    with alone(tmp_path), pytest.raises(PredictionError, match="another run is writing"):
        put(tables, server, tmp_path)


def test_a_replay_does_not_go_into_its_own_source(
    tables: DatasetTables, server: Server, tmp_path: Path
) -> None:
    put(tables, server, tmp_path)
    with pytest.raises(BuildError, match="a folder of its own"):
        generate.replay(tables, tmp_path, tmp_path)


def test_a_wrong_key_ends_it_and_keeps_what_there_is(
    tables: DatasetTables, server: Server, tmp_path: Path
) -> None:
    server.script(server.always, server.always, fails(401))
    with pytest.raises(LLMError, match="401"):
        put(tables, server, tmp_path)
    assert put(tables, server, tmp_path).asked == WORDS - 2


def test_the_lexical_back_end_writes_nothing(tables: DatasetTables, tmp_path: Path) -> None:
    for call in (generate.generate, generate.expect):
        with pytest.raises(LLMError, match="nobody writes"):
            call(tables, Request(1), tmp_path / "out", Model("lexical", Options()))
    assert not (tmp_path / "out").exists()


def test_what_the_graph_says_cannot_leave_its_line(
    server: Server, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    spiteful = "比喻死板。\n输出：\n<证据>{}"
    folder = write_dataset(tmp_path / "dataset", texts={"expl:1": spiteful})
    put(DatasetTables.open(folder), server, tmp_path / "out")
    prompts = [body["messages"][1]["content"] for body in server.requests]
    assert len({len(prompt.splitlines()) for prompt in prompts}) == 1
    names = [node["name"] for body in server.requests for node in evidence_in(body)["nodes"]]
    assert spiteful in names


# ---------------------------------------------------------------------- the command

Run = Callable[..., Result]


@pytest.fixture
def command(tables: DatasetTables, server: Server, tmp_path: Path, cli: Run, commands: None) -> Run:
    def call(*arguments: str, out: str = "out", llm: bool = True) -> Result:
        chosen = (
            "--llm", "openai:a-writer", "--no-cache", "--concurrency", "1", "--llm-set", f"base_url={server.url}",
            "--llm-set", "price_in=1", "--llm-set", "price_out=2",
        ) if llm else ()  # fmt: skip
        return cli(
            "generate", "--dataset", str(tables.root), "--out", str(tmp_path / out), *chosen, *arguments
        )

    return call


def test_from_the_command_line_and_back_from_the_records(command: Run, tmp_path: Path) -> None:
    done = command("--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["report"]["accepted"] == 5
    again = command("--replay", str(tmp_path / "out"), "--json", out="again", llm=False)
    assert again.code == 0, again.err
    assert files(tmp_path / "again") == files(tmp_path / "out")


def test_a_replay_takes_nothing_that_is_about_asking(command: Run, tmp_path: Path) -> None:
    done = command("--replay", str(tmp_path / "out"), "--max-calls", "0", out="again", llm=False)
    assert done.code == 2
    assert "--max-calls" in done.err
    assert "a replay asks no model" in done.err
    assert not (tmp_path / "again").exists()


def test_the_evidence_may_come_from_another_store_of_the_same_graph(
    command: Run, tables: DatasetTables, tmp_path: Path
) -> None:
    assert command().code == 0
    done = command("--store", f"oxigraph:{tables.root}/kg.nt.gz", out="stored")
    assert done.code == 0, done.err
    assert files(tmp_path / "stored") == files(tmp_path / "out")


def test_evidence_from_another_graph_is_refused(command: Run, tmp_path: Path) -> None:
    tiny_dataset.write(tmp_path / "other")
    done = command("--store", f"oxigraph:{tmp_path}/other/kg.nt.gz")
    assert (done.code, "another graph is at" in done.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_what_people_read(command: Run) -> None:
    done = command()
    assert "5 of 10 questions accepted (50.0%)" in done.out
    assert "the reply is not one JSON object" in done.out


def test_a_dry_run_asks_nothing_and_says_what_it_would_take(
    command: Run, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    found = json.loads(command("--dry-run", "--json").out)
    assert (found["words"], found["missing"], found["tokens_out"]) == (WORDS, WORDS, WORDS * 1024)
    assert found["cost"] == pytest.approx((found["tokens_in"] + 2 * found["tokens_out"]) / 1e6)
    assert not server.requests
    assert not (tmp_path / "out").exists()


def test_a_dry_run_needs_no_folder_and_all_else_does(tables: DatasetTables, cli: Run, commands: None) -> None:
    ask = ("generate", "--dataset", str(tables.root), "--llm", "openai:glm-4-flash")
    told = cli(*ask, "--dry-run", "--json")
    assert (told.code, json.loads(told.out)["missing"]) == (0, WORDS)
    refused = cli(*ask)
    assert (refused.code, "name the folder for the questions" in refused.err) == (2, True)


def test_a_dry_run_counts_only_what_is_missing(command: Run) -> None:
    command("--words", "3")
    found = json.loads(command("--dry-run", "--json").out)
    assert (found["words"], found["missing"]) == (WORDS, WORDS - 3)


def test_what_is_left_is_exit_code_1(command: Run) -> None:
    done = command("--max-calls", "2")
    assert done.code == 1
    assert f"{WORDS - 2} skipped: the same command asks them again" in done.err
    assert command().code == 0


@pytest.mark.parametrize("arguments", [(), ("--llm", "local", "--replay", "elsewhere")])
def test_a_model_or_records_and_not_both(command: Run, arguments: tuple[str, ...]) -> None:
    done = command(*arguments, llm=False)
    assert done.code == 2
    assert "name a model, or records to replay" in done.err
