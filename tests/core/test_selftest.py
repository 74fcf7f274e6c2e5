"""The self-test passes on a sound scorer, and every check fails when what it guards is damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clwqa_bench import matching, selftest
from clwqa_bench.commands import selftest as command
from clwqa_bench.dataset import Dataset
from clwqa_bench.grid import Gold, Grid
from clwqa_bench.metrics import base
from clwqa_bench.metrics.measure import Columns, Form, Settings
from clwqa_bench.predictions import Prediction
from clwqa_bench.runs import gold_of
from clwqa_bench.selftest import CHECKS, Exam, Finding, hash_seeds
from tests import tiny_dataset
from tests.conftest import Result

QUESTIONS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty questions after the tiny ones, with one to three answers; the name 史记 is borne by two books."""
    made = []
    for number in range(QUESTIONS):
        parts = [tiny_dataset.QUESTIONS[(number + step) % 7] for step in range(1 + number % 3)]
        answers = {part.answers[0].entity_id: part.answers[0] for part in parts}
        evidence = {triple: None for part in parts for triple in part.evidence}
        fields = {"answers": tuple(answers.values()), "evidence": tuple(evidence)}
        made.append(parts[0].model_copy(update={"id": f"t{number:02}", "split": "test", **fields}))
    target = tmp_path_factory.mktemp("selftest") / "tiny"
    twin = tiny_dataset.entity("book:史记/又", "Book", "史记")
    tiny_dataset.write(target, questions=made, entities=[*tiny_dataset.ENTITY_ROWS, twin])
    return target


@pytest.fixture
def exam(folder: Path) -> Exam:
    return Exam(gold_of(Dataset.open(folder, verify=False), "test"))


def failing(exam: Exam) -> set[str]:
    return {finding.check for finding in (check(exam) for check in CHECKS) if not finding.ok}


def test_a_sound_scorer_passes(exam: Exam) -> None:
    assert [f for f in (check(exam) for check in CHECKS) if not f.ok] == []


def test_what_is_reported_is_a_figure(exam: Exam) -> None:
    found = {finding.check: finding.found for finding in (check(exam) for check in CHECKS)}
    assert "chance 0." in found["shuffled gold"]
    books = [q for q in exam.gold.questions if q.target_element == "Book"]
    twins = sum(answer.entity_id == "book:史记" for question in books for answer in question.answers)
    assert f"{twins} ambiguous names" in found["names alone"]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_it_holds_on_the_smallest_gold(exam: Exam, size: int) -> None:
    assert failing(Exam(replace(exam.gold, questions=exam.gold.questions[:size]))) == set()


# --- damage -------------------------------------------------------------------------------------------------

Damage = Callable[[pytest.MonkeyPatch], None]


def measure(name: str, change: Callable[[Grid, Settings, Columns], Any]) -> Damage:
    """Change the columns of a measure."""

    def damage(patch: pytest.MonkeyPatch) -> None:
        sound = base.MEASURES[name]

        def damaged(form: Form) -> Form:
            def columns(grid: Grid, settings: Settings) -> Columns:
                found = form.columns(grid, settings)
                return replace(found, values=np.asarray(change(grid, settings, found), np.float64))

            return replace(form, columns=columns)

        forms = {agg: damaged(form) for agg, form in sound.forms.items()}
        patch.setitem(base.MEASURES, name, replace(sound, forms=forms))

    return damage


def matches(grid: Grid) -> matching.Matches:
    return grid.matches(matching.HEADLINE)


def nothing_to_find(grid: Grid, _: Settings, found: Columns) -> Any:
    """An empty answer counts as perfectly precise."""
    return np.where(matches(grid).items[:, None] == 0, 1.0, found.values)


def penalty(grid: Grid, _: Settings, found: Columns) -> Any:
    """Wrong answers are subtracted from the exact match."""
    m = matches(grid)
    return found.values - ((m.items > m.right) & (m.right == 0))[:, None]


def first_only(grid: Grid, _: Settings, found: Columns) -> Any:
    """An exact match asks for the first gold first."""
    firsts = [grid.match(row, matching.HEADLINE).credited[:1] == (0,) for row in range(len(grid))]
    return found.values * np.array(firsts, float)[:, None]


def diluted(grid: Grid, _: Settings, found: Columns) -> Any:
    """Recall falls with every item above the number of golds."""
    m = matches(grid)
    return found.values * (m.golds / np.maximum(m.golds, m.items))[:, None]


def by_position(patch: pytest.MonkeyPatch) -> None:
    """Predictions are joined by their place in the file."""

    def align(gold: Gold, predictions: list[Prediction]) -> Grid:
        padding = [None] * (len(gold.questions) - len(predictions))
        return Grid(gold, (*predictions, *padding))

    patch.setattr(selftest, "align", align)


def generous(patch: pytest.MonkeyPatch) -> None:
    """Any answer is right."""
    patch.setattr(matching._Matcher, "candidates", lambda self, _: range(len(self._golds)))


def careless(patch: pytest.MonkeyPatch) -> None:
    """A name is credited whoever else bears it."""
    patch.setattr(matching._Matcher, "_unambiguous", lambda self, surface, found: found)


def strict(patch: pytest.MonkeyPatch) -> None:
    """No name is credited without an id."""
    patch.setattr(matching._Matcher, "_unambiguous", lambda self, surface, found: [])


DAMAGES: dict[str, tuple[Damage, set[str]]] = {
    "a little less than 1": (
        measure("MRR", lambda grid, settings, found: found.values * (1 - 2**-52)),
        {"oracle", "halves"},
    ),
    "more than 1": (
        measure("E[Hits]", lambda grid, settings, found: found.values * 2),
        {"oracle", "halves", "bounds"},
    ),
    "an empty answer is precise": (measure("P", nothing_to_find), {"empty", "halves"}),
    "wrong answers are subtracted": (measure("EM", penalty), {"bounds"}),
    "order counts in a set": (measure("EM", first_only), {"order"}),
    "recall falls with length": (measure("Recall", diluted), {"monotone"}),
    "joined by position": (by_position, {"halves", "order"}),
    "everything is right": (generous, {"shuffled gold", "names alone"}),
    "ambiguous names are credited": (careless, {"names alone"}),
    "names are not credited": (strict, {"names alone"}),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_makes_the_right_checks_fail_and_no_other(
    exam: Exam, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    damage, expected = DAMAGES[name]
    damage(monkeypatch)
    assert failing(exam) == expected


def test_a_finding_names_the_first_faults(exam: Exam, monkeypatch: pytest.MonkeyPatch) -> None:
    measure("MRR", lambda grid, settings, found: found.values / 2)(monkeypatch)
    found = selftest.oracle(exam)
    assert found.found.startswith("MRR(match=alias,text>=0.8)@10 of all is 0.5; ")
    assert " more" in found.found


def test_a_metric_that_is_left_out_does_not_pass(exam: Exam, monkeypatch: pytest.MonkeyPatch) -> None:
    unranked = selftest.ideal

    def careless(question: Any, *, ids: bool = True) -> Prediction:
        return unranked(question, ids=ids).model_copy(update={"ranked": False})

    monkeypatch.setattr(selftest, "ideal", careless)
    assert "Hits(match=alias,text>=0.8)@1 is left out" in selftest.oracle(exam).found


# --- across processes ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_hash_seed_changes_nothing(folder: Path) -> None:
    assert hash_seeds(folder, "test").ok


def test_the_hash_seeds_do_differ(folder: Path) -> None:
    found = hash_seeds(folder, "test", code="print(hash('史记'))")
    assert (found.ok, found.check) == (False, "hash seed")


def test_a_process_that_dies_does_not_pass(folder: Path) -> None:
    assert not hash_seeds(folder, "test", code="raise SystemExit(1)").ok


# --- the commands -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_prints_a_line_for_every_check(cli: Callable[..., Result], folder: Path) -> None:
    done = cli("selftest", "--dataset", str(folder))
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()] == ["ok"] * (len(CHECKS) + 1)


def test_the_command_fails_when_a_check_does(
    cli: Callable[..., Result], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "CHECKS", (lambda exam: Finding("oracle", False, "F1 is 0.9"),))
    monkeypatch.setattr(selftest, "hash_seeds", lambda *_: Finding("hash seed", True, "the same"))
    done = cli("selftest", "--dataset", str(folder), "--json")
    assert done.code == 1
    assert json.loads(done.out) == [
        {"check": "oracle", "ok": False, "found": "F1 is 0.9"},
        {"check": "hash seed", "ok": True, "found": "the same"},
    ]


def test_doctor_is_told_about_a_sound_scorer_a_damaged_one_and_a_missing_dataset(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "DATASET", folder)
    (sound,) = command.checks()
    assert (sound.name, sound.state) == ("selftest", "ok")
    careless(monkeypatch)
    (damaged,) = command.checks()
    assert (damaged.state, "names alone" in damaged.found) == ("failed", True)
    monkeypatch.setattr(command, "DATASET", tmp_path)
    (missing,) = command.checks()
    assert (missing.state, missing.fix) == ("note", "make build")


@pytest.mark.slow
def test_the_real_dataset_passes(built: Path) -> None:
    exam = Exam(gold_of(Dataset.open(built, verify=False), "validation"))
    assert [found for found in (check(exam) for check in CHECKS) if not found.ok] == []
