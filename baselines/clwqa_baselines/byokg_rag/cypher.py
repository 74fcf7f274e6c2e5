"""How `--llm lexical` writes Cypher: a query along each of the best ways from what a question names."""

from __future__ import annotations

from collections.abc import Iterable

from clwqa_baselines.byokg_rag.routes import BEST, planned_ways
from clwqa_baselines.rules.ways import Offer
from clwqa_bench.kg.bolt.store import quoted
from clwqa_bench.linking import Signature
from clwqa_bench.llm.rules import Rules


def along_ways(question: str, walkable: tuple[Offer, ...], rules: Rules) -> tuple[str, ...]:
    """Queries for the paths from the entities named along each of the best ways, best first, each on one line."""
    anchors = rules.linker().link(question).anchors
    found = [
        _query((node for anchor in anchors if anchor.element == start for node in anchor.entities), way)
        for start, way in planned_ways(question, walkable, rules)[:BEST]
    ]
    return tuple(dict.fromkeys(found))


def _query(nodes: Iterable[str], way: Signature) -> str:
    """The first node bears no label of its type: with two, some servers do not use the index of ids."""
    ids = ", ".join(map(_text, dict.fromkeys(nodes)))
    return f"UNWIND [{ids}] AS id MATCH p = (:Entity {{id: id}}){''.join(map(_step, way))} RETURN p"


def _step(step: tuple[str, str, str]) -> str:
    relation, sense, kind = step
    edge = f"-[:{quoted(relation)}]-"
    return f"{edge}>(:{quoted(kind)})" if sense == "out" else f"<{edge}(:{quoted(kind)})"


def _text(text: str) -> str:
    """A text as Cypher writes it."""
    for char, escaped in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(char, escaped)
    return f"'{text}'"
