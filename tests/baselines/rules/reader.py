"""A linker for tests of rules: it sees what it is told to see, and likes ways over what the question says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clwqa_baselines.rules.ways import Reached, reached
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import Path
from clwqa_bench.linking.linker import Linked, LinkedAnchor
from clwqa_bench.llm.rules import relevance
from clwqa_bench.ontology import Ontology
from tests.baselines import culture


@dataclass(eq=False)
class Reader:
    """Sees these anchors and this target; a way is the likelier the more of its relations the question says."""

    target: str
    anchors: tuple[LinkedAnchor, ...]
    ontology: Ontology = culture.ONTOLOGY

    def link(self, question: str) -> Linked:
        return Linked(self.anchors, self.target, question)

    def scores(self, question: str, ways: Sequence[Any]) -> list[float]:
        return [2 * sum(step[0] in question for step in way) for way in ways]


@dataclass
class Rules:
    """A back-end without a model, with that linker."""

    reader: Reader

    def linker(self) -> Any:
        return self.reader

    def relevance(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        return relevance(question, texts)


def rules(target: str = "Person", **anchors: str) -> Rules:
    """Anchors by id, each with its element."""
    found = tuple(LinkedAnchor(mention, (mention,), element) for mention, element in anchors.items())
    return Rules(Reader(target, found))


def found(kg: MemoryGraph, *walks: Path) -> tuple[Reached, ...]:
    return tuple(reached(walk, kg, kg.label) for walk in walks)


def out(nodes: str, relations: str) -> Path:
    steps = tuple(relations.split())
    return Path(tuple(nodes.split()), steps, tuple("out" for _ in steps))
