"""CEAF as a whole: what it answers, cites and records, whatever the model does; and gold in the place of a stage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clwqa_baselines.ceaf.config import CeafConfig
from clwqa_baselines.ceaf.system import Ceaf
from clwqa_bench.dataset import Dataset
from clwqa_bench.diagnostics import Diagnosis, diagnose
from clwqa_bench.grid import align
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.llm.protocol import Reply, ReplyStatus
from clwqa_bench.llm.tasks import (
    AnchorMention,
    AnswerFromEvidence,
    Constraints,
    EvidenceAnswer,
    ExtractConstraints,
    Task,
)
from clwqa_bench.predictions import Citation, Label, Prediction, TraceEvent
from clwqa_bench.records import TripleRef
from clwqa_bench.runs import gold_of
from tests import tiny_dataset
from tests.baselines import culture
from tests.baselines.culture import Double, answer_of, ask, resources

QUESTION = "“守株待兔”出自的书是谁写的？"


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return culture.graph(tmp_path_factory.mktemp("culture"))


def ceaf(**settings: Any) -> Ceaf:
    return Ceaf(CeafConfig(**{"ranker": "none", **settings}))


def reads(
    *mentions: str, element: str = "Idiom", target: str = "Person", answer: Any = ("韩非",), cites: Any = (1,)
) -> Double:
    """A model that names these mentions and target, then gives this answer; a reply is given as it is."""

    def reply(task: Task[Any]) -> Any:
        if isinstance(task, ExtractConstraints):
            anchors = tuple(AnchorMention(mention=mention, elements=(element,)) for mention in mentions)
            return Constraints(anchors=anchors, target_element=target)
        return answer if isinstance(answer, Reply) else EvidenceAnswer(answers=answer, citations=cites)

    return Double(reply)


def event(found: Prediction, stage: str) -> TraceEvent:
    (event,) = [event for event in found.trace if event.stage == stage]
    return event


def ends(found: Prediction) -> list[str | None]:
    return [answer.entity_id for answer in found.answers]


# ---------------------------------------------------------------------- the four stages


def test_two_calls_with_the_closed_set_and_numbered_snippets(kg: MemoryGraph) -> None:
    llm = reads("守株待兔")
    ask(ceaf(top_k=2), QUESTION, kg, llm)
    first, second = llm.asked
    assert isinstance(first, ExtractConstraints)
    assert {note.label for note in first.elements} == set(culture.TYPES)
    assert isinstance(second, AnswerFromEvidence)
    assert [(s.number, s.answer, s.entity_id, s.score) for s in second.snippets] == [
        (1, "王先慎", "王先慎", None),
        (2, "韩非", "韩非", None),
    ]
    assert second.snippets[1].text == (
        "守株待兔 —from→ 五蠹 —partOf→ 韩非子 —by→ 韩非。出处：Person类：韩非（又称韩非子）"
    )


def test_answers_cite_the_paths_they_rest_on(kg: MemoryGraph) -> None:
    answer = (
        "韩非子",
        "吕不韦",
        "王先慎",
        "无名氏",
        "《王先慎》",
    )  # the first is an alias of the end node 韩非
    found = ask(ceaf(top_k=2), QUESTION, kg, reads("守株待兔", answer=answer, cites=(2, 7, 2)))
    assert [(a.text, a.entity_id, a.support) for a in found.answers] == [
        ("韩非子", "韩非", ("p2",)),
        ("吕不韦", "吕不韦", ("p2",)),  # not at the end of a path: by name and element, on what was cited
        ("王先慎", "王先慎", ("p1",)),
        ("无名氏", None, ("p2",)),
    ]
    assert found.citations == (
        Citation(marker="[2]", evidence_id="p2"),
        Citation(marker="[7]", evidence_id="7", ok=False),
    )
    assert (found.status, found.ranked, found.native_format) == ("ok", True, "json")
    assert EvidenceAnswer.model_validate_json(found.raw_answer or "").answers == answer


@pytest.mark.parametrize(
    ("answer", "cites", "source", "flags"),
    [
        (("王先慎",), (), "graph", ()),  # a path ends there
        (("吕不韦",), (1,), "graph", ()),  # on what was cited
        (("吕不韦",), (), "parametric", ("parametric",)),  # an entity, but no evidence shown says so
        (("巴黎",), (), "parametric", ("parametric",)),
        (("巴黎",), (7,), "parametric", ("parametric",)),  # there is no seventh snippet
    ],
)
def test_an_answer_that_rests_on_no_evidence_is_the_models_own(
    answer: tuple[str, ...], cites: tuple[int, ...], source: str, flags: tuple[str, ...], kg: MemoryGraph
) -> None:
    found = ask(ceaf(top_k=1), QUESTION, kg, reads("守株待兔", answer=answer, cites=cites))
    assert ([answer.source for answer in found.answers], found.flags) == ([source], flags)
    assert all(bool(answer.support) == (answer.source == "graph") for answer in found.answers)


def test_every_stage_is_recorded(kg: MemoryGraph) -> None:
    found = ask(ceaf(top_k=1), QUESTION, kg, reads("守株待兔", "刻舟求剑"))
    link = event(found, "link")
    assert (link.entities, found.topics) == (("守株待兔",), ("守株待兔",))
    assert link.elements == (Label(element="Idiom", entity_id="守株待兔"), Label(element="Person"))
    assert link.detail["absent_mentions"] == ["刻舟求剑"]
    assert "Idiom Unit Work Person" in event(found, "type_paths").detail["kept"]
    retrieved = event(found, "retrieve")
    assert [path.id for path in retrieved.paths] == ["p1", "p2", "p3", "p4"]
    assert retrieved.paths[1].triples == (
        TripleRef(head="守株待兔", relation="from", tail="五蠹"),
        TripleRef(head="五蠹", relation="partOf", tail="韩非子"),
        TripleRef(head="韩非子", relation="by", tail="韩非"),
    )
    ranked = event(found, "rank")
    assert (ranked.paths, ranked.dropped) == (found.evidence.paths, ("p2", "p3", "p4"))
    assert set(found.usage) == {"link", "type_paths", "retrieve", "rank", "answer"}


def test_triples_are_recorded_as_stored_whichever_way_they_were_walked(kg: MemoryGraph) -> None:
    found = ask(ceaf(), "韩非写了哪部书？", kg, reads("韩非", element="Person", target="Work"))
    assert event(found, "retrieve").paths[0].triples == (
        TripleRef(head="韩非子", relation="by", tail="韩非"),
    )


def test_answers_may_be_taken_from_the_paths_without_a_second_call(kg: MemoryGraph) -> None:
    llm = reads("守株待兔")
    found = ask(ceaf(answers_from="paths"), QUESTION, kg, llm)
    assert len(llm.asked) == 1
    assert [(a.entity_id, a.support) for a in found.answers] == [("王先慎", ("p1", "p3")), ("韩非", ("p2",))]
    assert (found.status, found.raw_answer) == ("ok", None)


@pytest.mark.parametrize(
    ("combine", "expected"), [("union", ["王先慎", "韩非"]), ("intersection", ["王先慎"])]
)
def test_several_anchors_are_combined_as_set(combine: str, expected: list[str], kg: MemoryGraph) -> None:
    llm = reads("韩非子", "庄子集解", element="Work", target="Person")
    system = ceaf(combine=combine, answers_from="paths", d_max=1)
    assert ends(ask(system, "韩非子和庄子集解是谁写的？", kg, llm)) == expected


def test_relaxation_is_recorded_and_flagged(kg: MemoryGraph) -> None:
    llm = reads("守株待兔", target="Proverb")
    strict = ask(ceaf(d_max=1, answers_from="paths"), QUESTION, kg, llm)
    relaxed = ask(ceaf(d_max=1, answers_from="paths", relax=True), QUESTION, kg, llm)
    assert (ends(strict), strict.flags) == (["守株缘木"], ())
    assert (ends(relaxed), relaxed.flags) == (["刻舟求剑", "守株缘木"], ("relaxed",))
    assert event(relaxed, "retrieve").detail["relaxed"] == [
        {"of": "target", "narrow": "Proverb", "broad": "Word", "new": 1},
        {"of": "守株待兔", "narrow": "Idiom", "broad": "Word", "new": 0},
    ]


def test_the_same_question_gets_the_same_prediction(kg: MemoryGraph) -> None:
    first, again = (ask(ceaf(ranker="similarity"), QUESTION, kg, reads("守株待兔")) for _ in range(2))
    assert first.model_copy(update={"usage": {}}) == again.model_copy(update={"usage": {}})


def test_runs_with_other_settings_are_told_apart() -> None:
    assert Ceaf().variant == ""
    assert Ceaf(CeafConfig(relax=True, top_k=5)).variant == "relax,top_k=5"


# ---------------------------------------------------------------------- what models do


@pytest.mark.parametrize("status", ["refused", "unparsed", "error", "timeout", "skipped"])
def test_a_failed_first_call_ends_the_question(status: ReplyStatus, kg: MemoryGraph) -> None:
    reply: Reply[Constraints] = Reply(status, raw="原文", error="why")
    llm = Double(lambda task: reply)
    found = ask(ceaf(), QUESTION, kg, llm)
    assert (found.status, found.raw_answer, found.error, len(llm.asked)) == (status, "原文", "why", 1)
    assert [event.stage for event in found.trace] == ["link"]


@pytest.mark.parametrize("status", ["refused", "unparsed", "error", "timeout", "skipped"])
def test_a_failed_second_call_keeps_the_evidence(status: ReplyStatus, kg: MemoryGraph) -> None:
    found = ask(ceaf(), QUESTION, kg, reads("守株待兔", answer=Reply(status, raw="原文", error="why")))
    assert (found.status, found.raw_answer, found.error, found.answers) == (status, "原文", "why", ())
    assert len(found.evidence.paths) == 3
    assert found.usage["answer"].calls == 1


NONSENSE: dict[str, Callable[[], Double]] = {
    "a mention that is not in the question": lambda: reads("刻舟求剑"),
    "no mention": reads,
    "a name nobody bears": lambda: reads("是谁写的"),
    "a target out of reach": lambda: reads("守株待兔", target="Quotation", element="Person"),
}


@pytest.mark.parametrize("llm", NONSENSE.values(), ids=NONSENSE)
def test_without_evidence_the_model_is_told_so_and_its_answer_is_its_own(
    llm: Callable[[], Double], kg: MemoryGraph
) -> None:
    model = llm()
    found = ask(ceaf(d_max=1), QUESTION, kg, model)
    assert isinstance(model.asked[1], AnswerFromEvidence)
    assert model.asked[1].snippets == ()
    assert set(found.flags) == {"no_evidence", "parametric"}
    assert [(a.text, a.source, a.support) for a in found.answers] == [("韩非", "parametric", ())]


def test_labels_that_are_not_in_the_closed_set_constrain_nothing(kg: MemoryGraph) -> None:
    found = ask(ceaf(d_max=1), QUESTION, kg, reads("守株待兔", element="Saying", target="Nobody"))
    assert event(found, "link").detail["unknown_labels"] == ["Saying", "Nobody"]
    assert event(found, "link").elements == (Label(element="Idiom", entity_id="守株待兔"),)
    assert len(event(found, "retrieve").paths) == 4  # all neighbours


def test_a_model_that_finds_no_answer_in_the_evidence_gives_none(kg: MemoryGraph) -> None:
    found = ask(ceaf(), QUESTION, kg, reads("守株待兔", answer=(), cites=()))
    assert (found.status, found.answers, found.flags) == ("empty", (), ())


# ---------------------------------------------------------------------- diagnosed, and with gold in a stage's place


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("ceaf") / "tiny"
    tiny_dataset.write(folder)
    return Dataset.open(folder)


def diagnosed(tiny: Dataset, llm: Double, oracle: tuple[str, ...] = (), **settings: Any) -> Diagnosis:
    """The train questions, whose answers are at most three edges away."""
    graph = tiny.kg()
    found = [
        ask(
            ceaf(**settings),
            question.question,
            graph,
            llm,
            id=question.id,
            gold=question if oracle else None,
            oracle=oracle,
        )
        for question in tiny.questions("train")
    ]
    return diagnose(align(gold_of(tiny, "train"), found), graph.ontology, resamples=50, by=())


def values(diagnosis: Diagnosis, *names: str) -> list[float | None]:
    cells = [diagnosis.cell(name) for name in names]
    return [cell and round(cell.value, 3) for cell in cells]


FIVE = ("anchor-f1", "element-match", "coverage", "retention")


def wrong() -> Double:
    """Takes everything for a person who is asked for by an explanation."""
    return reads("守株待兔", "破釜沉舟", element="Person", target="Explanation", answer=("?",))


def test_all_indicators_are_shown(tiny: Dataset) -> None:
    diagnosis = diagnosed(tiny, wrong())
    assert diagnosis.not_traced == {}
    # four questions name one word each, and the wrong labels lead to no path that supports an answer
    assert values(diagnosis, *FIVE) == [1.0, 0.0, 0.0, None]


@pytest.mark.parametrize(
    ("oracle", "expected", "calls"),
    [
        (("elements",), [1.0, 1.0, 1.0, 1.0], 2),
        (("anchors",), [1.0, 0.0, 0.0, None], 2),  # with the wrong elements
        (("stage1",), [1.0, 1.0, 1.0, 1.0], 1),
        (("anchors", "elements"), [1.0, 1.0, 1.0, 1.0], 1),
        (("evidence",), [1.0, 1.0, 1.0, 1.0], 1),
    ],
)
def test_gold_takes_the_place_of_a_stage(
    oracle: tuple[str, ...], expected: list[float | None], calls: int, tiny: Dataset
) -> None:
    llm = wrong()
    assert values(diagnosed(tiny, llm, oracle, top_k=9), *FIVE) == expected
    assert len(llm.asked) == 4 * calls


@pytest.mark.parametrize(
    ("oracle", "marked"),
    [
        ((), set()),
        (("anchors",), {"link"}),
        (("elements",), {"link"}),
        (("stage1",), {"link"}),
        (("anchors", "elements"), {"link"}),
        (("evidence",), {"link", "retrieve", "rank"}),
    ],
)
def test_stages_whose_place_gold_takes_say_so(
    oracle: tuple[str, ...], marked: set[str], tiny: Dataset
) -> None:
    (question, *_) = tiny.questions("train")
    found = ask(
        ceaf(), question.question, tiny.kg(), wrong(), gold=question if oracle else None, oracle=oracle
    )
    assert {event.stage for event in found.trace if event.op == "gold"} == marked


def test_gold_anchors_have_the_elements_predicted(tiny: Dataset) -> None:
    (question, *_) = tiny.questions("train")
    llm = reads("韩非子", element="CultureLoadedWord", target="Chapter")
    found = ask(ceaf(), question.question, tiny.kg(), llm, gold=question, oracle=("anchors",))
    assert event(found, "link").elements[0].entity_id == "word:守株待兔"


def test_gold_evidence_is_shown_whole(tiny: Dataset) -> None:
    for question in tiny.questions("train"):
        found = ask(ceaf(), question.question, tiny.kg(), wrong(), gold=question, oracle=("evidence",))
        shown = {triple for path in found.evidence.paths for triple in path.triples}
        assert shown == set(question.evidence)


@pytest.mark.slow
def test_gold_constraints_reach_almost_every_answer_within_three_edges(built: Path) -> None:
    dataset = Dataset.open(built, verify=False)
    graph = dataset.kg()
    near = [question for question in dataset.questions("validation") if question.hops <= 3][:300]
    system, llm = ceaf(answers_from="paths"), wrong()
    system.prepare(resources(graph, llm))
    reached = 0
    for question in near:
        found = answer_of(system, question.question, graph, llm, gold=question, oracle=("stage1",))
        nodes = {t for path in event(found, "retrieve").paths for e in path.triples for t in (e.head, e.tail)}
        reached += bool(nodes & {answer.entity_id for answer in question.answers})
    assert reached >= 0.98 * len(near)
