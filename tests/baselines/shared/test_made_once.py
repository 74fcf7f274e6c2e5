"""A folder of the cache is whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from clwqa_baselines.shared.made_once import made_once


def write(folder: Path) -> None:
    folder.mkdir()
    (folder / "file").write_text("whole", encoding="utf-8")


def test_it_is_made_if_it_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "index"
    assert [made_once(folder, write) for _ in range(2)] == [True, False]
    assert (folder / "file").read_text(encoding="utf-8") == "whole"


def test_what_was_broken_off_is_made_anew(tmp_path: Path) -> None:
    def broken(folder: Path) -> None:
        write(folder)
        raise KeyboardInterrupt

    folder = tmp_path / "index"
    with pytest.raises(KeyboardInterrupt):
        made_once(folder, broken)
    assert not list(tmp_path.glob("*/"))
    assert made_once(folder, write)
