"""Question records from drawn instances: text, gold, paths, queries, evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import Anchor, Answer, Generator, Question, Split, TripleRef
from clwqa_builders.parallel import parallel_map
from clwqa_builders.questions.columns import GraphColumns
from clwqa_builders.questions.compile import to_cypher, to_sparql
from clwqa_builders.questions.instances import BASES, Instances
from clwqa_builders.questions.select import PASSAGE_TYPES, Selection
from clwqa_builders.questions.solve import standard_paths

CHUNK = 2_000  # questions a worker makes at a time


@dataclass(frozen=True)
class Maker:
    """Turns one instance into a record.  ``source_of`` maps a triple to the ids of the sources that tell it."""

    columns: GraphColumns
    store: MemoryGraph
    ontology: Ontology
    source_of: Mapping[tuple[str, str, str], tuple[str, ...]]

    def question(
        self, instances: Instances, row: int, split: Split, group: int, view: tuple[str, ...] = ()
    ) -> Question:
        """The record; its paths and evidence come from executing the pattern on the store."""
        template, ids = instances.template, self.columns.ids
        anchors = {v: ids[int(column[row])] for v, column in instances.anchors.items()}
        key = hashlib.sha256("\x1f".join((template.id, *anchors.values())).encode("utf-8")).digest()
        paths, evidence = standard_paths(template.pattern, self.store, anchors, template.answer)
        category, upper = self.category(int(instances.category[row]))
        return Question(
            id=f"clwqa-{key.hex()[:12]}",
            question=instances.question(row, int.from_bytes(key[-4:], "big")),
            answers=tuple(self.answer(int(a)) for a in instances.answers[row]),
            hops=template.hops,
            category=category,
            upper_category=upper,
            category_basis=BASES[instances.basis[row]],
            group_id=f"group:{ids[group]}",
            template_id=template.id,
            family=template.family,
            anchors=tuple(self.anchor(anchors[v], instances.mentions[v][row]) for v in template.anchors),
            target_element=template.spec.target_element,
            standard_paths=paths,
            cypher=to_cypher(template.pattern, anchors, template.answer),
            sparql=to_sparql(template.pattern, anchors, template.answer),
            evidence=evidence,
            sources=self.cited(evidence),
            generator=Generator(method="template", template_id=template.id),
            split=split,
            views=view,
        )

    def category(self, number: int) -> tuple[str, str]:
        """The category that instances give by number, and its upper category."""
        slug = self.columns.ids[number].removeprefix("category:")
        return slug, self.upper[slug]

    def answer(self, entity: int) -> Answer:
        """An entity as a gold answer."""
        columns = self.columns
        passage = columns.types[entity] in PASSAGE_TYPES
        return Answer(
            entity_id=columns.ids[entity],
            label=columns.texts[entity] if passage else columns.labels[entity],
            aliases=tuple(columns.aliases[entity]),
            kind="passage" if passage else "entity",
        )

    def anchor(self, id: str, mention: str) -> Anchor:
        """An entity as the question names it."""
        return Anchor(entity_id=id, mention=mention, elements=self.store.types(id))

    def cited(self, evidence: Sequence[TripleRef]) -> tuple[str, ...]:
        """Ids of the sources that tell the evidence."""
        found = {s for t in evidence for s in self.source_of[t.head, t.relation, t.tail]}
        return tuple(sorted(found))

    @cached_property
    def upper(self) -> Mapping[str, str]:
        """The upper category of every category."""
        return {c.slug: c.upper for c in self.ontology.categories if c.upper}


def make_questions(
    maker: Maker,
    enumerated: Sequence[Instances],
    selection: Selection,
    held_out: Collection[str],
    workers: int = 1,
) -> list[tuple[str, bytes]]:
    """All records as (id, JSON line), sorted by id."""
    marks = views(enumerated, selection, held_out)
    drawn = list(zip(selection.rows, selection.split, selection.group, marks, strict=True))

    def lines(start: int) -> list[tuple[str, bytes]]:
        made = [
            maker.question(enumerated[template], row, split, group, view)
            for (template, row), split, group, view in drawn[start : start + CHUNK]
        ]
        return [(question.id, question.model_dump_json().encode("utf-8")) for question in made]

    return sorted(chain.from_iterable(parallel_map(lines, range(0, len(drawn), CHUNK), workers)))


def views(
    enumerated: Sequence[Instances], selection: Selection, held_out: Collection[str]
) -> list[tuple[str, ...]]:
    """The extra views each drawn test question belongs to: ``unseen-template``, and ``unseen-source`` when no work
    on its evidence is on the evidence of a training question.
    """
    works = [enumerated[template].sources[row].tolist() for template, row in selection.rows]
    seen = {w for own, split in zip(works, selection.split, strict=True) if split == "train" for w in own}
    marks = []
    for own, split, (template, _) in zip(works, selection.split, selection.rows, strict=True):
        new = [] if split != "test" else ["unseen-template"] * (enumerated[template].template.id in held_out)
        if split == "test" and own and seen.isdisjoint(own):
            new.append("unseen-source")
        marks.append(tuple(new))
    return marks
