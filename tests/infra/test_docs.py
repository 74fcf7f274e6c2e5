"""The documentation is true: its commands run, and they print what the pages show.

In README.md and docs/ a ```console block is run: ``$ `` begins a command, the lines below it are what it
prints, ``...`` stands for anything.  A ```bash or ```text block is for reading only.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@dataclass(frozen=True)
class Session:
    """One command of a page and the output the page shows for it."""

    place: str
    command: str
    shown: str


def sessions(page: Path) -> list[Session]:
    name = page.relative_to(REPOSITORY).as_posix()
    found = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            found.append(Session(f"{name}: {command}", command, shown))
    return found


ALL = [session for page in PAGES for session in sessions(page)]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with `clwqa-bench` in it, whether or not the package is installed in this environment."""
    script = tmp_path / "clwqa-bench"
    code = "from clwqa_bench.cli import main; main()"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return tmp_path


@pytest.mark.slow
@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("session", ALL, ids=[session.place for session in ALL])
def test_a_command_of_the_documentation_prints_what_the_page_shows(session: Session, program: Path) -> None:
    environment = os.environ | {
        "PATH": f"{program}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "COLUMNS": "100",
    }
    done = subprocess.run(
        session.command,
        shell=True,
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    flags = ELLIPSIS | NORMALIZE_WHITESPACE
    if session.shown and not OutputChecker().check_output(session.shown, done.stdout, flags):
        pytest.fail(f"{session.place} prints:\n{done.stdout}")


def test_the_first_page_shows_a_real_session() -> None:
    assert sessions(REPOSITORY / "README.md")


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_between_files_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
