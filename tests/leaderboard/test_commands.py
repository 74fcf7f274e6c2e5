"""`clwqa-bench leaderboard` as its users call it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from clwqa_bench import cli as program
from clwqa_bench.dataset import Dataset
from clwqa_bench.registry import Registry
from clwqa_leaderboard.packing import pack
from tests.conftest import Result
from tests.hub_server import TOKEN, serving, without_xet
from tests.leaderboard.scene import FORM, Q5, Scene, bare, contents, rows, tampered

Board = Callable[..., Result]


@pytest.fixture
def board(
    cli: Callable[..., Result], install: Callable[..., Path], scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> Board:
    """Run ``clwqa-bench leaderboard ...`` in the scene's folder, with the dataset named where it is needed."""
    install("boards", "1", {}, "[clwqa_bench.commands]\nleaderboard = clwqa_leaderboard.commands:app\n")
    monkeypatch.setattr(program, "COMMANDS", Registry("clwqa_bench.commands", "command"))
    monkeypatch.chdir(scene.folder)
    (scene.folder / "disclosure.toml").write_text(FORM, encoding="utf-8")

    def run(command: str, *arguments: str) -> Result:
        data = [] if command in ("form", "withhold") else ["--dataset", str(scene.dataset.root)]
        return cli("leaderboard", command, *arguments, *data)

    return run


def test_from_a_run_to_the_board(board: Board, scene: Scene) -> None:
    scene.run()
    packed = board("pack", "run", "--disclosure", "disclosure.toml", "--json")
    assert packed.code == 0, packed.err
    bundle = json.loads(packed.out)["bundle"]
    assert bundle == f"{json.loads(packed.out)['id']}.zip"
    verified = board("verify", bundle, "--submissions", "boards")
    assert verified.code == 0
    assert "accepted as ranked" in verified.out
    added = board("add", bundle, "--submissions", "boards")
    assert added.code == 0, added.err
    assert Path(added.out.strip(), "bundle.zip").is_file()
    checked = board("check", "--submissions", "boards")
    assert checked.code == 0
    assert "2 checked, 0 problems" in checked.out


def test_the_form_lies_in_the_folder_of_the_run_by_default(board: Board, scene: Scene) -> None:
    run = scene.run()
    assert "there is no disclosure form" in board("pack", "run").err
    (run / "disclosure.toml").write_text(FORM, encoding="utf-8")
    assert board("pack", "run", "--out", "a.zip").code == 0


def test_a_blank_form_is_printed(board: Board) -> None:
    printed = board("form")
    assert printed.code == 0
    assert '# The system\'s name as readers see it; may be Chinese.\ntitle = ""' in printed.out


def test_a_rejected_bundle_says_everything_that_is_wrong(board: Board, scene: Scene) -> None:
    q5 = {**bare(Q5), "usage": {}, "answers": [{"text": f"名{n}"} for n in range(60)]}
    bad = tampered(scene.bundle(), lambda files: files.update({"items.jsonl": rows(q5), "traces.jsonl": b""}))
    verified = board("verify", str(bad), "--submissions", "boards")
    assert verified.code == 1
    for probe in ("partial", "alias-dump", "usage"):
        assert f"reject: {probe}: " in verified.out
    assert verified.out.rstrip().endswith("rejected")
    added = board("add", str(bad), "--submissions", "boards", "--json")
    assert added.code == 1
    assert json.loads(added.out)["error"] == "Rejected"
    assert not (scene.folder / "boards").exists()


def test_what_cannot_be_read_is_bad_input(board: Board, scene: Scene) -> None:
    (scene.folder / "x.zip").write_text("x", encoding="utf-8")
    verified = board("verify", "x.zip", "--json")
    assert verified.code == 2
    assert json.loads(verified.out)["error"] == "SubmissionError"


def test_a_check_that_finds_something_fails(board: Board, scene: Scene) -> None:
    stored = scene.add(scene.bundle())
    (stored.folder / "run.sh").write_text("#!/bin/sh", encoding="utf-8")
    checked = board("check", "--submissions", "submissions", "--json")
    assert checked.code == 1
    [problem] = json.loads(checked.out)["problems"]
    assert problem["place"].endswith("run.sh")
    assert problem["fix"]
    assert "no such folder" in board("check", "--submissions", "nowhere").err


def test_a_check_says_what_it_does_not_check(board: Board, scene: Scene) -> None:
    (scene.folder / "submissions" / "another-board").mkdir(parents=True)
    nothing = board("check", "--submissions", "submissions")
    assert nothing.code == 2
    assert f"there is no board {scene.judge.board.key}" in nothing.err
    scene.add(scene.bundle())
    checked = board("check", "--submissions", "submissions")
    assert checked.code == 0
    assert "their own dataset and split: another-board" in checked.err


def test_handing_in(board: Board, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = scene.bundle()
    dry = board("submit", str(bundle), "--repo", "org/board", "--dry-run")
    assert dry.code == 0, dry.err
    assert "nothing was sent" in dry.out
    without_xet(monkeypatch)
    with serving() as hub:
        hub.repository("org/board")
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        sent = board("submit", str(bundle), "--repo", "org/board", "--json")
        assert sent.code == 0, sent.err
        assert json.loads(sent.out)["url"] == f"{hub.url}/datasets/org/board/discussions/1"
        assert TOKEN not in sent.out + sent.err
        oracle = scene.bundle(name="oracle", oracle=("anchors",))
        refused = board("submit", str(oracle), "--repo", "org/board")
        assert refused.code == 1
        assert "oracle" in refused.err
        assert len(hub.repositories["org/board"].pull_requests) == 1


def test_a_name_that_is_no_repository_is_bad_input_even_in_a_dry_run(board: Board, scene: Scene) -> None:
    refused = board("submit", str(scene.bundle()), "--repo", "bad name", "--dry-run")
    assert refused.code == 2
    assert "'bad name' cannot be the name of a repository" in refused.err


def test_what_add_cannot_read_verify_cannot(board: Board, scene: Scene) -> None:
    guess = {"id": "q5", "trace": [{"stage": "guess"}]}
    bad = tampered(scene.bundle(), lambda files: files.update({"traces.jsonl": rows(guess)}))
    for command in ("verify", "add"):
        assert board(command, str(bad), "--submissions", "boards").code == 2


def test_what_maintainers_decide_they_let_through(board: Board, scene: Scene) -> None:
    first = scene.add(scene.bundle()).entry.id
    shutil.copytree(scene.submissions, scene.folder / "base")
    second = pack(
        scene.folder / "run-demo", scene.form(FORM.replace("A. Author", "B. Author")), Path("second.zip")
    )
    assert "every answer is that of" in board("add", str(second), "--submissions", "submissions").err
    taken = board("add", str(second), "--submissions", "submissions", "--supersedes", first, "--json")
    assert taken.code == 0, taken.err
    against = ("--submissions", "submissions", "--against", "base")
    refused = board("check", *against)
    assert refused.code == 1
    assert "check --allow ENTRY" in " ".join(refused.out.split())
    assert board("check", *against, "--allow", json.loads(taken.out)["entry"]).code == 0
    assert board("check", "--submissions", "submissions").code == 0


def test_withheld_gold_from_the_maintainer_to_the_submitter_and_back(
    board: Board, cli: Callable[..., Result], scene: Scene
) -> None:
    made = board("withhold", str(scene.dataset.root), "--out", "public", "--gold", "gold.jsonl", "--json")
    assert made.code == 0, made.err
    public = Scene.of(scene.folder, Dataset.open("public"), Path("gold.jsonl"))
    public.run("run", *({**Q5, "id": view.id} for view in public.dataset.view("test")))
    leaderboard = ("leaderboard", "pack", "run", "--disclosure", "disclosure.toml", "--out", "a.zip")
    assert cli(*leaderboard, "--dataset", "public").code == 0
    assert "scores.json" not in contents(Path("a.zip"))
    blind = cli("leaderboard", "verify", "a.zip", "--dataset", "public")
    assert blind.code == 2
    assert "only the maintainers can score it" in blind.err
    submitted = cli("leaderboard", "submit", "a.zip", "--repo", "o/b", "--dry-run", "--dataset", "public")
    assert submitted.code == 0
    verified = cli("leaderboard", "verify", "a.zip", "--dataset", "public", "--gold", "gold.jsonl")
    assert verified.code == 0
    assert "accepted as ranked" in verified.out


def test_without_gold_a_run_on_other_questions_is_known_all_the_same(
    board: Board, cli: Callable[..., Result], scene: Scene
) -> None:
    board("withhold", str(scene.dataset.root), "--out", "public", "--gold", "gold.jsonl")
    public = Scene.of(scene.folder, Dataset.open("public"), Path("gold.jsonl"))
    public.run()
    packed = cli("leaderboard", "pack", "run", "--disclosure", "disclosure.toml", "--dataset", "public")
    assert packed.code == 2
    assert "items.jsonl:1: field id: q5 is not among the 2 questions" in packed.err
