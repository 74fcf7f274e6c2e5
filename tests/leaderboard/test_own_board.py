"""The project's own board: one command from experiments to entries, and every entry of it made again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import own_board
from clwqa_baselines.trivial.kg_lookup import KgLookup
from clwqa_baselines.trivial.oracle import Oracle
from clwqa_bench import runner
from clwqa_bench.dataset import Dataset
from clwqa_bench.registry import SYSTEMS
from clwqa_bench.runs import ITEMS
from clwqa_leaderboard.board import BOARD, SUBMISSIONS, Judge, board_key, check, read_entries
from clwqa_leaderboard.entry import Entry
from tests.conftest import REPOSITORY
from tests.leaderboard.scene import Scene


class Board:
    """Experiments of ours, and the board that the command makes of them."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.experiments = scene.folder / "experiments"

    def ask(self, system: Any, name: str, **options: Any) -> Path:
        folder = self.experiments / "runs" / name
        runner.run(system, self.scene.dataset, "test", folder, **options)
        return folder

    def make(self) -> int:
        arguments = [self.experiments, "--dataset", self.scene.dataset.root]
        return own_board.main([*map(str, arguments), "--submissions", str(self.scene.submissions)])

    def entries(self) -> dict[str, Entry]:
        boards = self.scene.submissions / self.scene.judge.board.key
        return {stored.entry.id: stored.entry for stored in read_entries(boards)}


@pytest.fixture
def board(scene: Scene) -> Board:
    return Board(scene)


@pytest.mark.usefixtures("small_samples")
def test_every_run_becomes_an_entry_that_stands_as_its_kind(board: Board) -> None:
    board.ask(KgLookup(KgLookup.Config()), "lookup")
    board.ask(KgLookup(KgLookup.Config()), "lookup-sample", sample=1)
    board.ask(KgLookup(KgLookup.Config(answers=1)), "lookup-one")  # other settings: no entry
    board.ask(Oracle(Oracle.Config()), "oracle")
    assert board.make() == 0
    found = {(e.manifest.system, e.manifest.sample): e for e in board.entries().values()}
    assert {key: entry.standing for key, entry in found.items()} == {
        ("kg-lookup", None): "ranked",
        ("kg-lookup", 1): "sample",
        ("oracle", None): "reference",
    }
    form = found["oracle", None].disclosure
    assert (form.title, form.authors, form.test_seen) == ("Gold answers", "clwqa-bench", "yes")
    assert all(problem is None for _, problem in check(board.scene.submissions, board.scene.judge))


def test_a_new_run_takes_the_place_of_the_old_one(board: Board) -> None:
    folder = board.ask(KgLookup(KgLookup.Config()), "lookup")
    assert board.make() == 0
    before = board.scene.board()
    assert board.make() == 0  # nothing to do
    assert board.scene.board() == before
    shutil.rmtree(folder)
    board.ask(
        KgLookup(KgLookup.Config()), "lookup", seed=1
    )  # the same answers: no duplicate of what it replaces
    assert board.make() == 0
    assert {entry.manifest.seed for entry in board.entries().values()} == {1}


def test_a_run_that_is_refused_leaves_the_entry_that_was_there(
    board: Board, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = board.ask(KgLookup(KgLookup.Config()), "lookup")
    assert board.make() == 0
    before = board.scene.board()
    first, *_ = (folder / ITEMS).read_bytes().splitlines(keepends=True)
    (folder / ITEMS).write_bytes(first)
    os.utime(folder / ITEMS, (4e9, 4e9))
    assert board.make() == 1
    assert "1 question (q6) have no prediction" in " ".join(capsys.readouterr().err.split())
    assert board.scene.board() == before


# --- the board of this repository -----------------------------------------------------------------------------

REFERENCES = {"oracle", "random"}
BOARDS = REPOSITORY / SUBMISSIONS
ENTRIES = sorted(path.parent for path in BOARDS.glob("*/*/entry.json"))


@pytest.fixture(scope="module")
def judge(built: Path) -> Judge:
    return Judge.of(Dataset.open(built, verify=False), "test")


@pytest.mark.slow
def test_every_system_has_an_entry_that_needs_no_model(judge: Judge) -> None:
    stored = read_entries(BOARDS / board_key(judge.gold.ref))
    whole = [s.entry for s in stored if s.entry.manifest.sample is None]
    standings = {e.manifest.system: e.standing for e in whole if e.manifest.backbone == "none/lexical"}
    assert standings == {name: "reference" if name in REFERENCES else "ranked" for name in SYSTEMS.names()}


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda path: path.name)
def test_an_entry_is_what_its_bundle_makes(judge: Judge, tmp_path: Path, entry: Path) -> None:
    """One by one, so that they spread over processes; `leaderboard check` also holds them against each other."""
    board = tmp_path / entry.parent.name
    board.mkdir()
    shutil.copyfile(entry.parent / BOARD, board / BOARD)
    shutil.copytree(entry, board / entry.name)
    assert dict(check(tmp_path, judge)) == {f"{board.name}/{BOARD}": None, f"{board.name}/{entry.name}": None}
