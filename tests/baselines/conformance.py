"""How the conformance suite asks a system: the questions, the graphs, and what every prediction keeps to.

``python -m tests.baselines.conformance FOLDER`` prints what every system makes of the questions, a line each.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from clwqa_bench.asking import Setup, SplitGold, ask
from clwqa_bench.dataset import Dataset
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.llm.lexical import Lexical
from clwqa_bench.llm.protocol import LLM, ReplyStatus
from clwqa_bench.predictions import Prediction
from clwqa_bench.records import Question, QuestionView, TripleRef
from clwqa_bench.registry import SYSTEMS
from clwqa_bench.systems import Resources, System, load_system, system_class
from tests import tiny_dataset
from tests.baselines.misbehaving import Talk

HONEST = [
    name for name in SYSTEMS.names() if not system_class(name).oracle
]  # the others are gold by another name
ASKING = [name for name in HONEST if system_class(name).uses_llm]

QUESTIONS = {
    "one step": "成语“守株待兔”出自何篇？",
    "three steps": "“守株待兔”所出的书是谁写的？",
    "two things": "“四面楚歌”和“破釜沉舟”都出自哪部书？",
    "meaning": "请解释成语“买椟还珠”。",
}
ODD = {
    "names nothing": "今天天气怎么样？",
    "empty": "",
    "isolated": "“孤云野鹤”出自哪部书？",
    "separators": "《甲，乙；丙、丁 -> (戊)｛己｝|“庚”》的作者是谁？",
    "other language": "Which book does “守株待兔” come from?",
    "another script": "В какой книге впервые встречается это выражение?",
    "control characters": "“守株待兔”\x00\u202e出自\ud83d何篇？".encode("utf-8", "replace").decode(),
    "very long": "“守株待兔”出自何篇？" * 200,
}

ODD_ENTITIES = [
    tiny_dataset.entity("word:孤云野鹤", "Idiom"),
    tiny_dataset.entity("book:sep", "Book", "甲，乙；丙、丁 -> (戊)｛己｝|“庚”"),
    tiny_dataset.entity("person:sep", "Person", "辛 ；壬, and 癸"),
]
ODD_TRIPLES = [("book:sep", "authoredBy", "person:sep")]


class Sealed:
    """Gold that nobody may look at."""

    @property
    def by_id(self) -> dict[str, Question]:
        raise AssertionError("gold was looked at")


@dataclass(frozen=True)
class Known:
    """Gold that may be looked at."""

    by_id: dict[str, Question]
    withheld: bool = False


NO_GOLD = cast(SplitGold, Sealed())


@dataclass(frozen=True)
class Ready:
    """A system prepared for a graph."""

    system: System
    resources: Resources

    def ask(
        self,
        text: str,
        llm: LLM | None = None,
        *,
        id: str = "q",
        gold: SplitGold = NO_GOLD,
        oracle: tuple[str, ...] = (),
    ) -> Prediction:
        """What the runner makes of it."""
        return self.ask_all([QuestionView(id=id, text=text)], llm, gold=gold, oracle=oracle)[0]

    def ask_all(
        self,
        questions: Sequence[QuestionView],
        llm: LLM | None = None,
        *,
        gold: SplitGold = NO_GOLD,
        oracle: tuple[str, ...] = (),
    ) -> list[Prediction]:
        """All questions at once."""
        resources = replace(self.resources, llm=llm or self.resources.llm)
        setup = Setup(self.system, resources, gold, oracle)

        async def every() -> list[Any]:
            return await asyncio.gather(*(ask(setup, question) for question in questions))

        return [item.prediction for item in asyncio.run(every())]

    @cached_property
    def views(self) -> list[QuestionView]:
        return [QuestionView(id=f"q{n}", text=text) for n, text in enumerate(QUESTIONS.values())]


def tiny(folder: Path) -> Resources:
    """The tiny dataset with a few oddities in its graph."""
    return written(
        folder, [*tiny_dataset.ENTITY_ROWS, *ODD_ENTITIES], [*tiny_dataset.TRIPLE_ROWS, *ODD_TRIPLES]
    )


def written(
    folder: Path, entities: Sequence[dict[str, Any]], triples: Sequence[tuple[str, str, str]]
) -> Resources:
    """A dataset with that graph, written to `folder/data` and opened."""
    tiny_dataset.write(folder / "data", entities=entities, triples=triples)
    dataset = Dataset.open(folder / "data")
    graph = dataset.kg()
    found = Resources(graph, graph.ontology, lambda: dataset.questions("train"), cache=folder / "cache")
    return replace(found, llm=Lexical(found))


def prepared(name: str, resources: Resources, settings: Mapping[str, str] | None = None) -> Ready:
    """A system, with settings as `--set` gives them."""
    system = load_system(name, settings)
    system.prepare(resources)
    return Ready(system, resources)


def survived(found: Prediction) -> bool:
    """Whether the system itself said what became of the question."""
    return "exception" not in found.flags


def is_sound(found: Prediction, kg: GraphStore) -> None:
    """Whatever a prediction names is there: triples and entities in the graph, support and citations in what was
    shown."""
    nodes = set(kg.entities())
    edges = {TripleRef(head=t.head, relation=t.relation, tail=t.tail) for t in kg.triples()}
    assert nodes.issuperset(found.topics)
    assert nodes.issuperset(answer.entity_id for answer in found.answers if answer.entity_id)
    assert nodes.issuperset(text.entity_id for text in found.evidence.texts if text.entity_id)
    assert edges.issuperset(found.evidence.shown())
    shown = found.evidence.ids()
    assert shown.issuperset(id for answer in found.answers for id in answer.support)
    assert shown.issuperset(cited.evidence_id for cited in found.citations if cited.ok)
    for event in found.trace:
        assert nodes.issuperset(event.entities)
        assert edges.issuperset(event.triples)
        assert edges.issuperset(triple for path in event.paths for triple in path.triples)


def plain(found: Prediction) -> dict[str, Any]:
    """A prediction without what a clock says."""
    return found.model_dump(mode="json", exclude={"usage": True, "trace": {"__all__": {"ms"}}})


TALKS: tuple[Talk, ...] = ("nothing", "noise", "everything")
FAILURES: tuple[ReplyStatus, ...] = ("refused", "unparsed", "error", "timeout")


def main(folder: Path) -> None:
    """How this process hashes, then a line for each prediction; data and cache are written to the folder."""
    resources = tiny(folder)
    print(hash("守株待兔"))
    for name in HONEST:
        ready = prepared(name, resources)
        for found in ready.ask_all(ready.views):
            print(name, json.dumps(plain(found), ensure_ascii=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
