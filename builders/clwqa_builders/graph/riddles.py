"""The layer of two-part sayings: riddle -> each of its answers; an answer that is an idiom is a part of the saying."""

from __future__ import annotations

from collections.abc import Iterable

from clwqa_builders.extract.xiehouyu import Saying
from clwqa_builders.graph.tables import GraphTables, digest, short

SET_PHRASES = ("Idiom", "Proverb")


def add_sayings(graph: GraphTables, sayings: Iterable[Saying], origin: str) -> None:
    """Every saying with its answers; to be called when all idioms are in the graph."""
    idioms = {label: id for id, label, _ in graph.nodes_of(*SET_PHRASES)}
    for saying in sayings:
        row = f"{origin}#{saying.row}"
        riddle = graph.node(f"xiehouyu:{saying.riddle}", saying.riddle, "Xiehouyu", row)
        for answer in saying.answers:
            point = graph.node(
                f"expl:{digest(saying.riddle, answer)}", short(answer), "Explanation", row, text=answer
            )
            graph.edge(riddle, "hasExplanation", point, row)
            if answer in idioms:
                graph.edge(riddle, "hasComponent", idioms[answer], row)
