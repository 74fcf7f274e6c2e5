"""What could not be read again is not written, what `add` refuses is not verified, and gold does not come in unsaid."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from clwqa_bench.dataset import Dataset
from clwqa_leaderboard import board as boards
from clwqa_leaderboard.board import examine
from clwqa_leaderboard.entry import Entry, Number, Outcomes
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.probes import Standing
from clwqa_leaderboard.submission import opened
from clwqa_leaderboard.verification import Rejected
from clwqa_leaderboard.withheld import withhold
from tests.leaderboard.scene import Q5, Q6, Scene, rows, tampered

UNWRITABLE: dict[str, Callable[[Entry], Entry]] = {
    "cost": lambda e: e.model_copy(update={"cost": e.cost.model_copy(update={"cost": math.inf})}),
    "64-bit": lambda e: e.model_copy(update={"manifest": e.manifest.model_copy(update={"seed": 10**30})}),
    ".low": lambda e: e.model_copy(
        update={
            "scores": {
                "F1": {"all": Number(value=0.5, n=2, low=0.1, high=0.9).model_copy(update={"low": math.nan})}
            }
        }
    ),
    "bytes": lambda e: e.model_copy(
        update={"manifest": e.manifest.model_copy(update={"code_version": "x" * (5 << 20)})}
    ),
}
"""What JSON does not hold, and what a board does not read again."""


@pytest.mark.parametrize("what", UNWRITABLE)
def test_an_entry_that_could_not_be_read_again_is_not_written(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    scene.add(scene.bundle())
    before, honest = scene.board(), boards.make_entry

    def make_entry(*arguments: Any) -> tuple[Entry, Outcomes]:
        entry, outcomes = honest(*arguments)
        return UNWRITABLE[what](entry), outcomes

    monkeypatch.setattr(boards, "make_entry", make_entry)
    with pytest.raises(SubmissionError) as error:
        scene.add(scene.bundle(Q5, {**Q6, "answers": [{"text": "唐"}]}, name="second"))
    assert what in str(error.value)
    assert error.value.fix
    assert scene.board() == before


STRANGE_TRACES = {
    "of nobody": ({"id": "q9", "trace": []}, "q9"),
    "of an unknown stage": ({"id": "q5", "trace": [{"stage": "guess"}]}, "stage"),
}


@pytest.mark.parametrize("name", STRANGE_TRACES)
def test_what_add_refuses_is_not_verified(scene: Scene, name: str) -> None:
    line, what = STRANGE_TRACES[name]
    bad = tampered(scene.bundle(), lambda files: files.update({"traces.jsonl": rows(line)}))
    with opened(bad) as submission, pytest.raises(SubmissionError) as error:
        examine(submission, scene.judge, scene.submissions)
    assert what in str(error.value)


def test_what_cannot_be_made_an_entry_is_not_verified(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_entry(*_: Any) -> None:
        raise SubmissionError("no entry can be made", fix="wait")

    monkeypatch.setattr(boards, "make_entry", no_entry)
    with opened(scene.bundle()) as submission, pytest.raises(SubmissionError, match="no entry can be made"):
        examine(submission, scene.judge, scene.submissions)


@pytest.mark.parametrize("standing", ["sample", "reference"])
def test_a_sample_tells_no_gold_that_is_withheld(scene: Scene, standing: Standing) -> None:
    made = withhold(scene.dataset, scene.folder / "public", scene.folder / "gold.jsonl")
    public = Scene.of(scene.folder, Dataset.open(made.public), made.gold)
    lines = [{**Q5, "id": view.id, "trace": []} for view in public.dataset.view("test")]
    whole = public.bundle(*lines, name="whole")
    sampled = public.bundle(*lines, name="part", sample=2)
    with pytest.raises(Rejected, match="the gold is withheld, and scores of a sample tell it"):
        public.add(sampled, standing)
    assert public.board() == {}
    assert public.add(whole).entry.questions == 2


def undeclared(files: dict[str, bytes]) -> None:
    files["run.json"] = json.dumps({**json.loads(files["run.json"]), "oracle": []}).encode()


def test_a_run_that_hides_its_oracle_is_refused(scene: Scene) -> None:
    q5 = {**Q5, "trace": [{"stage": "link", "op": "gold", "entities": ["word:四面楚歌"]}]}
    bundle = scene.bundle(q5, Q6, oracle=("anchors",))
    hidden = tampered(bundle, undeclared)
    with pytest.raises(
        Rejected, match=r"the traces of 1 question \(q5\) say that a stage was taken from the gold"
    ):
        scene.add(hidden)
    assert scene.add(bundle, "reference").entry.manifest.oracle == ("anchors",)


def test_a_run_without_its_oracle_is_not_packed(scene: Scene) -> None:
    q5 = {**Q5, "trace": [{"stage": "link", "op": "gold"}]}
    with pytest.raises(SubmissionError, match="the trace of q5 says") as error:
        scene.bundle(q5, Q6)
    assert error.value.field == "oracle"
