"""Traces written by hand in a line each, for the tests of the diagnostics."""

from __future__ import annotations

from typing import Any

from clwqa_bench.predictions import EvidencePath, Label, PredictedAnswer, Prediction, TraceEvent
from clwqa_bench.records import TripleRef

WORD, BOOK, OTHER = "word:四面楚歌", "book:史记", "book:韩非子"
TO_BOOK = "word:四面楚歌 hasSource chapter:史记/项羽本纪 partOf book:史记"
ASTRAY = "word:守株待兔 hasSource chapter:韩非子/五蠹 partOf book:韩非子"


def triples(walk: str) -> tuple[TripleRef, ...]:
    """The triples of a walk written "a relation b <relation c"; "<" marks a step against the arrow."""
    words = walk.split()
    steps = zip(words[::2], words[1::2], words[2::2], strict=False)
    return tuple(
        TripleRef(head=b, relation=r[1:], tail=a) if r[0] == "<" else TripleRef(head=a, relation=r, tail=b)
        for a, r, b in steps
    )


def path(walk: str, id: str = "p1") -> EvidencePath:
    return EvidencePath(id=id, triples=triples(walk))


def link(*entities: str, anchor: str = "CultureLoadedWord", target: str = "Book") -> TraceEvent:
    labels = (*(Label(element=anchor, entity_id=id) for id in entities), Label(element=target))
    return TraceEvent(stage="link", entities=entities, elements=labels)


def retrieve(*walks: str) -> TraceEvent:
    return TraceEvent(stage="retrieve", paths=tuple(path(w, f"p{i}") for i, w in enumerate(walks, 1)))


def rank(*walks: str, **fields: Any) -> TraceEvent:
    return TraceEvent(stage="rank", paths=tuple(path(w, f"p{i}") for i, w in enumerate(walks, 1)), **fields)


def predicted(
    id: str, answer: str | None, *trace: TraceEvent, status: str = "ok", **fields: Any
) -> Prediction:
    answers = () if answer is None else (PredictedAnswer(text=answer, entity_id=fields.pop("entity", None)),)
    return Prediction(id=id, status=status, ranked=True, answers=answers, trace=trace, **fields)  # type: ignore[arg-type]
