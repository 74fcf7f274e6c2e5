"""What every installed system keeps to, whoever wrote it: what it answers, survives, records and never sees."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import pyarrow as pa
import pytest

from clwqa_bench.asking import Setup, SplitGold, ask
from clwqa_bench.dataset import Dataset
from clwqa_bench.kg.build import write_index
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.llm.lexical import Lexical
from clwqa_bench.llm.protocol import LLM, ReplyStatus
from clwqa_bench.ontology import Ontology, Relation, Term
from clwqa_bench.predictions import Prediction
from clwqa_bench.records import Question, QuestionView, TripleRef
from clwqa_bench.registry import SYSTEMS
from clwqa_bench.systems import Resources, System, system_class
from tests import tiny_dataset
from tests.baselines.misbehaving import Misbehaving, Talk
from tests.llm.strict import check_strict

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
        self, text: str, llm: LLM | None = None, *, id: str = "q", gold: SplitGold = NO_GOLD
    ) -> Prediction:
        """What the runner makes of it."""
        return self.ask_all([QuestionView(id=id, text=text)], llm, gold=gold)[0]

    def ask_all(
        self, questions: Sequence[QuestionView], llm: LLM | None = None, *, gold: SplitGold = NO_GOLD
    ) -> list[Prediction]:
        """All questions at once."""
        resources = replace(self.resources, llm=llm or self.resources.llm)
        setup = Setup(self.system, resources, gold)

        async def every() -> list[Any]:
            return await asyncio.gather(*(ask(setup, question) for question in questions))

        return [item.prediction for item in asyncio.run(every())]

    @cached_property
    def views(self) -> list[QuestionView]:
        return [QuestionView(id=f"q{n}", text=text) for n, text in enumerate(QUESTIONS.values())]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Resources:
    """The tiny dataset with a few oddities in its graph."""
    folder = tmp_path_factory.mktemp("tiny")
    entities = [*tiny_dataset.ENTITY_ROWS, *ODD_ENTITIES]
    tiny_dataset.write(folder, entities=entities, triples=[*tiny_dataset.TRIPLE_ROWS, *ODD_TRIPLES])
    dataset = Dataset.open(folder)
    graph = dataset.kg()
    found = Resources(
        graph, graph.ontology, lambda: dataset.questions("train"), cache=tmp_path_factory.mktemp("cache")
    )
    return replace(found, llm=Lexical(found))


@pytest.fixture(scope="module")
def ready(tiny: Resources) -> Callable[[str], Ready]:
    """Systems by name, each prepared once."""
    known: dict[str, Ready] = {}

    def prepared(name: str) -> Ready:
        if name not in known:
            known[name] = _prepared(name, tiny)
        return known[name]

    return prepared


def _prepared(name: str, resources: Resources) -> Ready:
    system = system_class(name)()
    system.prepare(resources)
    return Ready(system, resources)


def survived(found: Prediction) -> bool:
    """Whether the system itself said what became of the question."""
    return "exception" not in found.flags


# ---------------------------------------------------------------------- what it answers and shows


@pytest.mark.parametrize("name", HONEST)
def test_it_answers_and_what_it_shows_is_in_the_graph(name: str, ready: Callable[[str], Ready]) -> None:
    for found in ready(name).ask_all(ready(name).views):
        assert found.status in ("ok", "empty")
        is_sound(found, ready(name).resources.kg)


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


@pytest.mark.parametrize("name", ASKING)
def test_every_stage_that_asks_the_model_is_traced(name: str, ready: Callable[[str], Ready]) -> None:
    for found in ready(name).ask_all(ready(name).views):
        asked = {stage for stage, used in found.usage.items() if used.calls}
        assert asked
        assert asked <= {event.stage for event in found.trace}


@pytest.mark.parametrize("name", ASKING)
def test_every_endpoint_takes_the_schemas_of_what_is_asked(name: str, ready: Callable[[str], Ready]) -> None:
    llm = Misbehaving(ready(name).resources.llm)
    ready(name).ask_all(ready(name).views, llm)
    for task in llm.asked:
        check_strict(task.output_schema())


TRACED = {  # what diagnostics and docs count on
    "byokg-rag": "link retrieve answer",
    "ceaf": "link type_paths retrieve rank answer",
    "graphrag": "retrieve answer",
    "kg-lookup": "link retrieve rank answer",
    "mindmap": "link retrieve answer",
    "pog": "link plan expand answer",
    "rag": "retrieve answer adapt",
    "tog": "link expand answer",
    "topk-triples": "link retrieve rank answer adapt",
}


@pytest.mark.parametrize("name", [name for name in HONEST if name in TRACED])
def test_the_stages_it_is_known_for_are_traced(name: str, ready: Callable[[str], Ready]) -> None:
    found = ready(name).ask(QUESTIONS["one step"])
    assert {event.stage for event in found.trace} >= set(TRACED[name].split())


# ---------------------------------------------------------------------- what it survives


TALKS: tuple[Talk, ...] = ("nothing", "noise", "everything")
FAILURES: tuple[ReplyStatus, ...] = ("refused", "unparsed", "error", "timeout")


@pytest.mark.parametrize("status", FAILURES)
@pytest.mark.parametrize("name", ASKING)
def test_it_survives_the_failure_of_any_call(
    name: str, status: ReplyStatus, ready: Callable[[str], Ready]
) -> None:
    """Of the first, the second, ... and of every call from some number on."""
    system, model = ready(name), ready(name).resources.llm
    for text in QUESTIONS.values():
        counted = Misbehaving(model)
        system.ask(text, counted)
        for number in range(1, counted.calls + 1):
            for last in (number, 10**9):
                llm = Misbehaving(model, status, number, last)
                found = system.ask(text, llm)
                assert survived(found), (text, number, last, llm.tasks, found.error)
                assert found.status in ("ok", "empty", status), (text, number, last, llm.tasks)


@pytest.mark.parametrize("name", ASKING)
def test_a_budget_used_up_ends_the_question(name: str, ready: Callable[[str], Ready]) -> None:
    system, model = ready(name), ready(name).resources.llm
    for text in QUESTIONS.values():
        counted = Misbehaving(model)
        system.ask(text, counted)
        for number in range(1, counted.calls + 1):
            llm = Misbehaving(model, "skipped", number, 10**9)
            found = system.ask(text, llm)
            assert (found.status, found.answers) == ("skipped", ())
            assert not llm.after, f"asked on after call {number}: {llm.tasks[number - 1 :]}"


@pytest.mark.parametrize("talk", TALKS)
@pytest.mark.parametrize("name", ASKING)
def test_it_survives_a_model_that_talks_nonsense(
    name: str, talk: Talk, ready: Callable[[str], Ready]
) -> None:
    for text in QUESTIONS.values():
        found = ready(name).ask(text, Misbehaving(talk=talk))
        assert survived(found), found.error
        is_sound(found, ready(name).resources.kg)


@pytest.mark.parametrize("name", HONEST)
def test_odd_questions_have_a_status(name: str, ready: Callable[[str], Ready]) -> None:
    for kind, text in ODD.items():
        found = ready(name).ask(text)
        assert found.status in ("ok", "empty"), (kind, found.status, found.error)
        is_sound(found, ready(name).resources.kg)


# ---------------------------------------------------------------------- what it depends on, and what not


def plain(found: Prediction) -> dict[str, Any]:
    """A prediction without what a clock says."""
    return found.model_dump(mode="json", exclude={"usage": True, "trace": {"__all__": {"ms"}}})


@pytest.mark.parametrize("name", HONEST)
def test_the_same_question_gets_the_same_answer_in_any_order(
    name: str, ready: Callable[[str], Ready], tiny: Resources
) -> None:
    views = ready(name).views
    once = ready(name).ask_all(views)
    again = [_prepared(name, tiny).ask(view.text, id=view.id) for view in reversed(views)]
    assert [plain(found) for found in once] == [plain(found) for found in reversed(again)]


@pytest.mark.parametrize("name", HONEST)
def test_gold_changes_nothing(name: str, ready: Callable[[str], Ready]) -> None:
    """Neither is it looked at (see `Sealed`), nor does a wrong one that may be looked at matter."""
    gold = tiny_dataset.QUESTIONS[0]
    other = tiny_dataset.QUESTIONS[6]

    poison = Known({gold.id: other.model_copy(update={"id": gold.id, "question": gold.question})})
    sealed = ready(name).ask(gold.question, id=gold.id)
    poisoned = ready(name).ask(gold.question, id=gold.id, gold=cast(SplitGold, poison))
    assert survived(sealed), sealed.error
    assert plain(sealed) == plain(poisoned)


# ---------------------------------------------------------------------- graphs of other shapes

HUB = 10_000


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Resources:
    """The tiny dataset with a book that ten thousand idioms are from."""
    folder = tmp_path_factory.mktemp("crowded")
    words = [f"word:之乎者也{number:05}" for number in range(HUB)]
    entities = [*tiny_dataset.ENTITY_ROWS, *(tiny_dataset.entity(id, "Idiom") for id in words)]
    triples = [*tiny_dataset.TRIPLE_ROWS, *((id, "hasSource", "book:史记") for id in words)]
    tiny_dataset.write(folder, entities=entities, triples=triples)
    dataset = Dataset.open(folder)
    graph = dataset.kg()
    found = Resources(
        graph, graph.ontology, lambda: dataset.questions("train"), cache=tmp_path_factory.mktemp("cache")
    )
    return replace(found, llm=Lexical(found))


@pytest.mark.parametrize("name", HONEST)
def test_a_hub_is_no_trouble(name: str, crowded: Resources) -> None:
    gold = Known({"q": tiny_dataset.QUESTIONS[5].model_copy(update={"id": "q"})})  # to shorten traces by
    system = _prepared(name, crowded)
    for text in ("《史记》里有哪些成语？", "“四面楚歌”见于哪部书？"):
        found = system.ask(text, gold=cast(SplitGold, gold))
        assert found.status in ("ok", "empty"), found.error


THING = "Thing"


@pytest.fixture(scope="module")
def untyped(tmp_path_factory: pytest.TempPathFactory) -> Resources:
    """The tiny graph without types: everything is a Thing, also in the questions to learn from."""
    things = Ontology(
        {THING: Term(THING, (("zh", "事物"),), (), None)},
        {
            name: Relation(name, (), (), None, (THING,), (THING,), False, False)
            for name in {relation for _, relation, _ in tiny_dataset.TRIPLE_ROWS}
        },
    )
    rows = [{**row, "type": THING} for row in tiny_dataset.ENTITY_ROWS]
    edges = [{"head": h, "relation": r, "tail": t} for h, r, t in tiny_dataset.TRIPLE_ROWS]
    folder = tmp_path_factory.mktemp("untyped")
    write_index(pa.Table.from_pylist(rows), pa.Table.from_pylist(edges), folder, things)
    graph = MemoryGraph.open(folder)
    train = [_of_things(question) for question in tiny_dataset.QUESTIONS if question.split == "train"]
    found = Resources(graph, things, lambda: iter(train), cache=tmp_path_factory.mktemp("cache"))
    return replace(found, llm=Lexical(found))


def _of_things(question: Question) -> Question:
    anchors = [anchor.model_copy(update={"elements": (THING,)}) for anchor in question.anchors]
    paths = [
        path.model_copy(update={"steps": tuple(s.model_copy(update={"type": THING}) for s in path.steps)})
        for path in question.standard_paths
    ]
    update = {"anchors": tuple(anchors), "standard_paths": tuple(paths), "target_element": THING}
    return question.model_copy(update=update)


@pytest.mark.parametrize("name", HONEST)
def test_a_graph_without_types_is_no_trouble(name: str, untyped: Resources) -> None:
    system = _prepared(name, untyped)
    assert system.ask(QUESTIONS["one step"]).status in ("ok", "empty")
    for talk in TALKS:
        found = system.ask(QUESTIONS["one step"], Misbehaving(talk=talk))
        assert survived(found), found.error
