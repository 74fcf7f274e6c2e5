"""`report` and `compare` as their users call them, on seven questions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clwqa_bench.dataset import Dataset
from clwqa_bench.predictions import PredictedAnswer, Prediction, RunManifest
from clwqa_bench.records import Question
from clwqa_bench.runs import dataset_ref
from tests import tiny_dataset


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the dataset `data` and the runs `good` and `bad` on its train split."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    tiny_dataset.write(tmp_path / "data")
    dataset = Dataset.open(tmp_path / "data")
    for name, answer in (("good", lambda q: q.answers[0].label), ("bad", lambda q: "不知道")):
        write_run(tmp_path / name, dataset, answer)
    return tmp_path


def write_run(folder: Path, dataset: Dataset, answer: Callable[[Question], str], **changes: Any) -> None:
    folder.mkdir()
    ref = dataset_ref(dataset, "train")
    manifest = RunManifest(
        system=folder.name, dataset=ref.model_copy(update=changes), code_version="0", backbone="none/lexical"
    )
    (folder / "run.json").write_text(manifest.model_dump_json(), encoding="utf-8")
    predictions = [
        Prediction(id=q.id, status="ok", ranked=True, answers=(PredictedAnswer(text=answer(q)),))
        for q in dataset.questions("train")
    ]
    lines = "".join(f"{prediction.model_dump_json()}\n" for prediction in predictions)
    (folder / "items.jsonl").write_text(lines, encoding="utf-8")


DATA = ("--dataset", "data", "--resamples", "100")


def test_every_format_in_one_call(here: Path, cli: Callable[..., Any]) -> None:
    result = cli(
        "report", "good", "bad", *DATA, "--html", "r.html", "--latex", "r.tex", "--markdown", "r.md", "--csv", "r.csv"
    )  # fmt: skip
    assert (result.code, result.out) == (0, "")
    assert "r.html written" in result.err
    assert "\\textbf{100.0}" in (here / "r.tex").read_text(encoding="utf-8")
    assert "| good \\[none/lexical\\] | **100.0**\\* |" in (here / "r.md").read_text(encoding="utf-8")
    assert "good [none/lexical],good" in (here / "r.csv").read_text(encoding="utf-8")
    page = (here / "r.html").read_text(encoding="utf-8")
    assert "守株待兔" in page
    assert "韩非子·五蠹" in page
    assert not list(here.glob(".r*"))


def test_a_table_to_stdout_and_nothing_else(here: Path, cli: Callable[..., Any]) -> None:
    result = cli("report", "good", *DATA, "--markdown", "-", "--metric", "EM")
    assert result.out.startswith("| System | EM |\n")


def test_the_files_written_as_json(here: Path, cli: Callable[..., Any]) -> None:
    assert json.loads(cli("report", "good", *DATA, "--csv", "r.csv", "--json").out) == {"csv": "r.csv"}


def test_a_table_by_hops(here: Path, cli: Callable[..., Any]) -> None:
    result = cli("report", "good", *DATA, "--markdown", "-", "--by", "hops")
    assert result.out.startswith("| System | 1 | 2 | 3 | All |\n")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ((), "nothing to write"),
        (("--latex", "-", "--csv", "-"), "only one thing"),
        (("--latex", "-", "--json"), "only one thing"),
        (("--markdown", "-", "--by", "colour"), "no strata by 'colour'"),
        (("--markdown", "-", "--baseline", "x"), "no run is called 'x'"),
        (("--markdown", "-", "--metric", "Hists@1"), "Hits"),
    ],
)
def test_what_cannot_be_written(
    options: tuple[str, ...], problem: str, here: Path, cli: Callable[..., Any]
) -> None:
    result = cli("report", "good", *DATA, *options)
    assert result.code == 2
    assert problem in result.err + result.out


def test_a_file_that_cannot_be_written_leaves_nothing_behind(here: Path, cli: Callable[..., Any]) -> None:
    (here / "taken").mkdir()
    assert cli("report", "good", *DATA, "--csv", "taken").code == 2
    assert not list(here.glob(".taken*"))


def test_compare(here: Path, cli: Callable[..., Any]) -> None:
    result = cli("compare", "good", "bad", *DATA)
    assert result.code == 0
    assert "family of 3" in " ".join(result.out.split())
    assert "+100.0" in result.out
    assert "4/0/0" in result.out
    assert "no difference could be significant" in result.out


def test_equal_runs_have_no_interval_but_a_mark(here: Path, cli: Callable[..., Any]) -> None:
    write_run(here / "copy", Dataset.open(here / "data"), lambda q: "不知道")
    out = cli("compare", "bad", "copy", *DATA).out
    assert "+0.0, " not in out
    assert "§ all resamples agree" in out


def test_a_line_that_is_cut_off_is_noted_in_the_caption(here: Path, cli: Callable[..., Any]) -> None:
    items = here / "bad" / "items.jsonl"
    items.write_bytes(items.read_bytes()[:-9])
    caption = cli("report", "good", "bad", *DATA, "--markdown", "-").out
    assert "bad \\[none/lexical\\]: line 4 of the predictions is cut off" in caption


def test_compare_speaks_json(here: Path, cli: Callable[..., Any]) -> None:
    plain = json.loads(cli("compare", "good", "bad", *DATA, "--metric", "F1", "--json").out)
    [pair] = plain["pairs"]
    assert (pair["a"], pair["value_a"], pair["value_b"], plain["family"]) == (
        "good [none/lexical]",
        1.0,
        0.0,
        1,
    )


@pytest.mark.parametrize("changes", [{"version": "9.9.9"}, {"content": "other"}])
def test_compare_refuses_runs_on_other_questions(
    changes: dict[str, str], here: Path, cli: Callable[..., Any]
) -> None:
    write_run(here / "other", Dataset.open(here / "data"), lambda q: "甲", **changes)
    result = cli("compare", "good", "other", *DATA)
    assert (result.code, result.out) == (2, "")
    assert "the run was asked" in result.err


def test_compare_needs_two_runs(here: Path, cli: Callable[..., Any]) -> None:
    assert cli("compare", "good", *DATA).code == 2
    assert "named twice" in cli("compare", "good", "./good", *DATA).err
