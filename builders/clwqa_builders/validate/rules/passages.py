"""Passages of which the origin is asked."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from clwqa_builders.validate.model import Fault, rule
from clwqa_builders.validate.tables import DatasetTables

PASSAGE, ORIGIN, WHOLE = "Context", frozenset({"hasSource", "inContentUnit"}), "partOf"
OPENING = 4  # characters by which passages are looked up; shorter words stand anywhere by chance
_OTHER = re.compile(r"[^\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff〇]")

Works = Mapping[str, frozenset[str]]


@rule(
    "passage-elsewhere",
    "warning",
    "Words whose origin is asked for stand in no passage of another work (a later work may quote an earlier one).",
)
def passage_elsewhere(tables: DatasetTables) -> Iterator[Fault]:
    asked = dict(_asked(tables))
    if not asked:
        return
    works = _works(tables)
    for row, other in _found(asked, _texts(tables)):
        passage, _ = asked[row]
        if works[other] and works[other].isdisjoint(works[passage]):
            where = min(works[other])
            yield Fault(tables.ids[row], "anchors.mention", f"these words also stand in {where} ({other})")


def _asked(tables: DatasetTables) -> Iterator[tuple[int, tuple[str, str]]]:
    """Rows that ask where words are from: the passage, and the words without marks."""
    columns = [tables.members("anchors", name) for name in ("entity_id", "mention", "elements")]
    paths = tables.column("standard_paths")
    for row, (ids, mentions, elements, ways) in enumerate(zip(*columns, paths, strict=True)):
        begun = {way["entities"][0] for way in ways if way["steps"][0]["relation"] in ORIGIN}
        for passage, mention, types in zip(ids, mentions, elements, strict=True):
            words = _OTHER.sub("", mention or "")
            if passage in begun and PASSAGE in types and len(words) >= OPENING:
                yield row, (passage, words)


def _texts(tables: DatasetTables) -> dict[str, str]:
    """The characters of every passage, by id."""
    columns = (tables.entities[name].to_pylist() for name in ("id", "text"))
    return {id: han for id, text in zip(*columns, strict=True) if (han := _OTHER.sub("", text))}


def _works(tables: DatasetTables) -> defaultdict[str, frozenset[str]]:
    """What each passage stands in: chapters and poems, and the books that these are part of."""
    units, wholes = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for head, relation, tail in zip(
        *(tables.triples[n].to_pylist() for n in ("head", "relation", "tail")), strict=True
    ):
        if relation in ORIGIN:
            units[head].add(tail)
        elif relation == WHOLE:
            wholes[head].add(tail)
    found = {
        head: frozenset(tails.union(*(wholes.get(t, ()) for t in tails))) for head, tails in units.items()
    }
    return defaultdict(frozenset, found)


def _found(asked: Mapping[int, tuple[str, str]], texts: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """(row, the first passage other than its own that holds its words) of each row that has one, by row."""
    nodes, joined = list(texts), "/".join(texts.values())
    starts = [0]
    for text in texts.values():
        starts.append(starts[-1] + len(text) + 1)
    openings = defaultdict[str, list[int]](list)
    for row, (_, words) in asked.items():
        openings[words[:OPENING]].append(row)
    found: dict[int, str] = {}
    for at in range(len(joined) - OPENING + 1):
        for row in openings.get(joined[at : at + OPENING], ()):
            passage, words = asked[row]
            node = _node(nodes, starts, at)
            if row not in found and node != passage and joined.startswith(words, at):
                found[row] = node
    yield from sorted(found.items())


def _node(nodes: Sequence[str], starts: Sequence[int], at: int) -> str:
    return nodes[bisect_right(starts, at) - 1]
