"""What every installed system keeps to, whoever wrote it: what it answers, survives, records and never sees."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

from clwqa_bench.asking import SplitGold
from clwqa_bench.kg.build import write_index
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.llm.lexical import Lexical
from clwqa_bench.llm.protocol import ReplyStatus
from clwqa_bench.ontology import Ontology, Relation, Term
from clwqa_bench.records import Question
from clwqa_bench.systems import Resources, system_class
from tests import tiny_dataset
from tests.baselines import conformance
from tests.baselines.conformance import (
    ASKING,
    FAILURES,
    HONEST,
    ODD,
    QUESTIONS,
    TALKS,
    Known,
    Ready,
    is_sound,
    plain,
    prepared,
    survived,
    written,
)
from tests.baselines.misbehaving import Misbehaving, Recalling, Talk
from tests.llm.strict import check_strict


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Resources:
    return conformance.tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def ready(tiny: Resources) -> Callable[[str], Ready]:
    """Systems by name, each prepared once."""
    known: dict[str, Ready] = {}

    def once(name: str) -> Ready:
        if name not in known:
            known[name] = prepared(name, tiny)
        return known[name]

    return once


# ---------------------------------------------------------------------- what it answers and shows


@pytest.mark.parametrize("name", HONEST)
def test_it_answers_and_what_it_shows_is_in_the_graph(name: str, ready: Callable[[str], Ready]) -> None:
    for found in ready(name).ask_all(ready(name).views):
        assert found.status in ("ok", "empty")
        is_sound(found, ready(name).resources.kg)


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
    "byokg-rag": "link expand decide retrieve plan answer adapt",
    "ceaf": "link type_paths retrieve rank answer",
    "cot": "answer",
    "graphrag": "link retrieve answer adapt",
    "kg-lookup": "link retrieve rank answer",
    "mindmap": "link retrieve prune refine answer adapt",
    "pog": "link plan expand retrieve prune memory decide reflect answer adapt",
    "rag": "retrieve answer adapt",
    "tog": "link expand retrieve prune decide answer adapt",
    "topk-triples": "link retrieve rank answer adapt",
    "zero-shot": "answer",
}


@pytest.mark.parametrize("name", [name for name in HONEST if name in TRACED])
def test_its_stages_are_traced_all_of_them(name: str, ready: Callable[[str], Ready]) -> None:
    found = ready(name).ask(QUESTIONS["three steps"])
    assert {event.stage for event in found.trace} == set(TRACED[name].split())


@pytest.mark.parametrize("name", ASKING)
def test_an_answer_from_the_models_memory_is_told_apart(name: str, ready: Callable[[str], Ready]) -> None:
    """It rests on nothing that was shown (or on what the model says it does, by its citations)."""
    for text in QUESTIONS.values():
        found = ready(name).ask(text, Recalling(ready(name).resources.llm))
        assert found.status == "ok", found.error
        (recalled,) = (answer for answer in found.answers if answer.text == Recalling.ANSWER)
        assert recalled.entity_id is None
        assert recalled.source == "parametric" or recalled.support
        assert "parametric" in found.flags or recalled.source != "parametric"


@pytest.mark.parametrize(
    ("name", "stage"), [(name, stage) for name in HONEST for stage in system_class(name).oracles]
)
def test_what_it_takes_from_the_gold_is_marked_as_such(
    name: str, stage: str, ready: Callable[[str], Ready], tiny: Resources
) -> None:
    """A board tells by these marks a run that hides that it had gold."""
    question = next(iter(tiny.train()))
    known = cast(SplitGold, Known({question.id: question}))
    found = ready(name).ask(question.question, id=question.id, gold=known, oracle=(stage,))
    assert "gold" in {event.op for event in found.trace}
    assert "gold" not in {event.op for event in ready(name).ask(question.question).trace}


# ---------------------------------------------------------------------- what it survives


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


@pytest.mark.parametrize("name", HONEST)
def test_the_same_question_gets_the_same_answer_in_any_order(
    name: str, ready: Callable[[str], Ready], tiny: Resources
) -> None:
    views = ready(name).views
    once = ready(name).ask_all(views)
    again = [prepared(name, tiny).ask(view.text, id=view.id) for view in reversed(views)]
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


@pytest.mark.slow
def test_another_process_says_the_same_however_it_hashes(tmp_path: Path) -> None:
    """Whatever goes through a set comes out in another order there, see `conformance.main`."""

    def said(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", conformance.__name__, str(tmp_path / seed)]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout

    one, other = said("1").splitlines(), said("2").splitlines()
    assert one[0] != other[0], "the two processes hash alike"
    assert len(one) == 1 + len(HONEST) * len(QUESTIONS)
    assert one[1:] == other[1:]


# ---------------------------------------------------------------------- graphs of other shapes

HUB = 10_000


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Resources:
    """The tiny dataset with a book that ten thousand idioms are from."""
    words = [f"word:之乎者也{number:05}" for number in range(HUB)]
    entities = [*tiny_dataset.ENTITY_ROWS, *(tiny_dataset.entity(id, "Idiom") for id in words)]
    triples = [*tiny_dataset.TRIPLE_ROWS, *((id, "hasSource", "book:史记") for id in words)]
    return written(tmp_path_factory.mktemp("crowded"), entities, triples)


@pytest.mark.parametrize("name", HONEST)
def test_a_hub_is_no_trouble(name: str, crowded: Resources) -> None:
    gold = Known({"q": tiny_dataset.QUESTIONS[5].model_copy(update={"id": "q"})})  # to shorten traces by
    system = prepared(name, crowded)
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
    system = prepared(name, untyped)
    assert system.ask(QUESTIONS["one step"]).status in ("ok", "empty")
    for talk in TALKS:
        found = system.ask(QUESTIONS["one step"], Misbehaving(talk=talk))
        assert survived(found), found.error
