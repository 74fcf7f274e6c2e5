"""One entry in the place of another: by the same key, or because the maintainers say so, and by nothing else."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from clwqa_leaderboard.board import Stored, add, check, read_entries
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.packing import pack
from clwqa_leaderboard.site.values import superseded
from clwqa_leaderboard.submission import opened
from clwqa_leaderboard.succession import Claim, predecessor, related
from clwqa_leaderboard.verification import Rejected
from tests.leaderboard.scene import FORM, Q5, Q6, Scene, needs_ssh

OURS, THEIRS = "SHA256:ours", "SHA256:theirs"
MINE = Claim(OURS, "ranked", "", "")


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (replace(MINE, named="old"), "old"),
        (replace(MINE, named="old", signed_by=THEIRS), ""),
        (replace(MINE, named="old", signed_by=""), ""),
        (replace(MINE, named="old", standing="sample"), ""),
        (replace(MINE, named="unsigned"), ""),
        (replace(MINE, named="unsigned", signed_by=""), ""),  # without a key nobody knows whose they are
        (replace(MINE, named="nobody"), ""),
        (MINE, ""),
        (replace(MINE, signed_by="", granted="unsigned"), "unsigned"),
        (replace(MINE, named="old", granted="unsigned"), "unsigned"),
        (replace(MINE, granted="nobody"), ""),
    ],
)
def test_a_form_counts_where_one_key_signed_both_and_the_maintainers_word_always(
    new: Claim, expected: str
) -> None:
    assert predecessor(new, {"old": MINE, "unsigned": replace(MINE, signed_by="")}) == expected


def test_whatever_came_before_or_after_an_entry_may_have_its_answers() -> None:
    line = {"a": MINE, "b": replace(MINE, named="a"), "c": replace(MINE, named="b"), "z": MINE}
    for id, claim in line.items():
        assert related(id, claim, line) == ({"a", "b", "c"} - {id} if id != "z" else set())


def test_a_ring_has_an_end() -> None:
    ring = {"a": replace(MINE, granted="b"), "b": replace(MINE, granted="a")}
    assert related("a", ring["a"], ring) == {"a", "b"}


# --- on a board -----------------------------------------------------------------------------------------------


@dataclass
class Desk:
    """Where runs are packed, signed and handed in."""

    scene: Scene
    made: list[Path] = field(default_factory=list)

    def key(self, name: str) -> Path:
        path = self.scene.folder / name
        if not path.exists():
            made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)]
            subprocess.run(made, check=True)
        return path

    def bundle(self, title: str, *lines: Any, supersedes: str = "", key: str = "") -> Path:
        """A bundle of a run, Q5 and Q6 if no lines are given, whose form says so."""
        form = self.scene.form(FORM.replace("查图", title) + f'supersedes = "{supersedes}"\n')
        name = f"{len(self.made)}"
        run = self.scene.run(f"run-{name}", *lines)
        self.made.append(
            pack(run, form, self.scene.folder / f"{name}.zip", key=self.key(key) if key else None)
        )
        return self.made[-1]

    def put(self, bundle: Path, supersedes: str = "") -> Stored:
        with opened(bundle) as submission:
            return add(submission, self.scene.judge, self.scene.submissions, supersedes=supersedes)

    def problems(self, base: Path | None = None, *allowed: str) -> list[str]:
        found = check(self.scene.submissions, self.scene.judge, base, allowed)
        return [problem.what for _, problem in found if problem]

    def superseded(self) -> dict[str, str]:
        board = self.scene.submissions / self.scene.judge.board.key
        return superseded([stored.entry for stored in read_entries(board)])


@pytest.fixture
def desk(scene: Scene) -> Desk:
    return Desk(scene)


OTHERS = ({**Q5, "answers": [{"text": "汉书"}]}, Q6)


@needs_ssh
def test_a_form_is_corrected_by_another_entry_with_the_same_answers(desk: Desk) -> None:
    first = desk.put(desk.bundle("查图谱", key="ours")).entry.id
    second = desk.put(desk.bundle("查图", key="ours", supersedes=first)).entry.id
    third = desk.put(desk.bundle("按图索骥", key="ours", supersedes=second)).entry.id
    assert desk.superseded() == {first: second, second: third}
    assert desk.problems() == []  # in whatever order their ids stand


@needs_ssh
@pytest.mark.parametrize("key", ["", "theirs"])
def test_nobody_else_takes_the_place_or_hands_in_the_answers(desk: Desk, key: str) -> None:
    first = desk.put(desk.bundle("查图", key="ours")).entry.id
    before = desk.scene.board()
    with pytest.raises(Rejected, match="every answer is that of demo@") as error:
        desk.put(desk.bundle("查图", Q5, Q6, key=key, supersedes=first))
    assert "sign both with one key" in error.value.fix
    assert desk.scene.board() == before
    desk.put(desk.bundle("查图", *OTHERS, key=key, supersedes=first))
    assert desk.superseded() == {}


def test_an_unsigned_entry_is_not_struck_out_by_a_stranger_who_uses_its_names(desk: Desk) -> None:
    victim = desk.put(desk.bundle("查图")).entry.id
    desk.put(desk.bundle("查图", *OTHERS, supersedes=victim))
    assert desk.superseded() == {}


def test_maintainers_give_one_entry_the_place_of_another(desk: Desk) -> None:
    first = desk.put(desk.bundle("查图谱")).entry.id
    corrected = desk.bundle("查图", supersedes=first)
    with pytest.raises(Rejected, match="every answer is that of"):
        desk.put(corrected)
    second = desk.put(corrected, supersedes=first).entry
    assert second.supersedes == first
    assert desk.superseded() == {first: second.id}
    assert desk.problems() == []


def test_an_entry_that_is_not_there_has_no_place_to_give(desk: Desk) -> None:
    desk.put(desk.bundle("查图"))
    before = desk.scene.board()
    with pytest.raises(SubmissionError, match="no entry 'demo@000000000000' to supersede") as error:
        desk.put(desk.bundle("查图", *OTHERS), supersedes="demo@000000000000")
    assert error.value.field == "--supersedes"
    assert desk.scene.board() == before


# --- in a pull request ----------------------------------------------------------------------------------------


@pytest.fixture
def base(desk: Desk) -> Path:
    """The board before the request, with one entry."""
    desk.put(desk.bundle("查图"))
    return shutil.copytree(desk.scene.submissions, desk.scene.folder / "base")


def test_a_request_does_not_speak_for_the_maintainers(desk: Desk, base: Path) -> None:
    [first] = (stored.entry.id for stored in read_entries(base / desk.scene.judge.board.key))
    taken = desk.put(desk.bundle("查图", *OTHERS), supersedes=first).entry.id
    assert desk.problems(base) == [f"only maintainers give an entry the place of another ({first})"]
    assert desk.problems(base, "demo@000000000000") == desk.problems(base)
    assert desk.problems(base, taken) == []
    assert desk.problems() == []  # on their own board it stands


def test_a_request_does_not_choose_its_standing(desk: Desk, base: Path) -> None:
    golds = [
        [{"text": a.label, "entity_id": a.entity_id} for a in q.answers]
        for q in desk.scene.judge.gold.questions
    ]
    copied = desk.bundle("查图", *({**q, "answers": g} for q, g in zip((Q5, Q6), golds, strict=True)))
    copy = desk.scene.add(copied, "reference").entry.id
    assert desk.problems(base) == ["only maintainers make an entry a reference"]
    assert desk.problems(base, copy) == []


@needs_ssh
def test_the_owner_of_a_key_needs_nobody(desk: Desk) -> None:
    first = desk.put(desk.bundle("查图谱", key="ours")).entry.id
    known = shutil.copytree(desk.scene.submissions, desk.scene.folder / "base")
    desk.put(desk.bundle("查图", key="ours", supersedes=first))
    assert desk.problems(known) == []
