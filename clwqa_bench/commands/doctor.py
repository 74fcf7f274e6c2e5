"""Look at this machine and say what would stop a build or a run."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from clwqa_bench.console import emit
from clwqa_bench.errors import ClwqaError
from clwqa_bench.registry import CHECKS, COMMANDS, SYSTEMS, PluginError

ROOM = 1 << 30  # bytes: stages and finished dataset of a build, which asks for the same
OLDEST_PYTHON = (3, 11)

State = Literal["ok", "note", "failed"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: what was found and, if not ``ok``, what to do.  A ``note`` stops nothing.

    Packages add their own checks: an entry point in ``clwqa_bench.checks`` names a function without parameters
    that returns any number of these.
    """

    name: str
    state: State
    found: str
    fix: str = ""

    @classmethod
    def attempt(cls, name: str, look: Callable[[], str]) -> Check:
        """``ok`` with what ``look()`` says, or ``failed`` with the ClwqaError it raises."""
        try:
            return cls(name, "ok", look())
        except ClwqaError as error:
            place = f"{error.file}: " if error.file else ""
            return cls(name, "failed", place + error.what, error.fix)


def doctor(
    data: Annotated[Path, typer.Option(help="The dataset folder to look for.")] = Path("data/clwqa-100k"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Check this machine: Python, encoding, disk, sources, plug-ins, dataset.

    Exit code 1 if something would stop a build.

    Example: clwqa-bench doctor --json
    """
    checks = [
        _python(),
        _encoding(),
        _disk(data),
        _writable(data),
        *_plugins(),
        *_from_packages(),
        _dataset(data),
    ]
    emit([asdict(check) for check in checks], json, lambda _: _draw(checks))
    if any(check.state == "failed" for check in checks):
        raise typer.Exit(1)


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        return Check("python", "failed", version, "use Python 3.11 or newer")
    return Check("python", "ok", version)


def _encoding() -> Check:
    streams = {str(getattr(stream, "encoding", None)).lower() for stream in (sys.stdout, sys.stderr)}
    found = f"files {sys.getfilesystemencoding()}, output {', '.join(sorted(streams))}"
    if streams == {"utf-8"} and sys.getfilesystemencoding() == "utf-8":
        return Check("encoding", "ok", found)
    return Check("encoding", "failed", found, "set PYTHONUTF8=1")


def _disk(data: Path) -> Check:
    free = shutil.disk_usage(_nearest(data)).free
    found = f"{free / (1 << 30):.1f} GB free in {_nearest(data)}"
    if free < ROOM:
        return Check("disk", "failed", found, f"free {ROOM >> 30} GB or build on another disk")
    return Check("disk", "ok", found)


def _writable(data: Path) -> Check:
    folder = _nearest(data)
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"0")
    except OSError as error:
        return Check("output", "failed", f"{folder}: {error.strerror}", "build into a folder you may write")
    return Check("output", "ok", f"{folder} can be written")


def _nearest(path: Path) -> Path:
    """The innermost folder on the way to ``path`` that exists already."""
    return next(folder for folder in path.resolve().parents if folder.is_dir())


def _plugins() -> Iterator[Check]:
    for registry in (COMMANDS, SYSTEMS):
        broken = []
        for name in registry.names():
            try:
                registry.load(name)
            except PluginError as error:
                broken.append(Check(f"{registry.noun} {name}", "failed", error.what, error.fix))
        found = f"all {len(registry.names())} load" if registry.names() else "none installed"
        yield from broken or [Check(f"{registry.noun}s", "ok", found)]


def _from_packages() -> Iterator[Check]:
    for name in CHECKS.names():
        try:
            look: Callable[[], Iterable[Check]] = CHECKS.load(name)
        except PluginError as error:
            yield Check(name, "failed", error.what, error.fix)
        else:
            yield from look()


def _dataset(folder: Path) -> Check:
    from clwqa_bench.dataset import Dataset  # reads Parquet: not needed, and not paid for, until here

    if not folder.exists():
        return Check("dataset", "note", f"{folder} is not built yet", "make build")

    def open_it() -> str:
        manifest = Dataset.open(folder).manifest
        return f"{manifest.name} {manifest.version}: {len(manifest.files)} files intact"

    return Check.attempt("dataset", open_it)


def _draw(checks: Sequence[Check]) -> Table:
    styles = {"ok": "green", "note": "yellow", "failed": "bold red"}
    table = Table.grid(padding=(0, 2))
    table.add_column("state")
    table.add_column("check", no_wrap=True)
    table.add_column("found", overflow="fold")
    for check in checks:
        remedy = f"\n-> {check.fix}" if check.fix else ""
        table.add_row(Text(check.state, styles[check.state]), check.name, Text(check.found + remedy))
    return table
