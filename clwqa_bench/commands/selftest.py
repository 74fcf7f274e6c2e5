"""Examine the scorer on a dataset: known submissions must score what they must, to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from clwqa_bench.commands.common import DATASET, DatasetOption, JsonOption
from clwqa_bench.commands.doctor import Check
from clwqa_bench.console import emit, progress
from clwqa_bench.errors import ValidationFailed
from clwqa_bench.records import Split

if TYPE_CHECKING:
    from clwqa_bench.selftest import Finding

QUICK = 500  # questions that `doctor` looks at


def selftest(
    dataset: DatasetOption = DATASET,
    split: Annotated[Split, typer.Option(help="Which gold to examine the scorer on.")] = "test",
    json: JsonOption = False,
) -> None:
    """Examine the scorer on a dataset: known submissions must score what they must, to the bit.

    Exit code 1 if one does not.

    Example: clwqa-bench selftest --split validation
    """
    with progress("selftest") as bar:
        findings = []
        for finding in _full(dataset, split):
            bar.note(f"{finding.check}: {'ok' if finding.ok else 'failed'}")
            findings.append(finding)
    emit([asdict(finding) for finding in findings], json, lambda _: _draw(findings))
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def checks() -> list[Check]:
    """What `clwqa-bench doctor` is told: the quick checks on the first questions of the test split."""
    if not (DATASET / "manifest.json").is_file():
        return [Check("selftest", "note", f"no dataset in {DATASET} to examine the scorer on", "make build")]
    return [Check.attempt("selftest", _quick)]


def _full(folder: Path, split: Split) -> Iterator[Finding]:
    from clwqa_bench import selftest as examine
    from clwqa_bench.dataset import Dataset
    from clwqa_bench.runs import gold_of

    exam = examine.Exam(gold_of(Dataset.open(folder), split))
    for check in examine.CHECKS:
        yield check(exam)
    yield examine.hash_seeds(folder, split)


def _quick() -> str:
    from clwqa_bench import selftest as examine
    from clwqa_bench.dataset import Dataset
    from clwqa_bench.grid import Gold
    from clwqa_bench.metrics import select
    from clwqa_bench.runs import gold_of

    gold = gold_of(Dataset.open(DATASET, verify=False), "test")
    exam = examine.Exam(Gold(gold.ref, gold.questions[:QUICK], gold.graph), select(["answers"]))
    findings = [check(exam) for check in examine.QUICK]
    if failed := [finding for finding in findings if not finding.ok]:
        what = "; ".join(f"{finding.check}: {finding.found}" for finding in failed)
        raise ValidationFailed(what, fix="trust no score of this installation; see `clwqa-bench selftest`")
    names = ", ".join(finding.check for finding in findings)
    return f"{names} on {len(exam.gold.questions)} questions as they must be"


def _draw(findings: list[Finding]) -> Table:
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        state = Text("ok", "green") if finding.ok else Text("failed", "bold red")
        table.add_row(state, finding.check, Text(finding.found))
    return table
