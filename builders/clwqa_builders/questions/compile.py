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


Anchors = Mapping[str, str | tuple[str, ...]]
"""Entity ids by variable; a variable with several ids may be any one of them."""


def to_cypher(pattern: Pattern, anchors: Anchors, answer: str) -> str:
    """A read-only query whose column ``id`` is the gold set; ``anchors`` maps variables to entity ids."""
    return f"{cypher_match(pattern, anchors)}\nRETURN DISTINCT {answer}.id AS id ORDER BY id"


def cypher_match(
    pattern: Pattern, anchors: Anchors, more: Iterable[str] = (), known: Iterable[str] = ()
) -> str:
    """The part of a query that finds the solutions; ``more`` are further tests, ``known`` variables bound outside.

    It starts at the anchors and goes on from what is known, since not every engine reorders a pattern.  An anchor
    is looked up by the label Entity alone, and its type is a test: some engines use an index only for one label.
    """
    shown = set(known)

    def node(name: str) -> str:
        if name in shown:
            return f"({name})"
        shown.add(name)
        if name in anchors:
            id = anchors[name]
            return (
                f"({name}:Entity {{id: {cypher_string(id)}}})" if isinstance(id, str) else f"({name}:Entity)"
            )
        types = pattern.variables[name]
        return f"({name}:Entity:{types[0]})" if len(types) == 1 else f"({name}:Entity)"

    def step(here: str, edge: Edge) -> str:
        there, left, right = (edge.tail, "-", "->") if here == edge.head else (edge.head, "<-", "-")
        if edge.symmetric:
            left, right = "-", "-"
        return f"{node(here)}{left}[:{'|'.join(edge.relations)}]{right}{node(there)}"

    steps = [step(here, edge) for here, edge in _from_anchors(pattern.edges, {*anchors, *known})]
    tested = ((name, types) for name, types in pattern.variables.items() if len(types) > 1 or name in anchors)
    kinds = [" OR ".join(f"{name}:{t}" for t in types) for name, types in tested]
    tests = [
        f"{name}.id IN [{', '.join(map(cypher_string, ids))}]"
        for name, ids in anchors.items()
        if not isinstance(ids, str)
    ]
    tests += [f"({kind})" if " OR " in kind else kind for kind in kinds]
    tests += [f"{a} <> {b}" for a, b in pattern.rivals]
    where = f"\nWHERE {' AND '.join(tests)}" if (tests := [*tests, *more]) else ""
    return f"MATCH {', '.join(steps)}{where}"


def _from_anchors(edges: Sequence[Edge], anchors: Iterable[str]) -> Iterator[tuple[str, Edge]]:
    """Each edge with its end that is known by then: first those at anchors, then those at what these reach."""
    known, left = set(anchors), list(edges)
    while left:
        edge = next((edge for edge in left if edge.head in known or edge.tail in known), left[0])
        left.remove(edge)
        yield (edge.tail if edge.tail in known and edge.head not in known else edge.head), edge
        known |= {edge.head, edge.tail}


def to_sparql(pattern: Pattern, anchors: Anchors, answer: str) -> str:
    """The same query over RDF; column ``id`` holds the IRIs of the gold set."""
    where = sparql_where(pattern, anchors)
    return f"PREFIX c: <{ONTOLOGY}>\nSELECT DISTINCT (?{answer} AS ?id) WHERE {{\n{where}\n}} ORDER BY ?id"


def sparql_where(pattern: Pattern, anchors: Anchors) -> str:
    """The graph pattern, a line for each statement; the prefix ``c`` is the ontology's."""
    one = {name: ids for name, ids in anchors.items() if isinstance(ids, str)}

    def term(name: str) -> str:
        return f"<{iri(one[name])}>" if name in one else f"?{name}"

    def step(edge: Edge) -> str:
        ways = [f"c:{r}" for r in edge.relations] + [f"^c:{r}" for r in edge.relations if edge.symmetric]
        return f"  {term(edge.head)} {'|'.join(ways)} {term(edge.tail)} ."

    def kind(name: str) -> str:
        types = [f"c:{t}" for t in pattern.variables[name]]
        if len(types) == 1:
            return f"  {term(name)} a {types[0]} ."
        return f"  {term(name)} a ?{name}_type . FILTER(?{name}_type IN ({', '.join(types)}))"

    several = [
        f"  VALUES ?{name} {{ {' '.join(f'<{iri(id)}>' for id in ids)} }}"
        for name, ids in anchors.items()
        if not isinstance(ids, str)
    ]
    tests = [f"  FILTER({term(a)} != {term(b)})" for a, b in pattern.rivals if not {a, b} <= set(one)]
    return "\n".join([*several, *map(step, pattern.edges), *map(kind, pattern.variables), *tests])
