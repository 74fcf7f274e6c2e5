"""From two tables to a graph directory that the embedded store can open.

A graph directory holds ``entities.parquet``, ``triples.parquet`` and ``index/``.  The tables are the data;
the index is derived from them and an ontology, and can be written again at any time.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clwqa_bench.errors import GraphError
from clwqa_bench.kg import search
from clwqa_bench.kg.layout import (
    INDEX_FORMAT,
    META,
    TABLES,
    Ints,
    index_digests,
    relation_names,
    table_sizes,
    write_batch,
)
from clwqa_bench.kg.topology import Adjacency
from clwqa_bench.ontology import Ontology

__all__ = ["ENTITY_SCHEMA", "TRIPLE_SCHEMA", "index_tables", "read_tables", "table_sizes", "write_index"]

ENTITY_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("label", pa.string(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("aliases", pa.list_(pa.string()), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field(
            "attributes",
            pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.string())])),
            nullable=False,
        ),
        pa.field("provenance", pa.string(), nullable=False),
    ]
)
TRIPLE_SCHEMA = pa.schema(
    [pa.field(name, pa.string(), nullable=False) for name in ("head", "relation", "tail", "provenance")]
)


def write_index(entities: pa.Table, triples: pa.Table, out: Path, ontology: Ontology | None = None) -> None:
    """Check two tables against an ontology (the packaged one by default) and write a graph directory.

    Columns are those of ENTITY_SCHEMA and TRIPLE_SCHEMA in any order; of the entities ``id``, ``label`` and
    ``type`` are required, of the triples all but ``provenance``.  Rows may come in any order.  The same rows
    give the same bytes.  Raises GraphError naming the first bad row (counted from 1).
    """
    graph = _checked(entities, triples, ontology or Ontology.load())
    out.mkdir(parents=True, exist_ok=True)
    _write_parquet(graph.entities.sort_by("id"), out / "entities.parquet")
    in_order = [("head", "ascending"), ("relation", "ascending"), ("tail", "ascending")]
    _write_parquet(graph.triples.sort_by(in_order), out / "triples.parquet")
    _write_index(graph, out)


def index_tables(directory: Path, ontology: Ontology | None = None) -> None:
    """Check the two tables of a directory as ``write_index`` does and write ``index/`` beside them.

    The tables stay as they are to the byte: others may have recorded their checksums.
    """
    _write_index(_checked(*read_tables(directory), ontology or Ontology.load()), directory)


def read_tables(directory: Path) -> tuple[pa.Table, pa.Table]:
    """The two tables of a graph directory.  Raises GraphError if one is missing or no whole Parquet file."""
    entities, triples = (_read(directory / name) for name in TABLES)
    return entities, triples


def _read(path: Path) -> pa.Table:
    if not path.is_file():
        raise GraphError("the table is missing", fix="name the directory that holds it", file=path)
    try:
        return pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        fix = "write or download the table again"
        raise GraphError(f"not a complete Parquet file ({error})", fix=fix, file=path) from error


# ---------------------------------------------------------------------- checks


@dataclass(frozen=True, slots=True)
class _Graph:
    """Tables that passed every check, and the codes that stand for their names in the index."""

    ontology: Ontology
    entities: pa.Table
    triples: pa.Table
    nodes: pa.Table  # the entities in the order of their node numbers
    type_code: Ints  # of every node
    edges: tuple[Ints, Ints, Ints]  # (heads, tails, relations) of every triple


def _checked(entities: pa.Table, triples: pa.Table, ontology: Ontology) -> _Graph:
    entities = _conform(entities, ENTITY_SCHEMA, "entities", required=("id", "label", "type"))
    triples = _conform(triples, TRIPLE_SCHEMA, "triples", required=("head", "relation", "tail"))
    type_code = _codes(entities, "type", ontology.types, "entities")
    _refuse_repeats(entities, ["id"], "entities")
    # Node numbers follow (label, id): ascending integers are the order in which answers are given.
    order = pc.sort_indices(entities, sort_keys=[("label", "ascending"), ("id", "ascending")])
    nodes = entities.take(order)
    edges = _edges(triples, nodes, ontology)
    return _Graph(ontology, entities, triples, nodes, type_code[order.to_numpy()], edges)


def _fail(table: str, row: int, what: str, fix: str) -> NoReturn:
    raise GraphError(f"{table} row {row + 1}: {what}", fix=fix)


def _conform(table: pa.Table, schema: pa.Schema, name: str, required: Sequence[str]) -> pa.Table:
    columns = []
    for field in schema:
        if field.name in table.column_names:
            column = _cast(table[field.name], field, name)
        elif field.name in required:
            fix = f"give it the columns {', '.join(required)}"
            raise GraphError(f"{name} has no column {field.name!r}", fix=fix)
        else:
            empty = "" if field.type == pa.string() else []
            column = pa.chunked_array([pa.array([empty] * len(table), field.type)])
        if column.null_count:
            row = pc.index(pc.is_null(column), True).as_py()
            _fail(name, row, f"{field.name} is null", "write an empty string or list for what is not known")
        columns.append(column.combine_chunks())
    return pa.table(columns, schema=schema)


def _cast(column: pa.ChunkedArray, field: pa.Field, name: str) -> pa.ChunkedArray:
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        fix = f"make the column {field.type}"
        raise GraphError(f"{name}: column {field.name!r} is {column.type}", fix=fix) from error


def _codes(table: pa.Table, column: str, names: Sequence[str], name: str) -> Ints:
    """Positions of a column's values in ``names``."""
    codes = pc.index_in(table[column], value_set=pa.array(names, pa.string())).combine_chunks()
    if codes.null_count:
        row = pc.index(pc.is_null(codes), True).as_py()
        value = table[column][row].as_py()
        fix = f"use one of {', '.join(names)}" if column in ("type", "relation") else "add the entity"
        _fail(name, row, f"{column} {value!r} is not known", fix)
    return np.asarray(codes.to_numpy(), dtype=np.int32)


def _refuse_repeats(table: pa.Table, keys: list[str], name: str) -> None:
    order = pc.sort_indices(table, sort_keys=[(key, "ascending") for key in keys])
    same = np.ones(max(len(table) - 1, 0), dtype=bool)
    for key in keys:
        column = table[key].take(order)
        same &= pc.equal(column[1:], column[:-1]).to_numpy().astype(bool)
    if same.any():
        place = int(np.argmax(same))
        first, second = order[place].as_py(), order[place + 1].as_py()
        what = f"{' '.join(table[key][second].as_py() for key in keys)!r} was already in row {first + 1}"
        _fail(name, second, what, "keep one of the two")


def _edges(triples: pa.Table, nodes: pa.Table, ontology: Ontology) -> tuple[Ints, Ints, Ints]:
    """(heads, tails, relations) in codes, in the order of the rows."""
    relations = _codes(triples, "relation", relation_names(ontology), "triples")
    for code, relation in enumerate(relation_names(ontology)):
        if ontology.abstract(relation) and (relations == code).any():
            row = int(np.argmax(relations == code))
            fix = f"use one of {', '.join(ontology.sub_relations(relation))}"
            _fail("triples", row, f"relation {relation!r} is abstract and never stored", fix)
    ids = nodes["id"].combine_chunks()
    heads, tails = (_codes(triples, end, ids, "triples") for end in ("head", "tail"))
    _refuse_repeats(triples, ["head", "relation", "tail"], "triples")
    _refuse_mirrored(heads, tails, relations, ontology)
    return heads, tails, relations


def _refuse_mirrored(heads: Ints, tails: Ints, relations: Ints, ontology: Ontology) -> None:
    """A symmetric relation is stored once: not a -r- b and b -r- a."""
    symmetric = [code for code, name in enumerate(relation_names(ontology)) if ontology.symmetric(name)]
    rows = np.flatnonzero(np.isin(relations, symmetric) & (heads != tails))
    pairs = np.stack([relations, np.minimum(heads, tails), np.maximum(heads, tails)])[:, rows]
    order = np.lexsort(pairs[::-1])
    same = np.all(pairs[:, order[1:]] == pairs[:, order[:-1]], axis=0)
    if same.any():
        place = int(np.argmax(same))
        first, second = sorted(rows[order[place : place + 2]].tolist())
        what = f"the relation is symmetric and row {first + 1} already says this"
        _fail("triples", second, what, "keep one of the two")


# ---------------------------------------------------------------------- files


def _write_index(graph: _Graph, out: Path) -> None:
    """Write ``out/index`` under another name and rename it last; nothing half-written stays behind."""
    partial = out / "index.partial"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir()
        _write_nodes(graph.nodes, graph.type_code, partial)
        _write_edges(*graph.edges, graph.type_code, graph.ontology, partial)
        search.write(graph.nodes["label"].to_pylist(), graph.nodes["aliases"].to_pylist(), partial)
        _write_json(graph.ontology.to_json(), partial / "ontology.json")
        made = {"format": INDEX_FORMAT, "tables": table_sizes(out), "files": index_digests(partial)}
        _write_json(made, partial / META)
        shutil.rmtree(out / "index", ignore_errors=True)
        partial.rename(out / "index")
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write_nodes(nodes: pa.Table, type_code: Ints, index: Path) -> None:
    np.save(index / "type_code.npy", type_code)
    # Uncompressed Arrow is read in place from the memory map: a text costs nothing until it is asked for.
    write_batch(nodes, index / "entities.arrow")


def _write_edges(
    heads: Ints, tails: Ints, relations: Ints, type_code: Ints, ontology: Ontology, index: Path
) -> None:
    Adjacency.build(heads, relations, tails, type_code, len(ontology.types)).save(index, "out")
    Adjacency.build(tails, relations, heads, type_code, len(ontology.types)).save(index, "in")
    order = np.lexsort((tails, heads, relations))
    np.save(index / "edge_head.npy", heads[order])
    np.save(index / "edge_tail.npy", tails[order])
    starts = np.searchsorted(relations[order], np.arange(len(ontology.relations) + 1)).astype(np.int32)
    np.save(index / "edge_start.npy", starts)


def _write_parquet(table: pa.Table, path: Path) -> None:
    partial = path.with_suffix(".partial")
    try:
        pq.write_table(table, partial, compression="zstd", row_group_size=1 << 17)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _write_json(data: object, path: Path) -> None:
    path.write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
