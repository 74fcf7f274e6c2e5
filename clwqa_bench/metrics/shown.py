"""What a prediction puts forward as evidence, and what the gold asks for, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from clwqa_bench.grid import GoldQuestion, Grid
from clwqa_bench.matching import key_of
from clwqa_bench.metrics.graph import Key
from clwqa_bench.metrics.measure import once_per_grid
from clwqa_bench.predictions import EvidencePath, EvidenceText, EvidenceTriple, PredictedAnswer, Prediction
from clwqa_bench.records import StandardPath, TripleRef

OF = ("shown", "cited")
key: Callable[[TripleRef], Key] = attrgetter("head", "relation", "tail")
"""A triple as a plain value."""


class Pieces(NamedTuple):
    """The evidence of one question that counts, each list in the order shown."""

    paths: tuple[EvidencePath, ...] = ()
    triples: tuple[EvidenceTriple, ...] = ()
    texts: tuple[EvidenceText, ...] = ()

    def keys(self) -> tuple[Key, ...]:
        """The distinct triples in the order shown, those of the paths first."""
        found = [triple for path in self.paths for triple in path.triples]
        found += [piece.triple for piece in self.triples]
        return tuple(dict.fromkeys(map(key, found)))

    def wordings(self) -> Iterator[str]:
        """The text of every piece."""
        of_texts = (piece.text for piece in self.texts)
        of_graph = (piece.text for pieces in (self.paths, self.triples) for piece in pieces)
        return filter(None, chain(of_texts, of_graph))


@once_per_grid
def pieces(grid: Grid, of: str) -> tuple[Pieces, ...]:
    """The evidence of every question: all that was shown, or what citations and the support of answers name."""
    pick = _cited if of == "cited" else _shown
    return tuple(Pieces() if p is None else pick(p) for p in grid.predictions)


def _shown(prediction: Prediction) -> Pieces:
    evidence = prediction.evidence
    return Pieces(evidence.paths, evidence.triples, evidence.texts)


def _cited(prediction: Prediction) -> Pieces:
    named = {citation.evidence_id for citation in prediction.citations}
    named.update(id for answer in prediction.answers for id in answer.support)
    if not named:
        return Pieces()
    evidence = prediction.evidence
    return Pieces(
        tuple(path for path in evidence.paths if path.id in named),
        tuple(piece for piece in evidence.triples if piece.id in named),
        tuple(text for text in evidence.texts if text.id in named),
    )


@once_per_grid
def triples(grid: Grid, of: str) -> tuple[tuple[Key, ...], ...]:
    """The distinct triples of every question, in the order shown."""
    return tuple(piece.keys() for piece in pieces(grid, of))


@once_per_grid
def gold_triples(grid: Grid) -> tuple[frozenset[Key], ...]:
    """All triples that any derivation of the answers rests on, per question."""
    return tuple(frozenset(map(key, question.evidence)) for question in grid.gold.questions)


def needed(question: GoldQuestion, evidence: frozenset[Key], shown: Set[Key]) -> frozenset[Key]:
    """The gold triples that had to be shown: the whole evidence, less the derivations that there was no need for.

    Where several standard paths lead from one anchor to one answer, one of them is enough.  The one with the largest
    share shown is asked for (of equals the shorter, then the first), so the shortest where nothing is shown.
    """
    pairs = [(path.entities[0], path.entities[-1]) for path in question.standard_paths]
    if len(set(pairs)) == len(pairs):
        return evidence
    ways: dict[tuple[str, str], list[Set[Key]]] = {}
    for pair, path in zip(pairs, question.standard_paths, strict=True):
        ways.setdefault(pair, []).append(_walked(path, evidence))
    every = {triple for of_pair in ways.values() for way in of_pair for triple in way}
    best = [
        max(of_pair, key=lambda w: (len(w & shown) / max(len(w), 1), -len(w))) for of_pair in ways.values()
    ]
    return (evidence - every).union(*best)


def _walked(path: StandardPath, evidence: Set[Key]) -> Set[Key]:
    """The triples of a path, as the evidence has them."""
    ends = zip(path.steps, path.entities, path.entities[1:], strict=False)
    both = (t for step, a, b in ends for t in ((a, step.relation, b), (b, step.relation, a)))
    return {triple for triple in both if triple in evidence}


@once_per_grid
def _bearers(grid: Grid, surface: str, element: str) -> frozenset[str]:
    return frozenset(grid.gold.bearers(surface, element))


def entities(grid: Grid, row: int, answer: PredictedAnswer) -> frozenset[str]:
    """What an answer may stand for: the entity it names, or those of the answer's type that bear its text."""
    if answer.entity_id is not None:
        return frozenset((answer.entity_id,))
    return _bearers(grid, answer.text, grid.gold.questions[row].target_element)


def is_carried(
    grid: Grid, row: int, answer: PredictedAnswer, nodes: Set[str], wordings: Sequence[str]
) -> bool:
    """Whether evidence holds an answer: an entity it may stand for among the nodes, or its name inside a wording."""
    return (
        answer.entity_id in nodes  # the cheapest question first
        or any(answer.text in wording for wording in wordings)
        or (bool(nodes) and not nodes.isdisjoint(entities(grid, row, answer)))
        or _is_worded(key_of(answer.text), wordings)
    )


def _is_worded(name: str, wordings: Sequence[str]) -> bool:
    return bool(name) and any(name in key_of(wording) for wording in wordings)
