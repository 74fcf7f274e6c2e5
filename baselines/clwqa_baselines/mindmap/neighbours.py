"""Neighbour evidence: what is one step away from the entities of the question, a row for each relation.

The published code has a special case for a medical graph (relations to diseases are followed once more), which
nothing here corresponds to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clwqa_bench.kg.protocol import Found, GraphStore, Path, Sense


@dataclass(frozen=True, slots=True)
class Row:
    """An entity, a relation, and all it leads to; `sense` is "in" if the relation is walked backwards."""

    entity: str
    relation: str
    sense: Sense
    ends: Found[str]

    @property
    def paths(self) -> tuple[Path, ...]:
        """One step to each end."""
        return tuple(Path((self.entity, end), (self.relation,), (self.sense,)) for end in self.ends)


def rows(entities: Sequence[str], graph: GraphStore, *, inverse: bool, tails: int) -> Iterator[Row]:
    """Rows of the entities in their order, of one by relation; backwards ones, if wanted, after the others.

    At most `tails` ends are in a row; `Row.ends.total` counts all.
    """
    senses: tuple[Sense, ...] = ("out", "in") if inverse else ("out",)
    for entity in entities:
        for sense in senses:
            for relation in graph.relations(entity, sense):
                yield Row(entity, relation, sense, graph.neighbours(entity, relation, sense, limit=tails))


def told(found: Sequence[Row], most: int, few_rows: str) -> Sequence[Row]:
    """The first rows.  With `few_rows` "none" there are none unless there are more: the code sets their variable only
    when it cuts, and otherwise uses whatever the question before had left there."""
    return () if few_rows == "none" and len(found) <= most else found[:most]
