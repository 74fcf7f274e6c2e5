"""The context of a question: an ordered set of lines, each with where it leads to and what of the graph it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from clwqa_baselines.byokg_rag.graph import Fact
from clwqa_baselines.byokg_rag.tasks import Line
from clwqa_baselines.rules.ways import reached
from clwqa_baselines.shared.evidence import ref, refs
from clwqa_bench.kg.protocol import GraphStore, Path
from clwqa_bench.predictions import Evidence, EvidencePath, EvidenceText, EvidenceTriple


class Overlong(Exception):
    """The context is longer than the model may be sent."""


@dataclass
class Lines:
    """What was retrieved for one question so far."""

    graph: GraphStore
    name: Callable[[str], str]
    most: int  # characters
    cutting: bool  # leave out what is too much, instead of failing
    facts: dict[str, Fact] = field(default_factory=dict)
    overlong: bool = False
    _lines: dict[str, Line] = field(default_factory=dict, repr=False)
    _named: dict[str, dict[str, Path]] = field(default_factory=dict, repr=False)

    def add(self, found: Iterable[Fact]) -> list[Fact]:
        """Take in new lines; those that were not there before."""
        fresh = list({fact.text: fact for fact in found if fact.text not in self.facts}.values())
        for fact in fresh:
            self.facts[fact.text] = fact
            for walk in fact.walks:
                self._named.setdefault(self.name(walk.nodes[-1]), {}).setdefault(walk.nodes[-1], walk)
        return fresh

    @property
    def cut(self) -> bool:
        """Whether any line tells less than the graph holds."""
        return any(fact.cut for fact in self.facts.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the entities that lines lead to, in order."""
        return tuple(self._named)

    def walks_to(self, name: str) -> list[Path]:
        """Ways to the entities of that name, as far as lines lead to any."""
        return list(self._named.get(name, {}).values())

    def shown(self) -> tuple[Line, ...]:
        """The lines as tasks have them.  Raises Overlong if they are too long and nothing may be left out."""
        lines, used = [], 0
        for text, fact in self.facts.items():
            used += len(text) + 1
            if used > self.most:
                self.overlong = True
                if not self.cutting:
                    raise Overlong(f"a context of more than {self.most:,} characters")
                break
            lines.append(self._line(text, fact))
        return tuple(lines)

    def _line(self, text: str, fact: Fact) -> Line:
        if text not in self._lines:
            found = [
                reached(walk, self.graph, self.name, place)
                for walk in fact.walks
                for place in ([len(walk)] if fact.kind == "triple" else range(1, len(walk.nodes)))
            ]
            self._lines[text] = Line(text=text, reached=tuple(found))
        return self._lines[text]

    def evidence(self) -> Evidence:
        """All lines shown but notes, as paths, triples and texts, each in their order; paths that a query found are
        both part of its text and paths.
        """
        shown = (
            [self.facts[line.text] for line in self.shown()] if self.cutting else list(self.facts.values())
        )
        merged = [walk for fact in shown if fact.kind == "triple" for walk in fact.walks]
        paths = [walk for fact in shown if fact.kind != "triple" for walk in fact.walks]
        triples = dict.fromkeys(walk.triples[-1] for walk in merged)
        return Evidence(
            paths=as_evidence(paths),
            triples=tuple(
                EvidenceTriple(id=f"t{number}", triple=ref(triple))
                for number, triple in enumerate(triples, start=1)
            ),
            texts=tuple(
                EvidenceText(id=f"q{number}", text=fact.text, kind="subgraph")
                for number, fact in enumerate((fact for fact in shown if fact.kind == "query"), start=1)
            ),
        )


def as_evidence(paths: Sequence[Path]) -> tuple[EvidencePath, ...]:
    """Distinct paths, numbered from 1."""
    return tuple(
        EvidencePath(id=f"p{number}", triples=refs(path.triples))
        for number, path in enumerate(dict.fromkeys(paths), start=1)
    )
