"""The graph as the two tables that GraphRAG works on: entities and relationships, by number.

Numbers are those of `kg.entities()` and `kg.triples()`; they stand for the `human_readable_id` by which prompts and
reports refer to rows.  Names need not be unique, since nothing is joined by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clwqa_baselines.graphrag.tasks import EntityRow, Fact, SourceRow
from clwqa_baselines.shared.names import called
from clwqa_bench.console import progress
from clwqa_bench.kg.layout import read_batch, write_batch
from clwqa_bench.kg.protocol import GraphStore, Triple
from clwqa_bench.kg.verbalise import cut, node_text, triple_text
from clwqa_bench.llm.limits import count_tokens
from clwqa_bench.ontology import Ontology

Ints = NDArray[np.int64]

NAME_LIMIT = 300  # characters of a passage, which is called by its text
REMEMBERED = 1 << 17  # rows lately shown
NODES, EDGES = "entities.arrow", "relationships.arrow"

_NODES = {
    "id": pa.string(), "name": pa.string(), "type": pa.string(), "text": pa.string(),
    "passage": pa.bool_(), "tokens": pa.int32(),
}  # fmt: skip
_EDGES = {"head": pa.int32(), "relation": pa.string(), "tail": pa.int32(), "tokens": pa.int32()}


class Tables:
    """Both tables, memory-mapped; made by :meth:`build`.

    Entity columns are read by entity number, relationship columns by relationship number.
    """

    def __init__(self, folder: Path, ontology: Ontology) -> None:
        nodes, edges = read_batch(folder / NODES), read_batch(folder / EDGES)
        self._names, self._texts, self._types = (nodes.column(key) for key in ("name", "text", "type"))
        self._relations, self._ontology = edges.column("relation"), ontology
        self.heads, self.tails, self.edge_tokens = (_ints(edges, key) for key in ("head", "tail", "tokens"))
        self.node_tokens = _ints(nodes, "tokens")
        self.is_passage = np.asarray(nodes.column("passage").to_numpy(zero_copy_only=False))
        self.ids: list[str] = nodes.column("id").to_pylist()
        self.fact = lru_cache(REMEMBERED)(self._fact)
        self.entity = lru_cache(REMEMBERED)(self._entity)

    @staticmethod
    def build(kg: GraphStore, ontology: Ontology, folder: Path) -> None:
        """Read the whole graph once and write both tables."""
        ids = list(kg.entities())
        number = {id: n for n, id in enumerate(ids)}
        names: list[str] = []
        nodes = []
        with progress(f"graphrag, reading {len(ids):,} entities", total=len(ids)) as bar:
            for id in ids:
                entity = kg.entity(id)
                text = node_text(entity, ontology, limit=NAME_LIMIT)
                names.append(cut(called(entity), NAME_LIMIT))
                tokens = count_tokens([names[-1] + text])
                nodes.append((id, names[-1], entity.type, text, bool(entity.text), tokens))
                bar.advance()
        edges = []
        for triple in kg.triples():
            head, tail = number[triple.head], number[triple.tail]
            tokens = count_tokens([names[head] + ontology.label(triple.relation) + names[tail]])
            edges.append((head, triple.relation, tail, tokens))
        folder.mkdir(parents=True, exist_ok=True)
        write_batch(_table(nodes, _NODES), folder / NODES)
        write_batch(_table(edges, _EDGES), folder / EDGES)

    # ------------------------------------------------------------------ structure

    @cached_property
    def number(self) -> dict[str, int]:
        """Entity numbers by id."""
        return {id: n for n, id in enumerate(self.ids)}

    @cached_property
    def degree(self) -> Ints:
        """How many distinct neighbours an entity has, whatever the direction."""
        pairs = np.unique(np.sort(np.stack([self.heads, self.tails]), axis=0), axis=1)
        pairs = pairs[:, pairs[0] != pairs[1]]
        return np.bincount(pairs.ravel(), minlength=len(self.ids))

    @cached_property
    def combined_degree(self) -> Ints:
        """The rank of a relationship: the degrees of both ends together."""
        return self.degree[self.heads] + self.degree[self.tails]

    def edges_at(self, node: int) -> Ints:
        """The relationships an entity takes part in, ascending."""
        order, starts = self._incidence
        return order[starts[node] : starts[node + 1]]

    @cached_property
    def _incidence(self) -> tuple[Ints, Ints]:
        """Relationship numbers by entity, and where each entity's begin."""
        edges = np.arange(len(self.heads))
        loops = self.heads == self.tails
        ends, edges = np.concatenate([self.heads, self.tails[~loops]]), np.concatenate([edges, edges[~loops]])
        starts = np.zeros(len(self.ids) + 1, np.int64)
        np.cumsum(np.bincount(ends, minlength=len(self.ids)), out=starts[1:])
        return edges[np.lexsort((edges, ends))], starts

    # ------------------------------------------------------------------ rows

    def name(self, node: int) -> str:
        """What an entity is called: a passage by its text."""
        return str(self._names[node].as_py())

    def text(self, node: int) -> str:
        """The description of an entity: its type, its name and what else identifies it."""
        return str(self._texts[node].as_py())

    def triple(self, edge: int) -> Triple:
        """A relationship as the graph holds it."""
        head, tail = self.ids[self.heads[edge]], self.ids[self.tails[edge]]
        return Triple(head, self._relations[edge].as_py(), tail)

    def described(self) -> Iterator[tuple[str, str]]:
        """Number and "name:description" of every entity, for search."""
        return ((str(node), f"{self.name(node)}:{self.text(node)}") for node in range(len(self.ids)))

    def source(self, node: int) -> SourceRow:
        """A passage as a source text."""
        return SourceRow(number=node, text=self.name(node), entity_id=self.ids[node])

    def _entity(self, node: int) -> EntityRow:
        return EntityRow(
            number=node,
            name=self.name(node),
            description=self.text(node),
            degree=int(self.degree[node]),
            entity_id=self.ids[node],
        )

    def _fact(self, edge: int) -> Fact:
        head, tail = int(self.heads[edge]), int(self.tails[edge])
        name = {self.ids[head]: self.name(head), self.ids[tail]: self.name(tail)}
        triple = self.triple(edge)
        return Fact(
            number=edge,
            source=name[triple.head],
            target=name[triple.tail],
            description=triple_text(triple, name.__getitem__, self._ontology),
            rank=int(self.combined_degree[edge]),
            head=triple.head,
            relation=triple.relation,
            tail=triple.tail,
            head_type=self._types[head].as_py(),
            tail_type=self._types[tail].as_py(),
        )


def _ints(table: pa.RecordBatch, column: str) -> Ints:
    return np.asarray(table.column(column).to_numpy(), np.int64)


def _table(rows: Sequence[tuple[object, ...]], columns: dict[str, pa.DataType]) -> pa.Table:
    made = zip(*rows, strict=True) if rows else [()] * len(columns)
    arrays = [pa.array(column, kind) for column, kind in zip(made, columns.values(), strict=True)]
    return pa.table(arrays, names=list(columns))
