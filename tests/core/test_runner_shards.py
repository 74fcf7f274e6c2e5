"""A run in parts, made on as many machines as one likes, is the run made in one piece."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.commands.merge import merge as merge_command
from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import PredictionError
from clwqa_bench.predictions import PredictedAnswer, Prediction
from clwqa_bench.records import QuestionView
from clwqa_bench.runner import Pace, run
from clwqa_bench.runs import gold_of, read_run
from clwqa_bench.shards import Shard, asked, merge
from clwqa_bench.systems import Context, System
from tests import tiny_dataset
from tests.core.scripted import QUESTIONS, content, small_dataset

PARTS = 3


class Dice(System):
    """Answers with a number drawn for the question; fails where it is told to."""

    name = "dice"
    fails: frozenset[str] = frozenset()

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        if question.id in self.fails:
            raise RuntimeError("no luck")
        return Prediction(
            id=question.id, status="ok", answers=(PredictedAnswer(text=str(ctx.rng.integers(1_000_000))),)
        )


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return small_dataset(tmp_path_factory.mktemp("shards") / "small")


def parts(dataset: Dataset, folder: Path, system: System | None = None, **options: int) -> list[Path]:
    """All shards of a run."""
    folders = [folder / f"part-{number}" for number in range(1, PARTS + 1)]
    for number, part in enumerate(folders, start=1):
        run(system or Dice(), dataset, "test", part, shard=f"{number}/{PARTS}", **options)
    return folders


# --- who asks what ------------------------------------------------------------------------------------------


@given(ids=st.sets(st.text(max_size=6)), of=st.integers(1, 9), sample=st.none() | st.integers(1, 20))
def test_every_question_asked_has_exactly_one_shard(ids: set[str], of: int, sample: int | None) -> None:
    whole = asked(ids, sample, 0, None)
    shards = [asked(ids, sample, 0, f"{number}/{of}") for number in range(1, of + 1)]
    assert sum(map(len, shards)) == len(whole)
    assert frozenset().union(*shards) == whole


def test_shards_are_of_about_the_same_size() -> None:
    sizes = [len(asked(map(str, range(10_000)), None, 0, f"{number}/4")) for number in range(1, 5)]
    assert all(2_350 < size < 2_650 for size in sizes)


@pytest.mark.parametrize("text", ["0/3", "4/3", "1/0", "1", "1/3/5", "a/b", "-1/3", "1 /3", "１/３", ""])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(PredictionError, match="is no shard"):
        Shard.parse(text)


def test_one_shard_of_one_is_the_whole_run(dataset: Dataset, tmp_path: Path) -> None:
    assert run(Dice(), dataset, "test", tmp_path / "run", shard="1/1").shard is None
    assert len(read_run(tmp_path / "run").on(gold_of(dataset, "test"))) == QUESTIONS


# --- put together -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"sample": 7, "seed": 3}])
def test_merged_shards_are_the_run_in_one_piece(
    dataset: Dataset, tmp_path: Path, options: dict[str, int]
) -> None:
    run(Dice(), dataset, "test", tmp_path / "whole", **options)
    merged = merge(parts(dataset, tmp_path, **options)[::-1], dataset, tmp_path / "merged")
    assert (merged.questions, merged.shards) == (options.get("sample", QUESTIONS), PARTS)
    assert content(tmp_path / "merged") == content(tmp_path / "whole")
    assert (tmp_path / "merged" / "run.json").read_bytes() == (tmp_path / "whole" / "run.json").read_bytes()
    ids = [prediction.id for prediction in read_run(tmp_path / "merged").predictions]
    assert ids == sorted(ids), "in the order of the split"
    assert read_run(tmp_path / "merged").on(gold_of(dataset, "test")).outcomes.count("ok") == len(ids)
    assert run(Dice(), dataset, "test", tmp_path / "merged", **options).asked == 0


def test_what_was_asked_again_goes_along(dataset: Dataset, tmp_path: Path) -> None:
    unlucky = Dice()
    unlucky.fails = frozenset({"t00", "t05", "t11"})
    parts(dataset, tmp_path, unlucky)
    folders = [tmp_path / f"part-{number}" for number in range(1, PARTS + 1)]
    for number, folder in enumerate(folders, start=1):
        run(Dice(), dataset, "test", folder, shard=f"{number}/{PARTS}", pace=Pace(retry=True))
    merge(folders, dataset, tmp_path / "merged")
    retried = content(tmp_path / "merged", "retries.jsonl")
    assert [(line["id"], line["status"]) for line in retried] == [
        (id, "error") for id in sorted(unlucky.fails)
    ]


def test_a_shard_alone_is_not_scored(dataset: Dataset, tmp_path: Path) -> None:
    part = parts(dataset, tmp_path)[0]
    with pytest.raises(PredictionError, match="this is shard 1/3 of a run") as caught:
        read_run(part).on(gold_of(dataset, "test"))
    assert "clwqa-bench merge" in caught.value.fix


def test_a_shard_goes_on_as_that_shard_only(dataset: Dataset, tmp_path: Path) -> None:
    part = parts(dataset, tmp_path)[0]
    with pytest.raises(PredictionError, match="belongs to another run") as caught:
        run(Dice(), dataset, "test", part, shard="2/3")
    assert caught.value.field == "shard"


# --- what does not go together ------------------------------------------------------------------------------


def refused(folders: list[Path], dataset: Dataset, out: Path) -> PredictionError:
    with pytest.raises(PredictionError) as caught:
        merge(folders, dataset, out)
    assert not (out / "run.json").exists()
    return caught.value


def test_a_shard_that_is_missing_is_named(dataset: Dataset, tmp_path: Path) -> None:
    first, _, third = parts(dataset, tmp_path)
    assert refused([first, third], dataset, tmp_path / "out").what == "shards are missing: 2/3"


def test_a_shard_named_twice_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    folders = parts(dataset, tmp_path)
    error = refused([*folders, folders[1]], dataset, tmp_path / "out")
    assert error.what == "shard 2/3 does not go with shard 2/3"


def test_shards_of_different_divisions_are_refused(dataset: Dataset, tmp_path: Path) -> None:
    folders = parts(dataset, tmp_path)
    run(Dice(), dataset, "test", tmp_path / "other", shard="2/4")
    error = refused([folders[0], tmp_path / "other", folders[2]], dataset, tmp_path / "out")
    assert error.what == "shard 2/4 does not go with shard 1/3"


def test_a_shard_of_another_run_is_named_with_what_differs(dataset: Dataset, tmp_path: Path) -> None:
    folders = parts(dataset, tmp_path)
    run(Dice(), dataset, "test", tmp_path / "other", shard="2/3", seed=9)
    error = refused([folders[0], tmp_path / "other", folders[2]], dataset, tmp_path / "out")
    assert (error.file, error.field) == (str(tmp_path / "other" / "run.json"), "seed")


def test_a_shard_that_is_not_complete_says_what_it_lacks(dataset: Dataset, tmp_path: Path) -> None:
    folders = parts(dataset, tmp_path)
    items = folders[1] / "items.jsonl"
    *lines, last = items.read_bytes().splitlines(keepends=True)
    items.write_bytes(b"".join(lines) + last[:20])
    error = refused(folders, dataset, tmp_path / "out")
    lost = json.loads(last)["id"]
    assert error.what == f"shard 2/3 lacks 1 of {len(lines) + 1} questions ({lost})"
    assert error.file == str(folders[1])


def test_an_answer_of_another_shard_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    folders = parts(dataset, tmp_path)
    strange = (folders[0] / "items.jsonl").read_bytes().splitlines(keepends=True)[0]
    with (folders[1] / "items.jsonl").open("ab") as stream:
        stream.write(strange)
    error = refused(folders, dataset, tmp_path / "out")
    assert error.what == f"there twice, or not of shard 2/3: {json.loads(strange)['id']}"


def test_a_whole_run_is_no_shard(dataset: Dataset, tmp_path: Path) -> None:
    run(Dice(), dataset, "test", tmp_path / "whole")
    assert refused([tmp_path / "whole"], dataset, tmp_path / "out").what == "this is not a shard of a run"


def test_another_dataset_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    folders = parts(dataset, tmp_path)
    tiny_dataset.write(tmp_path / "tiny")
    error = refused(folders, Dataset.open(tmp_path / "tiny"), tmp_path / "out")
    assert error.field == "dataset.content"


def test_a_folder_in_use_is_left_alone(dataset: Dataset, tmp_path: Path) -> None:
    folders = parts(dataset, tmp_path)
    before = content(folders[0])
    with pytest.raises(PredictionError, match="it is in use"):
        merge(folders, dataset, folders[0])
    assert content(folders[0]) == before
    assert {path.name for path in tmp_path.iterdir()} == {folder.name for folder in folders}, (
        "nothing is left"
    )


def test_the_command_says_what_it_has_made(
    dataset: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = parts(dataset, tmp_path)
    capsys.readouterr()
    merge_command(folders, tmp_path / "merged", dataset.root, json=True)
    made = json.loads(capsys.readouterr().out)
    assert made == {
        "folder": str(tmp_path / "merged"),
        "title": "dice [none/lexical]",
        "questions": QUESTIONS,
        "shards": PARTS,
    }
    merge_command(folders, tmp_path / "again", dataset.root)
    assert "dice [none/lexical]: 12 questions of 3 shards" in capsys.readouterr().out
