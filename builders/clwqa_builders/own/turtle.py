"""An ontology as Turtle that `Ontology.load` reads back equal, categories aside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clwqa_bench.kg.iri import ONTOLOGY
from clwqa_bench.ontology import Ontology, Relation, Term

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_PREFIXES = f"""\
@prefix :     <{ONTOLOGY}> .
@prefix owl:  <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""


def to_turtle(ontology: Ontology) -> str:
    """Types, then relations, in the ontology's order."""
    blocks = [_block(term, "owl:Class", "rdfs:subClassOf", []) for term in ontology.type_terms.values()]
    for relation in ontology.relation_terms.values():
        kinds = "owl:ObjectProperty" + (" , owl:SymmetricProperty" if relation.symmetric else "")
        blocks.append(_block(relation, kinds, "rdfs:subPropertyOf", list(_of_relation(relation))))
    return "\n".join([_PREFIXES, *blocks])


def _block(term: Term, kinds: str, above: str, more: list[str]) -> str:
    parts = [f":{term.name} a {kinds}"]
    if term.parent:
        parts.append(f"{above} :{term.parent}")
    for predicate, words in (("rdfs:label", term.labels), ("rdfs:comment", term.descriptions)):
        parts += [f"{predicate} {_literal(text, language)}" for language, text in words]
    return " ;\n    ".join([*parts, *more]) + " .\n"


def _of_relation(relation: Relation) -> Iterator[str]:
    if relation.abstract:
        yield ":abstract true"
    yield f"rdfs:domain {_ends(relation.domains)}"
    yield f"rdfs:range {_ends(relation.ranges)}"
    for chain in relation.chains:
        yield f"owl:propertyChainAxiom ( {' '.join(f':{step}' for step in chain)} )"


def _ends(types: Sequence[str]) -> str:
    names = " ".join(f":{name}" for name in types)
    return names if len(types) == 1 else f"[ a owl:Class ; owl:unionOf ( {names} ) ]"


def _literal(text: str, language: str) -> str:
    return f'"{text.translate(_ESCAPES)}"' + (f"@{language}" if language else "")
