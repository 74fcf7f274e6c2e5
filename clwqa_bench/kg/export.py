"""Write a graph directory in the formats other tools read, streaming: memory does not grow with the graph.

``ttl`` and ``nt`` are RDF: an entity has its own type and the types above it, ``rdfs:label``,
``skos:altLabel``, and its text, provenance and attributes as plain strings (where a triple comes from is
left to the other formats).  ``cypher`` is a script for any
Bolt database, ``csv`` the input of ``neo4j-admin database import``: nodes carry the label ``Entity`` and one
per type.  ``parquet`` and ``jsonl`` are the two tables as they are.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

import pyarrow.parquet as pq

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.iri import ATTRIBUTE, ONTOLOGY, escape, iri
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.ontology import Ontology

Row = dict[str, Any]
ARRAY_DELIMITER = "\x1f"  # never occurs in text, so lists survive the CSV
NODE_HEADER = [
    "id:ID",
    "label",
    "type",
    "aliases:string[]",
    "text",
    "attributes:string[]",
    "provenance",
    ":LABEL",
]
BATCH = 1000  # rows in one Cypher statement

_PREFIXES = {
    "": ONTOLOGY,
    "attr": ATTRIBUTE,
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
}
_RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


@dataclass(frozen=True)
class Tables:
    """The tables of a graph directory, read in batches.  Both are sorted by (head) id."""

    directory: Path
    ontology: Ontology

    def entities(self) -> Iterator[Row]:
        """Rows of entities, with ``types``: the own type, then those above."""
        chains = {t: [t, *self.ontology.ancestors(t)] for t in self.ontology.types}
        for row in _rows(self.directory / "entities.parquet"):
            yield row | {"types": chains[row["type"]]}

    def triples(self) -> Iterator[Row]:
        """Rows of triples."""
        return _rows(self.directory / "triples.parquet")

    def together(self) -> Iterator[tuple[Row, list[Row]]]:
        """Every entity with the triples it heads."""
        heads = groupby(self.triples(), key=itemgetter("head"))
        head, edges = next(heads, ("", iter(())))
        for entity in self.entities():
            if head == entity["id"]:
                yield entity, list(edges)
                head, edges = next(heads, ("", iter(())))
            else:
                yield entity, []


def export(directory: Path, format: str, out: Path) -> list[Path]:
    """Write the graph in a format of :data:`FORMATS`; returns the files written.

    ``out`` is a file for ``ttl``, ``nt`` and ``cypher`` (compressed if it ends in ``.gz``), else a directory.
    """
    if format not in FORMATS:
        raise GraphError(f"no export format {format!r}", fix=f"use one of {', '.join(FORMATS)}")
    return FORMATS[format](Tables(directory, MemoryGraph.open(directory).ontology), out)


# ---------------------------------------------------------------------- RDF


def _ntriples(tables: Tables, out: Path) -> list[Path]:
    with _text(out) as sink:
        for entity, edges in tables.together():
            subject = f"<{iri(entity['id'])}>"
            sink.writelines(f"{subject} {p} {o} .\n" for p, o in _statements(entity, edges))
    return [out]


def _turtle(tables: Tables, out: Path) -> list[Path]:
    with _text(out) as sink:
        sink.writelines(f"@prefix {prefix}: <{namespace}> .\n" for prefix, namespace in _PREFIXES.items())
        for entity, edges in tables.together():
            lines = [f"{_short(p)} {_short(o)}" for p, o in _statements(entity, edges)]
            sink.write(f"\n<{iri(entity['id'])}> " + " ;\n    ".join(lines) + " .\n")
    return [out]


def _statements(entity: Row, edges: list[Row]) -> Iterator[tuple[str, str]]:
    """(predicate, object) of one entity, as N-Triples writes them."""
    for name in entity["types"]:
        yield _RDF_TYPE, _resource(ONTOLOGY, name)
    yield _resource(_PREFIXES["rdfs"], "label"), _literal(entity["label"])
    for alias in entity["aliases"]:
        yield _resource(_PREFIXES["skos"], "altLabel"), _literal(alias)
    for name in ("text", "provenance"):
        if entity[name]:
            yield _resource(ONTOLOGY, name), _literal(entity[name])
    for pair in entity["attributes"]:
        yield _resource(ATTRIBUTE, pair["key"]), _literal(pair["value"])
    for edge in edges:
        yield _resource(ONTOLOGY, edge["relation"]), f"<{iri(edge['tail'])}>"


@lru_cache(maxsize=4096)
def _resource(namespace: str, name: str) -> str:
    return f"<{namespace}{escape(name)}>"


def _literal(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


@lru_cache(maxsize=1 << 12)
def _short(term: str) -> str:
    """Turtle's abbreviation of a term, where it has one."""
    if term == _RDF_TYPE:
        return "a"
    for prefix, namespace in _PREFIXES.items():
        if term.startswith(f"<{namespace}") and term.isascii():
            name = term[len(namespace) + 1 : -1]
            return f"{prefix}:{name}" if name.isidentifier() else term
    return term


# ---------------------------------------------------------------------- property graphs


def _cypher(tables: Tables, out: Path) -> list[Path]:
    with _text(out) as sink:
        sink.write("CREATE CONSTRAINT entity_id IF NOT EXISTS FOR (n:Entity) REQUIRE n.id IS UNIQUE;\n")
        for types, rows in _batches(tables.entities(), key=itemgetter("types")):
            nodes = ", ".join(_map(_properties(row)) for row in rows)
            labels = "".join(f":{_quoted(name)}" for name in ("Entity", *types))
            sink.write(f"UNWIND [{nodes}] AS row CREATE (n{labels}) SET n = row;\n")
        for relation, rows in _batches(tables.triples(), key=itemgetter("relation")):
            edges = ", ".join(_map({k: row[k] for k in ("head", "tail", "provenance")}) for row in rows)
            sink.write(
                f"UNWIND [{edges}] AS row MATCH (a:Entity {{id: row.head}}), (b:Entity {{id: row.tail}}) "
                f"CREATE (a)-[:{_quoted(relation)} {{provenance: row.provenance}}]->(b);\n"
            )
    return [out]


def _csv(tables: Tables, out: Path) -> list[Path]:
    nodes, edges = out / "nodes.csv", out / "relationships.csv"
    with _text(nodes) as sink:
        writer = csv.writer(sink, lineterminator="\n")
        writer.writerow(NODE_HEADER)
        for row in tables.entities():
            values = [*_properties(row).values(), ["Entity", *row["types"]]]
            writer.writerow(ARRAY_DELIMITER.join(v) if isinstance(v, list) else v for v in values)
    with _text(edges) as sink:
        writer = csv.writer(sink, lineterminator="\n")
        writer.writerow([":START_ID", ":TYPE", ":END_ID", "provenance"])
        writer.writerows(row.values() for row in tables.triples())
    return [nodes, edges]


def _properties(row: Row) -> Row:
    """The properties of a node; attributes as ``key=value``, since a key may come more than once."""
    pairs = [f"{pair['key']}={pair['value']}" for pair in row["attributes"]]
    return {name: row[name] for name in ("id", "label", "type", "aliases", "text")} | {
        "attributes": pairs,
        "provenance": row["provenance"],
    }


def _batches(rows: Iterator[Row], key: Callable[[Row], Any]) -> Iterator[tuple[Any, list[Row]]]:
    """Rows of one key together, as many as one statement should carry."""
    while window := list(islice(rows, BATCH * 20)):
        for value, group in groupby(sorted(window, key=key), key=key):
            while batch := list(islice(group, BATCH)):
                yield value, batch


def _map(properties: Row) -> str:
    """A Cypher map literal.  JSON strings and lists of strings are Cypher literals too."""
    return "{" + ", ".join(f"{k}: {json.dumps(v, ensure_ascii=False)}" for k, v in properties.items()) + "}"


def _quoted(name: str) -> str:
    return name if name.isidentifier() else "`" + name.replace("`", "``") + "`"


# ---------------------------------------------------------------------- tables


def _jsonl(tables: Tables, out: Path) -> list[Path]:
    paths = []
    for name in ("entities", "triples"):
        paths.append(out / f"{name}.jsonl")
        with _text(paths[-1]) as sink:
            rows = _rows(tables.directory / f"{name}.parquet")
            sink.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return paths


def _parquet(tables: Tables, out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    names = ("entities.parquet", "triples.parquet")
    return [Path(shutil.copyfile(tables.directory / name, out / name)) for name in names]


def _rows(path: Path) -> Iterator[Row]:
    for batch in pq.ParquetFile(path).iter_batches(batch_size=8192):
        yield from batch.to_pylist()


@contextmanager
def _text(path: Path) -> Iterator[TextIO]:
    """A UTF-8 text file to write; gzip if its name says so, with no time stamp in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw:
        if path.suffix != ".gz":
            with io.TextIOWrapper(raw, encoding="utf-8", newline="\n") as sink:
                yield sink
            return
        packed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0)
        with packed, io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as sink:
            yield sink


FORMATS: dict[str, Callable[[Tables, Path], list[Path]]] = {
    "ttl": _turtle,
    "nt": _ntriples,
    "parquet": _parquet,
    "jsonl": _jsonl,
    "cypher": _cypher,
    "csv": _csv,
}
