"""Graphs of one type for what explorers meet: hubs, nodes without edges or names, names like one another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from clwqa_bench.kg.build import write_index
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.llm.tasks import Task
from clwqa_bench.ontology import Ontology, Relation, Term

RELATIONS = ("r1", "r2", "r3", "r4")
ALL = (*RELATIONS, "date")


def world(
    folder: Path,
    triples: Iterable[tuple[str, str, str]],
    *,
    labels: Mapping[str, str] | None = None,
    alone: Iterable[str] = (),
    words: Mapping[str, str] | None = None,
) -> MemoryGraph:
    """A graph whose nodes are things and nothing more.  A node is called as its id unless `labels` says otherwise,
    a relation likewise by `words`."""
    triples = list(triples)
    nodes = dict.fromkeys([*alone, *(end for head, _, tail in triples for end in (head, tail))])
    named = {**{node: node for node in nodes}, **(labels or {})}
    plain = {"type": "Thing", "text": "", "aliases": [], "attributes": [], "provenance": ""}
    entities = [{"id": node, "label": named[node], **plain} for node in nodes]
    edges = [dict(zip(("head", "relation", "tail"), triple, strict=True)) for triple in triples]
    thing = ("Thing",)
    ontology = Ontology(
        {"Thing": Term("Thing", (), (), None)},
        {
            name: Relation(
                name, (("zh", (words or {}).get(name, name)),), (), None, thing, thing, False, False
            )
            for name in ALL
        },
    )
    table = pa.Table.from_pylist(edges) if edges else _no_edges()
    write_index(pa.Table.from_pylist(entities), table, folder, ontology)
    return MemoryGraph.open(folder)


def _no_edges() -> pa.Table:
    return pa.table({name: pa.array([], pa.string()) for name in ("head", "relation", "tail")})


def replies(script: Mapping[type[Task[Any]], Any]) -> Callable[[Task[Any]], Any]:
    """What a double replies: by the kind of task, a reply or a function of the task."""

    def reply(task: Task[Any]) -> Any:
        found = script[type(task)]
        return found(task) if callable(found) else found

    return reply
