"""From the words that name something to entities, best first: by names and passages, or by an index of names.

For systems that let a language model name the entities of a question and link what it says themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.linking import Gazetteer, Linker, open_linker
from clwqa_bench.linking.gazetteer import verbatim
from clwqa_bench.systems import Resources

Index = Literal["names", "bm25", "tfidf", "dense"]
Search = Callable[[str, int], Sequence[tuple[str, float]]]
"""At most so many entities for a mention, each with a similarity; 1 for one that is called so."""

VERSION = 1  # of the names that an index is made from


@dataclass(frozen=True)
class Mentions:
    """How mentions are looked up in a graph.  `names` is kept, so that whoever else opens the linker gets the same."""

    search: Search
    gazetteer: Gazetteer
    names: Linker | Gazetteer

    @staticmethod
    def open(index: Index, resources: Resources) -> Mentions:
        """Names and passages are read now, from the linker if there is anything to learn it from.

        An index of names is built once for a graph.
        """
        known = next(iter(resources.train()), None) is not None
        names = open_linker(resources) if known else Gazetteer(resources.kg)
        gazetteer = names.gazetteer if isinstance(names, Linker) else names
        gazetteer.read()
        if index == "names":
            return Mentions(by_name(resources.kg, gazetteer), gazetteer, names)
        from clwqa_baselines.vectors import open_index

        indexed = open_index(index, "entity-names", lambda: _names(resources.kg), resources, VERSION)
        return Mentions(indexed.search, gazetteer, names)


def by_name(graph: GraphStore, gazetteer: Gazetteer) -> Search:
    """What bears the mention as a name or is the passage it quotes; then the nearest names."""

    def search(mention: str, most: int) -> list[tuple[str, float]]:
        named = verbatim(graph, mention, gazetteer.bearers(mention)) if mention else ()
        found = dict.fromkeys(named, 1.0)
        if len(found) < most:
            for node, likeness in graph.fuzzy(mention, most):
                found.setdefault(node, likeness)
        return list(found.items())[:most]

    return search


def _names(graph: GraphStore) -> Iterable[tuple[str, str]]:
    return ((node, graph.entity(node).label) for node in graph.entities())
