"""Stage 1: from the question to anchors, their elements and the element asked for (seed paper sec. 4.1, systems: 7.2).

A language model reads the question under the three rules of the paper; what it returns is checked here and its
mentions are linked to nodes.  The paper does not say how a string becomes a node: the tiers are ours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rapidfuzz.distance import OSA

from clwqa_baselines.ceaf.config import CeafConfig
from clwqa_baselines.ceaf.retrieval import AnchorNodes, Query
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.llm.tasks import AnchorMention, Constraints, ElementNote
from clwqa_bench.ontology import Ontology
from clwqa_bench.text import comparison_key

NEAREST = 10  # names that are compared with a mention
NAME = 24  # characters of a passage that its name has at most
LEFT_OUT = 16  # characters that a mark of elision stands for at most
PUNCTUATION = "，。、；：？！,.;:?! "
ELISION = re.compile("～+|…+")
TITLED = re.compile("(?P<author>[^《》]+)《(?P<title>[^《》]+)》")


def element_notes(ontology: Ontology) -> tuple[ElementNote, ...]:
    """The closed set T as the model is told of it: labels are the ontology's names, with Chinese words for each."""
    return tuple(
        ElementNote(
            label=name,
            description="。".join(filter(None, (ontology.label(name), ontology.description(name)))),
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


def check(constraints: Constraints, question: str, ontology: Ontology) -> Checked:
    """Hold constraints against the closed set T and the question."""
    names = _Names(ontology)
    present = [anchor for anchor in constraints.anchors if _occurs(anchor.mention, question)]
    absent = [anchor.mention for anchor in constraints.anchors if anchor not in present]
    anchors = tuple(
        AnchorMention(mention=anchor.mention, elements=names.known(anchor.elements)) for anchor in present
    )
    target = names.known([constraints.target_element])
    labels = (label for anchor in present for label in anchor.elements)
    return Checked(
        anchors=anchors,
        target=target[0] if target else None,
        unknown_labels=names.unknown((*labels, constraints.target_element)),
        absent_mentions=tuple(absent),
    )


class _Names:
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

Types = tuple[str, ...] | None
Nodes = tuple[str, ...]


def link(
    constraints: Constraints, question: str, graph: GraphStore, ontology: Ontology, config: CeafConfig
) -> tuple[Query, dict[str, Any]]:
    """Constraints as nodes and elements, and for the trace, what was thrown out and how each mention was found.

    An anchor without a usable element stands for what its nodes are; so does every anchor, and the answer for
    anything, if elements are not used.
    """
    checked = check(constraints, question, ontology)
    anchors, tiers = [], {}
    for anchor in checked.anchors:
        elements = anchor.elements if config.use_elements else ()
        nodes, tiers[anchor.mention] = link_mention(anchor.mention, elements, graph, config)
        own = tuple(dict.fromkeys(graph.types(node)[0] for node in nodes))
        if nodes:
            anchors.append(AnchorNodes(nodes, elements or own, anchor.mention))
    detail = {
        "tiers": tiers,
        "unknown_labels": list(checked.unknown_labels),
        "absent_mentions": list(checked.absent_mentions),
    }
    return Query(tuple(anchors), checked.target if config.use_elements else None), detail


def link_mention(
    mention: str, elements: Sequence[str], graph: GraphStore, config: CeafConfig
) -> tuple[Nodes, str]:
    """The nodes a mention names, and the tier that found them ("" if none did).

    Nodes of the elements or below are looked for first, then nodes of any type: by name; passages by their
    beginning; works by author and title; then by the nearest name or text.  All nodes that tie on the first tier that
    finds any are kept, up to `mention_cap`.
    """
    scopes: list[Types] = [tuple(elements), None] if elements else [None]
    for types in scopes:
        for tier, find in TIERS.items():
            if nodes := find(mention, types, graph):
                return nodes[: config.mention_cap], tier
        if nodes := _by_likeness(mention, types, graph, config.similarity):
            return nodes[: config.mention_cap], "likeness"
    return (), ""


def _by_name(mention: str, types: Types, graph: GraphStore) -> Nodes:
    """Nodes with the name; those that are spelled exactly so, if there are any."""
    nodes = graph.lookup(mention, types)
    exact = tuple(node for node in nodes if graph.entity(node).label == mention) if len(nodes) > 1 else ()
    return exact or nodes


def _by_beginning(mention: str, types: Types, graph: GraphStore) -> Nodes:
    """Passages with the text: the name of a long one is its beginning."""
    if len(mention) <= NAME:
        return ()
    key = comparison_key(mention)
    return tuple(
        node
        for node in graph.lookup(mention[:NAME], types)
        if comparison_key(graph.entity(node).text or "-") == key
    )


def _by_title(mention: str, types: Types, graph: GraphStore) -> Nodes:
    """Works written as author《title》: those of the title that are joined to one of the name before it."""
    if not (match := TITLED.fullmatch(mention)):
        return ()
    author = comparison_key(match["author"])
    return tuple(
        node
        for node in graph.lookup(match["title"], types)
        if any(comparison_key(graph.entity(near).label) == author for near in graph.neighbours(node))
    )


def _by_likeness(mention: str, types: Types, graph: GraphStore, similarity: float) -> Nodes:
    """The nodes most like the mention by name or text, none below `similarity`."""
    key, elided = comparison_key(mention), _elided(mention)
    likeness: dict[str, float] = {}
    for node, _ in graph.fuzzy(mention[:NAME], NEAREST, types):
        entity = graph.entity(node)
        keys = [comparison_key(name) for name in (entity.label, *entity.aliases, entity.text) if name]
        fits = elided is not None and any(map(elided.fullmatch, keys))
        likeness[node] = 1.0 if fits else max(OSA.normalized_similarity(key, name) for name in keys)
    best = max(likeness.values(), default=0.0)
    return tuple(node for node, score in likeness.items() if score == best >= similarity)


def _elided(mention: str) -> re.Pattern[str] | None:
    """What a mention with words left out (～, …) may stand for, in comparison keys; None if nothing is left out."""
    pieces = ELISION.split(mention)
    if len(pieces) == 1:
        return None
    keys = [re.escape(comparison_key(piece)) for piece in pieces]
    return re.compile(f"[{PUNCTUATION}]*.{{1,{LEFT_OUT}}}[{PUNCTUATION}]*".join(keys))


TIERS = {"name": _by_name, "beginning": _by_beginning, "title": _by_title}
