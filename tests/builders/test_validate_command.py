"""`clwqa-bench validate` as a user sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clwqa_builders.validate.registry import RULES
from tests import tiny_dataset as tiny

# The tiny dataset has templates of its own, so the rules that read the packaged ones are left out here.
RULES_HERE = "files-match-manifest,schema,unique-ids,template-residue,length-outlier"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny.write(tmp_path / "data")
    return tmp_path / "data"


def reword(folder: Path, text: str) -> None:
    tiny.write(
        folder, questions=[tiny.QUESTIONS[0].model_copy(update={"question": text}), *tiny.QUESTIONS[1:]]
    )


def test_a_valid_folder_exits_with_0(cli: Callable[..., object], folder: Path) -> None:
    result = cli("validate", str(folder), "--rules", RULES_HERE)
    assert result.code == 0
    assert "7 questions: no errors, 0 errors, 0 warnings" in result.out


def test_an_error_exits_with_1_and_is_shown(cli: Callable[..., object], folder: Path) -> None:
    reword(folder, "成语“守株待兔”出自{何篇}？")
    result = cli("validate", str(folder), "--rules", RULES_HERE)
    assert result.code == 1
    assert "template-residue: q1 question: left over from a template: '{'" in result.out
    assert "7 questions: not valid, 1 errors, 0 warnings" in result.out


def test_a_warning_alone_exits_with_0(cli: Callable[..., object], folder: Path) -> None:
    reword(folder, "守株待兔？")
    result = cli("validate", str(folder), "--rules", RULES_HERE, "--json")
    report = json.loads(result.out)
    assert result.code == 0
    assert (report["ok"], report["errors"], report["warnings"]) == (True, 0, 1)
    assert [r["rule"] for r in report["rules"] if r["count"]] == ["length-outlier"]
    assert report["rules"][-1]["findings"] == [
        {"rule": "length-outlier", "question": "q1", "field": "question", "message": "5 characters"}
    ]


def test_rules_are_listed_without_a_folder(cli: Callable[..., object]) -> None:
    result = cli("validate", "--list", "--json")
    assert result.code == 0
    assert [entry["id"] for entry in json.loads(result.out)] == [rule.id for rule in RULES]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-folder"], "manifest.json is missing"),
        ([], "name the dataset folder"),
    ],
)
def test_bad_input_exits_with_2(cli: Callable[..., object], arguments: list[str], message: str) -> None:
    result = cli("validate", *arguments)
    assert result.code == 2
    assert message in result.err


def test_a_wrong_rule_name_is_corrected(cli: Callable[..., object], folder: Path) -> None:
    result = cli("validate", str(folder), "--rules", "shema")
    assert result.code == 2
    assert "did you mean 'schema'" in result.err
