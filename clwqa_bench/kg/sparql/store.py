"""The graph store over SPARQL, for graphs as ``kg export --format nt`` writes them.

Data stands in the queries only as IRIs and literals escaped here.  RDF knows neither the order of answers nor
comparison keys, so labels are fetched to sort by, and names are looked up in an index kept on this side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.iri import ATTRIBUTE, NAMESPACE, ONTOLOGY, entity_id, escape, iri
from clwqa_bench.kg.protocol import Entity, Signature
from clwqa_bench.kg.remote import Hop, Named, Node, Reach, RemoteGraph
from clwqa_bench.kg.sparql.engines import Engine, Row
from clwqa_bench.ontology import Ontology

RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
ALIAS = "<http://www.w3.org/2004/02/skos/core#altLabel>"
MADE_FROM = (
    f"{NAMESPACE}graph",
    f"{NAMESPACE}madeFrom",
)  # the statement by which `kg load` says which graph it is
CHUNK = 400  # nodes named in one query; endpoints limit the length of a text
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


class SparqlGraph(RemoteGraph):
    """A GraphStore over any engine.  RDF says nothing about the ontology, so it is given."""

    def __init__(self, engine: Engine, ontology: Ontology) -> None:
        super().__init__(ontology)
        self._engine = engine

    @staticmethod
    def open(engine: Engine, ontology: Ontology | None = None) -> SparqlGraph:
        """Open the graph of an engine.  Raises GraphError if it holds no entity of the ontology's types."""
        graph = SparqlGraph(engine, ontology or Ontology.load())
        if not any(
            graph._select(f"SELECT ?a WHERE {{ ?a a ?t ; {LABEL} ?l . {graph._values('t', None)} }} LIMIT 1")
        ):
            fix = "load kg.nt.gz of a dataset, or what `clwqa-bench kg export --format nt` writes; see docs/stores.md"
            raise GraphError("no entity of a known type is there", fix=fix)
        return graph

    def close(self) -> None:
        self._engine.close()

    @property
    def server(self) -> str:
        return self._engine.name

    def made_from(self) -> str:
        return made_from(self._engine)

    def counts(self) -> tuple[int, int]:
        entities = (
            f"SELECT (COUNT(DISTINCT ?a) AS ?n) WHERE {{ {self._values('t', None)} ?a a ?t ; {LABEL} ?l }}"
        )
        # an edge may lead to what nothing is said about, which is no entity
        described = f"EXISTS {{ ?a {LABEL} ?l }} && EXISTS {{ ?b {LABEL} ?m }}"
        triples = f"SELECT (COUNT(*) AS ?n) WHERE {{ {self._relations()} ?a ?p ?b FILTER({described}) }}"
        here, there = (int(next(self._select(text))["n"].value) for text in (entities, triples))
        return here, there

    def query(self, text: str, **parameters: Any) -> list[dict[str, Any]]:
        """Rows of a SELECT query; entities stand in them as IRIs.  There are no parameters in SPARQL."""
        if parameters:
            raise GraphError("SPARQL has no parameters", fix="write the values into the query")
        return [{name: term.plain() for name, term in row.items()} for row in self._select(text)]

    # ------------------------------------------------------------------ what the engine is asked

    def _entity(self, node: str) -> Entity | None:
        found: dict[str, list[str]] = {}
        for row in self._select(f"SELECT ?p ?o WHERE {{ <{iri(node)}> ?p ?o }}"):
            found.setdefault(f"<{row['p'].value}>", []).append(row["o"].value)
        if LABEL not in found:
            return None
        own = self._own(name.removeprefix(ONTOLOGY) for name in found.get(RDF_TYPE, ()))
        if own is None:
            return None
        attributes = (
            (entity_id(name[1 + len(ATTRIBUTE) : -1]), value)
            for name, values in found.items()
            if name.startswith(f"<{ATTRIBUTE}")
            for value in values
        )
        return Entity(
            id=node,
            label=found[LABEL][0],
            types=self._lineage(own),
            aliases=tuple(sorted(found.get(ALIAS, ()))),
            text=found.get(f"<{ONTOLOGY}text>", [""])[0],
            attributes=tuple(sorted(attributes)),
            provenance=found.get(f"<{ONTOLOGY}provenance>", [""])[0],
        )

    def _nodes(self, ids: Collection[str]) -> list[Node]:
        found = f"?a {LABEL} ?label . FILTER EXISTS {{ ?a a ?t }}"
        texts = (
            f"SELECT DISTINCT ?a ?label WHERE {{ VALUES ?a {{ {part} }} {found} }}" for part in _chunks(ids)
        )
        return [_node(row, "a") for text in texts for row in self._select(text)]

    def _listed(self, types: tuple[str, ...] | None) -> Iterator[Node]:
        # an entity has the types above its own as well, so those further down are ruled out
        below = sorted(self.ontology.with_descendants(types) - set(types)) if types else []
        own = f"FILTER NOT EXISTS {{ VALUES ?below {{ {_names(below)} }} ?a a ?below }}" if below else ""
        text = (
            f"SELECT DISTINCT ?a ?label WHERE {{ {self._values('t', types)} ?a a ?t ; {LABEL} ?label {own} }}"
        )
        return (_node(row, "a") for row in self._select(text))

    def _labelled(self, label: str) -> list[str]:
        rows = self._select(f"SELECT DISTINCT ?a WHERE {{ ?a {LABEL} {_literal(label)} ; a ?t }}")
        return sorted(entity_id(row["a"].value) for row in rows)

    def _names(self) -> Iterator[Named]:
        own: dict[Node, set[str]] = {}
        for row in self._select(
            f"SELECT ?a ?label ?t WHERE {{ {self._values('t', None)} ?a a ?t ; {LABEL} ?label }}"
        ):
            own.setdefault(_node(row, "a"), set()).add(row["t"].value.removeprefix(ONTOLOGY))
        others: dict[str, list[str]] = {}
        for row in self._select(f"SELECT ?a ?name WHERE {{ ?a {ALIAS} ?name }}"):
            others.setdefault(entity_id(row["a"].value), []).append(row["name"].value)
        for node, types in own.items():
            if (most := self._own(types)) is not None:
                yield Named(node, most, (node.order, *others.get(node.id, ())))

    def _edges(
        self, ids: Collection[str], reach: Reach, targets: Collection[str] | None = None
    ) -> Iterator[tuple[str, Hop]]:
        kept = None if targets is None else frozenset(targets)
        for backwards, where in self._ways(reach):
            for part in _chunks(ids):
                for row in self._select(
                    f"SELECT DISTINCT ?a ?p ?b ?label WHERE {{ VALUES ?a {{ {part} }} {where} }}"
                ):
                    source, target = entity_id(row["a"].value), _node(row, "b")
                    if kept is None or target.id in kept:
                        yield source, Hop(target, row["p"].value.removeprefix(ONTOLOGY), backwards)

    def _reached(self, ids: Collection[str], reach: Reach) -> set[Node]:
        return {
            _node(row, "b")
            for _, where in self._ways(reach)
            for part in _chunks(ids)
            for row in self._select(f"SELECT DISTINCT ?b ?label WHERE {{ VALUES ?a {{ {part} }} {where} }}")
        }

    def _ways(self, reach: Reach) -> Iterator[tuple[bool, str]]:
        """(backwards, pattern from ?a over ?p to ?b with its ?label) of each direction."""
        relations = f"VALUES ?p {{ {_names(reach.relations)} }}" if reach.relations is not None else (
            f"FILTER(?p != {RDF_TYPE} && isIRI(?b) && isIRI(?a))"
        )  # fmt: skip
        types = "" if reach.types is None else f"FILTER({self._is_a('b', reach.types)})"
        for backwards in (False, True):
            if reach.direction not in ("both", ("out", "in")[backwards]):
                continue
            edge = "?b ?p ?a" if backwards else "?a ?p ?b"
            loops = "FILTER(?a != ?b)" if backwards and reach.direction == "both" else ""
            yield backwards, f"{relations} {edge} . {types} ?b {LABEL} ?label . {loops}"

    def _is_a(self, variable: str, types: tuple[str, ...]) -> str:
        """A test of the types; as a pattern, engines would list all nodes of a type before the few at hand."""
        highest = [name for name in types if not set(self.ontology.ancestors(name)) & set(types)]
        return " || ".join(f"EXISTS {{ ?{variable} a {_names([name])} }}" for name in highest) or "false"

    def _triples(self) -> Iterator[tuple[str, Hop]]:
        named = {node.id: node for node in self._listed(None)}
        text = f"SELECT ?a ?p ?b WHERE {{ {self._relations()} ?a ?p ?b }}"
        ends = ((entity_id(r["a"].value), r["p"].value, entity_id(r["b"].value)) for r in self._select(text))
        for head, relation, tail in sorted(
            (named[a], p, named[b]) for a, p, b in ends if a in named and b in named
        ):
            yield head.id, Hop(tail, relation.removeprefix(ONTOLOGY), False)

    def _own_types(self) -> set[str]:
        return set(self._own_type.values())

    def _signatures(self) -> list[Signature]:
        counts: dict[tuple[str, str, str], int] = {}
        own = self._own_type
        for row in self._select(f"SELECT ?a ?p ?b WHERE {{ {self._relations()} ?a ?p ?b }}"):
            head, tail = own.get(row["a"].value), own.get(row["b"].value)
            if head and tail:  # as in `_triples`: what nothing is said about is no entity
                kind = head, row["p"].value.removeprefix(ONTOLOGY), tail
                counts[kind] = counts.get(kind, 0) + 1
        return [Signature(*kind, count) for kind, count in counts.items()]

    # ------------------------------------------------------------------ inside

    @cached_property
    def _own_type(self) -> Mapping[str, str]:
        """The most specific type of every entity, by IRI."""
        found: dict[str, set[str]] = {}
        for row in self._select(f"SELECT ?a ?t WHERE {{ {self._values('t', None)} ?a a ?t ; {LABEL} ?l }}"):
            found.setdefault(row["a"].value, set()).add(row["t"].value.removeprefix(ONTOLOGY))
        return {node: own for node, types in found.items() if (own := self._own(types)) is not None}

    def _own(self, types: Iterable[str]) -> str | None:
        """The most specific of an entity's types."""
        known = [name for name in types if name in self.ontology.type_terms]
        return max(known, key=lambda name: len(self.ontology.ancestors(name)), default=None)

    def _values(self, variable: str, types: tuple[str, ...] | None) -> str:
        return f"VALUES ?{variable} {{ {_names(types or self.ontology.types)} }}"

    def _relations(self) -> str:
        return f"VALUES ?p {{ {_names(self.ontology.relations)} }}"

    def _select(self, text: str) -> Iterator[Row]:
        return self._engine.select(text)


def made_from(engine: Engine) -> str:
    """The digest of the tables a folder was filled from; empty if the statements come from elsewhere."""
    subject, predicate = MADE_FROM
    rows = engine.select(f"SELECT ?o WHERE {{ <{subject}> <{predicate}> ?o }}")
    return next((row["o"].value for row in rows), "")


def _node(row: Row, name: str) -> Node:
    return Node(row["label"].value, entity_id(row[name].value))


def _names(names: Iterable[str]) -> str:
    """Types or relations as IRIs."""
    return " ".join(f"<{ONTOLOGY}{escape(name)}>" for name in names)


def _literal(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _chunks(ids: Collection[str]) -> Iterator[str]:
    """The ids as lists of IRIs, each as long as one query should carry."""
    every = list(ids)
    for start in range(0, len(every), CHUNK):
        yield " ".join(f"<{iri(id)}>" for id in every[start : start + CHUNK])
