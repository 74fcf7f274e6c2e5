"""Folders of the cache: whole or not there at all, and made by one process while others wait."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock


def made_once(folder: Path, make: Callable[[Path], None]) -> bool:
    """Have `make` write a folder that is not there yet; whether it was made now.

    It is written beside its place and then renamed, so a process that is killed leaves nothing in it; what it left
    beside it is removed by the next, and what an exception leaves at once.
    """
    if folder.is_dir():
        return False
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if folder.is_dir():
            return False
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        try:
            make(partial)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return True
