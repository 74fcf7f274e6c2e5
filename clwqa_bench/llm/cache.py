"""Replies kept in one SQLite file, so that nothing is asked and paid for twice.

The key of a reply is a digest of everything it depends on (`Request`).  Only values that were read are kept, as JSON;
failures, refusals and what could not be read never are.  A cache never ends a run: a damaged file is moved aside, a
locked one is waited for and then done without, each with a warning.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

import orjson

from clwqa_bench import console
from clwqa_bench.llm.tasks import Message, Task

SCHEMA = 1
"""Layout of the file and of the key; raised by any change to either."""

_TABLES = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, created TEXT NOT NULL, task TEXT NOT NULL, request TEXT NOT NULL, input TEXT NOT NULL,
    value TEXT NOT NULL, raw TEXT NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS formats (
    endpoint TEXT NOT NULL, model TEXT NOT NULL, format TEXT NOT NULL, PRIMARY KEY (endpoint, model)
) WITHOUT ROWID;
"""
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}

T = TypeVar("T")


def default_path() -> Path:
    """Where replies are kept unless a command says otherwise: $CLWQA_LLM_CACHE, or below the user's cache folder."""
    if path := os.environ.get("CLWQA_LLM_CACHE"):
        return Path(path)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "clwqa-bench" / "replies.sqlite"


@dataclass(frozen=True, slots=True)
class Request:
    """Everything a reply depends on.  `format` is what the endpoint is told about JSON, schema included."""

    task: str
    version: int
    messages: tuple[Message, ...]
    endpoint: str
    model: str
    revision: str
    parameters: Mapping[str, Any]
    format: Mapping[str, Any] | None
    repeat: int

    def as_json(self) -> str:
        """Canonical JSON: keys sorted, nothing left out."""
        return orjson.dumps(asdict(self), option=orjson.OPT_SORT_KEYS).decode()

    @property
    def key(self) -> str:
        """SHA-256 of the canonical JSON and of the layout's version."""
        return hashlib.sha256(f"{SCHEMA}\n{self.as_json()}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Stored:
    """A reply as it was kept: its value as JSON, the model's text, and the tokens it took."""

    value: str
    raw: str
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A field of the key that is not as in the nearest request kept."""

    field: str
    asked: Any
    stored: Any


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether a request would be answered from the cache, and if not, what the nearest one kept has different."""

    key: str
    hit: bool
    created: str | None = None  # of the nearest request
    nearest: str | None = None
    differs: tuple[Difference, ...] = ()


class ReplyCache:
    """The replies in one file.  Usable by several processes at once; one event loop each."""

    def __init__(self, path: Path, patience: float = 5.0) -> None:
        self.path = path
        self._patience = patience
        self._connection: sqlite3.Connection | None = None
        self._off = False

    # ------------------------------------------------------------------ use

    def get(self, request: Request) -> Stored | None:
        """The reply kept for a request, if there is one."""
        sql = "SELECT value, raw, tokens_in, tokens_out FROM replies WHERE key = ?"
        row = self._guarded(lambda db: db.execute(sql, (request.key,)).fetchone())
        return Stored(*row) if row else None

    def put(self, request: Request, task: Task[Any], reply: Stored) -> None:
        """Keep a reply, and how its endpoint is asked for JSON."""
        row = (
            request.key, datetime.now(UTC).isoformat(timespec="seconds"), request.task, request.as_json(),
            task.model_dump_json(), reply.value, reply.raw, reply.tokens_in, reply.tokens_out,
        )  # fmt: skip
        self._guarded(lambda db: db.execute("INSERT OR REPLACE INTO replies VALUES (?,?,?,?,?,?,?,?,?)", row))

    def format(self, endpoint: str, model: str) -> str | None:
        """How an endpoint was found to take requests for JSON."""
        sql = "SELECT format FROM formats WHERE endpoint = ? AND model = ?"
        row = self._guarded(lambda db: db.execute(sql, (endpoint, model)).fetchone())
        return row[0] if row else None

    def put_format(self, endpoint: str, model: str, format: str) -> None:
        """Remember how an endpoint takes requests for JSON."""
        sql = "INSERT OR REPLACE INTO formats VALUES (?,?,?)"
        self._guarded(lambda db: db.execute(sql, (endpoint, model, format)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # ------------------------------------------------------------------ inspection

    def stats(self) -> list[dict[str, Any]]:
        """Replies kept and the tokens they took, by task, endpoint and model."""
        sql = """
            SELECT task, request ->> 'endpoint' AS endpoint, request ->> 'model' AS model, COUNT(*) AS replies,
                   SUM(tokens_in) AS tokens_in, SUM(tokens_out) AS tokens_out, MIN(created) AS first,
                   MAX(created) AS last
            FROM replies GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
        """
        names = ("task", "endpoint", "model", "replies", "tokens_in", "tokens_out", "first", "last")
        rows = self._guarded(lambda db: db.execute(sql).fetchall()) or []
        return [dict(zip(names, row, strict=True)) for row in rows]

    def clear(self) -> int:
        """Forget everything; returns how many replies there were."""
        count = self._guarded(lambda db: db.execute("DELETE FROM replies").rowcount) or 0
        self._guarded(lambda db: db.execute("DELETE FROM formats"))
        self._guarded(lambda db: db.execute("VACUUM"))
        return count

    def inputs(self, question: str) -> list[dict[str, Any]]:
        """Tasks that were asked about a question: `task` and `input` (its fields), each once."""
        sql = "SELECT DISTINCT task, input FROM replies WHERE input ->> 'question' = ? ORDER BY task, input"
        rows = self._guarded(lambda db: db.execute(sql, (question,)).fetchall()) or []
        return [{"task": task, "input": orjson.loads(input)} for task, input in rows]

    def explain(self, request: Request) -> Explanation:
        """Hit or miss; for a miss, how the request differs from the nearest one of the same task."""
        asked = orjson.loads(request.as_json())
        nearest: tuple[tuple[int, bool], str, str, dict[str, Any]] | None = None
        for key, created, text in self._requests(request.task):
            stored = orjson.loads(text)
            differing = [name for name in asked if asked[name] != stored[name]]
            distance = (len(differing), "messages" in differing)
            if nearest is None or distance < nearest[0]:
                nearest = distance, key, created, stored
        if nearest is None:
            return Explanation(request.key, hit=False)
        _, key, created, stored = nearest
        differs = tuple(
            Difference(field.name, asked[field.name], stored[field.name])
            for field in fields(Request)
            if asked[field.name] != stored[field.name]
        )
        return Explanation(request.key, not differs, created, key, differs)

    def _requests(self, task: str) -> Iterator[tuple[str, str, str]]:
        sql = "SELECT key, created, request FROM replies WHERE task = ? ORDER BY created DESC, key"
        yield from self._guarded(lambda db: db.execute(sql, (task,)).fetchall()) or []

    # ------------------------------------------------------------------ faults

    def _guarded(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do something with the file, or without it: None if that is not possible."""
        for _ in range(2):
            if self._off:
                return None
            try:
                return action(self._open())
            except (sqlite3.Error, OSError) as error:
                self._cope(error)
        return None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=self._patience, isolation_level=None)
            try:
                self._lay_out(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _lay_out(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, SCHEMA):
            raise sqlite3.DatabaseError(f"it has layout {version}, not {SCHEMA}")
        connection.executescript(_TABLES)
        connection.execute(f"PRAGMA user_version = {SCHEMA}")

    def _cope(self, error: sqlite3.Error | OSError) -> None:
        """After a fault: move a damaged file aside and go on with a new one, or go on without any."""
        self.close()
        code = getattr(error, "sqlite_errorcode", None)
        other_layout = isinstance(error, sqlite3.DatabaseError) and code is None
        if other_layout or code is not None and code & 0xFF in _DAMAGED:
            try:
                aside = self._move_aside()
            except OSError as fault:
                error = fault
            else:
                console.warn(f"{self.path}: the cache cannot be read ({error}); it is kept as {aside.name}")
                return
        self._off = True
        what = (
            "is locked by another process"
            if code is not None and code & 0xFF in _BUSY
            else f"fails ({error})"
        )
        console.warn(f"{self.path}: the cache {what}; going on without it")

    def _move_aside(self) -> Path:
        numbers = (self.path.with_name(f"{self.path.name}.damaged-{n}") for n in range(1, 10_000))
        aside = next(path for path in numbers if not path.exists())
        self.path.rename(aside)
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        return aside
