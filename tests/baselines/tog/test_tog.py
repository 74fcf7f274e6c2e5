"""ToG, worked out by hand on the small culture; the question asks who wrote the book 守株待兔 comes from.

depth 1  守株待兔: from .6, like .3, quotes .1     五蠹 .6, of like's .3: 守株缘木 .24 and 刻舟求剑 .06, 引文 .1
depth 2  五蠹: partOf 1     守株缘木: from .9      韩非子 twice; 引文 leads back alone, so it is not asked about
depth 3  韩非子: by .8, from .2                    韩非 .6, 王先慎 .2, 守株缘木 .2; sufficient
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clwqa_baselines.tog import ToG
from clwqa_baselines.tog.tasks import (
    Concluded,
    EntityScores,
    HalfStop,
    RelationScore,
    RelationScores,
    ScoreEntities,
    ScoreRelations,
    Sufficiency,
    Sufficient,
)
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.llm.protocol import Reply
from clwqa_bench.llm.tasks import AnswerClosedBook, ClosedBookAnswer, Task
from clwqa_bench.systems import Bounds, SettingError
from tests.baselines.culture import Double, ask, graph, resources
from tests.baselines.worlds import RELATIONS, replies, world

QUESTION = "“守株待兔”所出的书是谁写的？"
RELATION_SCORES = {
    "守株待兔": {"from": 0.6, "like": 0.3, "quotes": 0.1},
    "五蠹": {"partOf": 1.0},
    "守株缘木": {"from": 0.9},
    "刻舟求剑": {"from": 0.5},
    "察今": {"partOf": 1.0},
    "韩非子": {"by": 0.8, "from": 0.2},
}
ENTITY_SCORES: dict[tuple[str, ...], tuple[float, ...]] = {
    ("刻舟求剑", "守株缘木"): (0.2, 0.8),
    ("王先慎", "韩非"): (0.25, 0.75),
    ("序", "五蠹"): (0.5, 0.5),
}
NO = Sufficiency(sufficient=False, answers=())
ALONE = ClosedBookAnswer(reasoning="我猜。", answers=("韩非",))
GATHERED = Concluded(reason="只有这些。", answers=("韩非子",))


def scored(values: dict[str, float]) -> RelationScores:
    return RelationScores(relations=tuple(RelationScore(relation=r, score=s) for r, s in values.items()))


def score_relations(task: ScoreRelations) -> RelationScores:
    offered = {offer.label for offer in task.offers}
    return scored({r: s for r, s in RELATION_SCORES[task.entity].items() if r in offered})


def score_entities(task: ScoreEntities) -> EntityScores:
    return EntityScores(scores=ENTITY_SCORES[tuple(lead.name for lead in task.candidates)])


def judge(task: Sufficient) -> Sufficiency:
    enough = "韩非子, by, 韩非" in task.triples
    return Sufficiency(sufficient=enough, reason="三元组说明了。", answers=("韩非",) if enough else ())


SCRIPT: dict[type[Task[Any]], Any] = {
    ScoreRelations: score_relations,
    ScoreEntities: score_entities,
    Sufficient: judge,
    HalfStop: GATHERED,
    AnswerClosedBook: ALONE,
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
    return ask(ToG(ToG.Config(**settings)), text, kg, llm, bounds=Bounds(calls)), llm


def kinds(llm: Double) -> list[str]:
    return [type(task).__name__ for task in llm.asked]


def offers(llm: Double) -> list[tuple[str, list[str]]]:
    found = [task for task in llm.asked if isinstance(task, ScoreRelations)]
    return [(task.entity, [offer.label for offer in task.offers]) for task in found]


def test_the_beam_is_the_one_worked_out_above(kg: MemoryGraph) -> None:
    prediction, llm = run(kg)
    assert kinds(llm) == [
        *("ScoreRelations", "ScoreEntities", "Sufficient"),
        *("ScoreRelations", "ScoreRelations", "Sufficient"),
        *("ScoreRelations", "ScoreEntities", "Sufficient"),
    ]
    assert offers(llm) == [
        ("守株待兔", ["from", "like", "quotes"]),
        ("五蠹", ["partOf"]),
        ("守株缘木", ["from"]),
        ("韩非子", ["by", "from"]),
    ]
    passage = kg.entity("引文").text
    assert [piece.text for piece in prediction.evidence.triples] == [
        "守株待兔, from, 五蠹",
        "守株待兔, like, 守株缘木",
        f"守株待兔, quotes, {passage}",
        "五蠹, partOf, 韩非子",
        "守株缘木, from, 韩非子",
        "韩非子, by, 韩非",
        "韩非子, by, 王先慎",
    ]
    (answer,) = prediction.answers
    assert (answer.text, answer.entity_id, answer.support) == ("韩非", "韩非", ("t6",))
    assert (prediction.status, prediction.topics, prediction.flags) == ("ok", ("守株待兔",), ())
    assert prediction.raw_answer == "{Yes} 三元组说明了。 {韩非}"


def test_every_stage_leaves_its_trace(kg: MemoryGraph) -> None:
    prediction, _ = run(kg)
    depth = ["expand", "retrieve", "prune", "decide"]
    assert [event.stage for event in prediction.trace] == ["link", *depth * 3, "adapt", "answer"]
    retrieved = [len(event.triples) for event in prediction.trace if event.stage == "retrieve"]
    kept = [len(event.triples) for event in prediction.trace if event.stage == "prune"]
    assert (retrieved, kept) == ([4, 2, 3], [3, 5, 7])
    assert sum(usage.calls for usage in prediction.usage.values()) == 9


@pytest.mark.parametrize(
    ("no_backtrack", "offered"),
    [("entity", ["by", "from"]), ("pooled", ["by"]), ("off", ["by", "from", "partOf"])],
)
def test_what_led_to_an_entity_is_not_walked_back(
    kg: MemoryGraph, no_backtrack: str, offered: list[str]
) -> None:
    """韩非子 was reached outwards over partOf; another entity of its step over from."""
    changed = {} if no_backtrack != "off" else {ScoreRelations: _only_outwards}
    _, llm = run(kg, changed=changed, no_backtrack=no_backtrack)
    assert dict(offers(llm))["韩非子"] == offered


def _only_outwards(task: ScoreRelations) -> RelationScores:
    return scored({o.label: RELATION_SCORES[task.entity][o.label] for o in task.offers if o.sense == "out"})


def test_as_published_relations_walked_inwards_lead_nowhere(kg: MemoryGraph) -> None:
    text = "“五蠹”是哪个成语的出处？"
    script = {ScoreRelations: scored({"from": 1.0}), Sufficient: NO}
    fixed, _ = run(kg, text, script, depth=1, at_depth="half_stop")
    published, _ = run(kg, text, script, depth=1, inverse="code")
    assert [piece.text for piece in fixed.evidence.triples] == ["守株待兔, from, 五蠹"]
    assert (published.evidence.triples, published.flags) == ((), ("half_stop", "no_evidence", "parametric"))


def test_a_relation_that_an_entity_has_both_ways_is_walked_outwards_unless_marked(tmp_path: Path) -> None:
    kg = world(tmp_path, [("甲甲", "r1", "乙乙"), ("丙丙", "r1", "甲甲"), ("甲甲", "r2", "乙乙")])
    _, plain = run(kg, "甲甲？", {ScoreRelations: scored({}), HalfStop: GATHERED})
    _, marked = run(kg, "甲甲？", {ScoreRelations: scored({}), HalfStop: GATHERED}, direction_marks=True)
    assert offers(plain) == [("甲甲", ["r1", "r2"])]
    assert offers(marked) == [("甲甲", ["—r1→", "—r2→", "←r1—"])]


def test_unnecessary_relations_are_not_offered(kg: MemoryGraph) -> None:
    _, llm = run(kg, unnecessary_relations="like, quotes", depth=1)
    assert offers(llm) == [("守株待兔", ["from"])]
    _, llm = run(kg, unnecessary_relations="like, quotes", remove_unnecessary_rel=False, depth=1)
    assert offers(llm) == [("守株待兔", ["from", "like", "quotes"])]


def test_unnecessary_relations_go_by_label_as_well(tmp_path: Path) -> None:
    triples = [("甲甲", "r1", "乙乙"), ("甲甲", "r2", "丙丙"), ("甲甲", "r3", "丁丁")]
    kg = world(tmp_path, triples, words={"r1": "出自", "r2": "作者"})
    nothing = {ScoreRelations: scored({}), HalfStop: GATHERED}
    _, llm = run(kg, "甲甲？", nothing, unnecessary_relations="出自,r3")
    assert offers(llm) == [("甲甲", ["作者"])]


def test_an_unknown_unnecessary_relation_is_refused_before_anything_is_asked(kg: MemoryGraph) -> None:
    llm = Double(replies(SCRIPT))
    system = ToG(ToG.Config(unnecessary_relations="from, partof"))
    with pytest.raises(SettingError, match="no relation 'partof'") as raised:
        system.prepare(resources(kg, llm))
    assert raised.value.fix == "did you mean 'partOf'"
    unused = ToG(ToG.Config(unnecessary_relations="from, partof", remove_unnecessary_rel=False))
    unused.prepare(resources(kg, llm))
    assert llm.asked == []


def test_replies_are_closed_to_what_was_offered(kg: MemoryGraph) -> None:
    _, llm = run(kg, width=2)
    relations, entities = (task.output_schema()["properties"] for task in llm.asked[:2])
    assert relations["relations"]["maxItems"] == 2
    labels = relations["relations"]["items"]["properties"]["relation"]["enum"]
    assert labels == ["from", "like", "quotes"]
    assert (entities["scores"]["minItems"], entities["scores"]["maxItems"]) == (2, 2)


# ---------------------------------------------------------------------- how a search ends


def test_after_the_last_depth_the_evidence_is_forgotten(kg: MemoryGraph) -> None:
    prediction, llm = run(kg, depth=2)
    assert kinds(llm)[-1] == "AnswerClosedBook"
    assert (prediction.evidence.triples, prediction.flags) == ((), ("parametric", "no_evidence"))
    assert (prediction.answers[0].source, prediction.raw_answer) == ("parametric", "我猜。 {韩非}")


def test_or_it_is_answered_from(kg: MemoryGraph) -> None:
    prediction, llm = run(kg, depth=2, at_depth="half_stop")
    assert kinds(llm)[-1] == "HalfStop"
    assert llm.asked[-1].triples == tuple(piece.text for piece in prediction.evidence.triples)
    assert (prediction.flags, prediction.answers[0].entity_id) == (("half_stop",), "韩非子")


def test_no_relation_picked_is_a_half_stop_with_what_was_gathered_before(kg: MemoryGraph) -> None:
    def first_only(task: ScoreRelations) -> RelationScores:
        return score_relations(task) if task.entity == "守株待兔" else scored({})

    prediction, llm = run(kg, changed={ScoreRelations: first_only})
    assert kinds(llm)[-1] == "HalfStop"
    assert len(prediction.evidence.triples) == 3


def test_a_question_that_names_nothing_is_put_to_the_model_alone(kg: MemoryGraph) -> None:
    prediction, llm = run(kg, "Who wrote it?")
    assert kinds(llm) == ["AnswerClosedBook"]
    assert (prediction.topics, prediction.flags) == ((), ("parametric", "no_evidence"))


def test_a_node_without_edges_is_a_half_stop_with_nothing(tmp_path: Path) -> None:
    kg = world(tmp_path, [("乙乙", "r1", "丙丙")], alone=["甲甲"])
    prediction, llm = run(kg, "甲甲？", {HalfStop: Concluded(answers=())})
    assert kinds(llm) == ["HalfStop"]
    assert (prediction.status, prediction.flags) == ("empty", ("half_stop", "no_evidence"))


# ---------------------------------------------------------------------- bounds


def tree(depth: int, node: str = "树根") -> list[tuple[str, str, str]]:
    """Three children over each of four relations, and so on."""
    if depth == 0:
        return []
    children = [(relation, f"{node}{relation[1]}{place}") for relation in RELATIONS for place in range(3)]
    return [
        triple
        for relation, child in children
        for triple in [(node, relation, child), *tree(depth - 1, child)]
    ]


def test_one_topic_takes_31_calls_at_most_and_one_for_the_answer(tmp_path: Path) -> None:
    kg = world(tmp_path, tree(3))
    script = {
        ScoreRelations: lambda task: scored({offer.label: 0.25 for offer in task.offers}),
        ScoreEntities: lambda task: EntityScores(scores=(0.3, 0.3, 0.4)),
        Sufficient: NO,
    }
    _, llm = run(kg, "树根？", script)
    assert len(llm.asked) == 31 + 1
    bounded, llm = run(kg, "树根？", script, calls=10)
    assert len(llm.asked) == 10
    assert (kinds(llm)[-1], bounded.flags) == ("HalfStop", ("truncated", "half_stop", "parametric"))


def test_of_a_hub_a_few_neighbours_are_drawn_and_always_the_same(tmp_path: Path) -> None:
    kg = world(tmp_path, [("枢纽", "r1", f"邻居{place:05}") for place in range(10_000)])
    script = {
        ScoreRelations: scored({"r1": 1.0}),
        ScoreEntities: lambda task: EntityScores(scores=(0.2,) * len(task.candidates)),
        Sufficient: NO,
    }
    once, llm = run(kg, "枢纽？", script, depth=1, at_depth="half_stop")
    again, _ = run(kg, "枢纽？", script, depth=1, at_depth="half_stop")
    (task,) = [task for task in llm.asked if isinstance(task, ScoreEntities)]
    assert len(task.candidates) == 5
    assert once.evidence == again.evidence
    (sample,) = [event for event in once.trace if event.op == "sample"]
    assert (sample.total, sample.detail["drawn"]) == (10_000, 5)


def test_from_twenty_neighbours_on_they_are_drawn(tmp_path: Path) -> None:
    kg = world(tmp_path, [("枢纽", "r1", f"邻居{place:02}") for place in range(19)])
    script = {ScoreRelations: scored({"r1": 1.0}), ScoreEntities: EntityScores(scores=()), Sufficient: NO}
    _, llm = run(kg, "枢纽？", script, depth=1)
    (task,) = [task for task in llm.asked if isinstance(task, ScoreEntities)]
    assert len(task.candidates) == 19


# ---------------------------------------------------------------------- names


def test_names_with_separators_stay_whole(tmp_path: Path) -> None:
    names = ["甲; 乙", "丙, 丁", "a -> b (c) {d}"]
    kg = world(tmp_path, [("起点", "r1", name) for name in names], words={"r1": "is (a; kind, of)"})
    script = {
        ScoreRelations: scored({"is (a; kind, of)": 1.0}),
        ScoreEntities: lambda task: EntityScores(
            scores=tuple(0.9 if "(" in lead.name else 0.05 for lead in task.candidates)
        ),
        Sufficient: Sufficiency(sufficient=True, answers=("丙, 丁", "a -> b (c) {d}")),
    }
    prediction, _ = run(kg, "起点？", script)
    assert prediction.evidence.triples[0].triple.tail == "a -> b (c) {d}"
    assert [answer.entity_id for answer in prediction.answers] == ["丙, 丁", "a -> b (c) {d}"]


def test_of_two_entities_of_one_name_the_one_meant_is_answered(kg: MemoryGraph) -> None:
    script = {
        ScoreRelations: lambda task: scored({"partOf": 1.0}),
        ScoreEntities: lambda task: EntityScores(scores=(0.5,) * len(task.candidates)),
        Sufficient: Sufficiency(sufficient=True, answers=("序#2",)),
    }
    prediction, llm = run(kg, "《韩非子》和《吕氏春秋》里的篇章？", script)
    named = [lead.name for task in llm.asked if isinstance(task, ScoreEntities) for lead in task.candidates]
    assert named == ["五蠹", "序", "察今", "序#2"]
    assert [(answer.text, answer.entity_id) for answer in prediction.answers] == [("序", "序二")]


def test_unnamed_candidates_share_the_score_unseen(tmp_path: Path) -> None:
    kg = world(tmp_path, [("起点", "r1", "x"), ("起点", "r1", "y"), ("起点", "r2", "z"), ("起点", "r2", "终点")],
               labels={"x": "", "y": "", "z": ""})  # fmt: skip
    prediction, llm = run(
        kg, "起点？", {ScoreRelations: scored({"r1": 0.6, "r2": 0.4}), Sufficient: NO}, depth=1
    )
    assert kinds(llm) == ["ScoreRelations", "Sufficient", "AnswerClosedBook"]
    (prune,) = [event for event in prediction.trace if event.stage == "prune"]
    assert [triple.tail for triple in prune.triples] == [
        "终点",
        "x",
        "y",
    ]  # .4, .3, .3; z stands back for the named
    assert prune.detail["scores"] == [0.4, 0.3, 0.3]


# ---------------------------------------------------------------------- replies that will not do


@pytest.mark.parametrize("status", ["refused", "unparsed", "error", "timeout"])
@pytest.mark.parametrize(
    ("kind", "ending"),
    [(ScoreRelations, "HalfStop"), (ScoreEntities, "Sufficient"), (Sufficient, "AnswerClosedBook")],
)
def test_a_call_that_fails_on_the_way_is_done_without(
    kg: MemoryGraph, kind: type[Task[Any]], ending: str, status: Any
) -> None:
    prediction, llm = run(kg, changed={kind: Reply(status)})
    assert (prediction.status, kinds(llm)[-1]) == ("ok", ending)
    assert ("parse_error" in prediction.flags) == (status == "unparsed")
    assert ("llm_error" in prediction.flags) == (status in ("error", "timeout"))


@pytest.mark.parametrize("status", ["refused", "unparsed", "error", "timeout"])
@pytest.mark.parametrize(("kind", "settings"), [(AnswerClosedBook, {"depth": 1}), (HalfStop, {"calls": 3})])
def test_without_the_last_call_there_is_no_answer(
    kg: MemoryGraph, kind: type[Task[Any]], settings: dict[str, Any], status: Any
) -> None:
    prediction, _ = run(kg, changed={kind: Reply(status)}, **settings)
    assert (prediction.status, prediction.answers) == (status, ())
    assert prediction.topics == ("守株待兔",)


@pytest.mark.parametrize("kind", [ScoreRelations, ScoreEntities, Sufficient])
def test_a_budget_used_up_ends_the_question_at_once(kg: MemoryGraph, kind: type[Task[Any]]) -> None:
    prediction, llm = run(kg, changed={kind: Reply("skipped")})
    assert (prediction.status, type(llm.asked[-1])) == ("skipped", kind)


def test_scores_of_another_number_are_equal_shares(kg: MemoryGraph) -> None:
    prediction, _ = run(kg, changed={ScoreEntities: EntityScores(scores=(1.0,))}, depth=1)
    (prune,) = [event for event in prediction.trace if event.stage == "prune"]
    assert prune.detail["scores"] == [0.6, 0.15, 0.15]


def test_relations_that_were_not_offered_and_scores_of_nothing_do_not_count(kg: MemoryGraph) -> None:
    nonsense = scored({"bogus": 0.9, "like": 0.0, "from": 0.5, "quotes": -1.0})
    prediction, _ = run(kg, changed={ScoreRelations: nonsense}, depth=1)
    (prune,) = [event for event in prediction.trace if event.stage == "prune"]
    assert [triple.relation for triple in prune.triples] == ["from"]


# ---------------------------------------------------------------------- other tools


def test_words_can_prune_instead_of_the_model(tmp_path: Path) -> None:
    """The relation and the entities that share characters with the question; nobody is asked about either, and
    nothing is drawn from many."""
    names = ["白居易", "白行简", *(f"无关{place:02}" for place in range(30))]
    kg = world(
        tmp_path, [("长恨歌", "r1", name) for name in names] + [("长恨歌", "r2", "唐")], words={"r1": "作者"}
    )
    settings = {"prune_tools": "bm25", "depth": 1, "at_depth": "half_stop", "width": 2}
    prediction, llm = run(kg, "《长恨歌》的作者是不是白居易？", {Sufficient: NO}, **settings)
    assert kinds(llm) == ["Sufficient", "HalfStop"]
    assert [piece.triple.tail for piece in prediction.evidence.triples] == ["白居易", "白行简"]


# ---------------------------------------------------------------------- temperatures


def test_scoring_has_one_temperature_and_reasoning_another(kg: MemoryGraph) -> None:
    """Those published are 0.4 and 0."""
    _, llm = run(kg, depth=1, temperature_exploration=0.4, temperature_reasoning=0)
    sent = {type(task).__name__: task.temperature for task in llm.asked}
    assert sent == {"ScoreRelations": 0.4, "ScoreEntities": 0.4, "Sufficient": 0.0, "AnswerClosedBook": 0.0}


def test_by_default_every_call_has_that_of_the_run(kg: MemoryGraph) -> None:
    _, llm = run(kg)
    assert {task.temperature for task in llm.asked} == {None}
