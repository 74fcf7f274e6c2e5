"""Quotations compared with the full text of the classics and poems, where it is there.

Editions differ, and dictionaries shorten: how well the words agree is stored with the quotation, nothing is corrected.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

from clwqa_builders.extract.anthologies import Passage, han
from clwqa_builders.extract.canonical import Canonicaliser
from clwqa_builders.extract.script import simplified
from clwqa_builders.graph.tables import GraphTables

Agreement = Literal["exact", "clauses", "partial", "none", "uncovered"]
STATES: tuple[Agreement, ...] = ("exact", "clauses", "partial", "none", "uncovered")  # best first
WHOLE = (
    "诗经",
    "楚辞",
    "论语",
    "孟子",
    "大学",
    "中庸",
    "三字经",
    "千字文",
    "弟子规",
    "治家格言",
    "声律启蒙",
    "增广贤文",
)


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


def add_agreement(graph: GraphTables, passages: Iterable[Passage], canon: Canonicaliser) -> None:
    """Attribute ``verified`` of every quotation: the best agreement with a text that it is said to stand in."""
    texts: dict[str, list[str]] = defaultdict(list)
    for passage in passages:
        place = canon.place(passage.at)
        for id in {place.id, place.work.id}:
            texts[id].append(passage.text)
    whole = {id: "".join(parts) for id, parts in texts.items()}
    books = {f"book:{title}" for title in WHOLE}
    wholes = {unit: work for unit, work in graph.pairs("partOf") if work in books}
    found: dict[str, set[Agreement]] = defaultdict(set)
    for quotation, place_id in graph.pairs("inContentUnit"):
        if graph.type_of(quotation) == "Quotation":
            id = wholes.get(place_id, place_id)
            covered = id in whole and (id in books or graph.type_of(id) == "Piece")
            found[quotation].add(agreement(graph.text_of(quotation), whole[id]) if covered else "uncovered")
    for quotation, states in found.items():
        graph.annotate(quotation, "verified", min(states, key=STATES.index))
