"""From the words that name something to entities, best first: by names and passages, or by an index of names.

For systems that let a language model name the entities of a question and link what it says themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from clwqa_baselines.shared.names import Reader
from clwqa_baselines.shared.vectors import Retriever, open_index
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.linking.gazetteer import verbatim
from clwqa_bench.systems import Resources

Index = Literal["names"] | Retriever
Search = Callable[[str, int], Sequence[tuple[str, float]]]
"""At most so many entities for a mention, each with a similarity; 1 for one that is called so."""

VERSION = 1  # of the names that an index is made from


def open_mentions(index: Index, resources: Resources) -> Search:
    """How mentions are looked up in a graph; an index of names is built once for it."""
    if index == "names":
        return by_name(resources.kg, Reader.open(resources))
    return open_index(index, "entity-names", lambda: _names(resources.kg), resources, VERSION).search


def by_name(graph: GraphStore, reader: Reader) -> Search:
    """What bears the mention as a name or is the passage it quotes; then the nearest names.

    The whole reader is held on to: with its linker gone, whoever opens one next would read all passages again.
    """

    def search(mention: str, most: int) -> list[tuple[str, float]]:
        named = verbatim(graph, mention, reader.gazetteer.bearers(mention)) if mention else ()
        found = dict.fromkeys(named, 1.0)
        if len(found) < most:
            for node, likeness in graph.fuzzy(mention, most):
                found.setdefault(node, likeness)
        return list(found.items())[:most]

    return search


def _names(graph: GraphStore) -> Iterable[tuple[str, str]]:
    return ((node, graph.entity(node).label) for node in graph.entities())
