"""Stage 1: from the question to anchors, their elements and the element asked for (seed paper sec. 4.1).

A language model reads the question under the three rules of the paper; what it returns is checked here and its
mentions are linked to nodes.  The paper does not say how a string becomes a node: the tiers are ours.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from clwqa_baselines.ceaf.retrieval import AnchorNodes, Query
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.linking import Gazetteer
from clwqa_bench.linking.gazetteer import verbatim
from clwqa_bench.llm.tasks import AnchorMention, Constraints, ElementNote
from clwqa_bench.ontology import Ontology
from clwqa_bench.text import comparison_key

NEAREST = 10  # names among which those that tie for the nearest are looked for


def element_notes(ontology: Ontology) -> tuple[ElementNote, ...]:
    """The closed set T as the model is told of it: labels are the ontology's names, with words for each."""
    stop = "。" if ontology.is_chinese else ". "
    return tuple(
        ElementNote(
            label=name,
            description=stop.join(filter(None, (ontology.label(name), ontology.description(name)))),
            parent=ontology.parent(name),
        )
        for name in ontology.types
    )


@dataclass(frozen=True, slots=True)
class Checked:
    """What is left of a model's constraints, and what was thrown out: labels that are not in T, words that are not in
    the question.  No target means that anything may be the answer.
    """

    anchors: tuple[AnchorMention, ...]
    target: str | None
    unknown_labels: tuple[str, ...] = ()
    absent_mentions: tuple[str, ...] = ()


def check(constraints: Constraints, question: str, labels: Labels) -> Checked:
    """Hold constraints against the closed set T and the question."""
    present = [anchor for anchor in constraints.anchors if _occurs(anchor.mention, question)]
    absent = [anchor.mention for anchor in constraints.anchors if anchor not in present]
    anchors = tuple(
        AnchorMention(mention=anchor.mention, elements=labels.known(anchor.elements)) for anchor in present
    )
    target = labels.known([constraints.target_element])
    given = (label for anchor in present for label in anchor.elements)
    return Checked(
        anchors=anchors,
        target=target[0] if target else None,
        unknown_labels=labels.unknown((*given, constraints.target_element)),
        absent_mentions=tuple(absent),
    )


class Labels:
    """Labels of T by any spelling: exact, else equal after NFKC and case folding, else the word for it in Chinese."""

    def __init__(self, ontology: Ontology) -> None:
        self._exact = {name: name for name in ontology.types}
        self._loose = {_fold(ontology.label(name)): name for name in ontology.types}
        self._loose |= {_fold(name): name for name in ontology.types}

    def _find(self, label: str) -> str | None:
        return self._exact.get(label) or self._loose.get(_fold(label))

    def known(self, labels: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for label in labels if (name := self._find(label))))

    def unknown(self, labels: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label for label in labels if not self._find(label)))


def _fold(label: str) -> str:
    return unicodedata.normalize("NFKC", label).casefold().strip()


def _occurs(mention: str, question: str) -> bool:
    return bool(mention) and (mention in question or comparison_key(mention) in comparison_key(question))


# ---------------------------------------------------------------------- mention -> node


@dataclass(frozen=True, slots=True)
class Names:
    """From mentions to nodes; the gazetteer reads titles, authors before titles, and passages quoted with gaps."""

    graph: GraphStore
    gazetteer: Gazetteer
    similarity: float
    cap: int

    def nodes(self, mention: str, elements: Sequence[str]) -> tuple[tuple[str, ...], str]:
        """The nodes a mention names, and the tier that found them: nodes of that name of the elements or below
        ("typed"); of any type ("name"); with the nearest name, of the elements if there are any ("near"); "" if none.

        All nodes that tie on the first tier that finds any are kept, up to `cap`; a name spelled just so breaks ties.
        """
        bearers = self.gazetteer.bearers(mention)
        typed = tuple(node for node in bearers if not set(elements).isdisjoint(self.graph.types(node)))
        tiers = {"typed": typed, "name": bearers}
        for tier, nodes in tiers.items():
            if nodes:
                return verbatim(self.graph, mention, nodes)[: self.cap], tier
        near = self._nearest(mention, tuple(elements) or None)
        return near[: self.cap], "near" if near else ""

    def _nearest(self, mention: str, types: tuple[str, ...] | None) -> tuple[str, ...]:
        found = self.graph.fuzzy(mention, NEAREST, types)
        return tuple(node for node, likeness in found if likeness == found[0][1] >= self.similarity)


def link(
    constraints: Constraints, question: str, names: Names, labels: Labels, *, use_elements: bool = True
) -> tuple[Query, dict[str, Any]]:
    """Constraints as nodes and elements, and for the trace, what was thrown out and how each mention was found.

    An anchor without a usable element stands for what its nodes are; so does every anchor, and the answer for
    anything, unless `use_elements`.
    """
    checked = check(constraints, question, labels)
    anchors, tiers = [], {}
    for anchor in checked.anchors:
        elements = anchor.elements if use_elements else ()
        nodes, tiers[anchor.mention] = names.nodes(anchor.mention, elements)
        own = tuple(dict.fromkeys(names.graph.types(node)[0] for node in nodes))
        if nodes:
            anchors.append(AnchorNodes(nodes, elements or own, anchor.mention))
    detail = {
        "tiers": tiers,
        "unknown_labels": list(checked.unknown_labels),
        "absent_mentions": list(checked.absent_mentions),
    }
    return Query(tuple(anchors), checked.target if use_elements else None), detail
