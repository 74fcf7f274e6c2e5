"""The tables a rule reads: loaded once, decoded column by column when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clwqa_bench.dataset import REBUILD, Manifest, open_graph, read_manifest
from clwqa_bench.errors import DatasetError
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import SPLITS
from clwqa_bench.text import comparison_key
from clwqa_builders.operations.templates import OperationTemplate, load_operations
from clwqa_builders.output.schema import ENTITIES, PAIRS, QUESTIONS, TRIPLES
from clwqa_builders.questions.templates import TEMPLATE_DIR, Template, load_templates

Ints = NDArray[np.int64]


SCHEMAS = {
    **{f"qa/{split}.parquet": QUESTIONS for split in SPLITS},
    **{f"scoring_pairs/{split}.parquet": PAIRS for split in SPLITS},
    "kg/entities.parquet": ENTITIES,
    "kg/triples.parquet": TRIPLES,
}


@dataclass(frozen=True)
class DatasetTables:
    """A dataset folder. Every property is computed on first use and kept; a table that cannot be read or has
    another schema raises DatasetError where it is used, so that rules about other files still run."""

    root: Path
    manifest: Manifest
    templates_dir: Path | None = None

    @classmethod
    def open(cls, root: Path, templates_dir: Path | None = None) -> DatasetTables:
        """Read the manifest; raises DatasetError when there is none or it is newer than this toolkit."""
        return cls(root, read_manifest(root), templates_dir)

    # -- whole tables --------------------------------------------------------------------------------------

    @cached_property
    def questions(self) -> pa.Table:
        """All questions, split after split; row numbers below mean rows of this table."""
        return pa.concat_tables([self.parquet(f"qa/{split}.parquet") for split in SPLITS])

    @cached_property
    def pairs(self) -> pa.Table:
        """All scoring pairs, split after split."""
        return pa.concat_tables([self.parquet(f"scoring_pairs/{split}.parquet") for split in SPLITS])

    @cached_property
    def entities(self) -> pa.Table:
        return self.parquet("kg/entities.parquet")

    @cached_property
    def triples(self) -> pa.Table:
        return self.parquet("kg/triples.parquet")

    @property
    def is_brought(self) -> bool:
        """Whether the graph is one that somebody brought, with names in whatever script."""
        return "language" in self.manifest.config

    @cached_property
    def ontology(self) -> Ontology:
        return Ontology.load(self.root / "ontology.ttl")

    @cached_property
    def templates(self) -> Mapping[str, Template | OperationTemplate]:
        """Templates by id: those of `templates_dir`, those that the dataset brings along, or the packaged ones."""
        if self.manifest.config.get("extension") == "operations":
            return {template.id: template for template in load_operations(self.ontology)}
        own = (self.root / "templates.toml").is_file()
        directory = self.templates_dir or (self.root if own else TEMPLATE_DIR)
        found = load_templates(self.ontology, directory)
        return {template.id: template for template in found}

    @cached_property
    def store(self) -> MemoryGraph:
        return open_graph(self.root, self.manifest)

    @cached_property
    def parquet(self) -> Callable[[str], pa.Table]:
        """`parquet(name)`: a table of the folder in its published schema. Raises DatasetError."""
        return cache(self._parquet)

    def _parquet(self, name: str) -> pa.Table:
        path = self.root / name
        try:
            table = pq.read_table(path, use_threads=False)
        except FileNotFoundError:
            raise DatasetError("the file is missing", fix=REBUILD, file=path) from None
        except (pa.ArrowException, OSError) as error:
            raise DatasetError(f"not a complete Parquet file ({error})", fix=REBUILD, file=path) from None
        if difference := schema_difference(table.schema, SCHEMAS[name]):
            raise DatasetError(difference, fix=REBUILD, file=path)
        return table.combine_chunks()

    # -- columns of the questions ----------------------------------------------------------------------------

    @cached_property
    def column(self) -> Callable[[str], list[Any]]:
        """`column(name)`: a flat column as a list."""
        return cache(lambda name: self.questions[name].to_pylist())

    @cached_property
    def members(self) -> Callable[[str, str], list[list[str]]]:
        """`members("answers", "label")`: for every question the list of one member of a nested column."""
        return cache(self._members)

    def exploded(self, column: str, *names: str) -> tuple[Ints, *tuple[pa.Array, ...]]:
        """Row numbers of the questions and, parallel to them, members of the elements of a list column."""
        lists = self._lists(column)
        flat = pc.list_flatten(lists)
        rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
        return rows, *(pc.struct_field(flat, name) for name in names)

    def _members(self, column: str, name: str) -> list[list[str]]:
        rows, values = self.exploded(column, name)
        offsets = np.searchsorted(rows, np.arange(self.questions.num_rows + 1))
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values).to_pylist()

    def _lists(self, column: str) -> pa.Array:
        return self.questions[column].combine_chunks()

    @cached_property
    def ids(self) -> list[str]:
        return self.column("id")

    @cached_property
    def keys(self) -> list[str]:
        """Comparison key of every question text."""
        return [comparison_key(text) for text in self.column("question")]

    @cached_property
    def gold(self) -> list[tuple[str, ...]]:
        """The sorted gold entity ids of every question."""
        return [tuple(sorted(ids)) for ids in self.members("answers", "entity_id")]

    @cached_property
    def row_of(self) -> Mapping[str, int]:
        """The row of every question, by id."""
        return {id: row for row, id in enumerate(self.ids)}

    # -- columns of the scoring pairs --------------------------------------------------------------------------

    @cached_property
    def pair(self) -> Callable[[str], list[Any]]:
        """`pair(name)`: a column of the scoring pairs as a list."""
        return cache(lambda name: self.pairs[name].to_pylist())

    # -- numbers for entities and triples ----------------------------------------------------------------------

    def numbers(self, ids: pa.Array) -> Ints:
        """Row numbers in the entity table, -1 for an id that is not there."""
        found = pc.index_in(ids, value_set=self.entities["id"].combine_chunks())
        return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)

    def triple_keys(self, heads: pa.Array, relations: pa.Array, tails: pa.Array) -> Ints:
        """One integer per triple, equal for equal triples; -1 if an end or the relation is unknown."""
        names = pa.array(sorted(self.ontology.relations))
        kinds = pc.fill_null(pc.index_in(relations, value_set=names), -1).to_numpy(zero_copy_only=False)
        head, tail = self.numbers(heads), self.numbers(tails)
        width = self.entities.num_rows + 1
        keys = (head * len(names) + kinds.astype(np.int64)) * width + tail
        return np.where((head < 0) | (tail < 0) | (kinds < 0), -1, keys)

    @cached_property
    def known_triples(self) -> Ints:
        """Sorted keys of all triples of the graph."""
        columns = (self.triples[name].combine_chunks() for name in ("head", "relation", "tail"))
        return np.unique(self.triple_keys(*columns))

    def has_triples(self, heads: pa.Array, relations: pa.Array, tails: pa.Array) -> NDArray[np.bool_]:
        keys = self.triple_keys(heads, relations, tails)
        return np.isin(keys, self.known_triples) & (keys >= 0)

    @cached_property
    def entity_types(self) -> list[str]:
        return self.entities["type"].to_pylist()

    @cached_property
    def type_of(self) -> dict[str, str]:
        return dict(zip(self.entities["id"].to_pylist(), self.entity_types, strict=True))


def schema_difference(found: pa.Schema, wanted: pa.Schema) -> str:
    """Empty if the schemas agree (metadata aside), else the first column that differs."""
    if found.names != wanted.names:
        return f"columns are {', '.join(found.names)}; expected {', '.join(wanted.names)}"
    for here, there in zip(found, wanted, strict=True):
        if not here.equals(there):
            return f"column {here.name} is {_describe(here)}; expected {_describe(there)}"
    return ""


def _describe(field: pa.Field) -> str:
    return f"{field.type}{'' if field.nullable else ' not null'}"


def spans(values: Sequence[Any]) -> dict[Any, list[int]]:
    """Row numbers by value, in order of first appearance."""
    found: dict[Any, list[int]] = {}
    for row, value in enumerate(values):
        found.setdefault(value, []).append(row)
    return found
