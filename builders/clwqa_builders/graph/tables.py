"""A small accumulator for entities and triples that ends in two sorted Arrow tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from clwqa_bench.kg.build import ENTITY_SCHEMA, TRIPLE_SCHEMA

LABEL_WIDTH = 24  # characters of a passage shown as its label
SHOWN_ROWS = 3  # rows named in a node's provenance; further ones are counted

Attribute = tuple[str, str]


def digest(*parts: str) -> str:
    """Twelve hex digits that name a passage by its content."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8")).hexdigest()[:12]


def short(text: str) -> str:
    """A passage's label: its first characters."""
    return text if len(text) <= LABEL_WIDTH else text[:LABEL_WIDTH] + "…"


@dataclass(slots=True)
class _Node:
    label: str
    type: str
    text: str
    aliases: set[str]
    attributes: set[Attribute]
    rows: list[str] = field(default_factory=list)
    seen: int = 0


class GraphTables:
    """Collects nodes and edges; the same node or edge may be added from many rows."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._edges: dict[tuple[str, str, str], str] = {}

    def node(
        self,
        id: str,
        label: str,
        type: str,
        provenance: str,
        *,
        text: str = "",
        aliases: Iterable[str] = (),
        attributes: Mapping[str, str | None] | None = None,
    ) -> str:
        """Add a node, or add facts to it when it exists; the first label, type and text stay.  Returns its id."""
        node = self._nodes.get(id)
        if node is None:
            node = self._nodes[id] = _Node(label, type, text, set(), set())
        node.aliases.update(a for a in aliases if a and a != node.label)
        node.attributes.update((k, v) for k, v in (attributes or {}).items() if v)
        node.seen += 1
        if len(node.rows) < SHOWN_ROWS and provenance not in node.rows:
            node.rows.append(provenance)
        return id

    def edge(self, head: str, relation: str, tail: str, provenance: str) -> None:
        """Add a triple once; a node never points to itself."""
        if head != tail:
            self._edges.setdefault((head, relation, tail), provenance)

    def symmetric(self, one: str, relation: str, other: str, provenance: str) -> None:
        """Add a symmetric relation in its one stored direction."""
        self.edge(min(one, other), relation, max(one, other), provenance)

    def has_symmetric(self, one: str, relation: str, other: str) -> bool:
        """Whether :meth:`symmetric` has added this edge."""
        return (min(one, other), relation, max(one, other)) in self._edges

    def has(self, id: str) -> bool:
        return id in self._nodes

    def type_of(self, id: str) -> str:
        return self._nodes[id].type

    def nodes_of(self, *types: str) -> list[tuple[str, str, str]]:
        """(id, label, text) of the nodes of these exact types, in id order."""
        return sorted((i, n.label, n.text) for i, n in self._nodes.items() if n.type in types)

    def pairs(self, relation: str) -> list[tuple[str, str]]:
        """(head, tail) of the triples of one relation, sorted."""
        return sorted((head, tail) for head, name, tail in self._edges if name == relation)

    def text_of(self, id: str) -> str:
        return self._nodes[id].text

    def annotate(self, id: str, key: str, value: str) -> None:
        """Add an attribute to a node that is there."""
        self._nodes[id].attributes.add((key, value))

    def entities(self) -> pa.Table:
        """The entity table, sorted by id."""
        items = sorted(self._nodes.items())
        return pa.Table.from_pydict(
            {
                "id": [i for i, _ in items],
                "label": [n.label for _, n in items],
                "type": [n.type for _, n in items],
                "aliases": [sorted(n.aliases) for _, n in items],
                "text": [n.text for _, n in items],
                "attributes": [[{"key": k, "value": v} for k, v in sorted(n.attributes)] for _, n in items],
                "provenance": [_provenance(n) for _, n in items],
            },
            schema=ENTITY_SCHEMA,
        )

    def triples(self) -> pa.Table:
        """The triple table, sorted by (head, relation, tail)."""
        items = sorted(self._edges.items())
        columns = [[key[i] for key, _ in items] for i in range(3)]
        return pa.Table.from_arrays(
            [*(pa.array(c, pa.string()) for c in columns), pa.array([p for _, p in items], pa.string())],
            schema=TRIPLE_SCHEMA,
        )


def _provenance(node: _Node) -> str:
    more = node.seen - len(node.rows)
    return " | ".join(node.rows) + (f" | +{more} more" if more > 0 and len(node.rows) == SHOWN_ROWS else "")
