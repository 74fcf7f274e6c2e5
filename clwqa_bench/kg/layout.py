"""The files of a graph directory, and how their arrays are coded.

    entities.parquet, triples.parquet    the graph
    index/meta.json, ontology.json       what the index was made for, and with
    index/*.npy, *.arrow                 memory-mapped by the embedded store

Kept apart from ``build`` so that opening a graph does not import what only writing one needs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clwqa_bench.digests import file_sha256
from clwqa_bench.ontology import Ontology
from clwqa_bench.text import KEY_VERSION

INDEX_FORMAT = f"3, names by comparison key {KEY_VERSION}"
META = "meta.json"
TABLES = ("entities.parquet", "triples.parquet")

Ints = NDArray[np.int32]


def relation_names(ontology: Ontology) -> tuple[str, ...]:
    """Relation codes are positions in this tuple; sorted, so that ascending codes are sorted names.

    Type codes are positions in ``ontology.types``.
    """
    return tuple(sorted(ontology.relations))


def table_sizes(directory: Path) -> dict[str, int]:
    """Sizes of the tables in bytes; an index written for other tables is recognised by them."""
    return {name: path.stat().st_size for name in TABLES if (path := directory / name).is_file()}


def tables_digest(directory: Path) -> str:
    """Which graph the tables hold, as a store that was loaded from them remembers it."""
    return "-".join(file_sha256(directory / name) for name in TABLES)


def index_digests(index: Path) -> dict[str, str]:
    """sha256 of every file of an index but the one they are written to."""
    return {path.name: file_sha256(path) for path in sorted(index.iterdir()) if path.name != META}


def load_array(path: Path) -> Ints:
    """Memory-map one array."""
    return np.asarray(np.load(path, mmap_mode="r"))


def write_batch(table: pa.Table, path: Path) -> None:
    """Write a table as one uncompressed Arrow batch, which can be read in place."""
    table = table.combine_chunks()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=max(len(table), 1))


def read_batch(path: Path) -> pa.RecordBatch:
    """The only batch of an Arrow file, memory-mapped; of an empty file a batch without rows."""
    reader = pa.ipc.open_file(pa.memory_map(str(path)))
    if reader.num_record_batches:
        return reader.get_batch(0)
    return pa.RecordBatch.from_pylist([], schema=reader.schema)
