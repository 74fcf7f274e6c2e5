"""A graph of rows as arrays of numbers, and the names of its types and relations as identifiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clwqa_bench.errors import OntologyError
from clwqa_bench.ontology import Ontology
from clwqa_builders.own.kinds import Bools, Edges, Ints
from clwqa_builders.own.names import IDENTIFIER, identifiers
from clwqa_builders.own.signatures import is_mirrored
from clwqa_builders.own.tables import ONTOLOGY, OwnGraph


@dataclass(frozen=True)
class Numbered:
    """Triple i leads from entity ``heads[i]`` to ``tails[i]`` by relation ``relation[i]`` of ``relation_names``.

    ``type_ids`` and ``relation_ids`` hold the identifier of every name that the tables use.
    """

    graph: OwnGraph
    heads: Ints
    tails: Ints
    relation: Ints
    type_ids: Mapping[str, str]
    relation_ids: Mapping[str, str]
    relation_names: tuple[str, ...]

    @classmethod
    def of(cls, graph: OwnGraph) -> Numbered:
        """Raises OntologyError for a name of the given ontology that cannot stand in a query."""
        number = {row.id: i for i, row in enumerate(graph.entities)}
        types, relations = _identifiers(graph)
        names = tuple(sorted({relations[row.relation] for row in graph.triples}))
        place = {name: i for i, name in enumerate(names)}
        return cls(
            graph,
            heads=np.array([number[row.head] for row in graph.triples], dtype=np.int64),
            tails=np.array([number[row.tail] for row in graph.triples], dtype=np.int64),
            relation=np.array([place[relations[row.relation]] for row in graph.triples], dtype=np.int64),
            type_ids=types,
            relation_ids=relations,
            relation_names=names,
        )

    @property
    def given(self) -> Ontology | None:
        """The ontology of the folder."""
        return self.graph.ontology

    @cached_property
    def symmetric(self) -> Bools:
        """(relations,) as the ontology says; without one, those of which nearly every triple is there both ways."""

        def is_symmetric(number: int, name: str) -> bool:
            rows = self.relation == number
            return (
                self.given.symmetric(name) if self.given else is_mirrored(self.heads[rows], self.tails[rows])
            )

        return np.array([is_symmetric(i, name) for i, name in enumerate(self.relation_names)], dtype=bool)

    @cached_property
    def edges(self) -> Edges:
        """The triples seen from both their ends."""
        entities = len(self.graph.entities)
        return Edges.of(self.heads, self.relation, self.tails, self.symmetric, entities)

    @cached_property
    def fresh(self) -> Bools:
        """Triples but for the second of two that say the same of a symmetric relation."""
        turned = self.symmetric[self.relation] & (self.heads > self.tails)
        here, there = np.where(turned, self.tails, self.heads), np.where(turned, self.heads, self.tails)
        width = len(self.graph.entities)
        _, first = np.unique((self.relation * width + here) * width + there, return_index=True)
        fresh = np.zeros(len(self.relation), dtype=bool)
        fresh[first] = True
        return fresh


def _identifiers(graph: OwnGraph) -> tuple[dict[str, str], dict[str, str]]:
    """Identifiers of types and relations: those of the ontology, else made from the names in the tables."""
    given = graph.ontology
    if given is None:
        types = identifiers(sorted({row.type for row in graph.entities if row.type}), capital=True)
        relations = sorted({row.relation for row in graph.triples})
        return types, identifiers(relations, types.values(), capital=False)
    for name in (*given.types, *given.relations):
        if not IDENTIFIER.fullmatch(name):
            fix = "use letters, digits and _ in local names, and say the rest in rdfs:label"
            what = f"{name!r} cannot stand in a query as it is"
            raise OntologyError(what, fix=fix, file=graph.files[ONTOLOGY])
    return {name: name for name in given.types}, {name: name for name in given.relations}
