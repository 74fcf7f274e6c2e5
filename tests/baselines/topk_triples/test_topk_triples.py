"""Top-k triples on the hand-made culture: candidates, order, what the model is shown, what becomes of its answer."""

from __future__ import annotations

from typing import Any

import pytest

from clwqa_baselines.topk_triples import system
from clwqa_baselines.topk_triples.config import TopKTriplesConfig
from clwqa_baselines.topk_triples.system import TopKTriples
from clwqa_baselines.topk_triples.tasks import AnswerFromFacts
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.llm.protocol import Reply
from clwqa_bench.llm.tasks import AnswerClosedBook, ClosedBookAnswer, EvidenceAnswer, Task, render
from clwqa_bench.predictions import Citation, PredictedAnswer, Prediction, TraceEvent
from clwqa_bench.systems import SettingError
from tests.baselines import culture
from tests.baselines.culture import PASSAGE, Double, ask

QUESTION = "“守株待兔”的from是什么？"  # relations of the culture are called by their names
FROM = "守株待兔 -from-> 五蠹"
AROUND = {FROM, "守株待兔 -like-> 守株缘木", "守株待兔 -like-> 刻舟求剑", "守株待兔 -quotes-> 引文"}


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return culture.graph(tmp_path_factory.mktemp("culture"))


def topk(**settings: Any) -> TopKTriples:
    return TopKTriples(TopKTriplesConfig(**settings))


def answers(*texts: str, cites: tuple[int, ...] = ()) -> Double:
    def reply(task: Task[Any]) -> Any:
        if isinstance(task, AnswerClosedBook):
            return ClosedBookAnswer(answers=texts)
        return EvidenceAnswer(answers=texts, citations=cites)

    return Double(reply)


def shown(found: Prediction) -> list[str]:
    pieces = (piece.triple for piece in found.evidence.triples)
    return [f"{t.head} -{t.relation}-> {t.tail}" for t in pieces]


def event(found: Prediction, stage: str) -> TraceEvent:
    (event,) = [event for event in found.trace if event.stage == stage]
    return event


def test_linked_shows_the_triples_around_what_is_named_the_most_similar_first(kg: MemoryGraph) -> None:
    llm = answers("五蠹", cites=(1, 9))
    found = ask(topk(), QUESTION, kg, llm)
    assert (shown(found)[0], set(shown(found))) == (FROM, AROUND)
    scores = [piece.score or 0.0 for piece in found.evidence.triples]
    assert scores == sorted(scores, reverse=True)
    assert len(event(found, "retrieve").triples) == len(event(found, "rank").triples) == 4
    assert found.topics == event(found, "link").entities == ("守株待兔",)
    answer = PredictedAnswer(text="五蠹", entity_id="五蠹", support=("t1",))
    assert (found.status, found.answers, found.adapter) == ("ok", (answer,), "list")
    assert found.citations == (
        Citation(marker="[1]", evidence_id="t1"),
        Citation(marker="[9]", evidence_id="9", ok=False),
    )
    assert found.usage["answer"].calls == len(llm.asked) == 1


def test_only_the_best_k_stay(kg: MemoryGraph) -> None:
    found = ask(topk(top_k=1), QUESTION, kg, answers("五蠹"))
    assert shown(found) == [FROM]
    assert len(event(found, "retrieve").triples) == 4


def test_equal_triples_are_in_the_order_of_their_ids(
    kg: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "open_similarity", lambda kind: lambda question, texts: [0.5] * len(texts))
    assert shown(ask(topk(), QUESTION, kg, answers("五蠹"))) == sorted(AROUND)


@pytest.mark.parametrize("retriever", ["bm25", "tfidf"])
def test_global_looks_at_all_triples_and_needs_no_link(retriever: str, kg: MemoryGraph) -> None:
    found = ask(topk(scope="global", retriever=retriever, top_k=2), "by 王先慎", kg, answers("庄子集解"))
    assert set(shown(found)) == {"庄子集解 -by-> 王先慎", "韩非子 -by-> 王先慎"}
    assert found.answers[0].entity_id == "庄子集解"
    assert (found.topics, [event.stage for event in found.trace]) == (
        (),
        ["retrieve", "rank", "answer", "adapt"],
    )


def test_gold_anchors_are_of_no_use_where_nothing_is_linked() -> None:
    topk().check_oracle(("anchors", "evidence"))
    topk(scope="global").check_oracle(("evidence",))
    with pytest.raises(SettingError, match="scope=global starts from no entities"):
        topk(scope="global").check_oracle(("anchors",))


@pytest.mark.parametrize(
    ("form", "header", "text"),
    [
        ("triples", "", "(守株待兔, quotes, {})"),
        ("csv", "src,relation,dst", "守株待兔,quotes,{}"),
        ("sentences", "", "“守株待兔”的“quotes”是“{}”。"),
    ],
)
def test_how_triples_are_shown(form: str, header: str, text: str, kg: MemoryGraph) -> None:
    llm = answers("五蠹")
    ask(topk(form=form), QUESTION, kg, llm)
    (task,) = llm.asked
    assert isinstance(task, AnswerFromFacts)
    assert task.header == header
    assert text.format(PASSAGE) in [fact.text for fact in task.facts]
    for language in ("zh", "en"):
        _, user = render(task, language)  # type: ignore[arg-type]
        assert text.format(PASSAGE) in user["content"]
        assert QUESTION in user["content"]


def test_a_long_triple_is_cut(kg: MemoryGraph) -> None:
    llm = answers("五蠹")
    ask(topk(fact_chars=20), QUESTION, kg, llm)
    texts = [fact.text for fact in llm.asked[0].facts]
    assert max(map(len, texts)) == 20
    assert any(text.endswith("…") for text in texts)


def test_random_triples_are_the_control(kg: MemoryGraph) -> None:
    some = [shown(ask(topk(choose="random", top_k=2), QUESTION, kg, answers("五蠹"))) for _ in range(2)]
    assert some[0] == some[1]  # chance is the question's own
    assert len(some[0]) == 2
    assert set(some[0]) <= AROUND
    anywhere = ask(topk(choose="random", scope="global", top_k=3), QUESTION, kg, answers("五蠹"))
    assert len(set(shown(anywhere))) == 3


def test_citations_are_closed_to_what_is_shown(kg: MemoryGraph) -> None:
    llm = answers("五蠹")
    ask(topk(top_k=2), QUESTION, kg, llm)
    assert llm.asked[0].output_schema()["properties"]["citations"]["items"]["enum"] == [1, 2]


@pytest.mark.parametrize(
    "text", ["今天天气怎么样？", "“買椟还珠”出自哪里？"]
)  # nothing named; an isolated node
def test_without_triples_the_model_is_asked_what_it_knows(text: str, kg: MemoryGraph) -> None:
    llm = answers("韩非子")
    found = ask(topk(), text, kg, llm)
    assert llm.asked == [AnswerClosedBook(question=text)]
    assert (found.status, found.flags) == ("ok", ("no_evidence", "parametric"))
    assert found.answers[0].source == "parametric"


def test_what_the_model_says_from_memory_is_told_apart(kg: MemoryGraph) -> None:
    found = ask(topk(), QUESTION, kg, answers("五蠹", "李白", cites=(1,)))
    assert [(a.text, a.source, a.support) for a in found.answers] == [
        ("五蠹", "graph", ("t1",)),
        ("李白", "parametric", ()),
    ]
    assert found.flags == ("parametric",)


@pytest.mark.parametrize("status", ["refused", "unparsed", "error", "timeout", "skipped"])
def test_a_failed_call_is_the_status_of_the_question(status: Any, kg: MemoryGraph) -> None:
    found = ask(topk(), QUESTION, kg, Double(lambda task: Reply(status, raw="……", error="why")))
    assert (found.status, found.answers, found.error, found.raw_answer) == (status, (), "why", "……")
    assert shown(found)
