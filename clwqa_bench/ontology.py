"""The closed set of cultural elements T: types, hierarchy, relation signatures, categories, type graph.

Everything comes from a Turtle file (``data/ontology.ttl``, or one you bring).  ``Ontology.load`` parses it
with rdflib; a graph directory keeps the same content as compact JSON so that opening it needs no rdflib.
Identifiers are local names: the part of an IRI after its last ``#`` or ``/``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeVar

from clwqa_bench.errors import OntologyError

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

Direction = Literal["out", "in"]
DEFAULT_PATH = Path(__file__).parent / "data" / "ontology.ttl"
SUB_CATEGORY_OF = "subCategoryOf"
CATEGORY_TYPE = "CulturalContentCategory"


@dataclass(frozen=True, slots=True)
class Term:
    """What types and relations have in common: a name, and words for it by language tag."""

    name: str
    labels: tuple[tuple[str, str], ...]
    descriptions: tuple[tuple[str, str], ...]
    parent: str | None


TermT = TypeVar("TermT", bound=Term)


@dataclass(frozen=True, slots=True)
class Relation(Term):
    """A relation; ``domains`` and ``ranges`` are unions of types.  An abstract one is never stored.

    Each of ``chains`` lists relations which, walked one after the other, amount to this one.
    """

    domains: tuple[str, ...]
    ranges: tuple[str, ...]
    symmetric: bool
    abstract: bool
    chains: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Category:
    """A category of cultural content; ``upper`` is the slug of its upper category, None for an upper one."""

    slug: str
    type: str
    zh: str
    en: str
    upper: str | None


class TypeNeighbour(NamedTuple):
    """One edge of the type graph: ``type`` is reached over ``relation`` walked in ``direction``."""

    type: str
    relation: str
    direction: Direction


@dataclass(frozen=True)
class Ontology:
    """An immutable ontology.  Tuples of names are in a fixed order: parents before children, then by name."""

    type_terms: Mapping[str, Term]
    relation_terms: Mapping[str, Relation]
    categories: tuple[Category, ...] = ()

    # ------------------------------------------------------------------ making one

    @staticmethod
    def load(path: str | Path | None = None) -> Ontology:
        """Parse a Turtle ontology; the packaged one by default.  Raises OntologyError when it is unsound."""
        return _packaged() if path is None or _is_packaged(Path(path)) else _parse(Path(path))

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Ontology:
        """The inverse of :meth:`to_json`."""
        return Ontology(
            type_terms={t["name"]: Term(**_frozen(t)) for t in data["types"]},
            relation_terms={r["name"]: Relation(**_frozen(r)) for r in data["relations"]},
            categories=tuple(Category(**c) for c in data["categories"]),
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON object that holds everything this class knows."""
        return {
            "types": [asdict(t) for t in self.type_terms.values()],
            "relations": [asdict(r) for r in self.relation_terms.values()],
            "categories": [asdict(c) for c in self.categories],
        }

    # ------------------------------------------------------------------ names

    @cached_property
    def types(self) -> tuple[str, ...]:
        """All types of T."""
        return tuple(self.type_terms)

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """All relations, abstract ones included."""
        return tuple(self.relation_terms)

    def label(self, name: str, lang: str = "zh") -> str:
        """The label of a type or relation in ``lang``, else in any language, else its name."""
        return _in_language(self._term(name).labels, lang) or name

    def description(self, name: str, lang: str = "zh") -> str:
        """The description of a type or relation in ``lang``, else in any language, else ''."""
        return _in_language(self._term(name).descriptions, lang)

    @cached_property
    def is_chinese(self) -> bool:
        """Whether types have Chinese labels."""
        return any(lang == "zh" for term in self.type_terms.values() for lang, _ in term.labels)

    # ------------------------------------------------------------------ hierarchy of types

    def parent(self, name: str) -> str | None:
        """The direct supertype, None at a root."""
        return self._type(name).parent

    def children(self, name: str) -> tuple[str, ...]:
        """The direct subtypes."""
        return self._children.get(self._type(name).name, ())

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Supertypes without the type itself, nearest first."""
        found: list[str] = []
        above = self.parent(name)
        while above is not None:
            found.append(above)
            above = self.parent(above)
        return tuple(found)

    def descendants(self, name: str) -> tuple[str, ...]:
        """Subtypes of every depth, without the type itself."""
        return tuple(d for child in self.children(name) for d in (child, *self.descendants(child)))

    def is_a(self, name: str, ancestor: str) -> bool:
        """True if the type ``name`` is ``ancestor`` or one of its descendants."""
        return self._type(ancestor).name in (name, *self.ancestors(name))

    def with_descendants(self, types: Iterable[str]) -> frozenset[str]:
        """The given types and everything below them."""
        return frozenset(d for t in types for d in (t, *self.descendants(t)))

    # ------------------------------------------------------------------ relations

    def signature(self, relation: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(domains, ranges) of a relation, each a union of types."""
        term = self._relation(relation)
        return term.domains, term.ranges

    def allows(self, head_type: str, relation: str, tail_type: str) -> bool:
        """True if a triple between entities of these types follows the relation's signature."""
        domains, ranges = self.signature(relation)
        return any(self.is_a(head_type, d) for d in domains) and any(self.is_a(tail_type, r) for r in ranges)

    def symmetric(self, relation: str) -> bool:
        """True if the relation holds both ways (it is stored once and should be asked undirected)."""
        return self._relation(relation).symmetric

    def abstract(self, relation: str) -> bool:
        """True if the relation only groups its sub-relations and is never stored."""
        return self._relation(relation).abstract

    def parent_relation(self, relation: str) -> str | None:
        """The relation this one specialises, if any."""
        return self._relation(relation).parent

    def sub_relations(self, relation: str) -> tuple[str, ...]:
        """Relations below this one at every depth, without itself."""
        self._relation(relation)
        direct = [r.name for r in self.relation_terms.values() if r.parent == relation]
        return tuple(s for child in direct for s in (child, *self.sub_relations(child)))

    @cached_property
    def property_chains(self) -> Mapping[tuple[str, ...], str]:
        """The relation that a chain of relations amounts to (``owl:propertyChainAxiom``), by chain."""
        return {chain: term.name for term in self.relation_terms.values() for chain in term.chains}

    def type_neighbours(self, name: str) -> tuple[TypeNeighbour, ...]:
        """Edges of the type graph at a type: declared (type, relation, direction), sorted.

        A relation counts when its declared end lies above or below the type, since an entity of a type is
        one of its supertypes too.  Abstract relations are left out; their sub-relations speak for them.
        """
        return self._type_graph[self._type(name).name]

    # ------------------------------------------------------------------ inside

    @cached_property
    def _children(self) -> dict[str, tuple[str, ...]]:
        below: dict[str, list[str]] = {}
        for term in self.type_terms.values():
            if term.parent is not None:
                below.setdefault(term.parent, []).append(term.name)
        return {parent: tuple(names) for parent, names in below.items()}

    @cached_property
    def _type_graph(self) -> dict[str, tuple[TypeNeighbour, ...]]:
        def meets(name: str, ends: tuple[str, ...]) -> bool:
            return any(self.is_a(name, end) or self.is_a(end, name) for end in ends)

        graph: dict[str, tuple[TypeNeighbour, ...]] = {}
        for name in self.types:
            edges: set[TypeNeighbour] = set()
            for relation in (r for r in self.relation_terms.values() if not r.abstract):
                if meets(name, relation.domains):
                    edges |= {TypeNeighbour(r, relation.name, "out") for r in relation.ranges}
                if meets(name, relation.ranges):
                    edges |= {TypeNeighbour(d, relation.name, "in") for d in relation.domains}
            graph[name] = tuple(sorted(edges))
        return graph

    def _type(self, name: str) -> Term:
        term = self.type_terms.get(name)
        return term if term is not None else _unknown("type", name, self.types)

    def _relation(self, name: str) -> Relation:
        term = self.relation_terms.get(name)
        return term if term is not None else _unknown("relation", name, self.relations)

    def _term(self, name: str) -> Term:
        term = self.type_terms.get(name) or self.relation_terms.get(name)
        return term if term is not None else _unknown("type or relation", name, self.types + self.relations)


def _unknown(kind: str, name: str, known: tuple[str, ...]) -> NoReturn:
    by_fold = {k.casefold(): k for k in known}
    close = [by_fold[c] for c in get_close_matches(str(name).casefold(), list(by_fold), n=1, cutoff=0.5)]
    fix = f"did you mean {close[0]!r}" if close else f"use one of: {', '.join(known)}"
    raise OntologyError(f"unknown {kind} {name!r}", fix=fix)


def _in_language(words: tuple[tuple[str, str], ...], lang: str) -> str:
    by_lang = dict(words)
    return by_lang.get(lang) or next(iter(by_lang.values()), "")


def _frozen(record: Mapping[str, Any]) -> dict[str, Any]:
    """JSON lists (and lists of pairs) back to tuples."""

    def freeze(value: Any) -> Any:
        return tuple(map(freeze, value)) if isinstance(value, list | tuple) else value

    return {key: freeze(value) for key, value in record.items()}


# ---------------------------------------------------------------------- reading Turtle (rdflib only here)


@cache
def _packaged() -> Ontology:
    return _parse(DEFAULT_PATH)


def _is_packaged(path: Path) -> bool:
    """Whether a file is a copy of the packaged ontology, as in most datasets: it need not be parsed again."""
    return path.is_file() and path.read_bytes() == DEFAULT_PATH.read_bytes()


def _parse(path: Path) -> Ontology:
    from rdflib import Graph
    from rdflib.exceptions import ParserError
    from rdflib.plugins.parsers.notation3 import BadSyntax

    graph = Graph()
    try:
        graph.parse(path, format="turtle")
    except OSError as error:
        what = f"cannot read the ontology ({error.strerror})"
        raise OntologyError(what, fix="check the path", file=path) from None
    except UnicodeDecodeError:
        raise OntologyError("not UTF-8", fix="save it as UTF-8", file=path) from None
    except BadSyntax as error:  # its text shows what stands there as bytes; the line tells as much
        told = re.search(r"\((.*)\) at \^ in", str(error), re.DOTALL)
        what = f"not valid Turtle: {told[1] if told else error}"
        raise OntologyError(what, fix="correct the syntax", file=path, line=error.lines + 1) from None
    except (IndexError, AssertionError):  # what rdflib meets behind the end: of a statement, of a string
        what = "not valid Turtle: the file ends in the middle of a statement"
        raise OntologyError(what, fix="write the rest of it", file=path) from None
    except ParserError as error:
        raise OntologyError(f"not valid Turtle: {error}", fix="correct the syntax", file=path) from None
    return _Reader(graph, path).ontology()


class _Reader:
    """Turns an rdflib graph into an Ontology, refusing what the rest of the code could not rely on."""

    def __init__(self, graph: Graph, path: Path) -> None:
        from rdflib import OWL, RDF, RDFS

        self.graph, self.path, self.rdf, self.rdfs, self.owl = graph, path, RDF, RDFS, OWL
        self.type_of = self._declared(OWL.Class, RDFS.Class)
        self.relation_of = self._declared(OWL.ObjectProperty, RDF.Property)
        if not self.type_of:
            self.fail("no class is declared", "declare each type with `a owl:Class`")
        for name in sorted(set(self.type_of.values()) & set(self.relation_of.values())):
            self.fail(f"{name!r} names both a type and a relation", "rename one of them")

    def fail(self, what: str, fix: str) -> NoReturn:
        raise OntologyError(what, fix=fix, file=self.path)

    def ontology(self) -> Ontology:
        types = {n: self._term(iri, n, self.rdfs.subClassOf, self.type_of) for iri, n in self.type_of.items()}
        ordered = self._parents_first(types)
        roots = tuple(t.name for t in ordered.values() if t.parent is None)
        relations = {name: self._relation(iri, name, roots) for iri, name in self.relation_of.items()}
        return Ontology(ordered, self._parents_first(relations), self._categories(ordered))

    def _declared(self, *classes: Node) -> dict[Node, str]:
        from rdflib import URIRef

        found: dict[Node, str] = {}
        for subject in sorted({s for c in classes for s in self.graph.subjects(self.rdf.type, c)}, key=str):
            if not isinstance(subject, URIRef):  # a union written in place
                continue
            name = _local_name(str(subject))
            if name in found.values():
                self.fail(f"two terms share the local name {name!r}", "give every term its own local name")
            found[subject] = name
        return found

    def _words(self, iri: Node, predicate: Node) -> tuple[tuple[str, str], ...]:
        literals = self.graph.objects(iri, predicate)
        return tuple(sorted((getattr(o, "language", None) or "", str(o)) for o in literals))

    def _term(self, iri: Node, name: str, above: Node, known: Mapping[Node, str]) -> Term:
        parents = sorted(known[o] for o in self.graph.objects(iri, above) if o in known and o != iri)
        if len(parents) > 1:
            what = f"{name!r} has several parents: {', '.join(parents)}"
            self.fail(what, "keep one; the hierarchy is a tree")
        labels = self._words(iri, self.rdfs.label)
        return Term(name, labels, self._words(iri, self.rdfs.comment), parents[0] if parents else None)

    def _relation(self, iri: Node, name: str, roots: tuple[str, ...]) -> Relation:
        term = self._term(iri, name, self.rdfs.subPropertyOf, self.relation_of)
        kinds = set(self.graph.objects(iri, self.rdf.type))
        abstract = {str(o) for p, o in self.graph.predicate_objects(iri) if _local_name(str(p)) == "abstract"}
        return Relation(
            name=name,
            labels=term.labels,
            descriptions=term.descriptions,
            parent=term.parent,
            domains=self._ends(iri, name, self.rdfs.domain) or roots,
            ranges=self._ends(iri, name, self.rdfs.range) or roots,
            symmetric=self.owl.SymmetricProperty in kinds,
            abstract="true" in abstract,
            chains=self._chains(iri, name),
        )

    def _chains(self, iri: Node, name: str) -> tuple[tuple[str, ...], ...]:
        from rdflib.collection import Collection

        chains = [Collection(self.graph, c) for c in self.graph.objects(iri, self.owl.propertyChainAxiom)]
        for step in (step for chain in chains for step in chain if step not in self.relation_of):
            what = f"{name!r} has {_local_name(str(step))!r} in a property chain, which is no relation"
            self.fail(what, "declare it as an object property; a chain is walked forwards only")
        return tuple(sorted(tuple(self.relation_of[step] for step in chain) for chain in chains))

    def _ends(self, iri: Node, name: str, predicate: Node) -> tuple[str, ...]:
        from rdflib.collection import Collection

        ends: set[str] = set()
        for value in self.graph.objects(iri, predicate):
            union = self.graph.value(value, self.owl.unionOf)
            for member in [value] if union is None else Collection(self.graph, union):
                if member not in self.type_of:
                    what = f"{name!r} has {_local_name(str(member))!r} in its signature, which is no type"
                    self.fail(what, "declare it as a class")
                ends.add(self.type_of[member])
        return tuple(sorted(ends))

    def _parents_first(self, terms: Mapping[str, TermT]) -> dict[str, TermT]:
        children: dict[str | None, list[str]] = {}
        for term in terms.values():
            children.setdefault(term.parent, []).append(term.name)
        ordered: dict[str, TermT] = {}
        stack = sorted(children.get(None, ()), reverse=True)
        while stack:
            name = stack.pop()
            ordered[name] = terms[name]
            stack += sorted(children.get(name, ()), reverse=True)
        for name in sorted(terms.keys() - ordered.keys()):
            self.fail(f"the hierarchy above {name!r} runs in a circle", "remove one of the parent statements")
        return ordered

    def _categories(self, types: Mapping[str, Term]) -> tuple[Category, ...]:
        """Named individuals of the category types, upper ones first."""
        below = {n for n in types if n == CATEGORY_TYPE or types[n].parent == CATEGORY_TYPE}
        upper_of = next((i for i, n in self.relation_of.items() if n == SUB_CATEGORY_OF), None)
        found: list[Category] = []
        for iri, name in self.type_of.items():
            for individual in self.graph.subjects(self.rdf.type, iri) if name in below else ():
                words = dict(self._words(individual, self.rdfs.label))
                slug = _local_name(str(individual))
                upper = self.graph.value(individual, upper_of) if upper_of is not None else None
                found.append(
                    Category(
                        slug=slug,
                        type=name,
                        zh=words.get("zh", slug),
                        en=words.get("en", slug),
                        upper=None if upper is None else _local_name(str(upper)),
                    )
                )
        return tuple(sorted(found, key=lambda c: (c.upper is not None, c.upper or "", c.slug)))


def _local_name(iri: str) -> str:
    return iri.replace("/", "#").replace(":", "#").rpartition("#")[2]
