"""The layer of sentences: lines of anthologies, primers and classics, where they stand, and idioms inside them."""

from __future__ import annotations

from collections.abc import Iterable

from clwqa_builders.extract.anthologies import Passage, han
from clwqa_builders.extract.canonical import Canonicaliser
from clwqa_builders.graph.tables import GraphTables, digest
from clwqa_builders.graph.words import add_place

SHORTEST_IDIOM = 4


def add_passages(graph: GraphTables, passages: Iterable[Passage], canon: Canonicaliser, origin: str) -> None:
    """Every passage's place and sentences; to be called when all idioms are in the graph.

    A poem that bears the name of a novel or a play (后庭花) would be taken for a chapter of it and is left out.
    """
    idioms = {
        label: id for id, label, _ in graph.nodes_of("Idiom", "Proverb") if len(label) >= SHORTEST_IDIOM
    }
    lengths = sorted({len(label) for label in idioms})
    for passage in passages:
        row = f"{origin}#{passage.row}"
        place = canon.place(passage.at)
        if passage.at.genre and place.work.kind != "Piece":
            continue
        add_place(graph, place, passage.at, canon, row)
        if passage.by:
            _add_author(graph, place.id, passage.by, canon, row)
        for sentence in passage.sentences:
            line = graph.node(f"line:{digest(han(sentence))}", sentence.rstrip("。"), "Sentence", row)
            graph.edge(line, "hasSource", place.id, row)
            for idiom in contained(sentence, idioms.keys(), lengths):
                graph.edge(line, "contains", idioms[idiom], row)


def contained(sentence: str, idioms: Iterable[str], lengths: Iterable[int]) -> list[str]:
    """The idioms that occur in a sentence in one breath, in reading order.

    >>> contained("一日不见，如三秋兮。", {"一日不见", "日不见如"}, [4])
    ['一日不见']
    """
    pieces = (sentence[at : at + n] for n in lengths for at in range(len(sentence) - n + 1))
    return [piece for piece in dict.fromkeys(pieces) if piece in idioms]


def _add_author(graph: GraphTables, unit: str, name: str, canon: Canonicaliser, origin: str) -> None:
    person = graph.node(f"person:{name}", name, "Person", origin)
    graph.edge(unit, "authoredBy", person, origin)
    if period := canon.person_period(name):
        graph.edge(person, "livedIn", f"period:{period}", origin)
