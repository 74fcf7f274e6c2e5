"""BYOKG-RAG as a whole: rounds of calls worked out by hand, what is shown and recorded, whatever the model does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clwqa_baselines.byokg_rag import system as byokg_system
from clwqa_baselines.byokg_rag.config import ByokgConfig
from clwqa_baselines.byokg_rag.system import ByokgRag
from clwqa_baselines.byokg_rag.tasks import (
    Artifacts,
    ChooseNext,
    Generate,
    Generated,
    LinkToGraph,
    NextStep,
    Queries,
    Selected,
    SelectRelations,
    WriteQueries,
)
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.llm.protocol import Reply, ReplyStatus
from clwqa_bench.llm.tasks import Language, Task, render
from clwqa_bench.predictions import Prediction, TraceEvent
from clwqa_bench.systems import SettingError
from tests.baselines import culture, odd_graph
from tests.baselines.culture import Double, ask
from tests.baselines.culture_gold import GOLD

QUESTION = "“守株待兔”出自的书是谁写的？"
NOTHING = Artifacts(entities=(), paths=(), answers=())


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return culture.graph(tmp_path_factory.mktemp("culture"))


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return odd_graph.graph(tmp_path_factory.mktemp("odd"))


def byokg(**settings: Any) -> ByokgRag:
    return ByokgRag(ByokgConfig(**settings))


def says(**replies: Any) -> Double:
    """A model that gives its replies to each kind of call in turn, the last one for ever.

    Kinds are link, relations, next, cypher, answer; without any it names nothing, selects nothing, is finished.
    """
    default = {
        "link": NOTHING,
        "relations": Selected(relations=()),
        "next": NextStep(entities=(), finished=True),
        "cypher": Queries(linking="", main="", finished=True),
        "answer": Generated(answers=("韩非",)),
    }
    left = {
        kind: list(given) if isinstance(given, list) else [given]
        for kind, given in (default | replies).items()
    }

    def reply(task: Task[Any]) -> Any:
        given = left[task.id.removeprefix("byokg-")]
        return given.pop(0) if len(given) > 1 else given[0]

    return Double(reply)


def links(*entities: str, paths: Any = (), answers: tuple[str, ...] = (), **more: Any) -> Artifacts:
    return Artifacts(entities=entities, paths=paths, answers=answers, **more)


def goes(*names: str) -> NextStep:
    return NextStep(entities=names)


def kinds(llm: Double) -> list[str]:
    return [task.id.removeprefix("byokg-") for task in llm.asked]


def context(llm: Double) -> list[str]:
    (task,) = [task for task in llm.asked if isinstance(task, Generate)]
    return [line.text for line in task.context]


def events(found: Prediction, stage: str) -> list[TraceEvent]:
    return [event for event in found.trace if event.stage == stage]


# ---------------------------------------------------------------------- rounds


def test_triples_are_expanded_as_the_model_chooses(kg: MemoryGraph) -> None:
    llm = says(
        link=[links("守株待兔"), links(finished=True)],
        relations=[Selected(relations=("from", "like")), Selected(relations=("partOf",))],
        next=[goes("五蠹"), NextStep(entities=(), finished=True)],
    )
    found = ask(byokg(topk=1), QUESTION, kg, llm)
    assert kinds(llm) == ["link", "relations", "next", "relations", "next", "link", "answer"]
    assert context(llm) == [
        "守株待兔 -> from -> 五蠹",
        "守株待兔 -> like -> 刻舟求剑 | 守株缘木",
        "五蠹 -> partOf -> 韩非子",
    ]
    first, second = (task for task in llm.asked if isinstance(task, SelectRelations))
    assert [one.label for one in first.relations] == ["from", "like", "quotes"]
    assert (second.entities, [one.label for one in second.relations]) == (("五蠹",), ["partOf"])
    assert [event.entities for event in events(found, "expand")] == [("守株待兔",), ("五蠹",)]
    assert [len(event.triples) for event in events(found, "retrieve")] == [4]
    assert [piece.id for piece in found.evidence.triples] == ["t1", "t2", "t3", "t4"]
    assert (found.topics, found.status, found.adapter) == (("守株待兔",), "ok", "list")


def test_paths_and_shortest_paths_to_drafts(kg: MemoryGraph) -> None:
    llm = says(
        link=[links("五蠹", paths=[("partOf",), ("partOf", "by")], answers=("吕不韦", "韩非")), NOTHING]
    )
    found = ask(byokg(topk=1), QUESTION, kg, llm)
    assert context(llm) == ["五蠹 -> partOf -> 韩非子", "五蠹 -> partOf > 韩非子 > by -> 王先慎 | 韩非",
                            "五蠹 -> partOf > 韩非子 > by -> 韩非"]  # fmt: skip
    assert [path.id for path in found.evidence.paths] == ["p1", "p2", "p3"]
    (answer,) = found.answers
    assert (answer.entity_id, answer.support, answer.source) == ("韩非", ("p3",), "graph")
    linked = events(found, "link")[0]
    assert (linked.entities, linked.detail["drafts"]) == (("五蠹",), ["吕不韦", "韩非"])
    assert [event.op for event in events(found, "retrieve")] == ["agentic", "paths"]


def test_finish_ends_the_rounds_but_not_the_first(kg: MemoryGraph) -> None:
    llm = says(link=links("韩非子", finished=True))
    found = ask(byokg(topk=1, iterations=5), QUESTION, kg, llm)
    assert kinds(llm).count("link") == 2
    assert found.topics == ("韩非子",)
    first, second = (task for task in llm.asked if isinstance(task, LinkToGraph))
    assert (first.first, second.first) == (True, False)


def test_a_call_budget_of_fifteen(kg: MemoryGraph) -> None:
    greedy = says(
        link=links("守株待兔", "刻舟求剑", answers=("韩非",)),
        relations=Selected(relations=("from", "like", "partOf", "by")),
        next=goes("守株待兔", "刻舟求剑"),
    )
    ask(byokg(), QUESTION, kg, greedy)
    assert len(greedy.asked) == 15
    assert kinds(greedy) == [*["link", *["relations", "next"] * 3] * 2, "answer"]


def test_next_entities_are_taken_by_exactly_their_name(kg: MemoryGraph) -> None:
    llm = says(
        link=[links("守株待兔"), NOTHING],
        relations=Selected(relations=("from",)),
        next=[goes("五 蠹", "察今", "没有"), NextStep(entities=(), finished=True)],
    )
    found = ask(byokg(topk=1), QUESTION, kg, llm)
    assert events(found, "decide")[0].entities == ("察今",)  # in the graph, though not in the context


# ---------------------------------------------------------------------- linking


@pytest.mark.parametrize(
    ("settings", "mention", "linked"),
    [
        ({"topk": 1}, "守株待免", ("守株待兔",)),
        ({"topk": 2}, "守株待兔", ("守株待兔", "守株缘木")),
        ({"topk": 3}, "序", ("序一", "序二")),
        ({"topk": 1}, "守株待兔守株待兔守株待兔", ()),  # the name is shorter by more than four
        ({"topk": 1, "shorter_by": 9}, "守株待兔守株待兔守株待兔", ("守株待兔",)),
        ({"topk": 1}, "宋人有耕者。田中有株", ("引文",)),
    ],
)
def test_a_mention_is_linked_to_the_nearest_names(
    kg: MemoryGraph, settings: Any, mention: str, linked: tuple[str, ...]
) -> None:
    found = ask(byokg(iterations=1, **settings), QUESTION, kg, says(link=links(mention)))
    assert found.topics[: len(linked)] == linked
    assert bool(found.topics) == bool(linked)


def test_gold_anchors_stand_in_for_the_first_round_alone(kg: MemoryGraph) -> None:
    llm = says(link=[links("刻舟求剑"), links("守株待兔")])
    found = ask(byokg(topk=1), QUESTION, kg, llm, gold=GOLD, oracle=("anchors",))
    (linked,) = events(found, "link")
    (planned, *_) = events(found, "plan")
    assert (linked.entities, planned.entities) == (("韩非子",), ("守株待兔",))
    assert (linked.op, planned.op) == ("gold", "artifacts")
    assert ask(byokg(topk=1), QUESTION, kg, says(link=links("刻舟求剑")), gold=GOLD).topics == ("刻舟求剑",)


def test_gold_anchors_are_refused_where_nothing_is_linked() -> None:
    with pytest.raises(SettingError, match="kg_linker=false links no entities"):
        byokg(kg_linker=False, cypher_linker=True).check_oracle(("anchors",))


def test_what_the_model_says_from_memory_is_told_apart(kg: MemoryGraph) -> None:
    llm = says(
        link=links("守株待兔"),
        relations=Selected(relations=("from",)),
        answer=Generated(answers=("五蠹", "李白")),
    )
    found = ask(byokg(topk=1), QUESTION, kg, llm)
    assert [(a.text, a.source, bool(a.support)) for a in found.answers] == [
        ("五蠹", "graph", True),
        ("李白", "parametric", False),
    ]
    assert found.flags == ("parametric",)


def test_the_question_as_a_whole_can_be_linked(kg: MemoryGraph) -> None:
    llm = says(relations=Selected(relations=("from",)))
    found = ask(byokg(direct_query_linking=True, index="bm25", topk=1), "守株待兔", kg, llm)
    assert context(llm) == ["守株待兔 -> from -> 五蠹"]
    rounds = [event.detail["whole"] for event in found.trace if event.op == "artifacts"]
    assert (found.topics, rounds) == ((), [["守株待兔"]] * 2)  # in every round


# ---------------------------------------------------------------------- switches


@pytest.mark.parametrize(
    ("settings", "lines", "frontier"),
    [
        ({}, 3, ("五蠹", "守株缘木", "刻舟求剑", "引文")),
        ({"enforce_limits": True, "max_num_relations": 2, "max_num_entities": 1}, 2, ("五蠹",)),
        ({"enforce_limits": True, "max_num_triplets": 1}, 1, ("五蠹",)),
        ({"reranker": "tfidf", "max_num_triplets": 1}, 1, ("引文",)),
    ],
)
def test_limits_are_kept_only_if_enforced(kg: MemoryGraph, settings: Any, lines: int, frontier: Any) -> None:
    llm = says(
        link=[links("守株待兔"), NOTHING],
        relations=[Selected(relations=("from", "like", "quotes")), Selected(relations=())],
        next=[goes("五蠹", "守株缘木", "刻舟求剑", culture.PASSAGE), NextStep(entities=(), finished=True)],
    )
    found = ask(byokg(topk=1, **settings), "“守株待兔”的quotes是什么", kg, llm)
    assert len(context(llm)) == lines
    assert set(frontier) <= set(events(found, "decide")[0].entities)


def test_scoring_asks_no_model(kg: MemoryGraph) -> None:
    llm = says(link=[links("守株待兔"), NOTHING])
    found = ask(byokg(retriever="scoring", topk=1, scored_top=3), QUESTION, kg, llm)
    assert kinds(llm) == ["link", "link", "answer"]
    assert len(context(llm)) == 3
    assert [event.op for event in events(found, "retrieve")] == ["scoring"]


def test_inverse_edges_are_offered_and_walked(kg: MemoryGraph) -> None:
    llm = says(link=[links("王先慎", paths=[("^by", "^partOf")]), NOTHING])
    ask(byokg(inverse_edges=True, topk=1, iterations=1), QUESTION, kg, llm)
    assert context(llm) == ["王先慎 -> ^by > 韩非子 > ^partOf -> 五蠹 | 序"]
    assert "^by" in render(llm.asked[0])[1]["content"]


@pytest.mark.parametrize(("overlong", "status"), [("error", "error"), ("cut", "ok")])
def test_a_context_that_is_too_long(kg: MemoryGraph, overlong: str, status: str) -> None:
    llm = says(link=[links("守株待兔"), NOTHING], relations=Selected(relations=("from", "like")))
    found = ask(byokg(topk=1, max_input_tokens=5, overlong=overlong), QUESTION, kg, llm)
    assert (found.status, "context_overflow" in found.flags) == (status, True)
    if status == "ok":
        assert context(llm) == ["守株待兔 -> from -> 五蠹"]
        assert len(found.evidence.triples) == 1


def test_schemas_are_closed_to_what_is_offered(kg: MemoryGraph) -> None:
    llm = says(link=[links("守株待兔"), NOTHING], relations=Selected(relations=("from",)))
    ask(byokg(topk=1), QUESTION, kg, llm)
    link, relations, following = llm.asked[:3]
    names = ["by", "from", "like", "partOf", "quotes"]
    properties = link.output_schema()["properties"]
    assert properties["paths"]["items"]["items"]["enum"] == names
    assert (properties["opencypher"]["enum"], properties["finished"]["enum"]) == ([""], [False])
    assert relations.output_schema()["properties"]["relations"]["items"]["enum"] == ["from", "like", "quotes"]
    assert isinstance(following, ChooseNext)
    assert following.output_schema()["properties"]["entities"]["items"]["enum"] == ["五蠹"]
    many = following.model_copy(update={"names": tuple(map(str, range(1_000)))})
    assert many.output_schema()["properties"]["entities"]["items"] == {"type": "string"}


@pytest.mark.parametrize("language", ["zh", "en"])
def test_prompts_show_the_context_and_nothing_meant_for_rules(kg: MemoryGraph, language: Language) -> None:
    llm = says(link=[links("守株待兔"), NOTHING], relations=Selected(relations=("like",)))
    ask(byokg(topk=1, user_text="写简体字"), QUESTION, kg, llm)
    shown = [render(task, language)[1]["content"] for task in llm.asked]
    assert "守株待兔 -> like -> 刻舟求剑 | 守株缘木" in shown[2]
    assert all("Idiom" not in text and QUESTION in text for text in shown)
    assert [("写简体字" in text) for text in shown] == [True, False, False, True, True]
    cypher = WriteQueries(question=QUESTION, patterns=("(:Work)-[:by]->(:Person)",), feedback=("Q\n[1]",))
    assert "(:Work)-[:by]->(:Person)" in render(cypher, language)[1]["content"]


# ---------------------------------------------------------------------- queries


class Finds:
    """A store that takes Cypher: every query finds 韩非."""

    async def peek(self, text: str, *, rows: int, seconds: float) -> list[dict[str, Any]]:
        return [{"a.label": "韩非"}]


@pytest.fixture
def queryable(monkeypatch: pytest.MonkeyPatch, kg: MemoryGraph) -> MemoryGraph:
    """The graph as if its store ran Cypher."""
    monkeypatch.setattr(byokg_system, "runs_cypher", lambda graph: Finds())
    return kg


def test_queries_come_first_in_the_context_and_two_calls_more(queryable: MemoryGraph) -> None:
    llm = says(
        cypher=Queries(linking="MATCH (a) RETURN a.label", main="MERGE (a)"),
        link=links("守株待兔", "刻舟求剑", answers=("韩非",), opencypher="MATCH (b) RETURN b.label"),
        relations=Selected(relations=("from", "like", "partOf", "by")),
        next=goes("守株待兔", "刻舟求剑"),
    )
    found = ask(byokg(cypher_linker=True), QUESTION, queryable, llm)
    assert len(llm.asked) == 17
    assert context(llm)[:2] == [
        'MATCH (a) RETURN a.label\n[{"a.label":"韩非"}]',
        "MERGE (a)\n(not run: MERGE is not allowed in a query that reads)",
    ]
    assert [text.id for text in found.evidence.texts] == ["q1", "q2"]  # what was not run shows nothing
    again = [task for task in llm.asked if isinstance(task, WriteQueries)][1]
    assert len(again.feedback) == 2
    assert [line for line in context(llm) if line.startswith("MATCH (b)")] == [found.evidence.texts[1].text]


def test_the_cypher_linker_alone(queryable: MemoryGraph) -> None:
    llm = says(cypher=Queries(linking="", main="MATCH (a) RETURN a.label", finished=True))
    found = ask(byokg(cypher_linker=True, kg_linker=False), QUESTION, queryable, llm)
    assert kinds(llm) == ["cypher", "answer"]
    assert found.answers[0].entity_id == "韩非"


def test_feedback_is_context_as_well(queryable: MemoryGraph) -> None:
    llm = says(cypher=Queries(linking="", main=f"MATCH (a) RETURN a.label // {'长' * 100}"))
    found = ask(byokg(cypher_linker=True, max_input_tokens=20), QUESTION, queryable, llm)
    assert (kinds(llm), found.status, found.flags) == (["cypher"], "error", ("context_overflow",))
    found = ask(byokg(cypher_linker=True, max_input_tokens=20, overlong="cut"), QUESTION, queryable, llm)
    assert (context(llm), found.evidence.ids()) == ([], frozenset())


@pytest.mark.parametrize("status", ["refused", "unparsed", "error", "timeout", "skipped"])
def test_a_call_for_queries_that_fails(queryable: MemoryGraph, status: ReplyStatus) -> None:
    llm = says(cypher=Reply(status, error="no"))
    found = ask(byokg(cypher_linker=True, kg_linker=False), QUESTION, queryable, llm)
    if status in ("refused", "unparsed"):
        assert (kinds(llm), found.status) == (["cypher", "cypher", "answer"], "ok")
    else:
        assert (kinds(llm), found.status) == (["cypher"], status)


def test_no_cypher_without_a_store_that_runs_it(kg: MemoryGraph) -> None:
    llm = says(link=links(opencypher="MATCH (a) RETURN a"))
    assert ask(byokg(), QUESTION, kg, llm).evidence.texts == ()
    with pytest.raises(SettingError, match="runs no Cypher"):
        ask(byokg(cypher_linker=True), QUESTION, kg, llm)


def test_one_of_the_two_linkers_is_needed(kg: MemoryGraph) -> None:
    with pytest.raises(SettingError, match="nothing would be retrieved"):
        ask(byokg(kg_linker=False), QUESTION, kg, says())


# ---------------------------------------------------------------------- failures and oddities


@pytest.mark.parametrize("status", ["refused", "unparsed"])
@pytest.mark.parametrize("call", ["link", "relations", "next"])
def test_a_reply_without_tags_skips_its_tool(kg: MemoryGraph, call: str, status: ReplyStatus) -> None:
    replies = {"link": links("守株待兔"), "relations": Selected(relations=("from",)), call: Reply(status)}
    found = ask(byokg(topk=1), QUESTION, kg, says(**replies))
    assert found.status == "ok"
    assert ("parse_error" in found.flags) == (status == "unparsed")


@pytest.mark.parametrize("status", ["error", "timeout", "skipped"])
@pytest.mark.parametrize("call", ["link", "relations", "next", "answer"])
def test_an_error_ends_the_question(kg: MemoryGraph, call: str, status: ReplyStatus) -> None:
    replies = {"link": links("守株待兔"), call: Reply(status, error="no")}
    llm = says(**replies)
    found = ask(byokg(topk=1), QUESTION, kg, llm)
    assert (found.status, found.error, kinds(llm)[-1]) == (status, "no", call)


@pytest.mark.parametrize("status", ["refused", "unparsed"])
def test_without_an_answer_there_is_none(kg: MemoryGraph, status: ReplyStatus) -> None:
    assert ask(byokg(), QUESTION, kg, says(answer=Reply(status))).status == status


def test_nothing_linked_is_answered_from_knowledge(kg: MemoryGraph) -> None:
    llm = says()
    found = ask(byokg(), "Who wrote it?", kg, llm)
    assert kinds(llm) == ["link", "link", "answer"]
    assert (found.status, found.flags) == ("ok", ("no_evidence", "parametric"))
    assert ask(byokg(), "Who wrote it?", kg, says(answer=Generated(answers=()))).status == "empty"


def many(found: Prediction) -> int:
    return len(found.evidence.triples)


@pytest.mark.parametrize(
    ("mention", "check"),
    [
        ("中心", lambda found: many(found) == 1_000 and "truncated" in found.flags),
        ("孤零零", lambda found: many(found) == 0 and "no_evidence" in found.flags),
        (odd_graph.ODD, lambda found: found.answers[0].support == ("t1",)),
        ("圆圈", lambda found: many(found) == 1),
    ],
)
def test_oddities(odd: MemoryGraph, mention: str, check: Callable[[Prediction], bool]) -> None:
    llm = says(
        link=[links(mention), NOTHING],
        relations=Selected(relations=("rel",)),
        answer=Generated(answers=(odd_graph.END,)),
    )
    found = ask(byokg(topk=1), "……？", odd, llm)
    assert found.status == "ok"
    assert found.answers[0].entity_id == odd_graph.END
    assert check(found)
