"""Irrelevant nodes: drawn by seeded hashes among what no rule claims, the hard ones close to the gold in their letters.

A node may only be called irrelevant when the graph would have said otherwise: a chapter of a gold work is no negative,
nor is a record that names it, nor a period within or around one that is claimed; and where the graph knows no period
or category around a question, no period or category is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from clwqa_bench.kg.memory import MemoryGraph
from clwqa_builders.pairs.asked import Asked, hashed
from clwqa_builders.pairs.nodes import Nodes, Pool
from clwqa_builders.pairs.rubric import Draw

OF_WORD: Mapping[str, tuple[str, ...]] = {
    "Explanation": ("hasExplanation",),
    "Quotation": ("hasQuotation",),
    "Allusion": ("hasAllusion",),
    "Source": ("hasCitation", "hasExample"),
}
TRIES = 12  # draws per node wanted before it is given up
OVERLAP = 0.15  # of the character pairs of two explanations, above which they may mean the same
EMPTY_PHRASES = "比喻形容泛指表示某人事物后来多用于作为原意指的是一种"
"""The character pairs of this string say nothing about a meaning."""


@dataclass(frozen=True)
class Negatives:
    """Draws irrelevant nodes for one question; ``claimed`` are all nodes that a rule claims for it."""

    pool: Pool
    seed: int
    asked: Asked
    claimed: Collection[str]

    @property
    def nodes(self) -> Nodes:
        return self.pool.nodes

    @property
    def graph(self) -> MemoryGraph:
        return self.pool.nodes.graph

    def draw(self, way: Draw, count: int) -> Iterator[str]:
        """At most ``count`` different nodes drawn in one of the ways of the rubric."""
        ways: Mapping[Draw, Callable[[int], str | None]] = {
            "lookalike-word": self._lookalike_word,
            "lookalike": self._lookalike,
            "lookalike-passage": self._lookalike_passage,
            "other-unit": self._other_unit,
            "same-type": self._same_type,
            "elsewhere": self._elsewhere,
        }
        found: set[str] = set()
        for turn in range(count * TRIES):
            node = ways[way](turn)
            if node is not None and node not in found and self._irrelevant(node, way):
                found.add(node)
                yield node
            if len(found) == count:
                return

    # ------------------------------------------------------------------ the ways

    def _lookalike_word(self, turn: int) -> str | None:
        return self._like(self._pick(self._words, "word", turn), turn)

    def _lookalike(self, turn: int) -> str | None:
        others = tuple(node for node in self._lettered if node not in self._words)
        return self._like(self._pick(others, "like", turn), turn)

    def _lookalike_passage(self, turn: int) -> str | None:
        word = self._lookalike_word(turn + TRIES)  # another word than that of the rule before
        if word is None or not self._other_word(word):
            return None
        wanted = self.asked.target if self.asked.target in OF_WORD else None
        kind = wanted or self._pick(tuple(OF_WORD), "kind", turn) or "Explanation"
        return self._pick(self.graph.neighbours(word, OF_WORD[kind], "out"), "passage", turn)

    def _other_unit(self, turn: int) -> str | None:
        works = [b for u in self.asked.answers for b in self.graph.neighbours(u, "partOf", "out")]
        work = self._pick(works, "work", turn)
        return work and self._pick(self.graph.neighbours(work, "partOf", "in"), "unit", turn)

    def _same_type(self, turn: int) -> str | None:
        like = self._pick(self.asked.answers + self.asked.path, "type of", turn)
        return like and self._pick(self.pool.by_type[self.nodes.type_of[like]], "same", turn)

    def _elsewhere(self, turn: int) -> str | None:
        kind = self._pick(sorted(self.pool.by_type), "kind", turn)
        return kind and self._pick(self.pool.by_type[kind], "elsewhere", turn)

    def _like(self, node: str | None, turn: int) -> str | None:
        """A node of the same type that has a letter of this one's label."""
        if node is None:
            return None
        letter = self._pick(tuple(dict.fromkeys(self.graph.label(node))), "letter", turn)
        return self._pick(
            self.pool.by_letter.get((self.nodes.type_of[node], letter or ""), ()), "letters", turn
        )

    def _pick(self, items: Sequence[str], *key: object) -> str | None:
        return items[hashed(self.seed, self.asked.id, *key) % len(items)] if items else None

    # ------------------------------------------------------------------ what is irrelevant

    def _irrelevant(self, node: str, way: Draw) -> bool:
        """Whether nothing in the graph speaks for the node, directly or through what it belongs to."""
        if node in self._near or self.graph.label(node) in self._labels:
            return False
        kind, nodes = self.nodes.type_of[node], self.nodes
        if kind in nodes.periods:
            return not self._kinds.isdisjoint(nodes.periods)
        if kind in nodes.categories:
            return kind in self._kinds
        if kind in nodes.words:
            return self._other_word(node)
        if kind == "Explanation":
            return not self._same_meaning(node)
        if way == "other-unit":
            return True
        if kind in nodes.telling and self._names_gold(node):
            return False
        return self._near.isdisjoint(
            self.graph.neighbours(node, ("partOf", "citesWork", "inContentUnit"), "out")
        )

    def _names_gold(self, node: str) -> bool:
        """Whether a record, passage or unit has the name of a gold work or person in its own."""
        label = self.graph.label(node)
        return any(name in label for name in self._gold_names)

    def _other_word(self, word: str) -> bool:
        """A word that is neither near nor an unlinked variant: half of its letters at most, and another meaning."""
        label = self.graph.label(word)
        if word in self._near or any(_shared(label, other) > len(label) // 2 for other in self._word_labels):
            return False
        return not any(map(self._same_meaning, self.graph.neighbours(word, "hasExplanation", "out")))

    def _same_meaning(self, explanation: str) -> bool:
        own = _bigrams(self.nodes.text_of[explanation])
        return any(len(own & other) > OVERLAP * min(len(own), len(other)) for other in self._meanings)

    @cached_property
    def _near(self) -> frozenset[str]:
        """Everything of the question, everything claimed, and the periods within and around those."""
        near = {*self.asked.anchors, *self.asked.path, *self.asked.answers, *self.claimed}
        periods = [node for node in near if self.nodes.type_of[node] in self.nodes.periods]
        return frozenset(near.union(*map(self.nodes.kin, periods)))

    @cached_property
    def _gold_names(self) -> tuple[str, ...]:
        return tuple(name for node in self._lettered if len(name := self.graph.label(node)) > 1)

    @cached_property
    def _kinds(self) -> frozenset[str]:
        return frozenset(map(self.nodes.type_of.__getitem__, self._near))

    @cached_property
    def _labels(self) -> frozenset[str]:
        return frozenset(map(self.graph.label, self._near))

    @cached_property
    def _lettered(self) -> tuple[str, ...]:
        told = self.asked.anchors + self.asked.path + self.asked.answers
        return tuple(node for node in told if self.nodes.type_of[node] in self.nodes.lettered)

    @cached_property
    def _words(self) -> tuple[str, ...]:
        return tuple(node for node in self._lettered if self.nodes.type_of[node] in self.nodes.words)

    @cached_property
    def _word_labels(self) -> tuple[str, ...]:
        return tuple(self.graph.label(n) for n in self._near if self.nodes.type_of[n] in self.nodes.words)

    @cached_property
    def _meanings(self) -> tuple[frozenset[str], ...]:
        near = {node for node in self._near if self.nodes.type_of[node] == "Explanation"}
        near.update(e for word in self._words for e in self.graph.neighbours(word, "hasExplanation", "out"))
        return tuple(_bigrams(self.nodes.text_of[node]) for node in near)


def _shared(label: str, other: str) -> int:
    return len(set(label) & set(other))


def _bigrams(text: str) -> frozenset[str]:
    """Pairs of neighbouring characters, without those of phrases that any gloss may use."""
    return frozenset(a + b for a, b in zip(text, text[1:], strict=False) if a + b not in EMPTY_PHRASES)
