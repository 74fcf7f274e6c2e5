"""How well a linker does, on questions as they come and on wordings it has never seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.linking.linker import Linker, reference
from clwqa_bench.linking.models import signature_of
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import Question

FOLDS = 5
PER_TEMPLATE = 30  # held-out questions of one template: more would weigh common templates more


@dataclass(frozen=True, slots=True)
class Figures:
    """Shares between 0 and 1.  Anchor figures count entities over all questions (micro); `anchor_element` is over the
    gold anchors that were linked.  `signature_at_k`: one of the best k signatures is that of a standard path; all
    signatures that occur in the questions measured compete.  `relations_at_1` asks for the relations alone, since
    no wording tells a book from a novel.
    """

    questions: int
    anchor_precision: float
    anchor_recall: float
    anchor_f1: float
    anchor_sets: float
    anchor_element: float
    target_element: float
    signature_at_1: float
    signature_at_3: float
    relations_at_1: float


def measure(linker: Linker, questions: Sequence[Question], ontology: Ontology) -> Figures:
    """Figures of a linker on some questions with gold."""
    signatures = sorted({signature_of(path) for q in questions for path in q.standard_paths})
    count: defaultdict[str, int] = defaultdict(int)
    for question in questions:
        linked = linker.link(question.question)
        gold = {anchor.entity_id: anchor for anchor in question.anchors}
        found = {node: anchor.element for anchor in linked.anchors for node in anchor.entities}
        both = gold.keys() & found.keys()
        count["gold"] += len(gold)
        count["found"] += len(found)
        count["both"] += len(both)
        count["sets"] += gold.keys() == found.keys()
        count["elements"] += sum(found[node] == reference(question, gold[node], ontology) for node in both)
        count["targets"] += linked.target_element == question.target_element
        scores = linker.scores(question.question, signatures)
        best = sorted(zip(scores, signatures, strict=True), key=lambda pair: -pair[0])[:3]
        wanted = {signature_of(path) for path in question.standard_paths}
        count["first"] += best[0][1] in wanted
        count["third"] += any(signature in wanted for _, signature in best)
        relations = {tuple(step[:2] for step in signature) for signature in wanted}
        count["relations"] += tuple(step[:2] for step in best[0][1]) in relations
    n = len(questions)
    precision, recall = _share(count["both"], count["found"]), _share(count["both"], count["gold"])
    return Figures(
        questions=n,
        anchor_precision=precision,
        anchor_recall=recall,
        anchor_f1=_share(2 * precision * recall, precision + recall),
        anchor_sets=_share(count["sets"], n),
        anchor_element=_share(count["elements"], count["both"]),
        target_element=_share(count["targets"], n),
        signature_at_1=_share(count["first"], n),
        signature_at_3=_share(count["third"], n),
        relations_at_1=_share(count["relations"], n),
    )


def held_out_templates(questions: Sequence[Question], graph: GraphStore, ontology: Ontology) -> Figures:
    """Mean figures over folds of whole templates that were kept from learning; templates are dealt out by name."""
    templates = sorted({str(question.template_id) for question in questions})
    fold = {template: place % FOLDS for place, template in enumerate(templates)}
    found = []
    for this in range(min(FOLDS, len(templates))):
        known = [question for question in questions if fold[str(question.template_id)] != this]
        unseen = _some(q for q in questions if fold[str(q.template_id)] == this)
        found.append(measure(Linker.fit(known, graph, ontology), unseen, ontology))
    rows = [astuple(figures) for figures in found]
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return Figures(sum(figures.questions for figures in found), *means[1:])


def by_view(linker: Linker, questions: Sequence[Question], ontology: Ontology) -> dict[str, Figures]:
    """Figures on all questions ("all") and on each view of the split, by name."""
    views = sorted({view for question in questions for view in question.views})
    figures = {"all": measure(linker, questions, ontology)}
    return figures | {v: measure(linker, [q for q in questions if v in q.views], ontology) for v in views}


def _some(questions: Iterator[Question]) -> list[Question]:
    kept: defaultdict[str | None, list[Question]] = defaultdict(list)
    for question in questions:
        if len(kept[question.template_id]) < PER_TEMPLATE:
            kept[question.template_id].append(question)
    return [question for group in kept.values() for question in group]


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
