"""The ways between the elements of an ontology: where a way may lead before it is walked."""

from __future__ import annotations

from functools import lru_cache
from weakref import WeakKeyDictionary

from clwqa_baselines.rules.ways import may_be
from clwqa_bench.linking import Linker, Signature
from clwqa_bench.ontology import Ontology

REMEMBERED = 16_384


class TypeGraph:
    """Ways between elements; each is worked out once."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self.ways = lru_cache(REMEMBERED)(self._ways)

    def _ways(
        self, start: str, target: str, steps: int, over: frozenset[tuple[str, str]] | None = None
    ) -> tuple[Signature, ...]:
        """Ways from an element to the target, one below or one above it, in at most so many steps, over all relations
        or over some moves; the empty way if the element is one of these itself.
        """
        found: list[Signature] = [()] if may_be(start, target, self._ontology) else []
        if steps > 0 and start in self._ontology.type_terms:
            for edge in self._ontology.type_neighbours(start):
                step = (edge.relation, edge.direction, edge.type)
                if over is None or step[:2] in over:
                    found += [(step, *rest) for rest in self.ways(edge.type, target, steps - 1, over)]
        return tuple(found)


def type_graph(linker: Linker) -> TypeGraph:
    """That of the ontology of a linker, the same as long as the linker is in use."""
    graph = _type_graphs.get(linker)
    if graph is None:
        graph = _type_graphs[linker] = TypeGraph(linker.ontology)
    return graph


_type_graphs: WeakKeyDictionary[Linker, TypeGraph] = WeakKeyDictionary()
