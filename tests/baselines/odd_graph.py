"""A graph of everything that is awkward: a hub, an entity alone, names with separators, one type for all.

中心 ─rel→ 10,000 leaves        孤零零        甲->乙;丙,丁|戊 ─rel→ 己{庚}、(辛)        圆圈 ─rel→ 圆圈
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from clwqa_bench.kg.build import write_index
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.ontology import Ontology, Relation, Term

LEAVES = 10_000
ODD, END = "甲->乙;丙,丁|戊", "己{庚}、(辛)"
ONTOLOGY = Ontology(
    {"Thing": Term("Thing", (), (), None)},
    {"rel": Relation("rel", (), (), None, ("Thing",), ("Thing",), False, False)},
)


def graph(folder: Path) -> MemoryGraph:
    """The graph, written and opened; ids are the names."""
    leaves = [f"叶{number:05}" for number in range(LEAVES)]
    entities = [
        {
            "id": id,
            "label": id,
            "type": "Thing",
            "text": "",
            "aliases": [],
            "attributes": [],
            "provenance": "",
        }
        for id in ("中心", "孤零零", "圆圈", ODD, END, *leaves)
    ]
    edges = [("中心", leaf) for leaf in leaves] + [(ODD, END), ("圆圈", "圆圈")]
    triples = [{"head": head, "relation": "rel", "tail": tail} for head, tail in edges]
    write_index(pa.Table.from_pylist(entities), pa.Table.from_pylist(triples), folder, ONTOLOGY)
    return MemoryGraph.open(folder)
