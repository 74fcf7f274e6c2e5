"""A culture of seven types and a graph of seventeen nodes, small enough to work everything out by hand.

Word, Idiom < Word, Proverb < Word ── from ──> Unit, Work      Unit ── partOf ──> Work ── by ──> Person
Word ── like ──> Word                                          Word ── quotes ──> Quotation

守株待兔 (Idiom) ─from→ 五蠹 ─partOf→ 韩非子 ─by→ 韩非, 王先慎        王先慎 also: 庄子集解
守株待兔 ─like→ 守株缘木 (Proverb) ─from→ 韩非子        守株待兔 ─like→ 刻舟求剑 (Idiom) ─from→ 察今 ─partOf→ 吕氏春秋
守株待兔 ─quotes→ “宋人有耕者…”                         two pieces called 《序》, of 韩非子 and of 吕氏春秋
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clwqa_bench.kg.build import write_index
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.llm.protocol import NOTHING, Estimate, Reply
from clwqa_bench.llm.tasks import Task
from clwqa_bench.ontology import Ontology, Relation, Term
from clwqa_bench.predictions import Prediction
from clwqa_bench.records import Question, QuestionView
from clwqa_bench.systems import Bounds, Context, Guard, Resources, System

PASSAGE = "宋人有耕者。田中有株，兔走触株，折颈而死，因释其耒而守株。"

TYPES = {
    "Person": None, "Quotation": None, "Unit": None, "Word": None, "Work": None, "Idiom": "Word", "Proverb": "Word",
}  # fmt: skip
RELATIONS = {
    "by": ("Work", "Person"),
    "from": ("Word", "Unit Work"),
    "like": ("Word", "Word"),
    "partOf": ("Unit", "Work"),
    "quotes": ("Word", "Quotation"),
}
ENTITIES = (
    ("守株待兔", "Idiom"), ("刻舟求剑", "Idiom"), ("守株缘木", "Proverb"), ("買椟还珠", "Idiom"), ("买椟还珠", "Idiom"),
    ("五蠹", "Unit"), ("察今", "Unit"), ("序一", "Unit"), ("序二", "Unit"),
    ("韩非子", "Work"), ("吕氏春秋", "Work"), ("庄子集解", "Work"),
    ("韩非", "Person"), ("王先慎", "Person"), ("吕不韦", "Person"),
    ("引文", "Quotation"), ("又一引文", "Quotation"),
)  # fmt: skip
LABELS = {"序一": "序", "序二": "序", "引文": PASSAGE[:24] + "…", "又一引文": "刻舟求剑，不亦惑乎？"}
TEXTS = {"引文": PASSAGE, "又一引文": "刻舟求剑，不亦惑乎？"}
ALIASES = {"韩非": ["韩非子"]}
TRIPLES = """
守株待兔 from 五蠹
守株待兔 like 守株缘木
守株待兔 like 刻舟求剑
守株待兔 quotes 引文
守株缘木 from 韩非子
刻舟求剑 from 察今
五蠹 partOf 韩非子
察今 partOf 吕氏春秋
序一 partOf 韩非子
序二 partOf 吕氏春秋
韩非子 by 韩非
韩非子 by 王先慎
庄子集解 by 王先慎
吕氏春秋 by 吕不韦
"""

ONTOLOGY = Ontology(
    {name: Term(name, (("zh", f"{name}类"),), (), parent) for name, parent in TYPES.items()},
    {
        name: Relation(name, (), (), None, tuple(domain.split()), tuple(range.split()), False, False)
        for name, (domain, range) in RELATIONS.items()
    },
)


def graph(folder: Path) -> MemoryGraph:
    """The graph, written and opened; ids are the names above."""
    entities = [
        {"id": id, "label": LABELS.get(id, id), "type": type, "text": TEXTS.get(id, ""),
         "aliases": ALIASES.get(id, []), "attributes": [], "provenance": ""}
        for id, type in ENTITIES
    ]  # fmt: skip
    edges = (line.split() for line in TRIPLES.strip().splitlines())
    triples = [{"head": h, "relation": r, "tail": t} for h, r, t in edges]
    write_index(pa.Table.from_pylist(entities), pa.Table.from_pylist(triples), folder, ONTOLOGY)
    return MemoryGraph.open(folder)


class Double:
    """A language model that replies what a function says: an output, or a reply."""

    name = "test/double"

    def __init__(self, reply: Callable[[Task[Any]], Any]) -> None:
        self._reply = reply
        self.asked: list[Task[Any]] = []

    async def do(self, task: Task[Any]) -> Reply[Any]:
        self.asked.append(task)
        found = self._reply(task)
        return found if isinstance(found, Reply) else Reply("ok", found, raw=found.model_dump_json())

    def describe(self) -> dict[str, Any]:
        return {}

    def estimate(self, task: Task[Any]) -> Estimate:
        return NOTHING

    async def close(self) -> None: ...


def ask(system: System, text: str, kg: MemoryGraph, llm: Double, **how: Any) -> Prediction:
    """One question put to a system that is not prepared yet; see `answer_of`."""
    system.prepare(resources(kg, llm))
    return answer_of(system, text, kg, llm, **how)


def resources(kg: MemoryGraph, llm: Double) -> Resources:
    """What a system is prepared with, without a train split."""
    return Resources(kg, kg.ontology, train=lambda: iter(()), llm=llm)


def answer_of(
    system: System,
    text: str,
    kg: MemoryGraph,
    llm: Double,
    *,
    id: str = "q",
    gold: Question | None = None,
    oracle: tuple[str, ...] = (),
    bounds: Bounds | None = None,
) -> Prediction:
    """One question put to a system, with its trace filled in as a runner does."""
    guard = Guard(bounds or Bounds())
    ctx = Context(kg=kg, rng=np.random.default_rng(0), gold=gold, oracle=oracle, llm=llm, guard=guard)
    found = asyncio.run(system.answer(QuestionView(id=id, text=text), ctx))
    return found.model_copy(update={"trace": tuple(ctx.trace.events), "usage": ctx.trace.usage()})
