"""Every question that the templates of a graph can ask: complete answers, clear names, nothing given away."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clwqa_bench.ontology import Ontology
from clwqa_bench.text import comparison_key, holds
from clwqa_builders.own.groups import FactGroups
from clwqa_builders.questions.columns import BoolArray, GraphColumns, IntArray, Ragged
from clwqa_builders.questions.instances import BASES, Instances, Solutions
from clwqa_builders.questions.solve import bindings
from clwqa_builders.questions.templates import MAX_ANSWERS, Template
from clwqa_builders.validate.rules.wording import DAMAGED, EMPTY

MOST = 2_000  # instances of one template; of more, a seeded choice
LONGEST_NAME = 100  # characters of a label that stands in a question


@dataclass(frozen=True)
class Asked:
    """The instances of one template, and the fact groups each of them touches; ``passed_over`` were not looked at."""

    instances: Instances
    groups: Ragged
    passed_over: int


@dataclass(frozen=True)
class Enumerator:
    """Enumerates templates over one graph; ``category`` of an instance is the number of its answer's type."""

    graph: GraphColumns
    ontology: Ontology
    facts: FactGroups
    seed: int

    def enumerate(self, template: Template) -> Asked:
        """Instances named without doubt, with at most MAX_ANSWERS answers, none of which the question tells."""
        table = bindings(template.pattern, self.graph)
        (anchor,) = template.anchors
        found = Solutions.of(table, (anchor,))
        answers, starts = found.values(template.answer), found.anchors[anchor]
        rows = np.flatnonzero((answers.lengths <= MAX_ANSWERS) & self._clear[starts])
        passed_over = max(len(rows) - MOST, 0)
        rows = self._some(rows, starts, template)
        frames = comparison_key(" ".join(template.phrasings))
        fair = [r for r in rows.tolist() if not self._tells(int(starts[r]), answers[r].tolist(), frames)]
        rows = np.array(fair, dtype=np.int64)
        named, n = starts[rows], len(rows)
        nothing = Ragged(np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int64))
        instances = Instances(
            template=template,
            anchors={anchor: named},
            mentions={anchor: tuple(self.graph.labels[e] for e in named.tolist())},
            answers=answers.take(rows),
            words=Ragged(np.arange(n + 1), named),
            sources=nothing,
            category=np.full(n, self.ontology.types.index(template.spec.target_element)),
            basis=np.full(n, BASES.index("type"), dtype=np.int8),
        )
        told = self.facts.told(template.pattern, found, anchor, template.answer).take(rows)
        return Asked(instances, told, passed_over)

    def _some(self, rows: IntArray, starts: IntArray, template: Template) -> IntArray:
        """At most MOST of the rows, chosen by a digest of seed, template and anchor."""
        if len(rows) <= MOST:
            return rows

        def rank(row: int) -> bytes:
            text = f"{self.seed}/{template.id}/{self.graph.ids[starts[row]]}"
            return hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest()

        return np.array(sorted(sorted(rows.tolist(), key=rank)[:MOST]), dtype=np.int64)

    def _tells(self, anchor: int, answers: Iterable[int], frames: str) -> bool:
        """Whether the anchor's name, or the words of the question, give an answer away."""
        asked = self._names[anchor][0]
        return any(
            len(name) > 1 and (holds(asked, name) or holds(frames, name))
            for answer in answers
            for name in self._names[answer]
        )

    @cached_property
    def _names(self) -> list[tuple[str, ...]]:
        """Comparison keys of label and aliases of every entity, the label's first."""
        names = zip(self.graph.labels, self.graph.aliases, strict=True)
        return [tuple(dict.fromkeys(map(comparison_key, (label, *others)))) for label, others in names]

    @cached_property
    def _clear(self) -> BoolArray:
        """Mask of the entities that alone bear their label, and whose label can stand in a sentence."""
        bearers = Counter(name for names in self._names for name in names)
        return np.array(
            [
                bearers[names[0]] == 1
                and len(names[0]) > 1
                and len(label) <= LONGEST_NAME
                and _is_name(label)
                for names, label in zip(self._names, self.graph.labels, strict=True)
            ],
            dtype=bool,
        )


def _is_name(label: str) -> bool:
    """Whether a label is one line, begins and ends like a name, and has no white space at its sides or twice."""
    return (
        label == " ".join(label.split())
        and label[0].isalnum()
        and (label[-1].isalnum() or label[-1] in ")]）'’")
        and not re.search(EMPTY, label)  # what an unfilled template would look like
        and label.isprintable()
        and not set(label) & set(DAMAGED)
    )
