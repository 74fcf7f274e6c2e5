"""The graph store over Bolt: every question to the server as parameterised Cypher.

Only names of the ontology ever stand in a query, quoted; whatever is data (ids, labels, names to look up) goes as a
parameter.  Queries therefore take few forms, and the server plans each once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.bolt.connection import GRAPH, NAME, NAMES, NODE, Connection
from clwqa_bench.kg.protocol import Entity, Names, Path, Sense, Signature
from clwqa_bench.kg.remote import Hop, Named, Node, Reach, RemoteGraph
from clwqa_bench.ontology import Ontology
from clwqa_bench.text import comparison_key

ENTITY = f"""
MATCH (n:{NODE} {{id: $id}})
RETURN n.label, n.type, n.aliases, n.text, n.attributes, n.provenance
"""
FINGERPRINT = f"MATCH (g:{GRAPH}) RETURN g.fingerprint"
PRESENT = f"UNWIND $ids AS id MATCH (n:{NODE} {{id: id}}) RETURN n.place, n.id"
ALL = f"MATCH (n:{NODE}) RETURN n.place, n.id"
OF_TYPES = f"MATCH (n:{NODE}) WHERE n.type IN $types RETURN n.place, n.id"
BY_KEY = f"""
MATCH (n:{NODE} {{key: $key}}) RETURN n.place, n.id, n.type
UNION
MATCH (:{NAME} {{key: $key}})-[:{NAMES}]->(n:{NODE}) RETURN n.place, n.id, n.type
"""
EVERY_NAME = f"MATCH (n:{NODE}) RETURN n.place, n.id, n.type, n.label, n.aliases"
EDGES = "RETURN id AS source, b.place AS place, b.id AS target, type(r) AS relation"
REACHED = "RETURN DISTINCT b.place AS place, b.id AS target"
TRIPLES = f"""
MATCH (a:{NODE})-[r]->(b:{NODE}) WHERE a.place >= $first AND a.place < $last
RETURN a.place, a.id, b.place, b.id, type(r)
"""
TYPES = f"MATCH (n:{NODE}) RETURN DISTINCT n.type"
SIGNATURES = f"MATCH (a:{NODE})-[r]->(b:{NODE}) RETURN a.type, type(r), b.type, count(*)"
FEW = (
    64  # ends the server looks for in a list; among more it would search longer than reading the edges takes
)
TRIPLES_BATCH = 20_000  # heads whose triples are fetched at once


class BoltGraph(RemoteGraph):
    """A GraphStore on a Bolt server that `clwqa-bench kg load` filled."""

    def __init__(self, connection: Connection, ontology: Ontology, counts: tuple[int, int]) -> None:
        super().__init__(ontology)
        self._connection, self._ask, self._counts = connection, connection.read, counts

    @staticmethod
    def open(connection: Connection) -> BoltGraph:
        """Open the graph in the connection's database.  Raises GraphError unless it is there and whole."""
        address = connection.address
        where = f"{address.uri}, database {address.database}"
        fix = f"run `clwqa-bench kg load {address.options} --graph FOLDER` with the folder of the graph meant"
        rows = connection.read(f"MATCH (g:{GRAPH}) RETURN g.complete, g.ontology, g.entities, g.triples")
        if not rows:
            raise GraphError(f"no graph was loaded into {where}", fix=fix)
        complete, ontology, *counts = rows[0]
        if not complete:
            raise GraphError(
                f"the graph in {where} is half loaded",
                fix=f"{fix} again; it goes on where it stopped, and refuses another graph",
            )
        return BoltGraph(connection, Ontology.from_json(json.loads(ontology)), (counts[0], counts[1]))

    def close(self) -> None:
        self._connection.close()

    def counts(self) -> tuple[int, int]:
        return self._counts

    @property
    def server(self) -> str:
        return f"bolt, {self._connection.agent}"

    def made_from(self) -> str:
        layout_and_digest: str = self._ask(FINGERPRINT)[0][0]
        return layout_and_digest.partition("-")[2]

    def query(self, text: str, **parameters: Any) -> list[dict[str, Any]]:
        return self._connection.look(text, parameters)

    async def peek(self, text: str, *, rows: int, seconds: float) -> list[dict[str, Any]]:
        """The first rows of a query that nobody has read, such as a language model's.

        A node is its properties, a relationship its type, a path from entity to entity a `Path`.  Raises QueryError
        for a query that is at fault, one that changes something, and one that takes longer than so many seconds.
        """
        found = await self._connection.peek(text, rows=rows, seconds=seconds)
        return [{name: plain(value) for name, value in row.items()} for row in found]

    def lookup(self, name: str, types: Names = None) -> tuple[str, ...]:
        kept = self._type_names(types)
        key = comparison_key(name)
        rows = self._ask(BY_KEY, key=key) if key else []
        return tuple(id for _, id, own in sorted(map(tuple, rows)) if kept is None or own in kept)

    # ------------------------------------------------------------------ what the server is asked

    def _entity(self, node: str) -> Entity | None:
        for label, own, aliases, text, attributes, provenance in self._ask(ENTITY, id=node):
            return Entity(
                id=node,
                label=label,
                types=self._lineage(own),
                aliases=tuple(aliases),
                text=text,
                attributes=tuple(map(read_attribute, attributes)),
                provenance=provenance,
            )
        return None

    def _nodes(self, ids: Collection[str]) -> list[Node]:
        return [Node(*row) for row in self._ask(PRESENT, ids=list(ids))]

    def _listed(self, types: tuple[str, ...] | None) -> Iterator[Node]:
        rows = self._ask(ALL) if types is None else self._ask(OF_TYPES, types=types)
        return (Node(*row) for row in rows)

    def _labelled(self, label: str) -> list[str]:
        return list(self.lookup(label))

    def _names(self) -> Iterator[Named]:
        for place, id, own, label, aliases in self._ask(EVERY_NAME):
            yield Named(Node(place, id), own, (label, *aliases))

    def _edges(
        self, ids: Collection[str], reach: Reach, targets: Collection[str] | None = None
    ) -> Iterator[tuple[str, Hop]]:
        few = targets is not None and len(targets) <= FEW
        text = one_or_both_ways(reach, EDGES, few, sense=True)
        kept = None if targets is None or few else frozenset(targets)
        rows = self._ask(text, ids=list(ids), types=reach.types, targets=list(targets or ()) if few else None)
        for source, place, target, relation, backwards in rows:
            if kept is None or target in kept:
                yield source, Hop(Node(place, target), relation, backwards)

    def _reached(self, ids: Collection[str], reach: Reach) -> set[Node]:
        text = one_or_both_ways(reach, REACHED)
        return {Node(*row) for row in self._ask(text, ids=list(ids), types=reach.types)}

    def _triples(self) -> Iterator[tuple[str, Hop]]:
        for first in range(0, self._counts[0], TRIPLES_BATCH):
            rows = self._ask(TRIPLES, first=first, last=first + TRIPLES_BATCH)
            for _, head, relation, place, tail in sorted((p, h, r, q, t) for p, h, q, t, r in rows):
                yield head, Hop(Node(place, tail), relation, False)

    def _own_types(self) -> set[str]:
        return {row[0] for row in self._ask(TYPES)}

    def _signatures(self) -> list[Signature]:
        return [Signature(*row) for row in self._ask(SIGNATURES)]


def one_or_both_ways(reach: Reach, returned: str, to_targets: bool = False, *, sense: bool = False) -> str:
    """The query for edges from the nodes ``$ids`` in one direction, or in both together."""
    tests = ["b.type IN $types"] * (reach.types is not None) + ["b.id IN $targets"] * to_targets
    kinds = "" if reach.relations is None else ":" + "|".join(map(quoted, reach.relations))

    def way(backwards: bool) -> str:
        arrow = f"<-[r{kinds}]-" if backwards else f"-[r{kinds}]->"
        here = [*tests, "a <> b"] if backwards and reach.direction == "both" else tests
        where = f" WHERE {' AND '.join(here)}" if here else ""
        told = f", {str(backwards).lower()} AS backwards" if sense else ""
        start = f"UNWIND $ids AS id MATCH (a:{NODE} {{id: id}}){arrow}(b:{NODE}){where}"
        return f"{start}\n{returned}{told}"

    return "\nUNION ALL\n".join(
        way(b) for b in (False, True) if reach.direction in ("both", ("out", "in")[b])
    )


def plain(value: Any) -> Any:
    """A value of the driver's without its types for what is in a graph."""
    from neo4j import graph

    match value:
        case graph.Path():
            path = _path(value)
            return [plain(part) for part in _parts(value)] if path is None else path
        case graph.Node():
            return dict(value)
        case graph.Relationship():
            return value.type
        case list():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
    return value


def _path(found: Any) -> Path | None:
    """A path of the driver's by ids; None if it passes through a node that is no entity."""
    ids = tuple(node.get("id") for node in found.nodes)
    if None in ids:
        return None
    edges = tuple(zip(found.relationships, found.nodes, strict=False))
    senses: tuple[Sense, ...] = tuple("out" if edge.start_node == node else "in" for edge, node in edges)
    return Path(ids, tuple(edge.type for edge, _ in edges), senses)


def _parts(found: Any) -> Iterator[Any]:
    """Nodes and relationships of a path of the driver's in turn."""
    for node, edge in zip(found.nodes, found.relationships, strict=False):
        yield from (node, edge)
    yield found.end_node


def quoted(name: str) -> str:
    """A name as Cypher reads it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


# A key may come more than once, so attributes are a list of texts "key=value", as in the exports; a key that has
# an equals sign in it (none of ours) is escaped.


def write_attribute(key: str, value: str) -> str:
    """One attribute as a text."""
    return f"{key.replace('%', '%25').replace('=', '%3D')}={value}"


def read_attribute(text: str) -> tuple[str, str]:
    """The inverse of :func:`write_attribute`."""
    key, _, value = text.partition("=")
    return key.replace("%3D", "=").replace("%25", "%"), value
