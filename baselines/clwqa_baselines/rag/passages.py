"""Passages made from a graph: entries as a dictionary prints them, cut into windows.

They depend on the graph and the settings alone, so none can give away what a question asks or what its answer is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from clwqa_baselines.rag.config import RagConfig
from clwqa_baselines.shared.names import REMEMBERED, called
from clwqa_bench.kg.protocol import Entity, GraphStore, Triple
from clwqa_bench.kg.verbalise import node_text
from clwqa_bench.ontology import Ontology

PASSAGES_VERSION = 1
"""Raised by any change to what passages say."""
WHOLE = 100_000  # characters of a node's own text: windows cut it, nothing else does
EXPLANATION = "Explanation"


@dataclass(frozen=True, slots=True)
class Passage:
    """A window of an entry: its id, the node whose entry it is, what it says, and the triples it says in words."""

    id: str
    node: str
    text: str
    triples: tuple[Triple, ...]


@dataclass(frozen=True)
class Passages:
    """All passages of a graph."""

    graph: GraphStore
    ontology: Ontology
    config: RagConfig

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Id and text of every passage."""
        for node in self.graph.entities():
            for number, text in enumerate(self._windows(self._entry(node)[0])):
                yield f"{number} {node}", text

    def passage(self, id: str) -> Passage:
        """A passage by its id."""
        number, _, node = id.partition(" ")
        entry, said = self._entry(node)
        text = self._windows(entry)[int(number)]
        return Passage(id, node, text, tuple(triple for triple in said if self.name(triple.tail) in text))

    def name(self, node: str) -> str:
        """What a node is called in passages: a text by its words, anything else by its label."""
        return called(self._entity(node))

    def _entry(self, node: str) -> tuple[str, tuple[Triple, ...]]:
        """An entry and the triples that it says: a head line, then a line for each relation.

        成语：守株待兔
        出自：韩非子·五蠹
        释义为：比喻死守经验，不知变通。
        """
        entity = self._entity(node)
        if self._hidden(entity):
            return "", ()
        head = node_text(entity, self.ontology, limit=WHOLE)
        if self.config.passages == "nodes":
            return head, ()
        said = tuple(t for t in self.graph.triples(node, "out") if not self._hidden(self._entity(t.tail)))
        lines: dict[str, list[str]] = {}
        for triple in said:
            lines.setdefault(self.ontology.label(triple.relation), []).append(self.name(triple.tail))
        return "\n".join([head, *(f"{label}：{'；'.join(names)}" for label, names in lines.items())]), said

    def _hidden(self, entity: Entity) -> bool:
        return not self.config.explanations and EXPLANATION in entity.types

    def _windows(self, text: str) -> list[str]:
        """Windows of `chunk` characters, each beginning `overlap` before the last one ends, up to the end."""
        size, step = self.config.chunk, self.config.chunk - self.config.overlap
        last = max(len(text) - self.config.overlap, 1)
        return [text[at : at + size] for at in range(0, last, step)] if text else []

    @cached_property
    def _entity(self) -> Callable[[str], Entity]:
        return lru_cache(REMEMBERED)(self.graph.entity)
