"""Graphs for the store tests: one with names made to break queries, and one drawn at random."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa

from clwqa_bench.kg.build import write_index
from clwqa_bench.kg.memory import MemoryGraph

HOSTILE = (
    "'; MATCH (n) DETACH DELETE n //",
    "x'}) DETACH DELETE n //",
    '"}) RETURN 1; //',
    "`back``ticks`",
    "back\\slash\\",
    "a 'quote' and a \"quote\"",
    "line\nbreak\r\nand\ttab",
    "curly } { braces }} $id {id}",
    "<urn:clwqa:x> . } DELETE WHERE { ?a ?b ?c",
    "50 % = half = %3D",
    "𠮷野家 👩‍👩‍👧",
    "nul\x00inside",
    " leading and trailing ",
    "ＡＢＣ　全角",
)


def hostile(directory: Path) -> MemoryGraph:
    """Every hostile text as id, label, alias, text, key and value of an attribute and provenance; all linked up."""
    entities = [
        {"id": text, "label": text, "type": "Idiom", "aliases": [f"alias {text}", text[::-1]], "text": text * 2,
         "attributes": [{"key": text, "value": text}], "provenance": text}
        for text in HOSTILE
    ]  # fmt: skip
    triples = [
        {"head": a, "relation": "seeAlso", "tail": b, "provenance": a}
        for a, b in zip(HOSTILE, HOSTILE[1:], strict=False)
    ]
    write_index(pa.Table.from_pylist(entities), pa.Table.from_pylist(triples), directory)
    return MemoryGraph.open(directory)


def drawn(directory: Path, size: int, seed: int = 5) -> MemoryGraph:
    """``size`` entities and about three times as many triples, with parallel ones, loops, shared labels, aliases."""
    rng = random.Random(seed)
    types, relations = (
        ("Idiom", "Proverb", "Word", "Book", "Chapter"),
        ("hasSource", "seeAlso", "partOf", "authoredBy"),
    )
    entities = [
        {"id": f"n{i}", "label": f"名{rng.randrange(size // 2 + 1)}", "type": rng.choice(types),
         "aliases": [f"又名{i}"] * (i % 5 == 0)}
        for i in range(size)
    ]  # fmt: skip
    triples = sorted(
        {
            (f"n{rng.randrange(size)}", rng.choice(relations), f"n{int(size * rng.random() ** 3)}")
            for _ in range(size * 3)
        }
    )
    triples = [(h, r, t) for h, r, t in triples if r != "seeAlso" or h <= t]
    columns = dict(zip(("head", "relation", "tail"), map(list, zip(*triples, strict=True)), strict=True))
    write_index(pa.Table.from_pylist(entities), pa.table(columns), directory)
    return MemoryGraph.open(directory)


def folder(graph: MemoryGraph) -> Path:
    """The folder a graph was opened from."""
    return graph._index_folder.parent
