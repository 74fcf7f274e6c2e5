"""`clwqa-bench experiment` as a user meets it: runs, tables, plots, resuming, budgets, errors."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from clwqa_baselines.experiments import plots
from clwqa_baselines.experiments.catalogue import CATALOGUE
from clwqa_baselines.experiments.definitions import EXPERIMENTS
from clwqa_baselines.experiments.plan import Setting, plan
from clwqa_baselines.experiments.session import Session, settled
from clwqa_baselines.experiments.tables import read_table
from clwqa_bench import forecast, runner
from clwqa_bench.dataset import Dataset
from clwqa_bench.llm.protocol import Limits, Options, Reply
from clwqa_bench.run_folder import RETRYABLE
from clwqa_bench.runner import Selection
from clwqa_bench.runs import ITEMS, MANIFEST
from tests import process
from tests.baselines.experiments.conftest import ASKED, planned
from tests.core.scripted import Scripted, content

Cli = Callable[..., Any]
Experiment = Callable[..., Any]

DIES = """
import os, signal, sys
from clwqa_bench.run_folder import RunWriter
append, left = RunWriter.append, int(sys.argv.pop(1))
def dying(self, item):
    global left
    left -= 1
    safe = append(self, item)
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return safe
RunWriter.append = dying
from clwqa_bench.cli import main
main()
"""
"""The program, killed when it has written so many predictions."""


@pytest.fixture
def experiment(cli: Cli, folder: Path, tmp_path: Path) -> Experiment:
    """``experiment("main", "--only", "ceaf")`` on the dataset of the tests, into `tmp_path`."""
    return lambda *arguments: cli(
        "experiment", *arguments, "--dataset", str(folder), "--out", str(tmp_path / "out")
    )


def runs(tmp_path: Path) -> dict[str, Path]:
    """Run folders by the system and settings in their name."""
    return {path.name.partition("-none_")[0]: path for path in (tmp_path / "out" / "runs").iterdir()}


# ---------------------------------------------------------------------- what it makes


def test_a_table_a_page_and_a_plot(experiment: Experiment, tmp_path: Path) -> None:
    found = experiment("topk", "--only", "K = 1", "--only", "K = 3")
    assert found.code == 0
    assert "Number of retained paths K (Table 4)" in found.out
    assert set(runs(tmp_path)) == {"ceaf", "ceaf-top_k=1"}
    table = read_table(tmp_path / "out" / "topk.json")
    assert [row.label for row in table.rows] == ["K = 1", "K = 3"]
    assert (
        (tmp_path / "out" / "topk.md").read_text(encoding="utf-8").startswith("# Number of retained paths K")
    )
    assert "</svg>" in (tmp_path / "out" / "topk.svg").read_text(encoding="utf-8")


def test_json_is_the_tables(experiment: Experiment, tmp_path: Path) -> None:
    found = experiment("latency", "dataset", "--json")
    latency, composition = json.loads(found.out)
    assert (latency["name"], composition["name"]) == ("latency", "dataset")
    assert latency == json.loads((tmp_path / "out" / "latency.json").read_bytes())


def test_a_second_experiment_asks_only_what_is_new(experiment: Experiment, tmp_path: Path) -> None:
    experiment("latency")
    lines = (runs(tmp_path)["ceaf"] / ITEMS).read_bytes()
    found = experiment("topk", "--only", "K = 3", "--only", "K = 1")
    assert f"{ASKED} questions are answered already" in " ".join(found.err.split())
    assert (runs(tmp_path)["ceaf"] / ITEMS).read_bytes() == lines


def test_experiments_of_one_command_share_runs(experiment: Experiment, tmp_path: Path) -> None:
    found = experiment("stagewise", "latency", "--only", "ceaf")
    assert found.err.count("run 1 of 1") == 1
    assert set(runs(tmp_path)) == {"ceaf"}


def test_a_sample_is_marked(experiment: Experiment, tmp_path: Path) -> None:
    found = experiment("latency", "--sample", "3", "--seed", "5")
    assert "a sample of 3 questions (seed 5)" in found.out
    assert read_table(tmp_path / "out" / "latency.json").sample == 3


def test_every_run_can_be_scored_by_itself(cli: Cli, folder: Path, session: Session) -> None:
    for row in planned(session, "main").rows:
        found = cli("score", str(row.folder), "--dataset", str(folder), "--json")
        assert found.code == 0, found.err


def test_without_a_name_experiments_are_listed(cli: Cli) -> None:
    listed = {row["name"]: row["paper"] for row in json.loads(cli("experiment", "--json").out)}
    assert set(listed) == {"dataset", *CATALOGUE}
    assert listed["ablation"] == "Table 5"


def test_what_it_says_of_itself(cli: Cli, snapshot: SnapshotAssertion) -> None:
    assert cli("experiment").out == snapshot


# ---------------------------------------------------------------------- stopping and going on


@pytest.mark.parametrize("lines", [1, ASKED, ASKED + 2], ids=["in the first", "between", "in the second"])
def test_killed_anywhere_the_same_command_ends_with_the_same_runs(
    lines: int, experiment: Experiment, folder: Path, tmp_path: Path, session: Session
) -> None:
    command = ("topk", "--only", "K = 1", "--only", "K = 3")
    place = ("--dataset", folder, "--out", tmp_path / "out")
    program = (sys.executable, "-c", DIES, str(lines))
    killed = process.run("experiment", *command, *place, program=program)
    assert killed.code == -signal.SIGKILL
    assert sum(len(content(path)) for path in runs(tmp_path).values()) == lines
    assert experiment(*command).code == 0
    for path in runs(tmp_path).values():
        assert content(path) == content(session.setting.runs / path.name)


def test_a_run_of_another_configuration_is_refused(experiment: Experiment, tmp_path: Path) -> None:
    experiment("latency")
    manifest = runs(tmp_path)["ceaf"] / MANIFEST
    manifest.write_text(
        manifest.read_text(encoding="utf-8").replace('"d_max": 3', '"d_max": 2'), encoding="utf-8"
    )
    found = experiment("latency")
    assert found.code == 2
    assert "config.d_max is 2 there and 3 now" in " ".join(found.err.split())


def test_tables_of_what_was_run_before(experiment: Experiment, tmp_path: Path) -> None:
    experiment("topk", "--only", "K = 1")
    items = runs(tmp_path)["ceaf-top_k=1"] / ITEMS
    items.write_bytes(b"".join(items.read_bytes().splitlines(keepends=True)[:-2]))
    found = experiment("topk", "--no-run")
    assert found.code == 1
    said = " ".join(found.out.split())
    assert "K = 1 (PARTIAL: 2 missing)" in said
    assert "K = 5 [none/lexical] (not run yet)" in said
    assert set(runs(tmp_path)) == {"ceaf-top_k=1"}


# ---------------------------------------------------------------------- models, budgets, dry runs


class Spends(Scripted):
    """Replies for half a dollar while the budget of its run lasts."""

    async def do(self, task: Any) -> Reply[Any]:
        if self.options.limits.cost is not None and len(self.asked) >= 2 * self.options.limits.cost:
            return Reply("skipped", error="the budget is used up")
        return await super().do(task)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Scripted]:
    """Models that were opened to be asked, in turn; each names itself by the spec."""
    models: list[Scripted] = []

    def open_llm(spec: str, resources: Any, options: Options) -> Scripted:
        model = Spends(model=spec, options=options)
        if not options.dry:
            models.append(model)
        return model

    monkeypatch.setattr(runner, "open_llm", open_llm)
    monkeypatch.setattr(forecast, "open_llm", open_llm)
    return models


def test_several_models_become_rows(experiment: Experiment, tmp_path: Path, opened: list[Scripted]) -> None:
    only = ("--only", "zero-shot", "--only", "kg-lookup")
    assert experiment("main", *only, "--llm", "one", "--llm", "two").code == 0
    rows = read_table(tmp_path / "out" / "main.json").rows
    assert [(row.label, row.backbone) for row in rows] == [
        ("Zero-Shot", "test/one"), ("one-step lookup", "none/lexical"), ("Zero-Shot", "test/two"),
    ]  # fmt: skip
    assert [model.model for model in opened] == ["one", "two"]


def test_notes_on_runs_without_a_model_are_left_out_where_there_are_none(
    experiment: Experiment, tmp_path: Path, opened: list[Scripted]
) -> None:
    def notes(*llms: str) -> str:
        experiment("cost", "--only", "zero-shot", *(part for llm in llms for part in ("--llm", llm)))
        return " ".join(read_table(tmp_path / "out" / "cost.json").notes)

    assert "llm=none/lexical" not in notes("one")
    assert "llm=none/lexical" in notes("one", "lexical")


def test_one_budget_for_all_runs(experiment: Experiment, tmp_path: Path, opened: list[Scripted]) -> None:
    command = ("main", "--only", "zero-shot", "--only", "cot", "--no-cache", "--max-cost")
    found = experiment(*command, "5")
    assert [model.options.limits.cost for model in opened] == [5, 5 - ASKED / 2]
    assert "the budget is used up" in found.err
    assert f"CoT (PARTIAL: {2 * ASKED - 10} skipped)" in " ".join(found.out.split())
    assert found.code == 1
    again = experiment(*command, "5", "--retry")
    assert again.code == 0
    assert sum(len(model.asked) for model in opened) == 2 * ASKED


def test_nothing_more_is_begun_when_the_budget_is_used_up(
    experiment: Experiment, tmp_path: Path, opened: list[Scripted]
) -> None:
    found = experiment("main", "--only", "zero-shot", "--only", "cot", "--max-cost", "1")
    assert len(opened) == 1
    assert "CoT [test/lexical] (not run yet)" in " ".join(found.out.split())


def test_a_budget_that_ends_in_the_last_run_is_used_up(
    dataset: Dataset, tmp_path: Path, opened: list[Scripted]
) -> None:
    options = Options(limits=Limits(cost=1))
    setting = Setting(dataset, Selection("test"), tmp_path / "runs", ("one",), options)
    assert not Session(setting, tmp_path).run([plan(EXPERIMENTS["main"], setting, only=("zero-shot",))])


@pytest.mark.parametrize("status", sorted(RETRYABLE))
def test_only_questions_that_are_asked_again_are_paid_again(
    status: str, session: Session, tmp_path: Path
) -> None:
    row, *_ = planned(session, "latency").rows
    run = tmp_path / "run"
    shutil.copytree(row.folder, run)
    first, *others = map(json.loads, (run / ITEMS).read_text(encoding="utf-8").splitlines())
    first |= {"status": status, "answers": [], "error": "told to fail"}
    (run / ITEMS).write_text("".join(f"{json.dumps(item)}\n" for item in (first, *others)), encoding="utf-8")
    everything = {item["id"] for item in (first, *others)}
    assert settled(run, retry=False) == everything
    assert settled(run, retry=True) == everything - {first["id"]}


def test_a_dry_run_asks_nothing_and_adds_up(
    experiment: Experiment, tmp_path: Path, opened: list[Scripted]
) -> None:
    found = experiment("main", "--only", "zero-shot", "--only", "cot", "--llm", "one", "--dry-run")
    assert found.code == 0
    assert not opened or all(model.model == "lexical" for model in opened), "only stand-ins"
    assert not (tmp_path / "out").exists()
    assert "zero-shot [test/one]" in found.out
    [total] = [line for line in found.out.splitlines() if "all runs" in line]
    assert total.split()[2:4] == [str(2 * ASKED)] * 2
    assert total.split()[-1] == f"{0.25 * 2 * ASKED:.4f}"


# ---------------------------------------------------------------------- bad input, missing packages


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("topq",), "there is no experiment 'topq'. Fix: did you mean 'topk'"),
        (("zzz",), "use one of dataset, main, hops"),
        (("topk", "--only", "tog"), "'topk' has no row 'tog'"),
        (("main", "--system", "nobody"), "there is no system 'nobody'"),
        (("topk", "--system", "majority"), "no experiment here compares systems"),
        (("main", "--only", "ceaf", "--llm", "gpt"), "there is no language model 'gpt'"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], said: str, experiment: Experiment, tmp_path: Path) -> None:
    found = experiment(*arguments)
    assert found.code == 2
    assert said in " ".join(found.err.split())
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_there_is_no_plot(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = experiment("latency")
    assert found.code == 0
    assert "no plot: matplotlib is not installed" in " ".join(found.err.split())
    assert not (tmp_path / "out" / "latency.svg").exists()
    assert "latency.svg" not in (tmp_path / "out" / "latency.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["main", "hops", "topk", "latency"])
def test_a_plot_is_the_same_for_the_same_table(name: str, session: Session, tmp_path: Path) -> None:
    table, plot = session.table(planned(session, name)), EXPERIMENTS[name].plot
    drawn = []
    for place in ("first.svg", "second.svg"):
        plots.draw(table, plot, tmp_path / place)
        drawn.append((tmp_path / place).read_text(encoding="utf-8"))
    assert drawn[0] == drawn[1]
    assert f"{table.title}" in drawn[0]
    labels = {row.label for row in table.rows} if name != "topk" else {"K"}
    assert all(label in drawn[0] for label in labels)
