"""PoG, worked out by hand on the small culture; the question asks who wrote the book 守株待兔 comes from.

depth 1  守株待兔: from, like      五蠹 (alone, so not asked about), of like's two: 守株缘木
depth 2  五蠹: partOf              守株缘木: from      韩非子 by both
depth 3  韩非子: by                of its two: 韩非; sufficient
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clwqa_baselines.pog import PoG
from clwqa_baselines.pog.tasks import (
    AddEntities,
    Concluded,
    Correction,
    Decompose,
    Entities,
    Fact,
    HalfStop,
    JudgeReverse,
    Memory,
    Objectives,
    PickRelations,
    PruneEntities,
    Reason,
    Relations,
    UpdateMemory,
    Verdict,
)
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.llm.protocol import Reply
from clwqa_bench.llm.tasks import AnswerClosedBook, ClosedBookAnswer, Task
from clwqa_bench.systems import Bounds
from tests.baselines.culture import Double, ask, graph
from tests.baselines.worlds import replies, world

QUESTION = "“守株待兔”所出的书是谁写的？"
PICKED = {"守株待兔": ("from", "like"), "五蠹": ("partOf",), "守株缘木": ("from",), "韩非子": ("by",)}
KEPT = {"like": ("守株缘木",), "by": ("韩非",)}
NO = Verdict(sufficient=False, answers=())


def reason(task: Reason) -> Verdict:
    enough = '韩非子, by, ["韩非"]' in task.lines
    return Verdict(
        sufficient=enough, answers=("韩非",) if enough else (), reason="查到了。" if enough else ""
    )


def remember(task: UpdateMemory) -> Memory:
    known = json.loads(task.memory) if task.memory else {}
    facts = [Fact(objective=int(number), known=text) for number, text in known.items()]
    return Memory(facts=(*facts, Fact(objective=len(facts) + 1, known=task.lines[0])))


SCRIPT: dict[type[Task[Any]], Any] = {
    Decompose: Objectives(objectives=("查出处", "查书", "查作者")),
    PickRelations: lambda task: Relations(relations=PICKED.get(task.entity, ())),
    PruneEntities: lambda task: Entities(entities=KEPT[task.relation]),
    UpdateMemory: remember,
    Reason: reason,
    JudgeReverse: Correction(add=False),
    AddEntities: Entities(entities=()),
    HalfStop: Concluded(answers=("韩非子",), reason="只有这些。"),
    AnswerClosedBook: ClosedBookAnswer(reasoning="我猜。", answers=("韩非",)),
}


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return graph(tmp_path_factory.mktemp("culture"))


def run(
    kg: MemoryGraph,
    text: str = QUESTION,
    changed: dict[Any, Any] | None = None,
    calls: int | None = None,
    **settings: Any,
) -> Any:
    llm = Double(replies({**SCRIPT, **(changed or {})}))
    return ask(PoG(PoG.Config(**settings)), text, kg, llm, bounds=Bounds(calls)), llm


def kinds(llm: Double) -> list[str]:
    return [type(task).__name__ for task in llm.asked]


def of(llm: Double, kind: type[Task[Any]]) -> list[Any]:
    return [task for task in llm.asked if isinstance(task, kind)]


def test_the_exploration_is_the_one_worked_out_above(kg: MemoryGraph) -> None:
    prediction, llm = run(kg)
    thinking = ["UpdateMemory", "Reason"]
    assert kinds(llm) == [
        "Decompose",
        *("PickRelations", "PruneEntities", *thinking, "JudgeReverse"),
        *("PickRelations", "PickRelations", *thinking, "JudgeReverse"),
        *("PickRelations", "PruneEntities", *thinking),
    ]
    assert [[lead.name for lead in task.candidates] for task in of(llm, PruneEntities)] == [
        ["刻舟求剑", "守株缘木"],
        ["王先慎", "韩非"],
    ]
    assert [piece.text for piece in prediction.evidence.triples] == [
        "守株待兔, from, 五蠹",
        "守株待兔, like, 守株缘木",
        "五蠹, partOf, 韩非子",
        "守株缘木, from, 韩非子",
        "韩非子, by, 韩非",
    ]
    (answer,) = prediction.answers
    assert (answer.entity_id, answer.support, prediction.flags) == ("韩非", ("t5",), ())
    assert json.loads(prediction.raw_answer) == {
        "A": {"Sufficient": "Yes", "Answer": ["韩非"]},
        "R": "查到了。",
    }


def test_the_model_reasons_from_its_memory_and_the_triples_of_this_depth_alone(kg: MemoryGraph) -> None:
    _, llm = run(kg)
    first, second, third = of(llm, Reason)
    assert first.lines == ('守株待兔, from, ["五蠹"]', '守株待兔, like, ["守株缘木"]')
    assert second.lines == ('五蠹, partOf, ["韩非子"]', '守株缘木, from, ["韩非子"]')
    assert third.lines == ('韩非子, by, ["韩非"]',)
    assert json.loads(second.memory) == {"1": first.lines[0], "2": second.lines[0]}
    assert of(llm, UpdateMemory)[2].memory == second.memory


def test_a_group_reached_inwards_is_worded_as_it_is_stored(kg: MemoryGraph) -> None:
    script = {PickRelations: lambda task: Relations(relations=("by",)), Reason: NO}
    _, llm = run(
        kg, "“王先慎”写过什么书？", {**script, PruneEntities: Entities(entities=("韩非子",))}, depth=1
    )
    assert of(llm, Reason)[0].lines == ('["韩非子"], by, 王先慎',)


def test_every_stage_leaves_its_trace(kg: MemoryGraph) -> None:
    prediction, _ = run(kg)
    depth = ["expand", "retrieve", "prune", "memory", "decide"]
    stages = ["link", "plan", *depth, "reflect", *depth, "reflect", *depth, "adapt", "answer"]
    assert [event.stage for event in prediction.trace] == stages
    retrieved = [len(event.triples) for event in prediction.trace if event.stage == "retrieve"]
    kept = [len(event.triples) for event in prediction.trace if event.stage == "prune"]
    assert (retrieved, kept) == ([3, 2, 2], [2, 4, 5])


# ---------------------------------------------------------------------- reflection

ASTRAY: dict[Any, Any] = {
    PickRelations: lambda task: Relations(
        relations={"守株待兔": ("like", "quotes"), "守株缘木": ("from",), "韩非子": ("by",)}.get(task.entity, ())
    ),
    PruneEntities: lambda task: Entities(entities=("韩非",) if task.relation == "by" else ()),
    JudgeReverse: lambda task: Correction(add=task.frontier[0].name.startswith("宋人"), reason="引文引不到书。"),
    AddEntities: Entities(entities=("守株缘木",)),
}  # fmt: skip


def test_an_entity_left_aside_is_added_back_with_the_step_to_it(kg: MemoryGraph) -> None:
    prediction, llm = run(kg, changed=ASTRAY)
    (asked,) = of(llm, AddEntities)
    assert [lead.name for lead in asked.candidates] == ["守株待兔", "刻舟求剑", "守株缘木"]
    assert asked.reason == "引文引不到书。"
    second = of(llm, PickRelations)[1]
    assert (second.entity, [offer.label for offer in second.offers]) == (
        "守株缘木",
        ["from"],
    )  # not like, back
    assert "守株待兔, like, 守株缘木" in [piece.text for piece in prediction.evidence.triples]
    assert prediction.answers[0].entity_id == "韩非"
    (event,) = [event for event in prediction.trace if event.stage == "reflect" and event.entities]
    assert event.entities == ("守株缘木",)


def test_as_published_only_what_was_expanded_can_be_added_back(kg: MemoryGraph) -> None:
    prediction, llm = run(kg, changed=ASTRAY, pool="code")
    (asked,) = of(llm, AddEntities)
    assert [lead.name for lead in asked.candidates] == ["守株待兔"]
    assert prediction.flags == ("half_stop", "parametric")


def test_nothing_is_added_back_twice_nor_without_reflection(kg: MemoryGraph) -> None:
    back = {JudgeReverse: Correction(add=True), AddEntities: Entities(entities=("守株待兔",)), Reason: NO}
    _, llm = run(kg, changed=back)
    expanded = [task.entity for task in of(llm, PickRelations)]
    assert expanded.count("守株待兔") == 2
    _, llm = run(kg, changed=back, reflections=0)
    assert not of(llm, JudgeReverse)
    _, llm = run(kg, changed=back, reflections=1)
    assert len(of(llm, JudgeReverse)) == 1


# ---------------------------------------------------------------------- how an exploration ends


@pytest.mark.parametrize("answers", [(), ("None",), ("null",)])
def test_sufficient_without_an_answer_is_not_sufficient(kg: MemoryGraph, answers: tuple[str, ...]) -> None:
    prediction, llm = run(kg, changed={Reason: Verdict(sufficient=True, answers=answers)}, depth=2)
    assert len(of(llm, Reason)) == 2
    assert prediction.flags == ("parametric", "no_evidence")
    assert json.loads(prediction.raw_answer)["A"] == {"Known": "Yes", "Answer": ["韩非"]}


def test_an_unnamed_entity_is_no_answer(tmp_path: Path) -> None:
    kg = world(tmp_path, [("起点", "r1", "x")], labels={"x": ""})
    script = {PickRelations: Relations(relations=("r1",)), Reason: Verdict(sufficient=True, answers=("x",))}
    prediction, _ = run(kg, "起点？", script, depth=1)
    assert prediction.flags == ("parametric", "no_evidence")


def test_the_last_depth_may_be_answered_from(kg: MemoryGraph) -> None:
    prediction, llm = run(kg, changed={Reason: NO}, depth=2, at_depth="half_stop")
    assert kinds(llm)[-1] == "HalfStop"
    assert (prediction.flags, prediction.answers[0].entity_id) == (("half_stop",), "韩非子")


def test_a_question_that_names_nothing_is_divided_and_put_to_the_model_alone(kg: MemoryGraph) -> None:
    prediction, llm = run(kg, "Who wrote it?")
    assert kinds(llm) == ["Decompose", "AnswerClosedBook"]
    assert (prediction.topics, prediction.flags) == ((), ("parametric", "no_evidence"))


def test_a_node_without_edges_is_a_half_stop_with_nothing(tmp_path: Path) -> None:
    kg = world(tmp_path, [("乙乙", "r1", "丙丙")], alone=["甲甲"])
    prediction, llm = run(kg, "甲甲？", {HalfStop: Concluded(answers=())})
    assert kinds(llm) == ["Decompose", "HalfStop"]
    assert (prediction.status, prediction.flags) == ("empty", ("half_stop", "no_evidence"))


# ---------------------------------------------------------------------- groups


def test_of_a_hub_the_nearest_to_the_question_are_shown(tmp_path: Path) -> None:
    names = [f"邻居{place:05}" for place in range(9_999)]
    kg = world(tmp_path, [("枢纽", "r1", name) for name in ("白居易", *names)])
    script = {
        PickRelations: Relations(relations=("r1",)),
        PruneEntities: Entities(entities=("白居易",)),
        Reason: NO,
    }
    prediction, llm = run(kg, "枢纽和白居易有什么关系？", script, depth=1, at_depth="half_stop")
    (asked,) = of(llm, PruneEntities)
    assert len(asked.candidates) == 70
    assert [piece.triple.tail for piece in prediction.evidence.triples] == ["白居易"]
    (retrieved,) = [event for event in prediction.trace if event.stage == "retrieve"]
    assert len(retrieved.triples) == 10_000


def test_groups_of_numbers_and_dates_are_not_asked_about(tmp_path: Path) -> None:
    triples = [("起点", "r1", "1200"), ("起点", "r1", "1300"), ("起点", "date", "春"), ("起点", "date", "秋")]
    _, llm = run(
        world(tmp_path, triples),
        "起点？",
        {PickRelations: Relations(relations=("r1", "date")), Reason: NO},
        depth=1,
    )
    assert not of(llm, PruneEntities)
    assert of(llm, Reason)[0].lines == ('起点, r1, ["1200","1300"]', '起点, date, ["春","秋"]')


def test_ten_are_drawn_of_a_group_without_any_name(tmp_path: Path) -> None:
    nodes = [f"x{place:02}" for place in range(11)]
    kg = world(tmp_path, [("起点", "r1", node) for node in nodes], labels=dict.fromkeys(nodes, ""))
    script = {PickRelations: Relations(relations=("r1",)), PruneEntities: Entities(entities=()), Reason: NO}
    _, llm = run(kg, "起点？", script)
    assert len(of(llm, PruneEntities)[0].candidates) == 10


def test_of_two_entities_of_one_name_the_one_meant_is_kept(kg: MemoryGraph) -> None:
    script = {
        PickRelations: Relations(relations=("partOf",)),
        PruneEntities: lambda task: Entities(
            entities=tuple(c.name for c in task.candidates if c.name[0] == "序")
        ),
        Reason: Verdict(sufficient=True, answers=("序#2",)),
    }
    prediction, llm = run(kg, "《韩非子》和《吕氏春秋》里的篇章？", script)
    assert of(llm, Reason)[0].lines == ('["序"], partOf, 韩非子', '["序#2"], partOf, 吕氏春秋')
    assert [(answer.text, answer.entity_id) for answer in prediction.answers] == [("序", "序二")]


# ---------------------------------------------------------------------- replies that will not do

ON_THE_WAY = [Decompose, PickRelations, PruneEntities, UpdateMemory, Reason, JudgeReverse, AddEntities]
ESSENTIAL = (PickRelations, Reason)


@pytest.mark.parametrize("status", ["refused", "unparsed", "error", "timeout"])
@pytest.mark.parametrize("kind", ON_THE_WAY)
def test_as_published_a_call_that_fails_may_cost_the_question(
    kg: MemoryGraph, kind: type[Task[Any]], status: Any
) -> None:
    prediction, _ = run(kg, changed={JudgeReverse: Correction(add=True), kind: Reply(status)})
    lost = kind in ESSENTIAL or status in ("error", "timeout")
    assert prediction.status == (status if lost else "ok")
    assert ("parse_error" in prediction.flags) == (status == "unparsed")


@pytest.mark.parametrize("status", ["refused", "unparsed", "error", "timeout"])
@pytest.mark.parametrize("kind", ON_THE_WAY)
def test_or_the_question_goes_on_without(kg: MemoryGraph, kind: type[Task[Any]], status: Any) -> None:
    changed = {JudgeReverse: Correction(add=True), kind: Reply(status)}
    prediction, _ = run(kg, changed=changed, on_failure="go_on")
    assert prediction.status == "ok"


@pytest.mark.parametrize("kind", ON_THE_WAY)
def test_a_budget_used_up_ends_the_question_at_once(kg: MemoryGraph, kind: type[Task[Any]]) -> None:
    changed = {JudgeReverse: Correction(add=True), kind: Reply("skipped")}
    prediction, llm = run(kg, changed=changed, on_failure="go_on")
    assert (prediction.status, type(llm.asked[-1])) == ("skipped", kind)


@pytest.mark.parametrize("status", ["refused", "unparsed", "error", "timeout"])
@pytest.mark.parametrize(("kind", "settings"), [(AnswerClosedBook, {"depth": 1}), (HalfStop, {"calls": 4})])
def test_without_the_last_call_there_is_no_answer(
    kg: MemoryGraph, kind: type[Task[Any]], settings: dict[str, Any], status: Any
) -> None:
    prediction, _ = run(kg, changed={kind: Reply(status)}, **settings)
    assert (prediction.status, prediction.answers) == (status, ())


def test_calls_can_be_bounded(kg: MemoryGraph) -> None:
    for most in range(1, 16):
        prediction, llm = run(kg, calls=most)
        assert len(llm.asked) <= most
        assert (kinds(llm)[-1], "truncated" in prediction.flags) == ("HalfStop", True)
    prediction, llm = run(kg, calls=16)
    assert (len(llm.asked), prediction.flags) == (15, ())


def test_names_that_were_not_offered_do_not_count(kg: MemoryGraph) -> None:
    nonsense = {
        PickRelations: Relations(relations=("bogus", "like")),
        PruneEntities: Entities(entities=("不存在", "五蠹", "守株缘木")),
    }
    prediction, _ = run(kg, changed={**nonsense, Reason: NO}, depth=1, at_depth="half_stop")
    assert [piece.text for piece in prediction.evidence.triples] == ["守株待兔, like, 守株缘木"]


def test_choosing_has_one_temperature_and_reasoning_another(kg: MemoryGraph) -> None:
    """Both are 0.3 as published; here they differ, to be told apart."""
    changed = {JudgeReverse: Correction(add=True), Reason: NO}
    _, llm = run(kg, changed=changed, temperature_exploration=0.3, temperature_reasoning=0.1)
    sent: dict[float | None, set[str]] = {}
    for task in llm.asked:
        sent.setdefault(task.temperature, set()).add(type(task).__name__)
    assert sent == {
        0.3: {"PickRelations", "PruneEntities"},
        0.1: {"Decompose", "UpdateMemory", "Reason", "JudgeReverse", "AddEntities", "HalfStop"},
    }
