"""Which triples a graph holds, asked for many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.errors import GraphError, OntologyError
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.metrics.measure import Mask

Key: TypeAlias = tuple[str, str, str]
"""Head, relation, tail: a triple as a plain value, several times as fast as the record."""


@runtime_checkable
class Bulk(Protocol):
    """What the embedded store offers beyond the protocol: all edges of a relation as two columns of node numbers."""

    def __len__(self) -> int: ...
    def __contains__(self, node: object, /) -> bool: ...
    def index_of(self, node: str, /) -> int: ...
    def edges(self, relation: str) -> tuple[NDArray[Any], NDArray[Any]]: ...


def in_graph(graph: GraphStore, triples: Sequence[Key]) -> Mask:
    """Which triples the graph holds as stored, head to tail; shape (triples,).

    A relation stands for its sub-relations too, as everywhere in the store's protocol.
    """
    if isinstance(graph, Bulk):
        return _in_columns(graph, triples)
    return np.fromiter((_is_edge(graph, *triple) for triple in triples), bool, len(triples))


def _is_edge(graph: GraphStore, head: str, relation: str, tail: str) -> bool:
    try:
        return tail in graph.neighbours(head, relation, "out")
    except (GraphError, OntologyError):  # no such entity or relation
        return False


def _in_columns(graph: Bulk, triples: Sequence[Key]) -> Mask:
    """The same by whole columns: one search in the sorted edges of each relation that is asked about."""
    asked: dict[str, list[tuple[int, int, int]]] = {}
    for place, (head, relation, tail) in enumerate(triples):
        if head in graph and tail in graph:
            asked.setdefault(relation, []).append((place, graph.index_of(head), graph.index_of(tail)))
    held = np.zeros(len(triples), bool)
    for relation, rows in asked.items():
        try:
            heads, tails = graph.edges(relation)
        except OntologyError:  # no such relation
            continue
        edges = np.sort(heads.astype(np.int64) * len(graph) + tails, kind="stable")  # mostly sorted already
        places, of_head, of_tail = np.array(rows, np.int64).T
        wanted = of_head * len(graph) + of_tail
        found = edges.searchsorted(wanted).clip(max=len(edges) - 1)
        held[places] = edges[found] == wanted if len(edges) else False
    return held
