"""Fact groups of any graph: which facts must not be divided between splits.

An entity belongs with those that have no life without it: with what it is in a one-to-one relation with, and with what
hangs on it alone (a province with one neighbour, its country).  A fact is owned by one end of its triple: by the end
that has one such fact, while the other end has many (Alsace lies in one country, a country has many provinces).  What
many lead to (a continent, the currency of twenty countries) is common knowledge, whose own facts belong to nobody, and
so do facts that link many to many; and what stands between anchor and answer tells its facts only if it is one thing
("a currency of the countries that border France" says of none of them what it pays with).  A question that tells
nobody's facts belongs to the group of its anchor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clwqa_bench.ontology import Ontology
from clwqa_builders.questions.columns import BoolArray, GraphColumns, IntArray, Ragged
from clwqa_builders.questions.groups import clusters
from clwqa_builders.questions.instances import Solutions
from clwqa_builders.questions.pattern import Pattern

MANY = 1.5  # partners on average, from which a side counts as many (Bordes et al., 2013, sec. 4.3)
COMMON = 3  # groups that lead to an entity, from which it is common knowledge


@dataclass(frozen=True)
class FactGroups:
    """``group_of`` every entity, the entities that are ``common``, and which ends of a relation own its triples."""

    group_of: IntArray
    common: BoolArray
    owners: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, graph: GraphColumns, ontology: Ontology) -> FactGroups:
        owners: dict[str, tuple[str, ...]] = {}
        joined = [_leaves(graph)]
        for relation, (heads, tails) in sorted(graph.edge_lists.items()):
            many_tails = len(heads) / len(np.unique(heads)) >= MANY
            many_heads = len(tails) / len(np.unique(tails)) >= MANY
            if ontology.symmetric(relation) or many_heads and many_tails:
                owners[relation] = ()
            elif many_heads or many_tails:
                owners[relation] = ("tail",) if many_tails else ("head",)
            else:
                owners[relation] = ("head", "tail")
                joined.append((heads, tails))
        group_of = clusters(len(graph), joined)
        return cls(group_of, _common(graph, group_of, owners), owners)

    def told(self, pattern: Pattern, found: Solutions, anchor: str, answer: str) -> Ragged:
        """By anchor: the groups whose facts its question tells, or the anchor's own if they are nobody's."""
        rows, groups = [], []
        for edge in pattern.edges:
            for relation in edge.relations:
                for end in self.owners.get(relation, ()):
                    owner = edge.head if end == "head" else edge.tail
                    column = found.table[owner]
                    owned = ~self.common[column]
                    if owner not in (anchor, answer):
                        owned &= found.values(owner).lengths[found.tuple_of] == 1
                    rows.append(found.tuple_of[owned])
                    groups.append(self.group_of[column[owned]])
        told = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
        silent = np.setdiff1d(np.arange(len(found)), told)
        own = self.group_of[found.anchors[anchor][silent]]
        return Ragged.group(np.concatenate([told, silent]), np.concatenate([*groups, own]), len(found))


def _leaves(graph: GraphColumns) -> tuple[IntArray, IntArray]:
    """Entities with one neighbour only, with that neighbour."""
    none = np.empty(0, dtype=np.int64)
    heads = np.concatenate([none, *(pair[0] for pair in graph.edge_lists.values())])
    tails = np.concatenate([none, *(pair[1] for pair in graph.edge_lists.values())])
    width = len(graph) + 1
    pairs = np.unique(np.concatenate([heads * width + tails, tails * width + heads]))
    here, there = pairs // width, pairs % width
    alone = np.bincount(here, minlength=len(graph))[here] == 1
    return here[alone], there[alone]


def _common(graph: GraphColumns, group_of: IntArray, owners: dict[str, tuple[str, ...]]) -> BoolArray:
    """Mask of the entities that the facts of many other groups lead to."""
    width = len(graph) + 1
    leading = [np.empty(0, dtype=np.int64)]
    for relation, ends in owners.items():
        if len(ends) == 1:
            here, there = (
                graph.edge_lists[relation] if ends == ("head",) else graph.edge_lists[relation][::-1]
            )
            apart = group_of[here] != group_of[there]
            leading.append(there[apart] * width + group_of[here[apart]])
    reached = np.unique(np.concatenate(leading)) // width
    return np.bincount(reached, minlength=len(graph)) > COMMON
