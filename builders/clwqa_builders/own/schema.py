"""What a graph is made of: its ontology, completed where the folder leaves it open, and the type of every entity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

import numpy as np

from clwqa_bench.ontology import Ontology, Relation, Term
from clwqa_builders.own.kinds import Bools
from clwqa_builders.own.names import readable
from clwqa_builders.own.numbered import Numbered
from clwqa_builders.own.signatures import Signature, induce
from clwqa_builders.own.tables import ONTOLOGY, OwnGraph, Problems
from clwqa_builders.own.typed import Typed, typed

Pair = tuple[str, str]
Ends = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Schema:
    """A graph with its types and signatures, by relation; ``follows`` marks the triples that follow them."""

    numbered: Numbered
    typed: Typed
    signatures: Mapping[str, Signature]
    follows: Bools

    @property
    def types(self) -> tuple[str, ...]:
        """The type of every entity."""
        return tuple(self.typed.names[number] for number in self.typed.of.tolist())

    @property
    def relations(self) -> tuple[str, ...]:
        """The identifier of every triple's relation."""
        return tuple(self.numbered.relation_names[number] for number in self.numbered.relation.tolist())

    @property
    def kept(self) -> Bools:
        """Mask of the triples that enter the graph."""
        return self.follows & self.numbered.fresh

    @cached_property
    def ontology(self) -> Ontology:
        """That of the folder with its open ends narrowed; without one, all that was found, labels from the names."""
        given = self.numbered.given
        if given is None:
            return self._found()
        narrowed = dict(given.relation_terms)
        for name, signature in self.signatures.items():
            term = narrowed[name]
            open_ends, ends = is_open(name, given), self._ends(signature, symmetric=term.symmetric)
            domains, ranges = (
                end if is_ else own
                for is_, end, own in zip(open_ends, ends, (term.domains, term.ranges), strict=True)
            )
            narrowed[name] = replace(term, domains=domains, ranges=ranges)
        return Ontology(given.type_terms, narrowed, given.categories)

    @cached_property
    def pairs(self) -> dict[str, tuple[Pair, ...]]:
        """By relation, the (head type, tail type) pairs to ask with: the ontology's, as far as triples have them."""
        return {name: tuple(self._asked(name, signature)) for name, signature in self.signatures.items()}

    def _asked(self, relation: str, signature: Signature) -> list[Pair]:
        ontology, names = self.ontology, self.typed.names
        seen = [(names[h], names[t]) for h, t, _ in signature.pairs]
        if ontology.symmetric(relation):
            seen += [(t, h) for h, t in seen]
        domains, ranges = ontology.signature(relation)
        return [
            (domain, range_)
            for domain in domains
            for range_ in ranges
            if any(ontology.is_a(h, domain) and ontology.is_a(t, range_) for h, t in seen)
        ]

    def _found(self) -> Ontology:
        graph, language = self.numbered, self.numbered.graph.about.language
        written = {own: raw for raw, own in (*graph.type_ids.items(), *graph.relation_ids.items())}

        def words(name: str) -> tuple[tuple[str, str], ...]:
            return ((language, readable(written.get(name, name))),)

        types = {name: Term(name, words(name), (), None) for name in sorted(set(self.types))}
        relations = {}
        for name, symmetric in zip(graph.relation_names, graph.symmetric.tolist(), strict=True):
            domains, ranges = self._ends(self.signatures[name], symmetric=symmetric)
            relations[name] = Relation(
                name, words(name), (), None, domains, ranges, symmetric, abstract=False
            )
        return Ontology(types, relations)

    def _ends(self, signature: Signature, *, symmetric: bool) -> Ends:
        heads = {self.typed.names[h] for h, _, _ in signature.pairs}
        tails = {self.typed.names[t] for _, t, _ in signature.pairs}
        if symmetric:
            heads = tails = heads | tails
        return tuple(sorted(heads)), tuple(sorted(tails))


def complete(graph: OwnGraph) -> Schema:
    """Find what is missing.  Raises GraphError for triples and entities that the given ontology does not allow."""
    numbered = Numbered.of(graph)
    types = typed(numbered)
    follows = _follow_given(numbered, types)
    signatures: dict[str, Signature] = {}
    for number, name in enumerate(numbered.relation_names):
        rows = np.flatnonzero((numbered.relation == number) & follows)
        if len(rows):
            symmetric = bool(numbered.symmetric[number])
            ends = numbered.heads[rows], numbered.tails[rows]
            signatures[name], usual = induce(*ends, types.of, symmetric=symmetric)
            if any(is_open(name, graph.ontology)):
                follows[rows] = usual
    return Schema(numbered, types, signatures, follows)


def is_open(relation: str, given: Ontology | None) -> tuple[bool, bool]:
    """Which ends of a relation are left open: no ontology, or nothing narrower than its roots."""
    if given is None:
        return True, True
    roots = {name for name in given.types if given.parent(name) is None}
    head, tail = (set(end) == roots for end in given.signature(relation))
    return head, tail


def _follow_given(graph: Numbered, types: Typed) -> Bools:
    """Triples that the given signatures allow; one between entities of given types that they forbid is an error."""
    given, rows = graph.given, graph.graph.entities
    follows = np.ones(len(graph.relation), dtype=bool)
    if given is None:
        return follows
    problems = Problems(graph.graph.files["triples"])
    admits = cache(partial(_admits, given))
    triples = zip(graph.graph.triples, graph.heads.tolist(), graph.tails.tolist(), strict=True)
    for i, (triple, head, tail) in enumerate(triples):
        ends = types.name(head), types.name(tail)
        if admits(triple.relation, ends):
            continue
        follows[i] = False
        if rows[head].type and rows[tail].type:
            wanted = " to ".join("|".join(end) for end in given.signature(triple.relation))
            what = f"{triple.relation} leads from {wanted}, not from {ends[0]} to {ends[1]}"
            fix = f"correct the row, a type, or the signature in {ONTOLOGY}"
            problems.add(triple.line, "relation", what, fix)
    problems.check()
    return follows


def _admits(given: Ontology, relation: str, ends: Pair) -> bool:
    head, tail = ends
    return given.allows(head, relation, tail) or (
        given.symmetric(relation) and given.allows(tail, relation, head)
    )
