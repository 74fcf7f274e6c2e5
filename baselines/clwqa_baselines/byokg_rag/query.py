"""Queries that a model writes, run against a store that understands Cypher; whatever happens is a line of context."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, Literal, NamedTuple, Protocol, runtime_checkable

import orjson

from clwqa_baselines.byokg_rag.graph import Fact
from clwqa_bench.kg.protocol import GraphStore, Path
from clwqa_bench.kg.remote import QueryError

READING: Final = ("MATCH", "OPTIONAL", "UNWIND", "WITH", "RETURN")
"""What a query that reads begins with."""
WRITING: Final = (
    *("CREATE", "MERGE", "SET", "REMOVE", "DELETE", "DETACH", "DROP", "CALL"),  # those of the code
    *("INSERT", "FOREACH", "LOAD"),  # INSERT creates as well, LOAD CSV reads files of the server
)
LONGEST: Final = 20_000
"""Characters of a result that are shown: a single row may hold all names of a graph."""
AS_JSON: Final = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS

_WRITES = re.compile(rf"\b({'|'.join(WRITING)})\b")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_ESCAPED = re.compile(r"\\u+([0-9A-F]{4})", re.IGNORECASE)  # Neo4j reads these anywhere in a query
_WORD = re.compile(r"\w+")

Outcome = Literal["rows", "no rows", "error", "not run"]


@runtime_checkable
class Cypher(Protocol):
    """A store that takes Cypher of anybody: one on a Bolt server does, see `BoltGraph.peek`."""

    async def peek(self, text: str, *, rows: int, seconds: float) -> list[dict[str, Any]]: ...


def runs_cypher(graph: GraphStore) -> Cypher | None:
    """The store as one that takes Cypher, None if it takes none."""
    return graph if isinstance(graph, Cypher) else None


def refusal(query: str) -> str | None:
    """The word for which a query is not run, None if it may be.

    Both the query and what is left of it without comments are looked at: what a string makes look like a comment is
    none.
    """
    plain = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), query)
    folded = unicodedata.normalize("NFKC", plain).upper()
    bare = _COMMENT.sub(" ", folded)
    for text in (folded, bare):
        if found := _WRITES.search(text):
            return found[1]
    first = _WORD.search(bare)
    return first[0] if first and first[0] not in READING else None


class Result(NamedTuple):
    """What became of a query: its line of context, how it ended, the number of rows shown."""

    query: str
    fact: Fact
    outcome: Outcome
    rows: int = 0

    @property
    def detail(self) -> dict[str, Any]:
        """As traces have it."""
        return {"query": self.query, "outcome": self.outcome, "rows": self.rows}


@dataclass(frozen=True)
class Runner:
    """Runs queries, each for at most so many seconds; a result shows at most so many rows.

    `tell` puts a path into words.
    """

    store: Cypher
    rows: int
    seconds: float
    tell: Callable[[Path], str]

    async def run(self, query: str) -> Result:
        """The query and its result as JSON, or why there is none.

        Raises GraphError only for what is no fault of the query, such as a server that has gone away.
        """
        query = query.encode("utf-8", "replace").decode()  # half a character can neither be sent nor kept
        if word := refusal(query):
            return _nothing(query, "not run", f"not run: {word} is not allowed in a query that reads")
        try:
            found = await self.store.peek(query, rows=self.rows + 1, seconds=self.seconds)
        except QueryError as error:
            return _nothing(query, "error", f"error: {error.what}")
        if not found:
            return _nothing(query, "no rows", "no rows")
        rows = [orjson.dumps(row, default=self._told, option=AS_JSON).decode() for row in found[: self.rows]]
        fit = max(1, sum(size <= LONGEST for size in accumulate(map(len, rows))))
        text, more = f"[{','.join(rows[:fit])}]", len(found) > fit
        long = fit == 1 and len(text) > LONGEST
        lines = (query, f"{text[:LONGEST]}…" if long else text, *["(more rows)"] * more)
        walks = tuple(path for path in dict.fromkeys(_paths(found[:fit])) if len(path))
        return Result(query, Fact("\n".join(lines), walks, "query", cut=more or long), "rows", fit)

    def _told(self, value: Any) -> str:
        """What JSON has no form for: a path in words, dates and the like as they write themselves."""
        return self.tell(value) if isinstance(value, Path) else str(value)


def _nothing(query: str, outcome: Outcome, why: str) -> Result:
    return Result(query, Fact(f"{query}\n({why})", kind="note"), outcome)


def _paths(value: Any) -> Iterator[Path]:
    """The paths in a value, however deep."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _paths(item)


def schema_lines(graph: GraphStore) -> tuple[str, ...]:
    """The schema as Cypher patterns, commonest first."""
    signatures = sorted(graph.schema().signatures, key=lambda s: (-s.count, s))
    return tuple(f"(:{s.head_type})-[:{s.relation}]->(:{s.tail_type})" for s in signatures)
