"""The project's own files agree with each other, and the wheel holds what the code reads at run time."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from itertools import chain
from pathlib import Path

import pytest

from clwqa_bench import __version__
from clwqa_builders.sources.catalogue import load_catalogue

REPOSITORY = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SUFFIXES = {".css", ".j2", ".js", ".py", ".toml", ".tsv", ".ttl", ".typed"}
PACKAGES = [
    "clwqa_bench",
    "builders/clwqa_builders",
    "baselines/clwqa_baselines",
    "leaderboard/clwqa_leaderboard",
]


def test_one_version_everywhere() -> None:
    citation = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert PROJECT["version"] == __version__
    assert f"version: {__version__}\n" in citation
    assert f"## {__version__}" in changes


def test_the_build_extra_installs_exactly_what_the_catalogue_means() -> None:
    pinned = {source.locator for source in load_catalogue().source if source.where.kind == "pip"}
    assert {f"pip:{requirement}" for requirement in PROJECT["optional-dependencies"]["build"]} == pinned


def test_a_deep_learning_framework_is_required_by_one_extra_alone_and_pinned_for_all_installations_here() -> (
    None
):
    extras = {name: lines for name, lines in PROJECT["optional-dependencies"].items() if name != "neural"}
    requirements = [*PROJECT["dependencies"], *chain.from_iterable(extras.values())]
    assert not [line for line in requirements if re.match(r"(torch|tensorflow|jax)\b", line)]
    pinned = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8")
    assert re.search(r"^torch==\S+$", pinned, re.MULTILINE)
    installing = re.findall(r"pip install .*", (REPOSITORY / "Makefile").read_text(encoding="utf-8"))
    assert installing
    assert all("--constraint constraints.txt" in line for line in installing)


@pytest.mark.slow
def test_the_wheel_holds_code_tables_and_type_markers(tmp_path: Path) -> None:
    source = tmp_path / "source"  # a copy: building leaves files beside the source
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        source.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / name, source)
    for package in PACKAGES:
        shutil.copytree(REPOSITORY / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(tmp_path),
        source,
    ]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    for package in (source / name for name in PACKAGES):
        needed = (path for path in package.rglob("*") if path.suffix in SUFFIXES)
        assert not {path.relative_to(package.parent).as_posix() for path in needed} - held
