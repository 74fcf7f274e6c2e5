"""What a run recorded on its way, question by question, in one shape for all systems.

A system records a stage or it does not; that is read off the whole run.  Where it does, a question whose trace lacks
the stage was stopped before it, so the stage yielded nothing; a question without any trace says nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import or_
from typing import Literal

from clwqa_bench.predictions import EvidencePath, EvidenceText, Prediction, TraceEvent
from clwqa_bench.records import TripleRef

Checkpoint = Literal["linking", "anchor labels", "target label", "retrieval", "ranking"]
"""Points of the pipeline whose outcome can be compared with gold."""

RANKING = ("rank", "prune")


@dataclass(frozen=True, slots=True)
class Pool:
    """The evidence a system held at one point, each list in its order."""

    paths: tuple[EvidencePath, ...] = ()
    triples: tuple[TripleRef, ...] = ()
    texts: tuple[EvidenceText, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.paths or self.triples or self.texts)

    def __or__(self, other: Pool) -> Pool:
        return Pool(self.paths + other.paths, self.triples + other.triples, self.texts + other.texts)

    @property
    def nodes(self) -> frozenset[str]:
        """Every entity that a triple has at an end or a text is about."""
        triples = chain(self.triples, *(path.triples for path in self.paths))
        about = (text.entity_id for text in self.texts if text.entity_id is not None)
        return frozenset(chain((end for t in triples for end in (t.head, t.tail)), about))

    @property
    def wordings(self) -> tuple[str, ...]:
        """The text of every piece that has one."""
        of_texts, of_paths = (piece.text for piece in self.texts), (path.text for path in self.paths)
        return tuple(filter(None, chain(of_texts, of_paths)))

    def without(self, dropped: Iterable[str]) -> Pool:
        """Less what a step cut off, by id; a triple's id is "head -relation-> tail"."""
        gone = frozenset(dropped)
        return Pool(
            tuple(path for path in self.paths if path.id not in gone),
            tuple(t for t in self.triples if f"{t.head} -{t.relation}-> {t.tail}" not in gone),
            tuple(text for text in self.texts if text.id not in gone),
        )

    def first(self, top: int | None) -> Pool:
        """The first `top` of each list; all for None."""
        return Pool(self.paths[:top], self.triples[:top], self.texts[:top])


@dataclass(frozen=True, slots=True)
class Trail:
    """What is known of one question's way; None wherever nothing was recorded.

    `labels` holds the element labels by entity, those of the answer sought under None.  `retrieved` is all that was
    found, `kept` what was left of it for the model.  `cut` says that a list in the trace is not complete.
    """

    linked: frozenset[str] | None = None
    labels: Mapping[str | None, tuple[str, ...]] | None = None
    retrieved: Pool | None = None
    kept: Pool | None = None
    cut: bool = False


@dataclass(frozen=True)
class Trails:
    """The trails of a run, one per prediction: None if there is no prediction or nothing was recorded with it."""

    traced: frozenset[Checkpoint]
    of: tuple[Trail | None, ...]


def read_trails(predictions: Sequence[Prediction | None], top: int | None = None) -> Trails:
    """Read the traces of a run; `top` keeps so many pieces after ranking (K of the seed paper), None all it kept."""
    traced = _traced([p for p in predictions if p is not None])
    return Trails(traced, tuple(_trail(p, traced, top) for p in predictions))


def _traced(predictions: Sequence[Prediction]) -> frozenset[Checkpoint]:
    found: set[Checkpoint] = set()
    for prediction in predictions:
        stages = {event.stage for event in prediction.trace}
        labelled = {label.entity_id for event in prediction.trace for label in event.elements}
        seen: dict[Checkpoint, bool] = {
            "linking": "link" in stages or bool(prediction.topics),
            "anchor labels": bool(labelled - {None}),
            "target label": None in labelled,
            "retrieval": "retrieve" in stages,
            "ranking": not stages.isdisjoint(RANKING) or bool(_shown(prediction)),
        }
        found |= {checkpoint for checkpoint, is_seen in seen.items() if is_seen}
    return frozenset(found)


def _trail(prediction: Prediction | None, traced: frozenset[Checkpoint], top: int | None) -> Trail | None:
    if prediction is None or not (prediction.trace or prediction.topics or _shown(prediction)):
        return None
    linked = next((frozenset(e.entities) for e in reversed(prediction.trace) if e.stage == "link"), None)
    if linked is None and prediction.topics:
        linked = frozenset(prediction.topics)
    retrieved = reduce(or_, (_held(e) for e in prediction.trace if e.stage == "retrieve"), Pool())
    kept = _kept(prediction, retrieved)
    if prediction.trace:  # a stage that others went through and this question did not yielded nothing
        linked, kept = linked or frozenset(), kept or Pool()
        # a trace may list only a part of what was retrieved; what was kept or shown had been
        retrieved = retrieved | kept | _shown(prediction)
    traces_labels = bool(prediction.trace and traced & {"anchor labels", "target label"})
    return Trail(
        linked=linked if "linking" in traced else None,
        labels=_labels(prediction.trace) if traces_labels else None,
        retrieved=retrieved if prediction.trace and "retrieval" in traced else None,
        kept=kept.first(top) if kept is not None and "ranking" in traced else None,
        cut=any(map(_is_cut, prediction.trace)),
    )


def _kept(prediction: Prediction, retrieved: Pool) -> Pool | None:
    """What the last ranking kept, else what was shown; None if there is neither."""
    last = next((event for event in reversed(prediction.trace) if event.stage in RANKING), None)
    if last is None:
        return _shown(prediction) or None
    listed = _held(last)
    if last.dropped and not listed:
        return retrieved.without(last.dropped)
    return listed.without(last.dropped)


def _held(event: TraceEvent) -> Pool:
    return Pool(event.paths, event.triples, event.texts)


def _shown(prediction: Prediction) -> Pool:
    evidence = prediction.evidence
    return Pool(evidence.paths, tuple(piece.triple for piece in evidence.triples), evidence.texts)


def _labels(trace: Sequence[TraceEvent]) -> dict[str | None, tuple[str, ...]]:
    """Labels by entity: those of the last event that names it."""
    labels: dict[str | None, tuple[str, ...]] = {}
    for event in trace:
        of_event: dict[str | None, tuple[str, ...]] = {}
        for label in event.elements:
            of_event[label.entity_id] = (*of_event.get(label.entity_id, ()), label.element)
        labels |= of_event
    return labels


def _is_cut(event: TraceEvent) -> bool:
    """Whether a list that should be whole is not.  Ranking is meant to leave out; its total counts what it ranked."""
    if event.total is None or event.stage not in ("link", "retrieve"):
        return False
    return event.total > len(event.paths or event.triples or event.texts or event.entities)
