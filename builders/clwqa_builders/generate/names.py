"""How a question may name an entity, and which nodes of the evidence it names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from clwqa_builders.questions.columns import GraphColumns
from clwqa_builders.questions.mention import MASK, Mentions

QUOTED = ("“{}”", "‘{}’", "《{}》", "「{}」")
"""A name of a single character counts only inside these."""


@dataclass(frozen=True)
class Named:
    """A node, the words of the question that name it, and whether they can mean nothing else of its kind."""

    node: str
    mention: str
    clear: bool


@dataclass(frozen=True)
class Names:
    """The names of a graph's entities, by the rules of the templates (`questions.mention`)."""

    columns: GraphColumns
    mentions: Mentions

    def name(self, node: str) -> str:
        """How the model is told to call a node."""
        entity = self.columns.index_of[node]
        return self.mentions.name(entity) or self.mentions.bare(entity)

    def named(self, question: str, nodes: Sequence[str], hidden: Collection[str] = ()) -> list[Named]:
        """The nodes a question names, in the order of the question; of names inside one another the longest counts.

        The names of `hidden` words may be masked in a passage that is quoted.
        """
        found = [
            (start, form, node, clear)
            for node in nodes
            for form, clear in self._forms(node, hidden).items()
            for start in _places(form, question)
        ]
        found.sort(key=lambda one: (-len(one[1]), one[0]))
        taken: set[int] = set()
        named: dict[str, tuple[int, Named]] = {}
        for start, form, node, clear in found:
            span = range(start, start + len(form))
            if taken.isdisjoint(span):
                taken.update(span)
                named.setdefault(node, (start, Named(node, form, clear)))
        return [one for _, one in sorted(named.values(), key=lambda pair: pair[0])]

    def _forms(self, node: str, hidden: Collection[str]) -> dict[str, bool]:
        """The names of a node, and whether each is clear."""
        entity = self.columns.index_of[node]
        clear, bare = self.mentions.name(entity), self.mentions.bare(entity)
        forms = {bare: clear == bare, self.columns.labels[entity]: clear == bare}
        if qualified := self.mentions.qualified(entity):
            forms[qualified] = clear is not None
        for word in hidden:
            label = self.columns.labels[self.columns.index_of[word]]
            if self.columns.texts[entity] and label in bare:
                forms[bare.replace(label, MASK)] = clear == bare
        return {form: is_clear for form, is_clear in forms.items() if form}

    def revealing(self, node: str) -> tuple[str, ...]:
        """Comparison keys of what would give the node away."""
        return self.mentions.names(self.columns.index_of[node])

    def is_sound(self, node: str) -> bool:
        """Whether a passage is fit to be an answer."""
        return self.mentions.is_sound(self.columns.index_of[node])

    def is_telling(self, node: str) -> bool:
        """Whether a label is an answer by itself."""
        return self.mentions.is_telling(self.columns.index_of[node])

    def is_doubtful(self, node: str) -> bool:
        """Whether a work's title may be a misprint, or its kind unsure."""
        return bool(self.mentions.doubtful[self.columns.index_of[node]])


def _places(form: str, question: str) -> list[int]:
    """Where a form stands in a question."""
    if len(form) == 1:
        return [at + 1 for quoted in QUOTED if (at := question.find(quoted.format(form))) >= 0]
    places, at = [], question.find(form)
    while at >= 0:
        places.append(at)
        at = question.find(form, at + 1)
    return places
