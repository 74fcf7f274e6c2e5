"""The type of every entity: as the table says, else as the triples tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from clwqa_bench.errors import GraphError
from clwqa_builders.own.kinds import UNKNOWN, Bools, Floats, Ints, discover, infer, match
from clwqa_builders.own.names import identifiers, readable
from clwqa_builders.own.numbered import Numbered

THING = "Thing"  # the type of entities that no triple says anything about, where there is no ontology


@dataclass(frozen=True)
class Typed:
    """Entity i is of type ``names[of[i]]``; ``confidence`` is 1 where the table says so, 0 where nothing tells."""

    names: tuple[str, ...]
    of: Ints
    confidence: Floats

    def name(self, entity: int) -> str:
        return self.names[self.of[entity]]


def typed(graph: Numbered) -> Typed:
    """Give every entity a type.  Raises GraphError, if there is an ontology, for one that nothing tells the type of."""
    given, rows = graph.given, graph.graph.entities
    names = tuple(given.types if given else sorted(graph.type_ids.values()))
    number = {name: i for i, name in enumerate(names)}
    known = np.array([number[graph.type_ids[r.type]] if r.type else UNKNOWN for r in rows], dtype=np.int64)
    if (known >= 0).all():
        return Typed(names, known, np.ones(len(rows)))
    group, confidence = discover(graph.edges)
    if (known >= 0).any():
        return _settled(graph, names, *infer(graph.edges.matrix, group, known, _allowed(graph, names)))
    held, sizes = _held(graph, group)
    if given is None:
        return _settled(graph, _group_names(graph, held, sizes), group, confidence)
    leaf = np.array([not given.children(name) for name in names])
    types = match(held, sizes, _allowed(graph, names), leaf)
    return _settled(graph, names, np.where(group >= 0, types[group], UNKNOWN), confidence)


def _settled(graph: Numbered, names: tuple[str, ...], type_of: Ints, confidence: Floats) -> Typed:
    """Entities of which nothing is known are things; where there is an ontology, they are an error."""
    silent = np.flatnonzero(type_of == UNKNOWN)
    if not len(silent):
        return Typed(names, type_of, confidence)
    if graph.given is not None:
        row = graph.graph.entities[int(silent[0])]
        what = f"{row.id!r} has no type, and no triple tells one ({len(silent):,} such entities)"
        file = graph.graph.files["entities"]
        raise GraphError(what, fix="write its type, or drop it", file=file, line=row.line, field="type")
    return Typed((*names, THING), np.where(type_of == UNKNOWN, len(names), type_of), confidence)


def _allowed(graph: Numbered, names: Sequence[str]) -> Bools:
    """(slots, types): which types the ontology allows at each end of each relation."""
    given = graph.given
    if given is None:
        return np.ones((graph.edges.slots, len(names)), dtype=bool)
    ends = (end for relation in graph.relation_names for end in given.signature(relation))
    below = map(given.with_descendants, ends)
    return np.array([[name in types for name in names] for types in below], dtype=bool)


def _held(graph: Numbered, group: Ints) -> tuple[Floats, Floats]:
    """(groups, slots): how many members of a group have a slot; and (groups,) the sizes of the groups."""
    rows = np.flatnonzero(group >= 0)
    sizes = np.bincount(group[rows]).astype(float)
    member = csr_matrix((np.ones(len(rows)), (group[rows], rows)), shape=(len(sizes), len(group)))
    return (member @ graph.edges.matrix).toarray(), sizes


def _group_names(graph: Numbered, held: Floats, sizes: Floats) -> tuple[str, ...]:
    """A name for every group, after the relation end that tells it best from the others."""
    likeness = held**2 / np.maximum(sizes[:, None] * held.sum(axis=0), 1)
    told: list[str] = []
    seen: Counter[str] = Counter()
    for slot in likeness.argmax(axis=1).tolist():
        words = readable(graph.relation_names[slot // 2]).removeprefix("has ")
        name = f"{words} {'object' if slot % 2 else 'subject'}"
        seen[name] += 1
        told.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return tuple(identifiers(told, graph.relation_names, capital=True).values())
