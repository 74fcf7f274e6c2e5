"""`clwqa-bench validate`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from clwqa_bench.console import emit, progress
from clwqa_bench.errors import DatasetError, ValidationFailed
from clwqa_builders.validate.model import Rule
from clwqa_builders.validate.registry import RULES, select
from clwqa_builders.validate.report import Outcome, Report, run_rules
from clwqa_builders.validate.stored import SAMPLE, gold_equals_store
from clwqa_builders.validate.tables import DatasetTables

FIRST = 5


def validate(
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="The dataset folder.")] = None,
    rules: Annotated[str, typer.Option("--rules", help="Only these rules, separated by commas.")] = "",
    uri: Annotated[
        str,
        typer.Option(
            "--uri",
            help="Also execute stored queries in this graph store: bolt://..., http://..., oxigraph:PATH.",
        ),
    ] = "",
    sample: Annotated[int, typer.Option(min=0, help="How many are executed there; 0 for all.")] = SAMPLE,
    list_rules: Annotated[bool, typer.Option("--list", help="List the rules and stop.")] = False,
    json_mode: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Check a built dataset: every rule with its id, severity and findings.

    Exit code 0: no errors (warnings may stand); 1: errors; 2: no such folder or rule.

    With --uri a graph server is asked as well: the stored Cypher over Bolt, else the stored SPARQL. The user may
    stand in the address, a password in the environment variable CLWQA_STORE_PASSWORD.

    Example: clwqa-bench validate data/clwqa-100k --rules schema,unique-ids
    """
    if list_rules:
        rows = [{"id": r.id, "severity": r.severity, "description": r.description} for r in RULES]
        emit(rows, json_mode, _rule_table)
        return
    if folder is None:
        raise typer.BadParameter("name the dataset folder", param_hint="DIR")
    names = [name.strip() for name in rules.split(",") if name.strip()] or None
    chosen = _selected(names, gold_equals_store(uri, sample) if uri else None)
    with progress("validate", total=len(chosen)) as bar:
        report = run_rules(
            DatasetTables.open(folder), chosen, lambda outcome: bar.advance(), os.cpu_count() or 1
        )
    if json_mode:
        emit(report.as_dict(), True, str)
    else:
        emit(report, False, render)
    if not report.ok:
        raise typer.Exit(1)


def _selected(names: list[str] | None, stored: Rule | None) -> tuple[Rule, ...]:
    """The rules asked for, and the one on a graph store; an unknown name is bad input, not a failed check."""
    more = () if stored is None else (stored,)
    if names is not None:
        names = [name for name in names if stored is None or name != stored.id]
    try:
        return (*select(names), *more)
    except ValidationFailed as error:
        raise DatasetError(error.what, fix=error.fix, field="--rules") from error


def render(report: Report) -> RenderableType:
    """The table of rules, then the first findings of every rule that has some."""
    table = Table("rule", "severity", Column("findings", justify="right"))
    for outcome in report.outcomes:
        count = "not run" if outcome.skipped else str(outcome.count)
        table.add_row(outcome.rule, outcome.severity, count, style=_style(outcome))
    lines = [Text(line) for outcome in report.outcomes for line in _lines(outcome)]
    verdict = "no errors" if report.ok else "not valid"
    counts = f"{report.count('error'):,} errors, {report.count('warning'):,} warnings"
    return Group(table, *lines, Text(f"{report.questions:,} questions: {verdict}, {counts}"))


def _lines(outcome: Outcome) -> list[str]:
    if outcome.skipped:
        return [f"{outcome.rule}: not run: {outcome.skipped}"]
    places = (" ".join(filter(None, (f.question, f.field))) for f in outcome.findings)
    lines = [
        f"{outcome.rule}: {place}: {f.message}" for place, f in zip(places, outcome.findings, strict=True)
    ]
    more = outcome.count - FIRST
    return lines[:FIRST] + ([f"{outcome.rule}: ... and {more} more"] if more > 0 else [])


def _style(outcome: Outcome) -> str:
    if outcome.skipped or (outcome.count and outcome.severity == "error"):
        return "red"
    return "yellow" if outcome.count else ""


def _rule_table(rows: list[dict[str, str]]) -> Table:
    table = Table(
        Column("rule", no_wrap=True),
        Column("severity", no_wrap=True),
        Column("what it checks", overflow="fold"),
    )
    for row in rows:
        table.add_row(row["id"], row["severity"], row["description"])
    return table
