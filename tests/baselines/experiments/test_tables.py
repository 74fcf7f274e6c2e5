"""Figures and tables: every number is the one its run gives when it is scored, diagnosed or added up by itself."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clwqa_bench
from clwqa_baselines.experiments import measure
from clwqa_baselines.experiments.composition import composition
from clwqa_baselines.experiments.elsewhere import HEADED
from clwqa_baselines.experiments.measure import measured
from clwqa_baselines.experiments.render import markdown
from clwqa_baselines.experiments.session import Session
from clwqa_baselines.experiments.tables import (
    NOT_RUN,
    Figure,
    Heading,
    Row,
    Table,
    TableError,
    read_table,
    tabulate,
)
from clwqa_bench.dataset import Dataset
from clwqa_bench.diagnostics import diagnose
from clwqa_bench.grid import Grid
from clwqa_bench.metrics.suite import HEADLINE
from clwqa_bench.predictions import DatasetRef
from clwqa_bench.runs import gold_of, read_run
from clwqa_bench.scoring import score
from tests.baselines.experiments.conftest import ASKED, planned


def grid_of(session: Session, table: Table, label: str) -> Grid:
    run = next(row.run for row in table.rows if row.label == label)
    return read_run(session.setting.runs / run).on(gold_of(session.setting.dataset, "test"))


def cell(table: Table, label: str, heading: str) -> Figure:
    [found] = [row.cells[table.place(heading)] for row in table.rows if row.label == label]
    assert found is not None
    return found


# ---------------------------------------------------------------------- the same numbers


@pytest.mark.parametrize("label", ["CEAF", "one-step lookup"])
def test_scores_are_those_of_the_run(label: str, session: Session) -> None:
    main, hops = (session.table(planned(session, name)) for name in ("main", "hops"))
    expected = score(grid_of(session, main, label), HEADLINE).table
    for table in (main, hops):
        for column in table.columns:
            direct = expected.cell(column.figure, column.stratum)
            [shown] = [row.cells[table.place(column.heading)] for row in table.rows if row.label == label]
            assert shown == (
                direct and Figure(value=direct.value, low=direct.low, high=direct.high, n=direct.n)
            )
            assert shown is not None or column.stratum.startswith("view="), "these questions are in no view"
    assert (main.questions, main.sample) == (ASKED, None)


def test_indicators_are_those_of_diagnose(session: Session) -> None:
    table = session.table(planned(session, "stagewise"))
    grid = grid_of(session, table, "CEAF")
    expected = diagnose(grid, session.setting.dataset.kg().ontology)
    for column in table.columns:
        direct = expected.cell(column.figure.removeprefix("stage/"))
        [found] = [row.cells[table.place(column.heading)] for row in table.rows if row.label == "CEAF"]
        assert (found and found.value) == (direct and direct.value)


def test_the_other_systems_have_indicators_and_times_of_whole_questions(session: Session) -> None:
    stages, times = (session.table(planned(session, name)) for name in ("stagewise", "latency"))
    assert cell(stages, "one-step lookup", "(iii) supporting path retrieved").value > 0
    [ceaf] = [row for row in times.rows if row.label == "CEAF: whole question"]
    [lookup] = [row for row in times.rows if row.label.startswith("one-step lookup")]
    assert lookup.label == "one-step lookup"
    assert [figure is None for figure in lookup.cells] == [figure is None for figure in ceaf.cells]


def test_what_a_question_takes_is_the_mean_of_what_is_written_down(session: Session) -> None:
    table = session.table(planned(session, "cost"))
    grid = grid_of(session, table, "CEAF")
    usage = [stage for p in grid.predictions if p is not None for stage in p.usage.values()]
    assert cell(table, "CEAF", "calls").value == sum(stage.calls for stage in usage) / ASKED == 2
    assert cell(table, "CEAF", "ms").value == pytest.approx(sum(s.seconds for s in usage) / ASKED)
    assert cell(table, "one-step lookup", "calls").value == 0


def test_the_parts_of_the_time_make_the_whole(session: Session) -> None:
    table = session.table(planned(session, "latency"))
    *parts, whole = [row.label for row in table.rows if row.label.startswith("CEAF")]
    assert whole == "CEAF: whole question"
    for heading in ("mean, ms", "share"):
        total = sum(cell(table, part, heading).value for part in parts)
        assert total == pytest.approx(cell(table, whole, heading).value)
    grid = grid_of(session, session.table(planned(session, "main")), "CEAF")
    seconds = [sum(s.seconds for s in p.usage.values()) for p in grid.predictions if p is not None]
    assert cell(table, whole, "p99, ms").value == pytest.approx(np.percentile(seconds, 99))


def test_the_share_from_the_cache_is_told_of_the_whole_question(session: Session) -> None:
    table = session.table(planned(session, "latency"))
    place = table.place("from the cache")
    *parts, whole = [row.cells[place] for row in table.rows if row.label.startswith("CEAF")]
    assert parts == [None] * len(parts)
    assert whole is not None
    assert whole.value == 0


def test_oracle_rows_are_of_oracle_runs(session: Session) -> None:
    table = session.table(planned(session, "oracle"))
    assert {row.label: row.oracle for row in table.rows} == {
        "CEAF": (), "gold anchors": ("anchors",), "gold elements": ("elements",), "gold stage 1": ("stage1",),
        "gold evidence": ("evidence",), "relaxation": (),
    }  # fmt: skip
    assert cell(table, "gold evidence", "Hits@1").value == 1


def test_a_ratio_by_nothing_is_nothing() -> None:
    assert measure.ratio(np.array([[1.0, 2.0], [0.0, 0.0]])).tolist() == [0.5, 0.0]


def test_a_dataset_by_category_and_hops(dataset: Dataset) -> None:
    table = composition(dataset)
    counts = {row.label: [f.value for f in row.cells if f] for row in table.rows}
    assert counts["history_geography"] == [12, 6 / 7, 6, 6 / 7]
    assert counts["4+ hop"] == [2, 1 / 7, 1, 1 / 7]
    assert (table.questions, table.dataset.split) == (14, "all")


# ---------------------------------------------------------------------- kept figures


def test_figures_are_kept_until_the_predictions_change(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [row] = [row for row in planned(session, "latency").rows if row.variant.label == "CEAF"]
    gold, ontology = gold_of(session.setting.dataset, "test"), session.setting.dataset.kg().ontology
    run = tmp_path / row.folder.name
    run.mkdir()
    for name in ("run.json", "items.jsonl"):
        (run / name).write_bytes((row.folder / name).read_bytes())
    first = measured(run, gold, ontology, tmp_path / "figures")

    def unwanted(*_: Any) -> None:
        raise AssertionError("measured again")

    with monkeypatch.context() as patch:
        patch.setattr(measure, "_measure", unwanted)
        assert measured(run, gold, ontology, tmp_path / "figures") == first
    lines = (run / "items.jsonl").read_bytes().splitlines(keepends=True)
    (run / "items.jsonl").write_bytes(b"".join(lines[1:]))
    again = measured(run, gold, ontology, tmp_path / "figures")
    assert again is not None
    assert again.statuses["missing"] == 1


@pytest.mark.parametrize("changed", ["diagnostics", "metrics", "stats", "scoring.py"])
def test_figures_are_taken_again_when_the_code_has_changed(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = tmp_path / "clwqa_bench"
    shutil.copytree(Path(clwqa_bench.__file__).parent, core)
    monkeypatch.setattr(clwqa_bench, "__file__", str(core / "__init__.py"))
    before = measure.code_digest.__wrapped__()
    file = measure.sources(core / changed)[-1]
    file.write_bytes(file.read_bytes() + b"# changed\n")
    assert measure.code_digest.__wrapped__() != before


def test_a_run_without_predictions_has_no_figures(session: Session, tmp_path: Path) -> None:
    gold = gold_of(session.setting.dataset, "test")
    assert measured(tmp_path / "none", gold, session.setting.dataset.kg().ontology, tmp_path) is None


# ---------------------------------------------------------------------- as they are shown


def test_runs_that_are_not_there_are_named(session: Session) -> None:
    plan = planned(session, "topk")
    figures = {plan.rows[0].folder: None}
    table = tabulate(plan, figures, session._gold.ref)
    assert table.rows == ()
    assert table.partial
    assert table.left_out["K = 5 [none/lexical]"] == NOT_RUN


def made_up(**fields: Any) -> Table:
    """A table of one row with one number."""
    row = Row(
        label="mine",
        backbone="test/a|b",
        run="mine-1",
        cells=(Figure(value=0.5, low=0.25, high=0.75, n=40),),
        **fields.pop("row", {}),
    )
    table = Table(
        name="main",
        title="Made up",
        paper="Table 2",
        dataset=DatasetRef(name="toy", version="1.0", content="c0ffee", split="test"),
        questions=40,
        columns=(Heading(heading="Hits@1", figure="Hits@1", unit="percent"),),
        rows=(row,),
    )
    return table.model_copy(update=fields)


def test_a_page_says_what_its_numbers_are_of() -> None:
    page = markdown(made_up(sample=40, seed=3, left_out={"ToG": "no such system is installed"}))
    assert "| mine | test/a\\|b | 50.0 [25.0, 75.0] |" in page
    for fact in (
        "toy 1.0 (c0ffee), test split, a sample of 40 questions (seed 3)", "llm=test/a\\|b", "95% intervals",
        "ToG (no such system is installed)", "Reported elsewhere, other data and models", "87.1",
    ):  # fmt: skip
        assert fact in page


def test_a_partial_run_is_marked() -> None:
    table = made_up(row={"statuses": {"ok": 37, "timeout": 2, "missing": 1}})
    assert table.partial
    assert "mine (PARTIAL: 2 timeout, 1 missing)" in markdown(table)
    assert not made_up(row={"statuses": {"ok": 39, "refused": 1}}).partial


@pytest.mark.parametrize(
    ("name", "unit"),
    [("main", "; per cent)"), ("dataset", "; shares in per cent)"), ("cost", "5.5.5)"), ("hops", "5.5.1.4)")],
)
def test_figures_from_elsewhere_are_in_their_unit(name: str, unit: str) -> None:
    [heading] = [line for line in markdown(made_up(name=name)).splitlines() if HEADED in line]
    assert heading.removesuffix(":").endswith(unit)


def test_few_questions_are_marked() -> None:
    row = made_up().rows[0].model_copy(update={"cells": (Figure(value=0.5, n=7),)})
    page = markdown(made_up(rows=(row,)))
    assert "| 50.0\\* |" in page
    assert "on fewer than 30 questions" in page


def test_a_table_is_read_as_it_was_written(session: Session, tmp_path: Path) -> None:
    table = session.table(planned(session, "main"))
    session.write(table)
    assert read_table(session.out / "main.json") == table
    broken = json.loads((session.out / "main.json").read_bytes()) | {"questions": "many"}
    (tmp_path / "main.json").write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(TableError, match="field questions"):
        read_table(tmp_path / "main.json")
    with pytest.raises(TableError, match="no table here"):
        read_table(tmp_path / "none.json")
