"""A graph store seen as RDF, so that stored SPARQL runs on the whole graph without copying it.

The RDF is that of `kg.nt.gz` as far as the benchmark's queries look at it: an entity has its own type and the types
above it, and every triple is one statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from functools import lru_cache
from typing import Any

from rdflib import RDF, Graph, Literal, URIRef, Variable
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.sparql.algebra import BGP, traverse
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import Query
from rdflib.store import Store
from rdflib.term import Node

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.iri import ATTRIBUTE, ONTOLOGY, entity_id, iri
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.literals import literal_id

Pair = tuple[URIRef, Node]
Find = Callable[[URIRef | None, str, URIRef | None], Iterator[Pair]]


class RdfView:
    """`RdfView(store).select(sparql)`: the rows found, each a mapping from column to value."""

    def __init__(self, store: GraphStore) -> None:
        self._graph = Graph(store=_Statements(store))

    def select(self, sparql: str) -> list[dict[str, Any]]:
        """Run a SELECT query. Raises GraphError for one that leaves a predicate open."""
        rows = self._graph.query(_prepared(sparql))
        return [{name: term.toPython() for name, term in row.asdict().items()} for row in rows]  # type: ignore[union-attr]


@lru_cache(256)
def _prepared(sparql: str) -> Query:
    """A query, read (which takes longer than running it) and planned."""
    query = prepareQuery(sparql)
    _order(query.algebra)
    return query


def sparql_answer(row: Mapping[str, Any]) -> str:
    """The gold id a row of a stored SPARQL query gives: of the entity in column `id`, or of the number or truth in
    column `value`."""
    return entity_id(str(row["id"])) if "id" in row else literal_id(row["value"])


def cypher_answer(row: Mapping[str, Any]) -> str:
    """The same for stored Cypher, where an entity is told by its id."""
    return str(row["id"]) if "id" in row else literal_id(row["value"])


def _order(algebra: Any) -> None:
    """Plan every pattern: those inside a negation know the variables of those outside."""
    given: set[Any] = set()
    outside: set[Any] = set()

    def collect(node: Any) -> None:
        if isinstance(node, CompValue) and node.name == "values":
            given.update(variable for row in node.res for variable in row)
        elif isinstance(node, CompValue) and node.name == "BGP":
            outside.update(term for triple in node.triples for term in triple if isinstance(term, Variable))

    def negation(node: Any) -> Any:
        if not isinstance(node, CompValue) or node.name != "Builtin_NOTEXISTS":
            return None
        node["graph"] = traverse(node.graph, visitPost=lambda inner: _plan(inner, outside))
        return node

    def skip(node: Any) -> Any:
        return node if isinstance(node, CompValue) and node.name == "Builtin_NOTEXISTS" else None

    traverse(algebra, visitPre=skip, visitPost=collect)
    traverse(algebra, visitPre=negation, visitPost=lambda node: _plan(node, given))


def _plan(node: Any, given: Set[Any]) -> Any:
    """Replace a basic graph pattern by a chain of single statements, each starting from something known.

    rdflib sorts the statements of a pattern once, by how many of their variables are open at the start, and would
    list all entities of a type before it follows the few edges of a known one.
    """
    if not (isinstance(node, CompValue) and node.name == "BGP" and node.triples):
        return None  # leave it as it is
    known = set(given)
    todo, chain = list(node.triples), None
    while todo:
        best = min(todo, key=lambda t: (sum(_open(term, known) for term in t), t[1] == RDF.type))
        todo.remove(best)
        known.update(term for term in best if isinstance(term, Variable))
        chain = BGP([best]) if chain is None else CompValue("Join", p1=chain, p2=BGP([best]), lazy=True)
    return chain


def _open(term: Any, known: set[Any]) -> bool:
    return isinstance(term, Variable) and term not in known


class _Statements(Store):
    """What rdflib asks of a store, answered by the graph."""

    def __init__(self, store: GraphStore) -> None:
        super().__init__()
        self._store, self._known = store, frozenset(store.entities())

    def triples(self, triple_pattern: Any, context: Any = None) -> Iterator[Any]:
        subject, predicate, object_ = triple_pattern
        if predicate is None:
            raise GraphError("a query with an open predicate is not supported here", fix="name the relation")
        name = str(predicate)
        find: Find = self._types if predicate == RDF.type else self._edges
        if name.startswith(ATTRIBUTE):
            find = self._attributes
        for s, o in find(subject, name.removeprefix(ONTOLOGY).removeprefix(ATTRIBUTE), object_):
            if subject in (None, s) and object_ in (None, o):
                yield (s, predicate, o), iter(())

    def _types(self, subject: URIRef | None, _: str, type_: URIRef | None) -> Iterator[Pair]:
        if subject is None and type_ is not None:
            nodes: Iterator[str] = self._store.by_type(str(type_).removeprefix(ONTOLOGY))
        else:
            nodes = self._entities(subject)
        for node in nodes:
            yield from ((URIRef(iri(node)), URIRef(ONTOLOGY + name)) for name in self._store.types(node))

    def _attributes(self, subject: URIRef | None, key: str, _: URIRef | None) -> Iterator[Pair]:
        for node in self._entities(subject):
            attributes = self._store.entity(node).attributes
            yield from ((URIRef(iri(node)), Literal(value)) for name, value in attributes if name == key)

    def _edges(self, subject: URIRef | None, relation: str, object_: URIRef | None) -> Iterator[Pair]:
        if subject is None and object_ is not None:
            for node in self._entities(object_):
                yield from (
                    (URIRef(iri(head)), object_) for head in self._store.neighbours(node, relation, "in")
                )
        else:
            for node in self._entities(subject):
                here = URIRef(iri(node))
                yield from (
                    (here, URIRef(iri(tail))) for tail in self._store.neighbours(node, relation, "out")
                )

    def _entities(self, term: URIRef | None) -> Iterator[str]:
        """The entity a term stands for, all of them for an open one."""
        if term is None:
            yield from self._store.entities()
        elif (node := entity_id(str(term))) in self._known:
            yield node
