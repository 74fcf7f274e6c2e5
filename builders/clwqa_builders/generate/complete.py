"""From a derived pattern to a whole question record: what the model left out comes from the graph."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.records import Anchor, Answer, Generator, Question, TripleRef
from clwqa_builders.generate.asked import Groups
from clwqa_builders.generate.derive import Derived
from clwqa_builders.generate.reasons import Rejected
from clwqa_builders.questions.compile import to_cypher, to_sparql
from clwqa_builders.questions.select import PASSAGE_TYPES
from clwqa_builders.questions.solve import standard_paths
from clwqa_builders.questions.templates import WORDS, WORKS, Basis

FAMILY = "generated"
CATEGORY = "category:"
BELONGS, PART = "belongsToCategory", "partOf"
BY_TYPE = {"Sentence": "arts_literature", "Xiehouyu": "language_dialects"}
"""Categories by construction, where no work and no label decides."""
HISTORY, HISTORICAL = "history_geography", frozenset({"Person", "HistoricalPeriod"})


@dataclass(frozen=True)
class Completer:
    """Makes records.  `generator` says who wrote them, `provenance` which sources tell a triple."""

    graph: MemoryGraph
    groups: Groups
    generator: Generator
    provenance: Mapping[tuple[str, str, str], str]

    def question(self, text: str, derived: Derived) -> Question:
        """The record.  Raises Rejected if nothing decides its category, or its split."""
        bound, answer = derived.anchors, derived.answer
        paths, evidence = standard_paths(derived.pattern, self.graph, bound, answer)
        met = sorted({end for triple in evidence for end in (triple.head, triple.tail)})
        category, basis = self._category(tuple(bound.values()), met)
        group, split = self.groups.place(tuple(bound.values()), met)
        key = hashlib.sha256("\x1f".join((FAMILY, text, *bound.values(), *derived.gold)).encode()).hexdigest()
        return Question(
            id=f"clwqa-{key[:12]}",
            question=text,
            answers=tuple(map(self._answer, derived.gold)),
            hops=derived.hops,
            category=category,
            upper_category=self._upper[category],
            category_basis=basis,
            group_id=group,
            family=FAMILY,
            anchors=tuple(self._anchor(id, derived.mentions[name]) for name, id in bound.items()),
            target_element=derived.target_element,
            standard_paths=paths,
            cypher=to_cypher(derived.pattern, bound, answer),
            sparql=to_sparql(derived.pattern, bound, answer),
            evidence=evidence,
            sources=self._sources(evidence),
            generator=self.generator,
            split=split,
        )

    def _answer(self, id: str) -> Answer:
        entity = self.graph.entity(id)
        passage = entity.type in PASSAGE_TYPES
        return Answer(
            entity_id=id,
            label=entity.text if passage else entity.label,
            aliases=entity.aliases,
            kind="passage" if passage else "entity",
        )

    def _anchor(self, id: str, mention: str) -> Anchor:
        return Anchor(entity_id=id, mention=mention, elements=self.graph.types(id))

    def _sources(self, evidence: Iterable[TripleRef]) -> tuple[str, ...]:
        notes = {self.provenance[t.head, t.relation, t.tail].partition("#")[0] for t in evidence}
        return tuple(sorted({note.partition("@")[0] for note in notes}))

    # ------------------------------------------------------------------ category (the rules of the templates)

    def _category(self, anchors: Sequence[str], met: Sequence[str]) -> tuple[str, Basis]:
        """The domain of the works on the way, else the content of the words named, else what the types say."""
        works = [node for node in met if self._is_a(node, WORKS)]
        words = [node for node in anchors if self._is_a(node, WORDS)] or [
            node for node in met if self._is_a(node, WORDS)
        ]
        by_source = {c for work in works for c in self._domains(work)}
        by_content = {c for word in words for c in self._own(word)}
        for found, basis in ((by_source, "source"), (by_content, "content")):
            if len(found) == 1:
                return found.pop(), basis  # type: ignore[return-value]
        if own := {BY_TYPE[t] for node in met for t in self.graph.types(node) if t in BY_TYPE}:
            return min(own), "fixed"
        if all(HISTORICAL.intersection(self.graph.types(node)) for node in met):
            return HISTORY, "fixed"
        labels = ", ".join(sorted(by_source | by_content))
        raise Rejected("no-category", f"several: {labels}" if labels else "no label")

    def _is_a(self, node: str, tops: Iterable[str]) -> bool:
        return not set(tops).isdisjoint(self.graph.types(node))

    def _domains(self, work: str) -> set[str]:
        """Its own categories and those of the work it is part of."""
        wholes = self._there(work, PART)
        return {category for one in (work, *wholes) for category in self._own(one)}

    def _own(self, node: str) -> set[str]:
        found = {id.removeprefix(CATEGORY) for id in self._there(node, BELONGS)}
        return found & self._upper.keys()

    def _there(self, node: str, relation: str) -> Sequence[str]:
        known = relation in self.graph.ontology.relations
        return self.graph.neighbours(node, relation, "out") if known else ()

    @cached_property
    def _upper(self) -> Mapping[str, str]:
        return {c.slug: c.upper for c in self.graph.ontology.categories if c.upper}
