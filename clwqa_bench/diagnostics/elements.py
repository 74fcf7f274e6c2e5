"""Element labels against the ontology: which label is the reference, and which ones the gold path bears out."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from clwqa_bench.diagnostics.trace import Checkpoint, Trail
from clwqa_bench.grid import GoldQuestion
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import Anchor, PathStep

Marks = list[list[bool]]
"""Right or wrong for every label chosen: one list per anchor and one for the answer sought."""


def reference_element(question: GoldQuestion, anchor: Anchor, ontology: Ontology) -> str:
    """The least specific element of an anchor that the first step of every standard path from it still allows.

    An idiom asked for its source is a CultureLoadedWord: so far up reaches the domain of hasSource.
    The reference of the answer sought is the question's `target_element`, the least specific its pattern names.
    """
    ends = [
        _declared_end(path.steps[0], ontology)
        for path in question.standard_paths
        if path.steps and path.entities[0] == anchor.entity_id
    ]
    for element in reversed(anchor.elements):
        if all(any(ontology.is_a(element, end) for end in of_step) for of_step in ends):
            return element
    return anchor.elements[0] if anchor.elements else ""


def _declared_end(step: PathStep, ontology: Ontology) -> tuple[str, ...]:
    """Types the relation of a step declares for the entity the step leaves."""
    domains, ranges = ontology.signature(step.relation)
    return {"out": domains, "in": ranges, "both": domains + ranges}[step.direction]


def marks_by_reference(
    question: GoldQuestion, trail: Trail, traced: Iterable[Checkpoint], ontology: Ontology
) -> Marks | None:
    """Whether labels are the reference; None if none are recorded."""
    return _marks(
        question,
        trail,
        traced,
        anchor=lambda anchor, label: label == reference_element(question, anchor, ontology),
        target=lambda label: label == question.target_element,
    )


def marks_by_fit(
    question: GoldQuestion, trail: Trail, traced: Iterable[Checkpoint], ontology: Ontology
) -> Marks | None:
    """Whether labels hold for the gold path: the reference or one above or below it; None if none are recorded."""
    ends = {path.steps[-1].type for path in question.standard_paths if path.steps} | {question.target_element}
    known = set(ontology.types)
    targets = {above for end in ends & known for above in (end, *ontology.ancestors(end))}
    return _marks(
        question,
        trail,
        traced,
        anchor=lambda anchor, label: label in anchor.elements,
        target=lambda label: label in targets,
    )


def _marks(
    question: GoldQuestion,
    trail: Trail,
    traced: Iterable[Checkpoint],
    anchor: Callable[[Anchor, str], bool],
    target: Callable[[str], bool],
) -> Marks | None:
    labels = trail.labels
    if labels is None:
        return None
    marks = []
    if "anchor labels" in traced:
        marks += [[anchor(a, label) for label in labels.get(a.entity_id, ())] for a in question.anchors]
    if "target label" in traced and question.target_element:
        marks.append([target(label) for label in labels.get(None, ())])
    return marks or None


def mean_mark(marks: Marks | None) -> float | None:
    """Mean over anchors and target; of several labels for one, the share that is right, and 0 for no label."""
    return sum(sum(m) / len(m) if m else 0.0 for m in marks) / len(marks) if marks else None
