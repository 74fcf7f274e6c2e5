"""Scores kept across runs, one SQLite file for each trained scorer.

The key of a score is a digest of the words it was made of, so nothing has to be thrown away when a graph changes.  A
cache never ends a run: a damaged file is moved aside, once, and one that is locked or cannot be written is done
without, both with a warning.
"""

from __future__ import annotations

import hashlib
import sqlite3
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from clwqa_bench import console

_TABLE = "CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, score REAL NOT NULL) WITHOUT ROWID"
AT_ONCE = 500  # keys in one query, well below what SQLite takes
PATIENCE = 5.0  # seconds that another process may hold the file

T = TypeVar("T")


def key(question: str, node: str, element: str) -> bytes:
    """What a score is of."""
    return hashlib.sha256("\0".join((question, node, element)).encode()).digest()[:16]


class ScoreCache:
    """Scores by key, in a file that several processes may use at once."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._stored: sqlite3.Connection | None = None
        self._closed = self._mended = False
        self._try(lambda _: None)

    def known(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        """Those of the keys that have a score."""
        return self._try(lambda stored: _read(stored, keys)) or {}

    def keep(self, scores: Mapping[bytes, float]) -> None:
        """Add scores."""
        if scores:
            self._try(lambda stored: _write(stored, scores))

    def close(self) -> None:
        """Leave the file; what is asked after this is not found, and not kept."""
        self._closed = True
        self._disconnect()

    def _try(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """What some work gives, on a new file if this one is damaged; None if there is no file to work on."""
        while not self._closed:
            try:
                if self._stored is None:
                    self._stored = _connect(self.file)
                    weakref.finalize(self, self._stored.close)
                return work(self._stored)
            except (sqlite3.Error, OSError) as error:
                self._recover(error)
        return None

    def _recover(self, error: sqlite3.Error | OSError) -> None:
        """Move a damaged file aside, the first time; do without the file for any other reason."""
        self._disconnect()
        if type(error) is sqlite3.DatabaseError and not self._mended:  # its subclasses: locked, full, ...
            self._mended = True
            try:
                aside = _move_aside(self.file)
            except OSError as other:
                error = other
            else:
                console.warn(f"the kept scores are damaged, moved to {aside}")
                return
        console.warn(f"scores are not kept in {self.file}: {error}")
        self.close()

    def _disconnect(self) -> None:
        if self._stored is not None:
            self._stored.close()
        self._stored = None


def _connect(file: Path) -> sqlite3.Connection:
    file.parent.mkdir(parents=True, exist_ok=True)
    stored = sqlite3.connect(
        file, timeout=PATIENCE, check_same_thread=False
    )  # opened by one, used by another
    try:
        stored.execute("PRAGMA journal_mode = WAL")
        stored.execute("PRAGMA synchronous = OFF")  # a lost score is worked out again
        stored.execute(_TABLE)
    except sqlite3.Error:
        stored.close()
        raise
    return stored


def _read(stored: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, float]:
    found: dict[bytes, float] = {}
    for at in range(0, len(keys), AT_ONCE):
        some = keys[at : at + AT_ONCE]
        marks = ",".join("?" * len(some))
        found |= stored.execute(f"SELECT key, score FROM scores WHERE key IN ({marks})", some)
    return found


def _write(stored: sqlite3.Connection, scores: Mapping[bytes, float]) -> None:
    with stored:
        stored.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", scores.items())


def _move_aside(file: Path) -> Path:
    """Rename a damaged file; its journal goes, or it would be played into the new one."""
    aside = file.with_suffix(".damaged")
    file.replace(aside)
    for journal in ("-wal", "-shm"):
        file.with_name(f"{file.name}{journal}").unlink(missing_ok=True)
    return aside
