"""Queries that a model writes, run against a store that understands Cypher; whatever happens is a line of context."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

import orjson

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.protocol import GraphStore

WRITING: Final = ("CREATE", "MERGE", "SET", "REMOVE", "DELETE", "DETACH", "DROP", "CALL")
_WRITES = re.compile(rf"\b({'|'.join(WRITING)})\b")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def runs_cypher(graph: GraphStore) -> bool:
    """Whether a store takes Cypher: one on a Bolt server does."""
    from clwqa_bench.kg.bolt.store import BoltGraph

    return isinstance(graph, BoltGraph)


def refusal(query: str) -> str | None:
    """The word for which a query is not run, None if it may be.

    Both the query and what is left of it without comments are looked at: what a string makes look like a comment is
    none.
    """
    folded = unicodedata.normalize("NFKC", query).upper()
    for text in (folded, _COMMENT.sub(" ", folded)):
        if found := _WRITES.search(text):
            return found[1]
    return None


@dataclass(frozen=True)
class Runner:
    """Runs queries; a result shows at most so many rows."""

    graph: GraphStore
    rows: int

    def run(self, query: str) -> str:
        """The query and its result as JSON, or why there is none."""
        if word := refusal(query):
            return f"{query}\n(not run: {word} changes the graph or calls a procedure)"
        try:
            found = self.graph.query(query)
        except GraphError as error:
            return f"{query}\n(error: {error.what})"
        if not found:
            return f"{query}\n(no rows)"
        shown = orjson.dumps(found[: self.rows], default=str, option=orjson.OPT_NON_STR_KEYS).decode()
        more = f"\n({len(found) - self.rows} rows more)" if len(found) > self.rows else ""
        return f"{query}\n{shown}{more}"


def schema_lines(graph: GraphStore) -> tuple[str, ...]:
    """The schema as Cypher patterns, commonest first."""
    signatures = sorted(graph.schema().signatures, key=lambda s: (-s.count, s))
    return tuple(f"(:{s.head_type})-[:{s.relation}]->(:{s.tail_type})" for s in signatures)
