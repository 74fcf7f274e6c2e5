"""Builds of the real dataset: the same bytes whatever happens, and nothing done twice."""

from __future__ import annotations

import itertools
import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from clwqa_bench.kg.memory import MemoryGraph
from tests import tiny_dataset as tiny
from tests.conftest import REPOSITORY, Result, building
from tests.process import PLAIN_C, digests, finish, limit_files, run, start

pytestmark = pytest.mark.slow

STAGES = ("parse", "graph", "questions", "pairs", "dataset", "validation")


@pytest.fixture(scope="module")
def reference() -> Path:
    """data/clwqa-100k, made by the code as it is now."""
    folder = REPOSITORY / "data" / "clwqa-100k"
    with building():
        result = run("build", "--out", folder)
    assert result.code == 0, result.err
    return folder


# When a build is killed: it is told the output folder and the stage, and returns when the moment has come.


def at_once(out: Path, stage: str) -> None:
    """As soon as the stage is announced."""


def a_second_later(out: Path, stage: str) -> None:
    time.sleep(1)


def while_writing(pattern: str) -> Callable[[Path, str], None]:
    """When a file of the stage that matches ``pattern`` has something in it."""

    def wait(out: Path, stage: str) -> None:
        stages = out.with_name(f".{out.name}.work") / "stages"
        wait_for_a_file(stages, f".{stage}-*.partial/{pattern}")

    return wait


def while_putting_in_place(out: Path, stage: str) -> None:
    wait_for_a_file(out.parent, f".{out.name}.new/*")


def wait_for_a_file(folder: Path, pattern: str) -> None:
    until = time.monotonic() + 300
    while not any(path.is_file() and path.stat().st_size for path in folder.glob(pattern)):
        assert time.monotonic() < until, f"no {pattern} in {folder}"
        time.sleep(0.001)


DEATHS: tuple[tuple[str, Callable[[Path, str], None]], ...] = (
    ("parse", at_once),
    ("parse", a_second_later),
    ("graph", at_once),
    ("graph", while_writing("index.partial/*")),
    ("questions", at_once),
    ("questions", a_second_later),
    ("pairs", at_once),
    ("dataset", at_once),
    ("dataset", while_writing("dataset/qa/*")),
    ("validation", at_once),
    ("validation", a_second_later),
    ("validation", while_putting_in_place),
)


class Site:
    """A folder in which the real dataset is to replace an earlier one.

    Its builds use one process and the plainest locale, and no two of them the same hash seed.
    """

    def __init__(self, out: Path) -> None:
        tiny.write(out)
        self.out = out
        self.earlier = digests(out)
        self.seeds = itertools.count(1)

    def start(self, before: Callable[[], object] | None = None) -> subprocess.Popen[str]:
        env = PLAIN_C | {"PYTHONHASHSEED": str(next(self.seeds))}
        command = ("build", "--out", self.out, "--workers", "1", "--json")
        return start(*command, cwd=self.out.parent, env=env, before=before)

    def run(self, before: Callable[[], object] | None = None) -> Result:
        return finish(self.start(before))

    def die(self, stage: str, wait: Callable[[Path, str], None]) -> list[str]:
        """Build until the moment has come, kill the process, and return what it had said."""
        with self.start() as process:
            assert process.stderr is not None
            said = list(until_announced(process.stderr, stage))
            wait(self.out, stage)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        assert digests(self.out) == self.earlier
        return said


def until_announced(lines: Iterator[str], stage: str) -> Iterator[str]:
    for line in lines:
        yield line
        if line.endswith(f"] {stage} ...\n"):
            return
    pytest.fail(f"the stage {stage} never started")


@pytest.fixture(scope="module")
def survivor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same build in the plainest locale, one process, other hash seeds, and killed again and again."""
    site = Site(tmp_path_factory.mktemp("survivor") / "out")
    finished: tuple[str, ...] = ()
    for stage, wait in DEATHS:
        said = site.die(stage, wait)
        assert reused(said) == finished
        finished = STAGES[: STAGES.index(stage)]
        if (stage, wait) == ("dataset", at_once):
            the_disk_is_full_while_the_dataset_is_written(site)
    result = site.run()
    assert result.code == 0, result.err
    assert reused(result.err.splitlines()) == STAGES
    assert json.loads(result.out)["changed"]
    return site.out


def reused(said: Iterable[str]) -> tuple[str, ...]:
    """The stages that a build said it need not run."""
    found = (re.fullmatch(r"\[\d/\d\] (\w+): up to date", line.rstrip()) for line in said)
    return tuple(match[1] for match in found if match)


def the_disk_is_full_while_the_dataset_is_written(site: Site) -> None:
    result = site.run(before=limit_files(64 << 20))
    assert result.code == 2
    error = json.loads(result.out)
    assert "no room left to write" in error["what"]
    assert "run the same command again" in error["fix"]
    assert digests(site.out) == site.earlier
    assert not list(site.out.parent.rglob("*.partial"))


def test_neither_environment_nor_workers_nor_deaths_change_a_byte(reference: Path, survivor: Path) -> None:
    assert digests(survivor) == digests(reference)
    assert {path.name for path in survivor.parent.iterdir()} == {"out", ".out.work"}


def test_a_build_with_nothing_to_do_does_nothing(survivor: Path) -> None:
    assert_nothing_to_do(survivor)


def test_counting_the_supply_leaves_the_finished_stages_alone(survivor: Path) -> None:
    result = run("build", "--out", survivor, "--supply", "--json", cwd=survivor.parent)
    assert result.code == 0, result.err
    supply = json.loads((survivor / "supply.json").read_text(encoding="utf-8"))
    report = json.loads(result.out)
    assert report == {name: supply[name] for name in ("instances", "category", "hop", "template")}
    assert_nothing_to_do(survivor)


def assert_nothing_to_do(out: Path) -> None:
    before = traces(out)
    result = run("build", "--out", out, "--json", cwd=out.parent)
    summary = json.loads(result.out)
    assert (result.code, summary["seconds"], summary["changed"]) == (0, {}, False)
    assert traces(out) == before


def traces(out: Path) -> dict[Path, tuple[int, int]]:
    """What rewriting a file would change, of the dataset and of every finished stage."""
    stages = (out.with_name(f".{out.name}.work") / "stages" / name for name in STAGES)
    folders = [out, *(found for stage in stages for found in stage.parent.glob(f"{stage.name}-*"))]
    stats = {path: path.stat() for folder in folders for path in (folder, *folder.rglob("*"))}
    return {path: (stat.st_ino, stat.st_mtime_ns) for path, stat in stats.items()}


def test_indexing_the_graph_of_the_dataset_again_changes_nothing(reference: Path, tmp_path: Path) -> None:
    for name in ("entities.parquet", "triples.parquet"):
        (tmp_path / name).write_bytes((reference / "kg" / name).read_bytes())
    result = run("kg", "index", tmp_path, "--json")
    assert json.loads(result.out)["entities"] == len(MemoryGraph.open(reference / "kg"))
    assert digests(tmp_path) == digests(reference / "kg")
