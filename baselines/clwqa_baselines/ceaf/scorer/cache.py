"""Scores kept across runs, one SQLite file for each trained scorer.

The key of a score is a digest of the words it was made of, so nothing has to be thrown away when a graph changes.  A
cache never ends a run: a damaged file is moved aside, and one that is locked is done without, with a warning.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from clwqa_bench import console

_TABLE = "CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, score REAL NOT NULL) WITHOUT ROWID"
AT_ONCE = 500  # keys in one query, well below what SQLite takes
PATIENCE = 5.0  # seconds that another process may hold the file


def key(question: str, node: str, element: str) -> bytes:
    """What a score is of."""
    return hashlib.sha256("\0".join((question, node, element)).encode()).digest()[:16]


class ScoreCache:
    """Scores by key, in a file that several processes may use at once."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._stored: sqlite3.Connection | None = self._open()

    def known(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        """Those of the keys that have a score."""
        found: dict[bytes, float] = {}
        if self._stored is None:
            return found
        try:
            for at in range(0, len(keys), AT_ONCE):
                some = keys[at : at + AT_ONCE]
                marks = ",".join("?" * len(some))
                found |= self._stored.execute(f"SELECT key, score FROM scores WHERE key IN ({marks})", some)
        except sqlite3.Error as error:
            self._give_up(error)
        return found

    def keep(self, scores: Mapping[bytes, float]) -> None:
        """Add scores."""
        if self._stored is None or not scores:
            return
        try:
            with self._stored:
                self._stored.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", scores.items())
        except sqlite3.Error as error:
            self._give_up(error)

    def close(self) -> None:
        """Leave the file; what is asked after this is not found, and not kept."""
        if self._stored is not None:
            self._stored.close()
        self._stored = None

    def _open(self) -> sqlite3.Connection | None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(2):
            try:
                return self._connect()
            except sqlite3.OperationalError as error:
                self._warn(error)
                return None
            except sqlite3.DatabaseError:
                aside = self.file.with_suffix(".damaged")
                console.warn(f"the kept scores are damaged, moved to {aside}")
                self.file.replace(aside)
        return None

    def _connect(self) -> sqlite3.Connection:
        stored = sqlite3.connect(self.file, timeout=PATIENCE)
        try:
            stored.execute("PRAGMA journal_mode = WAL")
            stored.execute("PRAGMA synchronous = OFF")  # a lost score is worked out again
            stored.execute(_TABLE)
        except sqlite3.Error:
            stored.close()
            raise
        return stored

    def _give_up(self, error: sqlite3.Error) -> None:
        self._warn(error)
        self.close()

    def _warn(self, error: sqlite3.Error) -> None:
        console.warn(f"scores are not kept in {self.file}: {error}")
