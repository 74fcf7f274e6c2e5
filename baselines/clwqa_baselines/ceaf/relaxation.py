"""Ontology-aware relaxation: back off to parent elements while there are too few paths (seed paper sec. 5.5.4).

Off in the paper's main results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from clwqa_baselines.ceaf.retrieval import Query, Retrieved
from clwqa_bench.ontology import Ontology

StopOnNoNew = Literal["any", "anchor_only"]


@dataclass(frozen=True, slots=True)
class Step:
    """One back-off: whose element ("target", or the mention of an anchor), from which element to which, new paths."""

    of: str
    narrow: str
    broad: str
    new: int


@dataclass(frozen=True, slots=True)
class Relaxed:
    """All candidates, the constraints that were in force last, and the steps that led there."""

    query: Query
    found: Retrieved
    steps: tuple[Step, ...] = ()


def relax(
    query: Query,
    strict: Retrieved,
    retrieve: Callable[[Query], Retrieved],
    ontology: Ontology,
    *,
    budget: int,
    stop_on_no_new: StopOnNoNew = "any",
) -> Relaxed:
    """Relax the target once, then anchor elements one at a time, the most specific first, keeping what was found.

    Stops when there are `budget` paths, when no element has a parent left, or when the latest step brought no new
    path.  Read literally ("any"), the last rule also stops after a fruitless step of the target, before any anchor is
    relaxed; "anchor_only" lets it count for steps of anchors alone.
    """
    state = Relaxed(query, strict)
    for of, narrow, broader in _backoffs(query, ontology):
        if len(state.found.paths) >= budget:
            break
        found = state.found | retrieve(broader)
        new = len(found.paths) - len(state.found.paths)
        step = Step(of, narrow, ontology.parent(narrow) or "", new)
        state = Relaxed(broader, found, (*state.steps, step))
        if not new and (stop_on_no_new == "any" or of != "target"):
            break
    return state


def _backoffs(query: Query, ontology: Ontology) -> Iterator[tuple[str, str, Query]]:
    """Every step in its order: whose element, the element given up, and the constraints after it."""
    if query.target is not None and (parent := ontology.parent(query.target)):
        narrow, query = query.target, replace(query, target=parent)
        yield "target", narrow, query
    while deepest := _most_specific(query, ontology):
        number, element = deepest
        anchor = query.anchors[number]
        parent = ontology.parent(element)
        elements = tuple(dict.fromkeys(parent if e == element else e for e in anchor.elements if parent))
        anchors = list(query.anchors)
        anchors[number] = replace(anchor, elements=elements)
        query = replace(query, anchors=tuple(anchors))
        yield anchor.mention, element, query


def _most_specific(query: Query, ontology: Ontology) -> tuple[int, str] | None:
    """(number of the anchor, element) of the deepest element with a parent; of equally deep ones the first."""
    found = [
        (len(ontology.ancestors(element)), number, element)
        for number, anchor in enumerate(query.anchors)
        for element in anchor.elements
        if ontology.parent(element)
    ]
    if not found:
        return None
    _, number, element = max(found, key=lambda item: item[0])
    return number, element
