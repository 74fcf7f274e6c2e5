"""Loading a graph directory into a Bolt server, in batches; killed at any point it goes on where it stopped.

A node of its own says which graph is in the database and how much of it.  A batch and the count of rows done are
written in one transaction that first claims the rows: it locks the node, moves the count on from where the batch
begins, and does nothing if somebody already has.  So a batch whose confirmation was lost is not written twice, and
neither is one that two loaders try at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clwqa_bench.console import Progress
from clwqa_bench.errors import GraphError
from clwqa_bench.kg.bolt.connection import GRAPH, NAME, NAMES, NODE, Connection
from clwqa_bench.kg.bolt.store import quoted, write_attribute
from clwqa_bench.kg.build import ENTITY_SCHEMA, TRIPLE_SCHEMA, read_tables
from clwqa_bench.kg.layout import tables_digest
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.ontology import Ontology
from clwqa_bench.text import comparison_key

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

BATCH = 5_000
LAYOUT = "1"  # of nodes and properties on the server; a graph loaded with another one has to be loaded again
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a load did: ``continued`` is the number of rows found there from an earlier one that was cut off."""

    entities: int
    triples: int
    already: bool
    continued: int


@dataclass(frozen=True, slots=True)
class _Part:
    """A kind of rows, and the statement that writes those of one ``kind`` (types or a relation, which cannot be
    parameters)."""

    counter: str
    rows: pa.Table
    read: Callable[[pa.Table], Iterable[Row]]
    kind: Callable[[Row], str]
    statement: Callable[[str], str]


@dataclass(frozen=True)
class Source:
    """A graph directory as it goes to a server."""

    directory: Path

    @cached_property
    def ontology(self) -> Ontology:
        beside = self.directory.parent / "ontology.ttl"  # in a dataset, whose graph need not be indexed
        if beside.is_file() and not (self.directory / "index").is_dir():
            return Ontology.load(beside)
        return MemoryGraph.open(self.directory).ontology

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal tables."""
        return f"{LAYOUT}-{tables_digest(self.directory)}"

    @cached_property
    def _tables(self) -> tuple[pa.Table, pa.Table]:
        entities, triples = read_tables(self.directory)
        return _whole(entities, ENTITY_SCHEMA), _whole(triples, TRIPLE_SCHEMA)

    @cached_property
    def counts(self) -> tuple[int, int]:
        """Entities and triples."""
        entities, triples = self._tables
        return entities.num_rows, triples.num_rows

    @cached_property
    def other_names(self) -> int:
        """Names besides labels, as many as there are nodes of them."""
        return sum(1 for _ in _other_names(self._named))

    @property
    def _named(self) -> pa.Table:
        """The entities with aliases."""
        entities, _ = self._tables
        return entities.filter(pc.greater(pc.list_value_length(entities["aliases"]), 0))

    def parts(self) -> tuple[_Part, ...]:
        """What is written, in this order: entities, their other names, triples."""
        entities, triples = self._tables
        triples = triples.sort_by([(column, "ascending") for column in ("relation", "head", "tail")])
        return (
            _Part("entities_done", _placed(entities), _entities, itemgetter("type"), self._create_entities),
            _Part("names_done", self._named, _other_names, lambda row: "", lambda _: CREATE_NAMES),
            _Part("triples_done", triples, _triples, itemgetter("relation"), _create_triples),
        )

    def _create_entities(self, own: str) -> str:
        labels = ":".join(map(quoted, (own, *self.ontology.ancestors(own))))
        return f"UNWIND $rows AS row CREATE (n:{NODE}:{labels}) SET n = row"


CREATE_NAMES = f"""
UNWIND $rows AS row
MATCH (n:{NODE} {{id: row.id}})
CREATE (:{NAME} {{key: row.key}})-[:{NAMES}]->(n)
"""
BEGIN = f"""
MERGE (g:{GRAPH} {{name: 'kg'}})
ON CREATE SET g.fingerprint = $fingerprint, g.ontology = $ontology, g.entities = $entities, g.triples = $triples,
  g.entities_done = 0, g.names_done = 0, g.triples_done = 0, g.complete = false
"""
STATE = f"MATCH (g:{GRAPH}) RETURN g.fingerprint, g.complete, g.entities_done, g.names_done, g.triples_done"
COUNT = f"""
MATCH (n:{NODE}) RETURN count(n) AS n
UNION ALL
MATCH (:{NODE})-[r]->(:{NODE}) RETURN count(r) AS n
UNION ALL
MATCH (n:{NAME}) RETURN count(n) AS n
"""


def load(
    source: Source,
    connection: Connection,
    *,
    batch: int = BATCH,
    resume: bool = True,
    progress: Progress | None = None,
) -> Loaded:
    """Bring the graph into the connection's database, or what is missing of it.

    Raises GraphError if something else is there, if the graph there is half loaded and ``resume`` is false, or if
    the counts are wrong in the end.
    """
    done, complete = _begin(source, connection, resume=resume)
    entities, triples = source.counts
    if complete:
        _verify(source, connection)
        return Loaded(entities, triples, already=True, continued=0)
    parts = source.parts()
    continued = sum(done.values())
    if progress is not None:
        if continued:
            progress.note(f"going on with a load that was cut off: {done['entities_done']:,} of {entities:,} entities "
                          f"and {done['triples_done']:,} of {triples:,} triples are there")  # fmt: skip
        progress.expect(sum(part.rows.num_rows for part in parts))
        progress.advance(continued)
    for part in parts:
        for start in range(done[part.counter], part.rows.num_rows, batch):
            rows = part.rows.slice(start, batch)
            connection.write(_Batch(part, start, rows))
            if progress is not None:
                progress.advance(rows.num_rows)
    _verify(source, connection)
    connection.write(lambda tx: tx.run(f"MATCH (g:{GRAPH}) SET g.complete = true").consume())
    return Loaded(entities, triples, already=False, continued=continued)


@dataclass(frozen=True, slots=True)
class _Batch:
    """The work of one transaction."""

    part: _Part
    start: int
    rows: pa.Table

    def __call__(self, transaction: ManagedTransaction) -> None:
        counter, end = self.part.counter, self.start + self.rows.num_rows
        # Neo4j locks a node when it is written, so it is written before the count is read: two loaders would
        # otherwise both read it, one after the other write it, and both go on.
        claim = (
            f"MATCH (g:{GRAPH}) SET g.locked = true WITH g WHERE g.{counter} = $start "
            f"SET g.{counter} = $end RETURN g.{counter}"
        )
        if transaction.run(claim, start=self.start, end=end).single() is None:
            return
        rows = sorted(self.part.read(self.rows), key=self.part.kind)
        for kind, group in groupby(rows, key=self.part.kind):
            transaction.run(self.part.statement(kind), rows=list(group)).consume()


def _begin(source: Source, connection: Connection, *, resume: bool) -> tuple[dict[str, int], bool]:
    """(rows done by part, whether it is all there).  Writes the node that says so if the database is empty."""
    where = f"{connection.address.uri}, database {connection.address.database}"
    state = connection.read(STATE)
    if not state:
        if others := connection.read("MATCH (n) RETURN count(n)")[0][0]:
            fix = "load into an empty database (--database), or empty this one yourself"
            raise GraphError(f"{where}: {others:,} nodes of something else are there", fix=fix)
        connection.prepare()
        entities, triples = source.counts
        ontology = json.dumps(source.ontology.to_json(), ensure_ascii=False)
        values = {
            "fingerprint": source.fingerprint,
            "entities": entities,
            "triples": triples,
            "ontology": ontology,
        }
        connection.write(lambda tx: tx.run(BEGIN, values).consume())
        state = connection.read(STATE)
    fingerprint, complete, *done = state[0]
    if fingerprint != source.fingerprint:
        whole = "another graph" if complete else "part of another graph"
        fix = "load into another database (--database), or empty this one yourself"
        raise GraphError(f"{where}: {whole} is there", fix=fix)
    if not complete and any(done) and not resume:
        what = f"{where}: the graph is half loaded ({done[0]:,} entities, {done[2]:,} triples)"
        raise GraphError(what, fix="leave --no-resume out to go on where it stopped")
    connection.prepare()  # it may have been cut off before, or be older than one of the indexes
    return dict(zip(("entities_done", "names_done", "triples_done"), done, strict=True)), complete


def _verify(source: Source, connection: Connection) -> None:
    here, edges, names = (row[0] for row in connection.read(COUNT))
    if (here, edges, names) != (*source.counts, source.other_names):
        entities, triples = source.counts
        raise GraphError(
            f"{connection.address.uri}, database {connection.address.database} holds {here:,} entities, {edges:,} "
            f"triples and {names:,} other names, not {entities:,}, {triples:,} and {source.other_names:,}",
            fix="something else writes there; empty the database and load again",
        )


# ---------------------------------------------------------------------- rows


def _whole(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with every column of its schema; those that may be left out are empty."""
    empty = {name: pa.array([[] if pa.types.is_list(t) else ""] * len(table), t)
             for name, t in zip(schema.names, schema.types, strict=True) if name not in table.column_names}  # fmt: skip
    for name, column in empty.items():
        table = table.append_column(name, column)
    return table.select(schema.names).cast(schema)


def _placed(entities: pa.Table) -> pa.Table:
    """The entities with ``place``: their position in the order of answers, by label and id."""
    order = pc.sort_indices(entities, sort_keys=[("label", "ascending"), ("id", "ascending")])
    place = np.empty(len(order), dtype=np.int64)
    place[order.to_numpy()] = np.arange(len(order))
    return entities.append_column("place", pa.array(place))


def _entities(rows: pa.Table) -> Iterator[Row]:
    for row in rows.to_pylist():
        attributes = [write_attribute(pair["key"], pair["value"]) for pair in row["attributes"]]
        yield row | {"attributes": attributes, "key": comparison_key(row["label"])}


def _other_names(rows: pa.Table) -> Iterator[Row]:
    for row in rows.to_pylist():
        keys = {comparison_key(alias) for alias in row["aliases"]} - {comparison_key(row["label"]), ""}
        yield from ({"id": row["id"], "key": key} for key in sorted(keys))


def _triples(rows: pa.Table) -> list[Row]:
    found: list[Row] = rows.to_pylist()
    return found


def _create_triples(relation: str) -> str:
    return f"""
UNWIND $rows AS row
MATCH (a:{NODE} {{id: row.head}})
MATCH (b:{NODE} {{id: row.tail}})
CREATE (a)-[:{quoted(relation)} {{provenance: row.provenance}}]->(b)
"""
