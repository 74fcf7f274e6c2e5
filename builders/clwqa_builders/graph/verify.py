"""Quotations compared with the full text of the classics and poems, where it is there.

Editions differ, and dictionaries shorten: how well the words agree is stored with the quotation, nothing is corrected.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from clwqa_builders.extract.anthologies import Passage, han
from clwqa_builders.extract.canonical import Canonicaliser
from clwqa_builders.extract.headwords import Headword
from clwqa_builders.extract.script import simplified
from clwqa_builders.extract.senses import Sense
from clwqa_builders.graph.tables import GraphTables

Agreement = Literal["exact", "clauses", "partial", "none", "uncovered"]
STATES: tuple[Agreement, ...] = ("exact", "clauses", "partial", "none", "uncovered")  # best first
BOOKS = frozenset(
    f"book:{title}" for title in ("诗经", "楚辞", "论语", "孟子", "大学", "中庸")
)  # here as a whole


def agreement(quotation: str, text: str) -> Agreement:
    """How a quotation agrees with a text (han characters): as a whole, clause by clause, or in half of its clauses.

    >>> text = "子曰学而时习之不亦说乎"
    >>> agreement("学而时习之，不亦说乎？", text), agreement("学而时习之，不亦悦乎？", text)
    ('exact', 'partial')
    """
    quoted = simplified(quotation)
    if han(quoted) in text:
        return "exact"
    clauses = [clause for part in re.split(r"[^\u3400-\u9fff]+", quoted) if (clause := han(part))]
    present = sum(clause in text for clause in clauses)
    if present == len(clauses):
        return "clauses"
    return "partial" if 2 * present >= len(clauses) and present else "none"


@dataclass(frozen=True)
class Texts:
    """The full texts at hand, by the id of the work or piece; ``units`` are the chapters of the whole books."""

    by_id: Mapping[str, str]
    units: frozenset[str]

    @classmethod
    def of(cls, passages: Iterable[Passage], canon: Canonicaliser) -> Texts:
        """Join the passages of each work."""
        parts: dict[str, list[str]] = defaultdict(list)
        units = set()
        for passage in passages:
            place = canon.place(passage.at)
            for id in {place.id, place.work.id}:
                if place.work.id in BOOKS or place.work.kind == "Piece":
                    parts[id].append(passage.text)
            if place.work.id in BOOKS:
                units.add(place.id)
        return cls({id: "".join(texts) for id, texts in parts.items()}, frozenset(units))

    def agreement(self, quotation: str, work: str) -> Agreement:
        """How a quotation agrees with the work it is said to stand in."""
        return agreement(quotation, self.by_id[work]) if work in self.by_id else "uncovered"


def corrected(words: Iterable[Headword], texts: Texts, canon: Canonicaliser) -> list[Headword]:
    """The words without what the full text of a classic contradicts.

    Where a dictionary's printers lacked a character they took its neighbour (髐髐角弓 for 骍骍角弓, 小昮 for 小毖):
    words that are not in the text are not quoted from it, and a chapter that the book does not have is not named.
    """
    return [replace(word, sense=_corrected(word.sense, texts, canon)) for word in words]


def _corrected(sense: Sense, texts: Texts, canon: Canonicaliser) -> Sense:
    citation = sense.citation
    place = canon.place(citation) if citation else None
    if citation is None or place is None or place.work.id not in BOOKS or place.work.id not in texts.by_id:
        return sense
    quotation, section = citation.quotation, citation.section
    if quotation and texts.agreement(quotation, place.work.id) not in ("exact", "clauses"):
        quotation = None
    if section and place.id not in texts.units:
        section = None
    return replace(sense, citation=replace(citation, quotation=quotation, section=section))


def add_agreement(graph: GraphTables, texts: Texts) -> None:
    """Attribute ``verified`` of every quotation: the best agreement with a text that it is said to stand in."""
    wholes = {unit: work for unit, work in graph.pairs("partOf") if work in BOOKS}
    found: dict[str, set[Agreement]] = defaultdict(set)
    for quotation, place in graph.pairs("inContentUnit"):
        if graph.type_of(quotation) == "Quotation":
            found[quotation].add(texts.agreement(graph.text_of(quotation), wholes.get(place, place)))
    for quotation, states in found.items():
        graph.annotate(quotation, "verified", min(states, key=STATES.index))
