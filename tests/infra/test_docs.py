"""The documentation is true: what it shows runs, prints what the pages say, and its figures are the built data's.

In README.md and docs/ a ```console block is run: ``$ `` begins a command, the lines below it are what it prints,
``...`` stands for anything.  The ```python blocks of a page are run in order, ```pycon blocks with their output
compared; ```toml blocks are read by what reads such files.  A ```bash or ```text block is for reading only.
"""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from types import ModuleType

import pytest

from clwqa_bench.errors import BuildError
from clwqa_bench.ontology import Ontology
from clwqa_builders.questions.templates import parse_template
from clwqa_builders.sources.catalogue import Catalogue
from tests.conftest import REPOSITORY, building

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(console|python|pycon|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
FLAGS = ELLIPSIS | NORMALIZE_WHITESPACE


def blocks(page: Path, *languages: str) -> list[tuple[str, str]]:
    """(language, content) of the page's blocks in these languages."""
    return [found for found in BLOCK.findall(page.read_text(encoding="utf-8")) if found[0] in languages]


def names(pages: list[Path]) -> list[str]:
    return [page.relative_to(REPOSITORY).as_posix() for page in pages]


# --- commands -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Session:
    """One command of a page and the output the page shows for it."""

    place: str
    command: str
    shown: str


def sessions(page: Path) -> list[Session]:
    found = []
    for _, block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            found.append(Session(f"{names([page])[0]}: {command}", command, shown))
    return found


ALL = [session for page in PAGES for session in sessions(page)]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Where `clwqa-bench` is a program, whether or not the package is installed in this environment."""
    script = tmp_path / "clwqa-bench"
    code = "from clwqa_bench.cli import main; main()"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return os.environ | {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *filter(None, sys.path)]),
        "COLUMNS": "100",
        "HF_HOME": str(tmp_path / "hub"),
        "HF_HUB_OFFLINE": "1",
    }


@pytest.mark.slow
@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("session", ALL, ids=[session.place for session in ALL])
def test_a_command_prints_what_the_page_shows(session: Session, environment: dict[str, str]) -> None:
    with building():
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
    if session.shown and not OutputChecker().check_output(session.shown, done.stdout, FLAGS):
        pytest.fail(f"{session.place} prints:\n{done.stdout}")


def test_the_first_page_shows_a_real_session() -> None:
    assert sessions(REPOSITORY / "README.md")


# --- Python -------------------------------------------------------------------------------------------------

WITH_CODE = [page for page in PAGES if blocks(page, "python", "pycon")]


def run_page(page: Path) -> int:
    """Run a page's Python in one namespace; the number of examples that printed something else."""
    module = ModuleType(f"page_{page.stem}")
    sys.modules[module.__name__] = module  # where classes look for the names that their annotations mention
    scope = vars(module)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for number, (language, code) in enumerate(blocks(page, "python", "pycon")):
        if language == "python":
            exec(compile(code, f"{page.name}, block {number}", "exec"), scope)
        else:
            test = doctest.DocTestParser().get_doctest(code, scope, page.name, str(page), number)
            runner.run(test, clear_globs=False)
            scope = test.globs  # a doctest works on a copy
    return runner.summarize(verbose=False).failed


@pytest.mark.slow
@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("page", WITH_CODE, ids=names(WITH_CODE))
def test_the_python_of_a_page_runs(page: Path, environment: dict[str, str]) -> None:
    code = (
        "import pathlib, sys; from tests.infra.test_docs import run_page\n"
        "sys.exit(run_page(pathlib.Path(sys.argv[1])) > 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(page)],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_toml_examples_are_what_the_program_reads(page: Path) -> None:
    for _, text in blocks(page, "toml"):
        example = tomllib.loads(text)
        if "source" in example:
            Catalogue.model_validate(example)
        for entry in example.get("template", ()):
            parse_template(entry, Ontology.load())


# --- figures and links --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def figures() -> ModuleType:
    """The script docs/figures.py as a module."""
    spec = importlib.util.spec_from_file_location("docs_figures", REPOSITORY / "docs" / "figures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_figures_are_those_of_the_built_data(figures: ModuleType, built: Path) -> None:
    data = figures.Built(built)
    stale = [
        page for page in PAGES if (text := page.read_text(encoding="utf-8")) != figures.filled(text, data)
    ]
    assert not stale, "run: python docs/figures.py data/clwqa-100k"


def test_every_block_of_figures_is_shown_somewhere(figures: ModuleType) -> None:
    shown = {name for page in PAGES for name in figures.BLOCK.findall(page.read_text(encoding="utf-8"))}
    assert shown == set(figures.BLOCKS)


def test_an_unknown_block_is_named(figures: ModuleType, tmp_path: Path) -> None:
    page = "<!-- figures:sales --><!-- /figures -->"
    with pytest.raises(BuildError, match="'sales'"):
        figures.filled(page, figures.Built(tmp_path))


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_links_between_files_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
