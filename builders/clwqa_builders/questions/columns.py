"""The graph as whole columns: entities numbered by id order, edge lists per relation.

Enumerating every instance of a template needs joins over complete columns, which the step-by-step store
protocol does not offer.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from clwqa_bench.errors import GraphError

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Side = Literal["head", "tail", "both"]
Pairs = tuple[IntArray, IntArray]


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths: row i is ``values[offsets[i]:offsets[i + 1]]``."""

    offsets: IntArray
    values: IntArray

    @classmethod
    def group(cls, rows: IntArray, values: IntArray, n_rows: int) -> Ragged:
        """Collect the distinct values of each row number, ascending within a row."""
        order = np.lexsort((values, rows))
        rows, values = rows[order], values[order]
        fresh = np.ones(len(rows), dtype=bool)
        fresh[1:] = (rows[1:] != rows[:-1]) | (values[1:] != values[:-1])
        counts = np.bincount(rows[fresh], minlength=n_rows)
        return cls(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), values[fresh])

    @classmethod
    def concatenate(cls, parts: Sequence[Ragged]) -> Ragged:
        """The rows of all parts, one part after the other."""
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(np.concatenate([[0], np.cumsum(lengths)]), np.concatenate([part.values for part in parts]))

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> IntArray:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def rows(self) -> list[tuple[int, ...]]:
        """All rows as tuples."""
        values, offsets = self.values.tolist(), self.offsets.tolist()
        return [tuple(values[a:b]) for a, b in zip(offsets, offsets[1:], strict=False)]

    def where(self, keep: BoolArray) -> Ragged:
        """The same rows with only the values that ``keep`` marks."""
        kept = np.concatenate([[0], np.cumsum(keep)])
        return Ragged(kept[self.offsets], self.values[keep])

    def take(self, rows: IntArray) -> Ragged:
        lengths = self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        inner = np.arange(int(offsets[-1])) - np.repeat(offsets[:-1], lengths)
        return Ragged(offsets, self.values[np.repeat(self.offsets[:-1][rows], lengths) + inner])


@dataclass(frozen=True)
class GraphColumns:
    """A read-only graph: entity i has ``ids[i]``, ``labels[i]`` and so on.

    ``edge_lists`` maps a relation to the entity numbers (heads, tails) of its triples.
    """

    ids: Sequence[str]
    labels: Sequence[str]
    types: Sequence[str]
    aliases: Sequence[Sequence[str]]
    texts: Sequence[str]
    edge_lists: dict[str, Pairs]
    _sorted: dict[tuple[tuple[str, ...], Side], Pairs] = field(default_factory=dict, repr=False)
    _masks: dict[frozenset[str], BoolArray] = field(default_factory=dict, repr=False)

    @classmethod
    def of_tables(cls, entities: pa.Table, triples: pa.Table) -> GraphColumns:
        """From the entity and triple tables of the graph (entities sorted by id).

        Raises GraphError for a triple whose head or tail is no entity.
        """
        ids = entities["id"].to_pylist()
        heads, tails = (_numbers(triples, end, entities) for end in ("head", "tail"))
        relations = triples["relation"].combine_chunks().dictionary_encode()
        codes = np.asarray(relations.indices)
        lists = {
            name: (heads[codes == code], tails[codes == code])
            for code, name in enumerate(relations.dictionary.to_pylist())
        }
        labels, types, aliases, texts = (
            entities[c].to_pylist() for c in ("label", "type", "aliases", "text")
        )
        return cls(ids, labels, types, aliases, texts, lists)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def index_of(self) -> dict[str, int]:
        return {entity: i for i, entity in enumerate(self.ids)}

    @cached_property
    def _type_codes(self) -> tuple[list[str], NDArray[np.intp]]:
        names, codes = np.unique(np.asarray(self.types, dtype=str), return_inverse=True)
        return names.tolist(), codes

    def is_a(self, types: Collection[str]) -> BoolArray:
        """Mask of the entities whose most specific type is one of ``types``."""
        key = frozenset(types)
        if key not in self._masks:
            names, codes = self._type_codes
            self._masks[key] = np.array([name in key for name in names], dtype=bool)[codes]
        return self._masks[key]

    def pairs(self, relations: tuple[str, ...], side: Side) -> Pairs:
        """(start side, other side) of the relations' triples, distinct and sorted by the start side.

        ``side`` is the end the lookup starts from: "head", "tail", or "both" for undirected edges.
        """
        key = (relations, side)
        if key not in self._sorted:
            none = np.empty(0, dtype=np.int64)
            lists = [self.edge_lists.get(r, (none, none)) for r in relations]
            here, there = (np.concatenate([pair[end] for pair in lists]) for end in (0, 1))
            if side == "tail":
                here, there = there, here
            elif side == "both":
                here, there = np.concatenate([here, there]), np.concatenate([there, here])
            width = len(self) + 1
            joined = np.unique(here * width + there)
            self._sorted[key] = joined // width, joined % width
        return self._sorted[key]

    def follow(self, relations: tuple[str, ...]) -> Ragged:
        """For every entity, the tails of its triples with these relations."""
        heads, tails = self.pairs(relations, "head")
        return Ragged.group(heads, tails, len(self))


def _numbers(triples: pa.Table, end: str, entities: pa.Table) -> IntArray:
    """Entity numbers of one end of all triples."""
    found = pc.index_in(triples[end], entities["id"].combine_chunks()).combine_chunks()
    if found.null_count:
        stray = triples[end][pc.index(found.is_null(), True).as_py()].as_py()
        raise GraphError(
            f"a triple's {end} {stray!r} is no entity", fix="add it, or drop the triple", field=end
        )
    return np.asarray(found, dtype=np.int64)
