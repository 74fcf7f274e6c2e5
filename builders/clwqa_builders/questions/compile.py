"""Patterns as Cypher and as SPARQL, with the anchors written in; both return the distinct gold ids, sorted.

They follow the exports of the graph (clwqa_bench.kg.export): a Cypher node carries the label Entity, its type
and all types above it, and the property ``id``; in RDF an entity has its type and all above as ``rdf:type``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from clwqa_bench.kg.iri import ONTOLOGY, iri
from clwqa_builders.questions.pattern import Edge, Pattern

_CYPHER_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def cypher_string(text: str) -> str:
    """A quoted Cypher string literal."""
    return f"'{text.translate(_CYPHER_ESCAPES)}'"


def to_cypher(pattern: Pattern, anchors: Mapping[str, str], answer: str) -> str:
    """A read-only query whose column ``id`` is the gold set; ``anchors`` maps variables to entity ids.

    It starts at the anchors and goes on from what is known, since not every engine reorders a pattern.  An anchor
    is looked up by the label Entity alone, and its type is a test: some engines use an index only for one label.
    """
    shown: set[str] = set()

    def node(name: str) -> str:
        if name in shown:
            return f"({name})"
        shown.add(name)
        if name in anchors:
            return f"({name}:Entity {{id: {cypher_string(anchors[name])}}})"
        types = pattern.variables[name]
        return f"({name}:Entity:{types[0]})" if len(types) == 1 else f"({name}:Entity)"

    def step(here: str, edge: Edge) -> str:
        there, left, right = (edge.tail, "-", "->") if here == edge.head else (edge.head, "<-", "-")
        if edge.symmetric:
            left, right = "-", "-"
        return f"{node(here)}{left}[:{'|'.join(edge.relations)}]{right}{node(there)}"

    steps = [step(here, edge) for here, edge in _from_anchors(pattern.edges, anchors)]
    tested = ((name, types) for name, types in pattern.variables.items() if len(types) > 1 or name in anchors)
    kinds = [" OR ".join(f"{name}:{t}" for t in types) for name, types in tested]
    tests = [f"({kind})" if " OR " in kind else kind for kind in kinds]
    tests += [f"{a} <> {b}" for a, b in pattern.rivals]
    where = f"\nWHERE {' AND '.join(tests)}" if tests else ""
    return f"MATCH {', '.join(steps)}{where}\nRETURN DISTINCT {answer}.id AS id ORDER BY id"


def _from_anchors(edges: Sequence[Edge], anchors: Iterable[str]) -> Iterator[tuple[str, Edge]]:
    """Each edge with its end that is known by then: first those at anchors, then those at what these reach."""
    known, left = set(anchors), list(edges)
    while left:
        edge = next((edge for edge in left if edge.head in known or edge.tail in known), left[0])
        left.remove(edge)
        yield (edge.tail if edge.tail in known and edge.head not in known else edge.head), edge
        known |= {edge.head, edge.tail}


def to_sparql(pattern: Pattern, anchors: Mapping[str, str], answer: str) -> str:
    """The same query over RDF; column ``id`` holds the IRIs of the gold set."""

    def term(name: str) -> str:
        return f"<{iri(anchors[name])}>" if name in anchors else f"?{name}"

    def step(edge: Edge) -> str:
        ways = [f"c:{r}" for r in edge.relations] + [f"^c:{r}" for r in edge.relations if edge.symmetric]
        return f"  {term(edge.head)} {'|'.join(ways)} {term(edge.tail)} ."

    def kind(name: str) -> str:
        types = [f"c:{t}" for t in pattern.variables[name]]
        if len(types) == 1:
            return f"  {term(name)} a {types[0]} ."
        return f"  {term(name)} a ?{name}_type . FILTER(?{name}_type IN ({', '.join(types)}))"

    tests = [f"  FILTER({term(a)} != {term(b)})" for a, b in pattern.rivals if not {a, b} <= set(anchors)]
    body = "\n".join([*map(step, pattern.edges), *map(kind, pattern.variables), *tests])
    return f"PREFIX c: <{ONTOLOGY}>\nSELECT DISTINCT (?{answer} AS ?id) WHERE {{\n{body}\n}} ORDER BY ?id"
