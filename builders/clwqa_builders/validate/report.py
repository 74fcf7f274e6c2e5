"""Running rules over a dataset folder, and the report of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from clwqa_bench.errors import ClwqaError, ValidationFailed
from clwqa_builders.parallel import parallel_map
from clwqa_builders.validate.model import Finding, Rule, Severity
from clwqa_builders.validate.registry import select
from clwqa_builders.validate.tables import DatasetTables

SHOWN = 20
"""Findings of one rule that are kept; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One rule's result: the number of findings, the first `SHOWN` of them, or why it could not run."""

    rule: str
    severity: Severity
    count: int
    findings: tuple[Finding, ...]
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The outcomes of all rules, in the order they ran."""

    outcomes: tuple[Outcome, ...]
    questions: int

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings shown of rules that are errors; such a rule that could not run is one finding itself."""
        return tuple(
            finding
            for outcome in self.outcomes
            if outcome.severity == "error"
            for finding in (*outcome.findings, *_not_run(outcome))
        )

    @property
    def ok(self) -> bool:
        """True if every rule that is an error ran and found nothing."""
        return not self.errors

    def count(self, severity: Severity) -> int:
        """All findings of a severity, shown or not."""
        return sum(outcome.count for outcome in self.outcomes if outcome.severity == severity)

    def fired(self) -> set[str]:
        """Ids of the rules that found something."""
        return {outcome.rule for outcome in self.outcomes if outcome.count}

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data; equal datasets give equal reports."""
        totals = {"errors": self.count("error"), "warnings": self.count("warning")}
        return {
            "ok": self.ok,
            "questions": self.questions,
            **totals,
            "rules": [asdict(o) for o in self.outcomes],
        }


def _not_run(outcome: Outcome) -> tuple[Finding, ...]:
    return (Finding(outcome.rule, "", "", f"not run: {outcome.skipped}"),) if outcome.skipped else ()


def validate_dataset(
    root: str | Path,
    rules: Sequence[str] | None = None,
    *,
    templates_dir: Path | None = None,
    after_rule: Callable[[Outcome], None] = lambda outcome: None,
    workers: int = 1,
) -> Report:
    """Check a dataset folder with the named rules (default: all); `after_rule` is told every outcome.

    Raises DatasetError when the folder has no readable manifest, ValidationFailed for an unknown rule name.
    """
    return run_rules(DatasetTables.open(Path(root), templates_dir), select(rules), after_rule, workers)


def require_valid(
    root: Path, fix: str, workers: int = 1, *, told: Path | None = None, templates_dir: Path | None = None
) -> None:
    """Check a dataset just made with every rule and write the report into the file ``told``, if one is named.

    Raises ValidationFailed with the first errors if there are any.
    """
    report = validate_dataset(root, templates_dir=templates_dir, workers=workers)
    if told:
        told.write_bytes(orjson.dumps(report.as_dict(), option=orjson.OPT_INDENT_2))
    if not report.ok:
        first = "; ".join(f"{f.rule} {f.question or ''}: {f.message}" for f in report.errors[:5])
        what = f"{report.count('error')} errors in the questions made, the first: {first}"
        raise ValidationFailed(what, fix=fix)


def run_rules(
    tables: DatasetTables,
    rules: Sequence[Rule],
    after_rule: Callable[[Outcome], None] = lambda outcome: None,
    workers: int = 1,
) -> Report:
    """Run rules over tables already opened, one of `workers` processes taking the next rule at a time."""
    outcomes = parallel_map(
        lambda number: _run(rules[number], tables), range(len(rules)), workers, after_rule
    )
    return Report(tuple(outcomes), tables.manifest.counts.get("questions", 0))


def _run(rule: Rule, tables: DatasetTables) -> Outcome:
    """One rule; a table it cannot read makes it skipped, not passed (the rules on files say what is wrong)."""
    try:
        faults = rule.check(tables)
        first = tuple(Finding(rule.id, *fault) for fault in islice(faults, SHOWN))
        return Outcome(rule.id, rule.severity, len(first) + sum(1 for _ in faults), first)
    except ClwqaError as error:
        return Outcome(rule.id, rule.severity, 0, (), skipped=str(error))
