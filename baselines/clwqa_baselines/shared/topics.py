"""The entities a question is about, found in one way for every system that explores from them.

The systems were published with topic entities given.  Here they are `linked` by the core linker, whatever language
model the run asks, so that systems differ in what they do with them and not in how they find them; with
`--oracle anchors` they are `gold`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from clwqa_baselines.shared.names import Reader
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.predictions import TraceEvent
from clwqa_bench.records import Question, QuestionView
from clwqa_bench.systems import Context, Resources

ORACLES: Final = ("anchors",)
"""What a system that starts from topics lists in `oracles`."""
CAP: Final = 5
"""Entities kept of one mention, as the linker does."""


@dataclass(frozen=True, slots=True)
class Topic:
    """An entity to start from, its label, and the words of the question that name it."""

    id: str
    name: str
    mention: str


class Topics:
    """Finds topics; made once, in `prepare`.

    Where there is no linker, names are looked up alone, and an ambiguous one keeps its first bearers.
    """

    def __init__(self, graph: GraphStore, reader: Reader) -> None:
        self._graph = graph
        self._reader = reader

    @staticmethod
    def open(resources: Resources) -> Topics:
        """Over the linker of the dataset, which is learned now if it never was."""
        return Topics(resources.kg, Reader.open(resources))

    def find(self, question: QuestionView, ctx: Context) -> tuple[Topic, ...]:
        """The topics of a question in the order it names them, each once; none if it names nothing.

        Adds the event `link`: ids, the source (`linked` or `gold`) as its op, and which mention names which.
        """
        given = ctx.gold if "anchors" in ctx.oracle else None
        found = self._linked(question.text) if given is None else _gold(given)
        mentions: dict[str, str] = {}
        for mention, node in found:
            mentions.setdefault(node, mention)
        topics = tuple(Topic(node, self._graph.entity(node).label, text) for node, text in mentions.items())
        ctx.trace.add(
            TraceEvent(
                stage="link",
                op="linked" if given is None else "gold",
                entities=tuple(topic.id for topic in topics),
                detail={"mentions": {topic.id: topic.mention for topic in topics}},
            )
        )
        return topics

    def _linked(self, text: str) -> Iterator[tuple[str, str]]:
        if self._reader.linker:
            for anchor in self._reader.linker.link(text).anchors:
                yield from ((anchor.mention, node) for node in anchor.entities)
        else:
            for mention in self._reader.gazetteer.mentions(text):
                yield from ((mention.text, node) for node in mention.bearers[:CAP])


def _gold(question: Question) -> Iterable[tuple[str, str]]:
    return ((anchor.mention, anchor.entity_id) for anchor in question.anchors)
