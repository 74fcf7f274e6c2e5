"""Boards: what is accepted stands there whole, what is not leaves no trace, and everything can be made again."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import ClwqaError
from clwqa_bench.metrics import Metric
from clwqa_bench.records import Anchor, Answer
from clwqa_leaderboard import board as boards
from clwqa_leaderboard.board import as_json, check, read_board, read_entries
from clwqa_leaderboard.entry import Entry, Outcomes, columns
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.submission import opened
from clwqa_leaderboard.verification import Rejected, Verified, verify
from tests import tiny_dataset
from tests.leaderboard.scene import Q5, Q6, Scene, bare, contents, rows, tampered

Files = dict[str, bytes]


def problems(scene: Scene, base: Path | None = None) -> dict[str, str]:
    found = check(scene.submissions, scene.judge, base)
    return {place: problem.what for place, problem in found if problem}


# --- accepted -----------------------------------------------------------------------------------------------


def test_an_entry_is_the_bundle_and_what_was_computed_of_it(scene: Scene) -> None:
    bundle = scene.scored_bundle()
    stored = scene.add(bundle)
    assert stored.folder.parent.name.startswith("clwqa-tiny-1.0.0-test-suite1-")
    assert (stored.folder / "bundle.zip").read_bytes() == bundle.read_bytes()
    entry = stored.entry
    number = entry.number("Hits@1")
    assert number is not None
    assert (number.value, number.n) == (0.5, 2)
    assert entry.cost.calls == 1
    assert entry.cost.seconds == 0.5
    assert [(miss.id, miss.verdict, miss.gold) for miss in entry.misses] == [("q6", "wrong", ("汉",))]
    assert entry.profile is not None
    assert sum(loss.questions for loss in entry.profile.waterfall) == 2
    assert entry.disclosure.title == "查图"


def test_what_is_read_is_what_was_written(scene: Scene) -> None:
    stored = scene.add(scene.bundle())
    folder = stored.folder.parent
    assert read_board(folder) == scene.judge.board
    assert list(read_entries(folder)) == [stored]
    assert list(read_entries(scene.submissions / "no-such-board")) == []


@pytest.mark.parametrize("name", ["Hits@1", "P", "R", "F1", "F1(agg=of-means)", "EM"])
def test_paired_tests_find_in_an_entry_what_they_find_in_predictions(scene: Scene, name: str) -> None:
    q5 = {**Q5, "answers": [{"text": "汉书"}, {"text": "史记", "entity_id": "book:史记"}]}
    bundle = scene.bundle(q5, Q6)
    with opened(bundle) as submission:
        grid = submission.run.on(scene.judge.gold)
    stored, metric = scene.add(bundle), Metric.parse(name)
    np.testing.assert_allclose(
        columns(metric, stored.outcomes, scene.judge.board.golds).values, metric.columns(grid).values
    )


def test_an_entry_tells_the_headline_and_no_more(scene: Scene) -> None:
    stored = scene.add(scene.bundle())
    with pytest.raises(SubmissionError, match="cannot be told"):
        columns(Metric.parse("MRR@10"), stored.outcomes, scene.judge.board.golds)


def test_answers_in_no_order_have_no_first_one(scene: Scene) -> None:
    q5 = {**Q5, "ranked": False, "answers": [{"text": "汉书"}, {"text": "史记"}]}
    stored = scene.add(scene.bundle(q5, Q6))
    assert stored.outcomes.first == ()
    assert stored.entry.number("Hits@1") is None
    assert stored.entry.number("E[Hits]@1") is not None


@pytest.mark.usefixtures("small_samples")
def test_a_sample_and_an_oracle_stand_apart(scene: Scene) -> None:
    sample = scene.bundle(Q6, name="part", sample=1)
    oracle = scene.bundle(Q5, {**Q6, "answers": [{"text": "汉"}]}, name="gold", oracle=("answers",))
    for bundle in (sample, oracle):
        with pytest.raises(Rejected):
            scene.add(bundle)
    assert scene.add(sample, "sample").entry.questions == 1
    assert scene.add(oracle, "reference").entry.standing == "reference"
    assert problems(scene) == {}


# --- wrong answers shown --------------------------------------------------------------------------------------


def misses(scene: Scene, *lines: Any) -> list[tuple[str, tuple[str, ...]]]:
    return [(miss.id, miss.answers) for miss in scene.add(scene.bundle(*lines)).entry.misses]


def test_names_are_shown_and_of_other_answers_the_beginning(scene: Scene) -> None:
    prose = "据《史记》记载，四面楚歌之后，项羽自刎于乌江。"
    passage = {"text": "夜闻汉军四面皆歌。", "entity_id": "quot:3"}
    q6 = {
        **Q6,
        "answers": [{"text": "司马迁"}, {"text": prose}, passage, {"text": "夜闻汉军四面皆歌，皆歌。"}],
    }
    assert misses(scene, Q5, q6) == [
        ("q6", ("司马迁", "据《史记》记载，四面 …", "夜闻汉军四面皆歌。", "夜闻汉军四面皆歌，皆 …"))
    ]


@pytest.mark.parametrize("changes", [
    {"anchors": (Anchor(entity_id="quot:3", mention="夜闻汉军四面皆歌。"),)},
    {"answers": (Answer(entity_id="quot:3", label="夜闻汉军皆歌。"),)},
    {"answers": (Answer(entity_id="elsewhere", label="夜闻汉军皆歌。", kind="passage"),)},
])  # fmt: skip
def test_a_question_about_a_passage_is_not_shown(tmp_path: Path, changes: dict[str, Any]) -> None:
    questions = [q.model_copy(update=changes) if q.id == "q5" else q for q in tiny_dataset.QUESTIONS]
    tiny_dataset.write(tmp_path / "data", questions=questions)
    scene = Scene.of(tmp_path, Dataset.open(tmp_path / "data"))
    wrong = [{"text": "唐"}]
    assert misses(scene, {**Q5, "answers": wrong}, {**Q6, "answers": wrong}) == [("q6", ("唐",))]


# --- refused, and the board as it was -----------------------------------------------------------------------


def edited_scores(files: Files) -> None:
    scores = json.loads(files["scores.json"])
    scores["values"]["Hits(match=alias,text>=0.8)@1"] = 0.99
    files["scores.json"] = json.dumps(scores).encode()


def scores_of_another_suite(files: Files) -> None:
    files["scores.json"] = files["scores.json"].replace(b'"suite": "1"', b'"suite": "0"')


def unknown_scores(files: Files) -> None:
    files["scores.json"] = b'{"schema_version": 1, "suite": "1", "values": {"Beauty": 1.0}}'


def items(*predictions: dict[str, Any]) -> Callable[[Files], None]:
    return lambda files: files.update({"items.jsonl": rows(*predictions), "traces.jsonl": b""})


def manifest(**changes: Any) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        files["run.json"] = json.dumps({**json.loads(files["run.json"]), **changes}).encode()

    return change


def dataset(**changes: Any) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        run = json.loads(files["run.json"])
        files["run.json"] = json.dumps({**run, "dataset": {**run["dataset"], **changes}}).encode()

    return change


B5, B6 = bare(Q5), bare(Q6)
DUMP = [{"text": f"名{number}"} for number in range(60)]
REFUSED: dict[str, tuple[Callable[[Files], None], str]] = {
    "edited scores": (edited_scores, "is 0.500000, not 0.990000"),
    "scores of another suite": (scores_of_another_suite, "metric suite '0'"),
    "unknown scores": (unknown_scores, "Beauty is no number of this board"),
    "question outside of the split": (items(B5, {**B6, "id": "q1"}), "q1 is not among the 2 questions"),
    "two predictions for a question": (items(B5, B6, B6), "a second prediction for q6"),
    "nothing at all": (items(), "not a single prediction"),
    "stopped early": (items(B5), "1 question (q6) have no prediction"),
    "alias dump": (items(B5, {**B6, "answers": DUMP}), "more than 50 answers"),
    "no usage": (items({**B5, "usage": {}}, {**B6, "usage": {}}), "no prediction says what it cost"),
    "no time": (items(*({**b, "usage": {"answer": {"calls": 1}}} for b in (B5, B6))), "no answer took any time"),
    "oracle": (manifest(oracle=["anchors"]), "took anchors from the gold"),
    "sample": (manifest(sample=1), "is not among the 1 questions asked"),
    "a form for another model": (manifest(backbone="openai/glm-4-flash"), "the form says model = 'none'"),
    "shard": (manifest(shard="1/2"), "this is shard 1/2 of a run"),
    "another data version": (dataset(version="2.0.0"), "version '2.0.0' is not '1.0.0'"),
    "other questions": (dataset(content="0" * 64), "content"),
    "another graph": (dataset(graph="0" * 64), "graph"),
    "another split": (dataset(split="validation"), "split 'validation' is not 'test'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_bundle_leaves_the_board_as_it_was(scene: Scene, name: str) -> None:
    scene.add(scene.bundle(Q5, Q6, name="first"))
    before = scene.board()
    change, what = REFUSED[name]
    q6 = {**Q6, "answers": [{"text": "唐"}]}
    honest = scene.bundle(Q5, q6, name="honest")
    with_scores = tampered(honest, lambda files: files.update(contents_with_scores(scene)), name="scored.zip")
    bad = tampered(with_scores if "scores" in name else honest, change)
    with pytest.raises(ClwqaError) as error:
        scene.add(bad)
    assert what in error.value.what
    assert error.value.fix
    assert scene.board() == before


def contents_with_scores(scene: Scene) -> Files:
    return {"scores.json": contents(scene.scored_bundle("scored"))["scores.json"]}


def test_a_bundle_is_added_once(scene: Scene) -> None:
    bundle = scene.bundle()
    scene.add(bundle)
    before = scene.board()
    with pytest.raises(SubmissionError, match="on the board already"):
        scene.add(bundle)
    renamed = tampered(bundle, manifest(system="mine"), name="renamed.zip")
    with pytest.raises(Rejected, match="every answer is that of demo@"):
        scene.add(renamed)
    assert scene.board() == before


@pytest.mark.parametrize("place", ["write_whole", "as_json"])
def test_a_full_disk_leaves_the_board_as_it_was(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    scene.add(scene.bundle())
    before = scene.board()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(boards, place, full)
    with pytest.raises(OSError, match="No space"):
        scene.add(scene.bundle(Q5, {**Q6, "answers": [{"text": "唐"}]}, name="second"))
    assert scene.board() == before


def test_scores_do_not_depend_on_what_a_bundle_claims(scene: Scene) -> None:
    with opened(scene.bundle(name="a")) as plain, opened(scene.scored_bundle("b")) as claiming:
        assert verify(plain, scene.judge.gold).table.cells == verify(claiming, scene.judge.gold).table.cells


# --- checked ------------------------------------------------------------------------------------------------


@pytest.fixture
def board(scene: Scene) -> Path:
    """The folder of a board with one entry."""
    scene.add(scene.scored_bundle())
    return next(scene.submissions.iterdir())


def test_a_board_that_is_as_it_was_made(scene: Scene, board: Path) -> None:
    assert dict(check(scene.submissions, scene.judge)).values()
    assert problems(scene) == {}


def only_entry(board: Path) -> Path:
    return next(path for path in board.iterdir() if path.is_dir())


def rewrite(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **changes}), encoding="utf-8")


def better(entry: Path) -> None:
    path = entry / "entry.json"
    path.write_bytes(path.read_bytes().replace(b'"value": 0.5', b'"value": 0.75'))


def other_bundle(entry: Path) -> None:
    (entry / "bundle.zip").write_bytes(b"PK")


TAMPERED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "better scores": (better, "0.75 is there, 0.5 was computed"),
    "another title": (lambda e: rewrite(e / "entry.json", board="x"), "'x' is there"),
    "better outcomes": (lambda e: rewrite(e / "outcomes.json", first=[1, 1]), "0 was computed"),
    "an unknown field": (lambda e: rewrite(e / "entry.json", stars=5), "not permitted"),
    "another bundle": (other_bundle, "not a zip file"),
    "no bundle": (lambda e: (e / "bundle.zip").unlink(), "no such bundle"),
    "a script": (lambda e: (e / "setup.py").write_text("import os"), "three regular files"),
    "a link": (lambda e: (e / "notes").symlink_to("/etc/passwd"), "three regular files"),
    "another name": (lambda e: e.rename(e.with_name("best@000000000000")), "has another name"),
    "a large file": (lambda e: (e / "entry.json").write_bytes(b" " * (5 << 20)), "too large"),
    "ranked as it pleases": (lambda e: rewrite(e / "entry.json", standing="first"), "'ranked'"),
    "a changed board": (lambda e: rewrite(e.parent / "board.json", golds=[9, 9]), "is there"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_whatever_was_changed_by_hand_is_found(scene: Scene, board: Path, name: str) -> None:
    change, what = TAMPERED[name]
    change(only_entry(board))
    [found] = problems(scene).values()
    assert what in found


def test_a_link_to_a_folder_is_not_an_entry(scene: Scene, board: Path) -> None:
    (board / "copy@000000000000").symlink_to(only_entry(board))
    assert list(problems(scene).values()) == ["not the folder of an entry"]


def test_names_of_files_cannot_write_into_a_log(scene: Scene, board: Path) -> None:
    (scene.submissions / "x\n::error::y").write_text("", encoding="utf-8")
    (scene.submissions / os.fsdecode(b"\xff")).write_text("", encoding="utf-8")
    shown = [problem.place for _, problem in check(scene.submissions, scene.judge) if problem]
    assert shown == [r"x\n::error::y", r"\udcff"]


def test_a_link_to_a_board_is_not_a_board(scene: Scene, board: Path) -> None:
    board.rename(scene.folder / "elsewhere")
    board.symlink_to(scene.folder / "elsewhere")
    assert list(problems(scene).values()) == ["not the folder of a board"]


def test_only_an_empty_file_keeps_the_folder_of_all_boards(scene: Scene, board: Path) -> None:
    kept = scene.submissions / ".gitkeep"
    kept.touch()
    assert problems(scene) == {}
    kept.write_text("#!/bin/sh", encoding="utf-8")
    (board / ".gitkeep").touch()
    (only_entry(board) / ".gitkeep").touch()
    found = problems(scene)
    assert found.pop(".gitkeep") == "not the folder of a board"
    assert sorted(found.values()) == [
        "an entry is bundle.zip, entry.json, outcomes.json, three regular files",
        "not the folder of an entry",
    ]


def test_a_link_keeps_nothing(scene: Scene, board: Path) -> None:
    (scene.submissions / ".gitkeep").symlink_to(os.devnull)
    assert problems(scene) == {".gitkeep": "not the folder of a board"}


@pytest.mark.parametrize("fault", [RecursionError("too deep"), TypeError("no number"), KeyError("id")])
def test_one_entry_that_nobody_foresaw_does_not_hide_the_others(
    scene: Scene, board: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    second = scene.add(scene.bundle(Q5, {**Q6, "answers": [{"text": "唐"}]}, name="second"))
    broken = scene.add(scene.bundle(Q5, {**Q6, "answers": [{"text": "宋"}]}, name="third"))
    better(second.folder)
    honest = boards.make_entry

    def make_entry(verified: Verified, *others: Any) -> tuple[Entry, Outcomes]:
        if verified.submission.id == broken.entry.id:
            raise fault
        return honest(verified, *others)

    monkeypatch.setattr(boards, "make_entry", make_entry)
    assert problems(scene) == {
        f"{board.name}/{broken.entry.id}": f"cannot be made again: {type(fault).__name__}: {fault}",
        f"{board.name}/{second.entry.id}": "0.75 is there, 0.5 was computed",
    }


def test_two_systems_that_answer_nothing_copy_nothing(scene: Scene) -> None:
    silent = [{**q, "status": "empty", "answers": []} for q in (Q5, Q6)]
    scene.add(scene.bundle(*silent, name="one", system="one"))
    scene.add(scene.bundle(*silent, name="two", system="two"))
    assert problems(scene) == {}


def test_two_entries_with_the_same_answers(scene: Scene, board: Path) -> None:
    [entry] = read_entries(board)
    renamed = tampered(entry.folder / "bundle.zip", manifest(system="zz"), name="zz.zip")
    elsewhere = Scene(scene.folder / "else", scene.dataset, scene.judge)
    second = elsewhere.add(renamed)
    renamed.unlink()
    shutil.copytree(second.folder, board / second.folder.name)
    assert "every answer is that of demo@" in " ".join(problems(scene).values())


def test_sums_that_two_machines_round_differently_are_the_same(scene: Scene, board: Path) -> None:
    [stored] = read_entries(board)
    nudged = as_json(stored.entry).replace(b'"value": 0.5', b'"value": 0.50000000000001')
    (stored.folder / "entry.json").write_bytes(nudged)
    assert problems(scene) == {}


# --- against a board known to be good -----------------------------------------------------------------------


@pytest.fixture
def base(scene: Scene, board: Path) -> Path:
    shutil.copytree(scene.submissions, scene.folder / "base")
    return scene.folder / "base"


def test_only_what_is_new_is_made_again(scene: Scene, base: Path) -> None:
    assert dict(check(scene.submissions, scene.judge, base)) == {}
    stored = scene.add(scene.bundle(Q5, {**Q6, "answers": [{"text": "唐"}]}, name="second"))
    found = dict(check(scene.submissions, scene.judge, base))
    assert found == {f"{stored.folder.parent.name}/{stored.folder.name}": None}


def test_a_request_that_is_behind_is_held_against_the_board_with_it_merged(scene: Scene, base: Path) -> None:
    """Its branch lacks what was accepted meanwhile; the two merged, as the recipe checks them, lack nothing."""
    branch = Scene(scene.folder / "branch", scene.dataset, scene.judge)
    shutil.copytree(scene.submissions, branch.submissions)
    mine = branch.add(scene.bundle(Q5, {**Q6, "answers": [{"text": "唐"}]}, name="mine"))
    meanwhile = Scene(scene.folder / "meanwhile", scene.dataset, scene.judge)
    shutil.copytree(base, meanwhile.submissions)
    meanwhile.add(scene.bundle(Q5, {**Q6, "answers": [{"text": "宋"}]}, name="meanwhile"))
    assert set(problems(branch, meanwhile.submissions).values()) == {
        "an accepted file was changed or removed"
    }
    merged = Scene(scene.folder / "merged", scene.dataset, scene.judge)
    for one in (meanwhile, branch):
        shutil.copytree(one.submissions, merged.submissions, dirs_exist_ok=True)
    found = dict(check(merged.submissions, scene.judge, meanwhile.submissions))
    assert found == {f"{scene.judge.board.key}/{mine.entry.id}": None}


def test_an_accepted_entry_is_neither_changed_nor_removed(scene: Scene, board: Path, base: Path) -> None:
    entry = only_entry(board)
    rewrite(entry / "outcomes.json", first=[1, 1])
    (entry / "bundle.zip").unlink()
    assert set(problems(scene, base).values()) == {"an accepted file was changed or removed"}


def test_a_file_added_to_an_accepted_entry(scene: Scene, board: Path, base: Path) -> None:
    (only_entry(board) / "x.sh").write_text("rm -rf /", encoding="utf-8")
    assert "three regular files" in " ".join(problems(scene, base).values())


def test_a_new_entry_of_another_board_is_not_let_through_unseen(
    scene: Scene, base: Path, tmp_path: Path
) -> None:
    tiny_dataset.write(tmp_path / "v2", release=replace(tiny_dataset.RELEASE, version="2.0.0"))
    other = Scene.of(tmp_path / "other", Dataset.open(tmp_path / "v2"))
    other.folder.mkdir()
    shutil.copytree(other.add(other.bundle()).folder.parent, scene.submissions / other.judge.board.key)
    (scene.submissions / "README.exe").write_bytes(b"MZ")
    assert len(problems(scene, base)) == 3  # its board.json, its entry, the stray file
    assert problems(scene) == {
        "README.exe": "not the folder of a board"
    }  # the rest is not this board's business
