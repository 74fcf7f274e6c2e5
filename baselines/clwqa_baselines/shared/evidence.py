"""Triples of the graph as predictions and traces hold them."""

from __future__ import annotations

from collections.abc import Iterable

from clwqa_bench.kg.protocol import Triple
from clwqa_bench.records import TripleRef


def ref(triple: Triple) -> TripleRef:
    """One triple."""
    return TripleRef(head=triple.head, relation=triple.relation, tail=triple.tail)


def refs(triples: Iterable[Triple]) -> tuple[TripleRef, ...]:
    """Triples in their order."""
    return tuple(map(ref, triples))
