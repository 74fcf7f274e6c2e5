"""`clwqa-bench train scorer`, found by its entry point."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clwqa_bench.dataset import Dataset
from clwqa_bench.registry import TRAINERS
from tests.baselines.scorer.conftest import Made
from tests.conftest import Result

ENTRY = """
    [clwqa_bench.trainers]
    scorer = clwqa_baselines.ceaf.scorer.commands:scorer
    broken = nowhere_at_all:command
"""


@pytest.fixture(autouse=True)
def _installed(install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    install("acme-trainers", "1.0", {}, ENTRY)
    monkeypatch.delitem(vars(TRAINERS), "_entries", raising=False)


def test_trainers_are_listed_with_ours_and_a_broken_one_spoils_nothing(cli: Callable[..., Result]) -> None:
    shown = cli("train", "--help")
    assert shown.code == 0
    assert "linker" in shown.out
    assert "Fit a node scorer" in shown.out
    assert "broken" in shown.out


def test_it_trains_and_prints_the_test_pairs(
    cli: Callable[..., Result], tiny: Dataset, tmp_path: Path
) -> None:
    arguments = ("train", "scorer", "--encoder", "char", "--dataset", str(tiny.root), "--set", "epochs=1")
    drawn = cli(*arguments, "--out", str(tmp_path / "a"))
    assert drawn.code == 0, drawn.err
    assert "L5" in drawn.out
    assert f"--set scorer={tmp_path / 'a'}" in drawn.err
    printed = cli(*arguments, "--no-elements", "--json", "--out", str(tmp_path / "b"))
    said = json.loads(printed.out)
    assert said["settings"]["elements"] is False
    assert said["statistics"]["test"]["all"]["n"] == 3


def test_what_does_not_fit_is_named(cli: Callable[..., Result], tiny: Dataset, tmp_path: Path) -> None:
    arguments = (
        "train",
        "scorer",
        "--encoder",
        "char",
        "--dataset",
        str(tiny.root),
        "--out",
        str(tmp_path / "a"),
    )
    assert "did you mean 'batch'" in cli(*arguments, "--set", "bach=3").err
    assert cli(*arguments, "--set", "batch").code == 2
    assert cli("train", "scorrer").code == 2


def test_an_experiment_takes_a_scorer_only_for_the_rows_of_its_kind(
    made: Made, cli: Callable[..., Result]
) -> None:
    arguments = (
        "experiment",
        "ablation",
        "--dry-run",
        "--dataset",
        str(made.dataset.root),
        "--scorer-no-elements",
    )
    result = cli(*arguments, str(made.folder))
    assert result.code == 2
    assert "--scorer-no-elements is for a node scorer trained without element embedding" in result.err
    assert "train scorer --no-elements" in result.err
