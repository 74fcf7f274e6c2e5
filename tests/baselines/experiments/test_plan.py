"""From experiments to run folders: what is the same run is at the same place, and what cannot be run is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clwqa_baselines.experiments.definitions import EXPERIMENTS, MAIN, TOPK
from clwqa_baselines.experiments.design import Experiment
from clwqa_baselines.experiments.plan import NOT_ASKED, ExperimentError, Plan, Setting, plan
from clwqa_bench import runner
from clwqa_bench.dataset import Dataset
from clwqa_bench.registry import PluginError
from clwqa_bench.runner import Selection
from tests.core.scripted import Scripted


@pytest.fixture
def setting(dataset: Dataset, tmp_path: Path) -> Setting:
    return Setting(dataset, Selection("test"), tmp_path)


def folders(experiment: Experiment, setting: Setting, **options: Any) -> dict[str, str]:
    return {row.variant.label: row.folder.name for row in plan(experiment, setting, **options).rows}


def test_experiments_share_runs(setting: Setting) -> None:
    shared = {
        name: folders(EXPERIMENTS[name], setting)[label]
        for name, label in {
            "main": "CEAF", "hops": "CEAF", "topk": "K = 3", "depth": "D_max = 3", "ablation": "CEAF",
            "stagewise": "CEAF", "oracle": "CEAF", "cost": "CEAF", "latency": "CEAF",
        }.items()
    }  # fmt: skip
    assert len(set(shared.values())) == 1
    assert (
        folders(EXPERIMENTS["depth"], setting)["D_max = 3, no ranking"]
        == (folders(EXPERIMENTS["ablation"], setting)["no path ranking"])
    )


def test_what_makes_another_run_makes_another_place(setting: Setting) -> None:
    selections = (Selection("test"), Selection("validation"), Selection("test", 1), Selection("test", 0, 3))
    places = {
        place
        for selection in selections
        for place in folders(TOPK, replace(setting, selection=selection)).values()
    }
    assert len(places) == len(selections) * len(TOPK.variants)


def test_a_sample_of_everything_is_everything(setting: Setting) -> None:
    whole = replace(setting, selection=Selection("test", 0, 1_000))
    assert folders(TOPK, whole) == folders(TOPK, setting)


def test_a_place_says_what_runs_there(setting: Setting) -> None:
    name = folders(EXPERIMENTS["oracle"], setting)["gold anchors"]
    assert name.startswith("ceaf-oracle-anchors-none_lexical-")


def test_a_system_without_a_model_runs_once_for_all_of_them(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "open_llm", lambda spec, resources, options: Scripted(model=spec))
    found = plan(MAIN, replace(setting, llms=("one", "two")), only=("zero-shot", "kg-lookup"))
    assert [(row.variant.label, row.manifest.backbone) for row in found.rows] == [
        ("Zero-Shot", "test/one"), ("one-step lookup", "none/lexical"), ("Zero-Shot", "test/two"),
    ]  # fmt: skip


def test_rows_that_cannot_be_run_are_left_out_with_the_reason(setting: Setting) -> None:
    imagined = replace(MAIN, variants=(*MAIN.variants, replace(MAIN.variants[0], label="new", system="new")))
    found = plan(imagined, setting)
    assert "CEAF" in {row.variant.label for row in found.rows}
    assert found.left_out["new"] == "no such system is installed"
    assert found.left_out["CEAF, node scorer"] == "it needs --scorer"


@pytest.mark.parametrize(
    ("only", "added", "message"),
    [
        (("caef",), (), "'main' has no row 'caef'. Fix: did you mean 'ceaf'"),
        (("zzz",), (), "use one of zero-shot, Zero-Shot, cot"),
        (("CEAF, node scorer",), (), "no row of 'main' can be made.*it needs --scorer"),
    ],
)
def test_rows_that_are_not_there(
    only: tuple[str, ...], added: tuple[str, ...], message: str, setting: Setting
) -> None:
    with pytest.raises(ExperimentError, match=message):
        plan(MAIN, setting, only=only, added=added)


def test_another_installed_system_joins_where_systems_are_compared(setting: Setting) -> None:
    def labels(found: Plan) -> list[str]:
        return [row.variant.label for row in found.rows]

    assert labels(plan(MAIN, setting, only=("ceaf",), added=("majority", "ceaf"))) == ["CEAF", "majority"]
    assert "majority" not in labels(plan(TOPK, setting, added=("majority",)))
    with pytest.raises(PluginError, match=r"no system 'majorities'. Fix: did you mean 'majority'"):
        plan(MAIN, setting, added=("majorities",))


def test_rows_that_were_not_asked_for_are_named(setting: Setting) -> None:
    found = plan(TOPK, setting, only=("K = 3",))
    assert found.left_out == {f"K = {k}": NOT_ASKED for k in (1, 2, 4, 5)}


def test_two_rows_are_never_one_run(setting: Setting) -> None:
    twice = replace(TOPK, variants=(TOPK.variants[0], replace(TOPK.variants[0], label="the same")))
    with pytest.raises(ExperimentError, match="'K = 1' and 'the same' are one and the same run"):
        plan(twice, setting)
