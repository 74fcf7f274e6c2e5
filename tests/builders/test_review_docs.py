"""The example of docs/review.md: its commands are run, its readers' verdicts filled in, what it shows compared."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from typing import Any

import pytest

from clwqa_builders.review.forms import QUESTIONS
from tests.builders.review_folder import ENTRY, as_csv, column, filled, table, tiny

PAGE = Path(__file__).resolve().parents[2] / "docs" / "review.md"
PART = re.compile(r"^```(bash|text)\n(.*?)^```$|^((?:\| [甲乙丙] \|[^\n]*\n)+)", re.MULTILINE | re.DOTALL)
CRITERIA = [criterion.id for criterion in QUESTIONS.criteria]


def parts() -> Iterator[tuple[str, str]]:
    for language, block, rows in PART.findall(PAGE.read_text(encoding="utf-8")):
        yield language or "verdicts", block or rows


def fill_in(rows: str) -> None:
    """Do what the readers of a table do: pass everything but what it lists."""
    listed = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows.splitlines()]
    for reader in {row[0] for row in listed}:
        own = {(item, criterion): verdict for name, item, criterion, verdict, _ in listed if name == reader}
        [path] = Path("reviews/first").rglob(f"{reader}*.csv")
        sheet = filled(table(path), lambda *cell, own=own: own.get(cell, "通过"), CRITERIA)  # type: ignore[misc]
        for name, item, _, _, comment in listed:
            for row in sheet[1:]:
                if (name, item) == (reader, row[column(sheet, "item")]):
                    row[column(sheet, "comment")] = comment
        path.write_text(as_csv(sheet), encoding="utf-8-sig")


def test_the_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., Any], install: Callable[..., Path]
) -> None:
    install("review-command", "1.0", {}, ENTRY)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tiny(), "data/tiny")
    seen, printed = list[str](), ""
    for kind, content in parts():
        seen.append(kind)
        if kind == "verdicts":
            fill_in(content)
        elif kind == "text":
            checker = OutputChecker()
            assert checker.check_output(content, printed, ELLIPSIS | NORMALIZE_WHITESPACE), printed
        else:
            for line in content.splitlines():
                _, *words = shlex.split(line)
                arguments = [
                    str(found) for word in words for found in (Path().glob(word) if "*" in word else [word])
                ]
                done = cli(*arguments)
                assert done.code == 0, done.err
                printed = done.out
    assert seen == ["bash", "verdicts", "bash", "text", "bash", "text", "verdicts", "bash", "text"]
    card = Path("data/tiny/README.md").read_text(encoding="utf-8")
    assert "| evidence | 7 | 85.7 % [48.7, 97.4] | 100.0 % [64.6, 100.0] |" in card
