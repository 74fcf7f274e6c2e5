"""Byte-deterministic writers: the same rows give the same bytes on every run.

No file carries a time, a host name or anything that depends on hash order; rows are sorted by id. A question is
encoded once, as a JSON line: the JSONL mirror and the content digest are those bytes, and the Parquet file is
parsed from them under the explicit schema, so the two encodings cannot differ.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import itertools
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq

from clwqa_bench.errors import BuildError
from clwqa_bench.kg.build import table_sizes
from clwqa_bench.kg.export import FORMATS, Tables
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import SPLITS, Question, ScoringPair
from clwqa_builders.output.schema import CANARY, ENTITIES, TRIPLES, with_metadata

ROW_GROUP = 20_000
JSON_BLOCK = 1 << 24  # bytes; a single row must fit in one block


def encode(rows: Iterable[Question | ScoringPair]) -> dict[str, list[bytes]]:
    """JSON lines of every split, each sorted by id. Raises BuildError on a repeated id."""
    keyed: dict[str, list[tuple[str, bytes]]] = {split: [] for split in SPLITS}
    for row in rows:
        keyed[row.split].append((row.id, row.model_dump_json().encode("utf-8")))
    ids = [key for own in keyed.values() for key, _ in own]
    if len(set(ids)) != len(ids):
        raise BuildError("two rows have the same id", fix="give every row an id of its own")
    return {split: [line for _, line in sorted(own)] for split, own in keyed.items()}


def table_of(lines: Sequence[bytes], schema: pa.Schema) -> pa.Table:
    """Parse JSON lines into a table of exactly `schema`; a missing or additional field is an error."""
    return read_jsonl(io.BytesIO(b"\n".join(lines)), schema)


def read_jsonl(source: Path | io.BytesIO, schema: pa.Schema) -> pa.Table:
    """Read a JSONL file (or buffer) under `schema`. Raises pyarrow.ArrowInvalid when a row does not fit."""
    if not (source.stat().st_size if isinstance(source, Path) else source.getbuffer().nbytes):
        return schema.empty_table()
    options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    reading = pa.json.ReadOptions(use_threads=False, block_size=JSON_BLOCK)
    table = pa.json.read_json(source, read_options=reading, parse_options=options)
    return table.select(schema.names).cast(schema).combine_chunks()


def write_parquet(table: pa.Table, schema: pa.Schema, path: Path) -> None:
    """Write with fixed settings, the schema version and the canary in the file's metadata."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        table.select(schema.names).cast(with_metadata(schema)).combine_chunks(),
        path,
        row_group_size=ROW_GROUP,
        compression="zstd",
        compression_level=6,
        version="2.6",
        data_page_version="1.0",
        use_dictionary=True,
        write_statistics=True,
    )


def write_jsonl(lines: Iterable[bytes], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        stream.writelines(line + b"\n" for line in lines)


def write_rows(
    rows: Iterable[Question | ScoringPair], schema: pa.Schema, folder: Path
) -> tuple[pa.Table, str]:
    """Write `{train,validation,test}.{parquet,jsonl}` into the folder of one kind of rows.

    Returns all rows as one table (split after split) and the content digest of the rows sorted by id.
    """
    encoded = encode(rows)
    tables = []
    for split, lines in encoded.items():
        table = table_of(lines, schema)
        write_jsonl(lines, folder / f"{split}.jsonl")
        write_parquet(table, schema, folder / f"{split}.parquet")
        tables.append(table)
    return pa.concat_tables(tables), content_sha256(sorted(itertools.chain(*encoded.values())))


def write_sheet(header: Sequence[str], rows: Iterable[Sequence[str]], path: Path) -> None:
    """A table of text with tabs between the cells; blanks within a cell become single spaces."""
    lines = ("\t".join(" ".join(cell.split()) for cell in row) for row in (header, *rows))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def write_graph(entities: pa.Table, triples: pa.Table, ontology: Path, folder: Path) -> str:
    """Write `kg/entities.parquet`, `kg/triples.parquet` and `ontology.ttl`.

    Returns the content digest of both tables.

    A graph index of the same rows that already lies in `kg/index` is kept and stays valid.
    """
    write_parquet(entities, ENTITIES, folder / "kg" / "entities.parquet")
    write_parquet(triples, TRIPLES, folder / "kg" / "triples.parquet")
    _adopt_index(folder / "kg")
    shutil.copyfile(ontology, folder / "ontology.ttl")
    return content_sha256(itertools.chain(json_lines(entities, ENTITIES), json_lines(triples, TRIPLES)))


def _adopt_index(kg: Path) -> None:
    """An index copied in beforehand was made from the same rows in other files: note the size of these files."""
    path = kg / "index" / "meta.json"
    if path.is_file():
        path.write_bytes(orjson.dumps({**orjson.loads(path.read_bytes()), "tables": table_sizes(kg)}))


def write_ntriples(kg: Path, ontology: Ontology, path: Path) -> None:
    """The graph directory as gzipped N-Triples; a leading comment, a gzip member of its own, holds the canary."""
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        (exported,) = FORMATS["nt"](Tables(kg, ontology), Path(scratch) / "kg.nt.gz")
        path.write_bytes(gzip.compress(f"# {CANARY}\n".encode(), mtime=0) + exported.read_bytes())


def json_bytes(value: Any) -> bytes:
    """Pretty JSON for files people also read: UTF-8, two spaces, keys in the given order, final newline."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def json_lines(table: pa.Table, schema: pa.Schema) -> Iterator[bytes]:
    """The rows of a table as JSON lines with the keys in schema order."""
    for batch in table.select(schema.names).to_batches(max_chunksize=ROW_GROUP):
        yield from map(orjson.dumps, batch.to_pylist())


def content_sha256(lines: Iterable[bytes]) -> str:
    """Digest of rows as JSON lines; independent of how (Parquet, JSONL, shards) they are stored."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line)
        digest.update(b"\n")
    return digest.hexdigest()
