"""Every question a template can ask of a graph, with its complete gold answers.

Complete by construction: all solutions are joined first, then grouped by anchors; the rules below only ever
drop a whole instance, never an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.ontology import Ontology
from clwqa_bench.text import comparison_key
from clwqa_builders.questions.columns import BoolArray, GraphColumns, IntArray, Ragged, Side
from clwqa_builders.questions.mention import MASK, Mentions
from clwqa_builders.questions.solve import Table, bindings
from clwqa_builders.questions.templates import (
    SEVERAL,
    WORKS,
    Basis,
    CategoryRule,
    Template,
    question_text,
)
from clwqa_builders.questions.titles import may_be_one

RING_MULTIPLIER = 2_654_435_761  # Knuth's multiplicative hash: a fixed shuffle of entity numbers

MAX_MENTION = 200  # characters; a longer passage makes no question

SHORTEST_WORD = 3  # characters of a word whose occurrence in its own gloss makes the gloss circular

BASES: tuple[Basis, ...] = ("source", "content", "fixed", "type")


@dataclass(frozen=True)
class Instances:
    """Questions of one template; all sequences are parallel.

    Entities are numbers of the graph.  ``words`` are the words (not single characters) and ``sources`` the
    works among the entities of an instance's solutions.  ``category`` holds a category entity's number,
    ``basis`` the number of BASES that decided it.
    """

    template: Template
    anchors: dict[str, IntArray]
    mentions: dict[str, tuple[str, ...]]
    answers: Ragged
    words: Ragged
    sources: Ragged
    category: IntArray
    basis: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.category)

    def take(self, rows: Sequence[int]) -> Instances:
        """The same template with only these rows, in this order."""
        chosen = np.asarray(rows, dtype=np.int64)
        return Instances(
            template=self.template,
            anchors={v: column[chosen] for v, column in self.anchors.items()},
            mentions={v: tuple(texts[row] for row in rows) for v, texts in self.mentions.items()},
            answers=self.answers.take(chosen),
            words=self.words.take(chosen),
            sources=self.sources.take(chosen),
            category=self.category[chosen],
            basis=self.basis[chosen],
        )

    def question(self, row: int, phrasing: int) -> str:
        """The text of a question; phrasings are counted modulo their number."""
        return question_text(self.template, {v: texts[row] for v, texts in self.mentions.items()}, phrasing)


@dataclass(frozen=True)
class Solutions:
    """All solutions of a template; row i of the table belongs to anchor tuple ``tuple_of[i]``."""

    table: Table
    anchors: dict[str, IntArray]
    tuple_of: IntArray

    @classmethod
    def of(cls, table: Table, anchors: Sequence[str]) -> Solutions:
        """Number the distinct anchor tuples of a table of solutions."""
        stacked = np.stack([table[a] for a in anchors])
        distinct, tuple_of = np.unique(stacked, axis=1, return_inverse=True)
        return cls(table, dict(zip(anchors, distinct, strict=True)), tuple_of.ravel().astype(np.int64))

    def __len__(self) -> int:
        return len(next(iter(self.anchors.values())))

    def values(self, variable: str) -> Ragged:
        """The entities a variable takes, by anchor tuple."""
        return Ragged.group(self.tuple_of, self.table[variable], len(self))

    def members(self, mask: BoolArray) -> Ragged:
        """The entities inside the mask that any variable takes, by anchor tuple."""
        inside = [(self.tuple_of[mask[column]], column[mask[column]]) for column in self.table.values()]
        rows, entities = (np.concatenate(part) for part in zip(*inside, strict=True))
        return Ragged.group(rows, entities, len(self))


class Enumerator:
    """Enumerates templates over one graph."""

    def __init__(self, graph: GraphColumns, ontology: Ontology) -> None:
        self.graph = graph
        self.ontology = ontology
        self.mentions = Mentions(graph, ontology)
        self._is_word = graph.is_a(ontology.with_descendants(["Word", "Sentence"]))
        self._is_work = graph.is_a(ontology.with_descendants(WORKS))
        self._labels = {"source": self._source_domains(), "content": graph.follow(("belongsToCategory",))}

    def enumerate(self, template: Template) -> Instances:
        """All instances that pass the template's filters and the rules for clear, leak-free questions."""
        table = bindings(template.pattern, self.graph, seed=self._ring(template))
        found = Solutions.of(table, template.anchors)
        answers = found.values(template.answer)
        category, basis = self.categories(template.rules, found)
        filters = template.filters
        keep = (
            (answers.lengths >= filters.min_answers)
            & (answers.lengths <= filters.max_answers)
            & (category >= 0)
        )
        for variable, relations in filters.only.items():
            keep[found.tuple_of[self.degree(relations)[table[variable]] != 1]] = False
        for variable, relations in filters.several.items():
            keep[found.tuple_of[self.degree(relations)[table[variable]] < SEVERAL]] = False
        for column in table.values():
            keep[found.tuple_of[self.mentions.doubtful[column]]] = False
        rows, mentions = self._clear(template, np.flatnonzero(keep), found, answers)
        return Instances(
            template=template,
            anchors={v: column[rows] for v, column in found.anchors.items()},
            mentions=mentions,
            answers=answers.take(rows),
            words=found.members(self._is_word).take(rows),
            sources=found.members(self._is_work).take(rows),
            category=category[rows],
            basis=basis[rows],
        )

    def degree(self, relations: str) -> IntArray:
        """How many neighbours every entity has by "r", "r|s" or, against the arrow, "<r"."""
        names = tuple(relations.removeprefix("<").split("|"))
        symmetric = all(map(self.ontology.symmetric, names))
        side: Side = "both" if symmetric else "tail" if relations.startswith("<") else "head"
        return np.bincount(self.graph.pairs(names, side)[0], minlength=len(self.graph))

    def _ring(self, template: Template) -> Table | None:
        """Pairs of anchors that meet in ``filters.pair``: each meeting point's members, shuffled, in a ring."""
        meeting = template.filters.pair
        if meeting is None:
            return None
        one, other = template.anchors
        table = bindings(template.pattern.along(template.pattern.walk(one, meeting)), self.graph)
        shuffled = (table[one] * RING_MULTIPLIER) % 2**32
        point, _, member = np.unique(np.stack([table[meeting], shuffled, table[one]]), axis=1)
        start = np.flatnonzero(np.diff(point, prepend=-1))
        size = np.diff(start, append=len(point))
        position = np.arange(len(point)) - np.repeat(start, size)
        following = np.repeat(start, size) + (position + 1) % np.repeat(size, size)
        ring = np.unique(np.sort(np.stack([member, member[following]]), axis=0), axis=1)
        ring = ring[:, ring[0] != ring[1]]
        return {one: ring[0], other: ring[1]}

    # -- categories ------------------------------------------------------------------------------------------

    def _source_domains(self) -> Ragged:
        """Categories of every work: its own, and for a unit those of the work it is part of."""
        works, wholes = self.graph.pairs(("partOf",), "head")
        own = self.graph.follow(("belongsToCategory",))
        inherited = own.take(wholes)
        heads, tails = self.graph.pairs(("belongsToCategory",), "head")
        rows = np.concatenate([heads, np.repeat(works, inherited.lengths)])
        return Ragged.group(rows, np.concatenate([tails, inherited.values]), len(self.graph))

    def categories(
        self, rules: Sequence[CategoryRule], found: Solutions
    ) -> tuple[IntArray, NDArray[np.int8]]:
        """Category entity and basis per anchor tuple; -1 where no rule yields exactly one category."""
        category = np.full(len(found), -1, dtype=np.int64)
        basis = np.full(len(found), -1, dtype=np.int8)
        for rule in rules:
            ruled = self._by_rule(rule, found)
            fresh = (category < 0) & (ruled >= 0)
            category[fresh] = ruled[fresh]
            basis[fresh] = BASES.index(rule.basis)
        return category, basis

    def _by_rule(self, rule: CategoryRule, found: Solutions) -> IntArray:
        if rule.basis == "fixed":
            return np.full(len(found), self.graph.index_of.get(f"category:{rule.value}", -1), dtype=np.int64)
        labels = self._labels[rule.basis].take(found.table[rule.value])
        grouped = Ragged.group(np.repeat(found.tuple_of, labels.lengths), labels.values, len(found))
        single = grouped.lengths == 1
        category = np.full(len(found), -1, dtype=np.int64)
        category[single] = grouped.values[grouped.offsets[:-1][single]]
        return category

    # -- wording ---------------------------------------------------------------------------------------------

    def _clear(
        self,
        template: Template,
        rows: IntArray,
        found: Solutions,
        answers: Ragged,
    ) -> tuple[IntArray, dict[str, tuple[str, ...]]]:
        """The rows that name their anchors clearly and do not give the answer away, and the names."""
        masked = {anchor: found.values(word) for anchor, word in template.filters.mask.items()}
        named = {row: self._mentions(template, row, found.anchors, masked) for row in rows.tolist()}
        bearers = Counter(map(_letters, named.values()))  # masked passages may come to read alike
        works = found.members(self._is_work) if len(found) else answers
        passed = [found.values(person) for person in _persons_on_the_way(template)]
        kept = [
            (row, texts)
            for row, texts in named.items()
            if texts
            and bearers[_letters(texts)] == 1
            and self._is_fair(template, texts, answers[row].tolist())
            and not self.repeats(answers[row].tolist(), works[row].tolist())
            and not self.tells(texts, [person for way in passed for person in way[row].tolist()])
        ]
        columns = zip(*(texts for _, texts in kept), strict=True) if kept else [()] * len(template.anchors)
        clear = np.array([row for row, _ in kept], dtype=np.int64)
        return clear, dict(zip(template.anchors, columns, strict=True))

    def _mentions(
        self, template: Template, row: int, anchors: dict[str, IntArray], masked: dict[str, Ragged]
    ) -> tuple[str, ...] | None:
        filters, found = template.filters, []
        for anchor in template.anchors:
            text = self.mentions.name(int(anchors[anchor][row]))
            if text is None:
                return None
            for word in masked[anchor][row].tolist() if anchor in masked else ():
                label = self.graph.labels[word]
                if label not in text:
                    return None
                text = text.replace(label, MASK)
            shortest, longest = filters.min_chars.get(anchor, 0), filters.max_chars.get(anchor, MAX_MENTION)
            if not shortest <= len(text) <= longest:
                return None
            if any(part in text for part in filters.without.get(anchor, ())):
                return None
            found.append(text)
        return tuple(found)

    def _is_fair(self, template: Template, mentions: Sequence[str], answers: Sequence[int]) -> bool:
        if template.spec.answer_kind == "passage" and not all(map(self.mentions.is_sound, answers)):
            return False
        if not all(map(self.mentions.is_telling, answers)):
            return False
        if template.spec.target_element == "Explanation" and any(
            len(mention) >= SHORTEST_WORD and mention in self.graph.texts[a]
            for a in answers
            for mention in mentions
        ):
            return False  # a gloss that explains the word by itself
        if self.tells(mentions, answers):
            return False
        bound, asked = template.filters.max_shared, set("".join(map(_key, mentions)))
        return bound is None or all(len(set(self.graph.labels[a]) & asked) <= bound for a in answers)

    def repeats(self, answers: Sequence[int], works: Sequence[int]) -> bool:
        """Whether a list of works may hold one work twice, or that asked about: 出师表 and 前出师表."""
        types = self.graph.types
        if not set(answers) <= set(works):
            return False
        kinds = {types[a] for a in answers}
        asked = sorted({*answers, *(w for w in works if types[w] in kinds)})
        names = {w: (self.graph.labels[w], *self.graph.aliases[w]) for w in asked}
        return any(
            may_be_one(name, title)
            for one, other in combinations(asked, 2)
            for name in names[one]
            for title in names[other]
        )

    def tells(self, mentions: Sequence[str], entities: Sequence[int]) -> bool:
        """Whether the names in a question give one of the entities away."""
        asked = "\n".join(map(_key, mentions))
        return any(name in asked for entity in entities for name in self.mentions.names(entity))


def _persons_on_the_way(template: Template) -> list[str]:
    """Variables for persons a question must lead to by itself: 苏轼《江城子》 already tells the author."""
    pattern, ends = template.pattern, {*template.anchors, template.answer}
    return [name for name, types in pattern.admitted.items() if "Person" in types and name not in ends]


def _letters(texts: tuple[str, ...] | None) -> tuple[str, ...]:
    """Mentions without punctuation and spelling variants: what makes two questions the same to a reader."""
    return tuple(map(_alphanumeric, texts or ()))


# The same quotations and words are named by many templates.
_key = lru_cache(maxsize=1 << 18)(comparison_key)


@lru_cache(maxsize=1 << 18)
def _alphanumeric(text: str) -> str:
    return "".join(filter(str.isalnum, _key(text)))
