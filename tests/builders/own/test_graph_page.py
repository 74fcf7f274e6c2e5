"""The page on graphs of one's own: its commands, run in order, print what it shows; its figures are right.

The example's graph is made from an installed data package, so this is a whole second graph from tables to scores.
"""

from __future__ import annotations

import csv
import importlib.util
import re
import subprocess
import sys
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from types import ModuleType

import pytest

from clwqa_builders.own.schema import complete
from clwqa_builders.own.tables import About, read_about, read_graph

REPOSITORY = Path(__file__).resolve().parents[3]
PAGE = REPOSITORY / "docs" / "extend" / "graph.md"
EXAMPLE = REPOSITORY / "docs" / "examples" / "own-graph"
SESSION = re.compile(r"^```bash\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def adapter() -> ModuleType:
    spec = importlib.util.spec_from_file_location("adapter", EXAMPLE / "adapter.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_commands_of_the_page_print_what_it_shows(
    tmp_path: Path, docs_environment: dict[str, str]
) -> None:
    (tmp_path / "docs").symlink_to(REPOSITORY / "docs")
    for commands, shown in SESSION.findall(PAGE.read_text(encoding="utf-8")):
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", commands],
            cwd=tmp_path,
            env=docs_environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        if not OutputChecker().check_output(shown, done.stdout, ELLIPSIS | NORMALIZE_WHITESPACE):
            pytest.fail(f"{commands} prints:\n{done.stdout}")


@pytest.mark.parametrize("without", ["types", "ontology", "both"])
def test_every_type_is_found_again(adapter: ModuleType, tmp_path: Path, without: str) -> None:
    adapter.write(tmp_path / "true")
    with (tmp_path / "true" / "entities.tsv").open(encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        true = {row["id"].strip(): row["type"] for row in rows}
    adapter.write(tmp_path / "less", "types" if without == "both" else without)
    if without == "both":
        (tmp_path / "less" / "ontology.ttl").unlink()
    graph = read_graph(tmp_path / "less")
    pairs = {(true[row.id], found) for row, found in zip(graph.entities, complete(graph).types, strict=True)}
    assert len(true) == 5_144
    if without == "both":  # the groups have names of their own
        assert len(pairs) == len({type_ for type_, _ in pairs}) == len({found for _, found in pairs}) == 7
    else:
        assert all(type_ == found for type_, found in pairs)


def test_a_few_known_types_are_enough(adapter: ModuleType, tmp_path: Path) -> None:
    adapter.write(tmp_path, "ontology")
    header, *rows = (tmp_path / "entities.tsv").read_text(encoding="utf-8").splitlines()
    cells = [row.split("\t") for row in rows]
    shown = dict.fromkeys({row[2] for row in cells}, 2)  # the first two of each type
    lines = [header]
    for id, label, kind, aliases in cells:
        shown[kind] -= 1
        lines.append("\t".join((id, label, kind if shown[kind] >= 0 else "", aliases)))
    (tmp_path / "entities.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = complete(read_graph(tmp_path)).types
    right = sum(row[2] == type_ for row, type_ in zip(cells, found, strict=True))
    assert right == len(cells)


def test_the_graph_toml_of_the_page_is_read(tmp_path: Path) -> None:
    (toml,) = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "graph.toml").write_text(toml, encoding="utf-8")
    shown, used = read_about(tmp_path / "graph.toml"), read_about(EXAMPLE / "graph.toml")
    assert isinstance(shown, About)
    assert shown.relations["capital"] == used.relations["capital"]


@pytest.fixture
def docs_environment(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """Where `clwqa-bench` and `python` are programs, and nothing is kept in the user's cache."""
    import os

    programs = tmp_path_factory.mktemp("bin")
    for name, code in (("clwqa-bench", '-c "from clwqa_bench.cli import main; main()"'), ("python", "")):
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {code} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    return os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *filter(None, sys.path)]),
        "COLUMNS": "160",
        "XDG_CACHE_HOME": str(programs / "cache"),
    }
