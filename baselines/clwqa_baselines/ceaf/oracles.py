"""Gold in place of a stage's outcome, to see what the stages after it would make of it (seed paper sec. 5.5.4)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from clwqa_baselines.ceaf.retrieval import AnchorNodes, Query
from clwqa_bench.kg.protocol import Path, Sense
from clwqa_bench.linking.linker import reference
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import PathStep, Question, TripleRef


def gold_constraints(gold: Question, ontology: Ontology) -> Query:
    """Stage 1 as it should be: every anchor with its reference element, and the element asked for."""
    anchors = tuple(
        AnchorNodes((anchor.entity_id,), (reference(gold, anchor, ontology),), anchor.mention)
        for anchor in gold.anchors
    )
    return Query(anchors, gold.target_element)


def gold_anchors(query: Query, gold: Question) -> Query:
    """Gold nodes with the elements predicted for them; for a node that was missed, all that were predicted."""
    every = tuple(dict.fromkeys(element for anchor in query.anchors for element in anchor.elements))
    given = {node: anchor.elements for anchor in query.anchors for node in anchor.nodes}
    anchors = tuple(
        AnchorNodes(
            (anchor.entity_id,), given.get(anchor.entity_id) or every or anchor.elements, anchor.mention
        )
        for anchor in gold.anchors
    )
    return replace(query, anchors=anchors)


def gold_elements(query: Query, gold: Question, ontology: Ontology) -> Query:
    """Predicted nodes with gold elements, where a node is a gold anchor, and the gold element asked for."""
    known = {anchor.entity_id: reference(gold, anchor, ontology) for anchor in gold.anchors}
    anchors = []
    for anchor in query.anchors:
        elements = tuple(dict.fromkeys(known[node] for node in anchor.nodes if node in known))
        anchors.append(replace(anchor, elements=elements or anchor.elements))
    return Query(tuple(anchors), gold.target_element)


def gold_paths(gold: Question) -> tuple[Path, ...]:
    """The standard paths as walks; a step either way is walked as the gold evidence has it stored."""
    paths = []
    for standard in gold.standard_paths:
        steps = zip(standard.steps, pairwise(standard.entities), strict=True)
        senses = tuple(_sense(step, here, there, gold) for step, (here, there) in steps)
        paths.append(Path(standard.entities, tuple(step.relation for step in standard.steps), senses))
    return tuple(dict.fromkeys(path for path in paths if len(path)))


def _sense(step: PathStep, here: str, there: str, gold: Question) -> Sense:
    if step.direction != "both":
        return step.direction
    stored = TripleRef(head=here, relation=step.relation, tail=there) in gold.evidence
    return "out" if stored else "in"
