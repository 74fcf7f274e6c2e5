"""MindMap as a whole: what it asks, shows, answers and records, whatever the model does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clwqa_baselines.mindmap.config import MindMapConfig
from clwqa_baselines.mindmap.system import MindMap
from clwqa_baselines.mindmap.tasks import (
    AnswerWithMindMap,
    Entities,
    ExtractEntities,
    MindMapAnswer,
    Probe,
    Sentence,
    Sentences,
    Sureness,
    Verbalise,
)
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.llm.protocol import Reply, ReplyStatus
from clwqa_bench.llm.tasks import Answers, ExtractAnswers, Language, Task, render
from clwqa_bench.predictions import Citation, Prediction, TraceEvent
from clwqa_bench.records import TripleRef
from tests.baselines import culture, odd_graph
from tests.baselines.culture import Double, ask
from tests.baselines.culture_gold import GOLD
from tests.baselines.worlds import world

QUESTION = "“守株待兔”和韩非子是什么关系？"


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return culture.graph(tmp_path_factory.mktemp("culture"))


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return odd_graph.graph(tmp_path_factory.mktemp("odd"))


def mindmap(**settings: Any) -> MindMap:
    return MindMap(MindMapConfig(**settings))


def reads(
    *mentions: str, answer: str | Reply[Any] = "韩非", inference: str = "守株待兔 [P1]", **replies: Any
) -> Double:
    """A model that names these, writes sentences and answers so; `replies` by the id of a task go before that."""

    def reply(task: Task[Any]) -> Any:
        if (given := replies.get(task.id.removeprefix("mindmap-").replace("-", "_"))) is not None:
            return given(task) if callable(given) else given
        if isinstance(task, ExtractEntities):
            return Entities(entities=mentions)
        if isinstance(task, Verbalise):
            return Sentences(
                sentences=tuple(Sentence(number=p.number, text=f"句{p.number}") for p in task.pieces)
            )
        if isinstance(task, AnswerWithMindMap):
            if isinstance(answer, Reply):
                return answer
            return MindMapAnswer(answer=answer, inference=inference, tree="")
        return Sureness(score=0.9) if isinstance(task, Probe) else Answers(answers=())

    return Double(reply)


def event(found: Prediction, stage: str) -> TraceEvent:
    return next(event for event in found.trace if event.stage == stage)


def ids(llm: Double) -> list[str]:
    return [task.id.removeprefix("mindmap-") for task in llm.asked]


def test_four_calls_and_what_each_is_shown(kg: MemoryGraph) -> None:
    llm = reads("守株待兔", "王先慎")
    found = ask(mindmap(), QUESTION, kg, llm)
    assert ids(llm) == ["extract", "verbalise", "verbalise", "answer"]
    _, paths, around, answer = llm.asked
    assert isinstance(paths, Verbalise)
    assert isinstance(around, Verbalise)
    assert isinstance(answer, AnswerWithMindMap)
    assert {piece.text for piece in paths.pieces} == {
        "守株待兔->from->五蠹->partOf->韩非子->by->王先慎",
        "守株待兔->like->守株缘木->from->韩非子->by->王先慎",
    }
    assert {piece.text for piece in around.pieces} == {
        "守株待兔->from->五蠹",
        "守株待兔->like->刻舟求剑,守株缘木",
        f"守株待兔->quotes->{culture.PASSAGE}",
    }
    assert [piece.text for piece in (*answer.paths, *answer.neighbours)] == [
        "句1",
        "句2",
        "句1",
        "句2",
        "句3",
    ]
    assert [(a.text, a.entity_id, a.source) for a in found.answers] == [("韩非", "韩非", "graph")]
    assert found.raw_answer == "Output 1:\n韩非\n\nOutput 2:\n守株待兔 [P1]\n\nOutput 3:\n"
    assert (found.native_format, found.adapter, found.status) == ("prose", "wrapper", "ok")


def test_evidence_and_trace_hold_what_was_found_and_what_was_told(kg: MemoryGraph) -> None:
    found = ask(mindmap(paths=1, neighbours=1), QUESTION, kg, reads("守株待兔", "王先慎"))
    retrieved, pruned = event(found, "retrieve"), event(found, "prune")
    assert event(found, "link").entities == found.topics == ("守株待兔", "王先慎")
    assert [path.id for path in retrieved.paths] == ["p1", "p2"]
    assert len(retrieved.triples) == 4
    assert ([path.id for path in pruned.paths], pruned.dropped) == (["p1"], ("p2",))
    assert pruned.triples == (TripleRef(head="守株待兔", relation="from", tail="五蠹"),)
    assert [path.id for path in found.evidence.paths] == ["p1"]
    assert [piece.id for piece in found.evidence.triples] == ["n1.1"]
    assert {stage: used.calls for stage, used in found.usage.items() if used.calls} == {
        "link": 1, "refine": 2, "answer": 1,
    }  # fmt: skip


def test_marks_in_the_text_are_citations(kg: MemoryGraph) -> None:
    llm = reads("守株待兔", "王先慎", inference="见 [P2]，【N2】，[P9]，[模型]")
    assert ask(mindmap(), QUESTION, kg, llm).citations == (
        Citation(marker="[P2]", evidence_id="p2"),
        Citation(marker="[N2]", evidence_id="n2.1"),
        Citation(marker="[N2]", evidence_id="n2.2"),
        Citation(marker="[P9]", evidence_id="P9", ok=False),
    )


def test_one_entity_has_no_paths_and_no_call_for_them(kg: MemoryGraph) -> None:
    llm = reads("守株待兔")
    found = ask(mindmap(), QUESTION, kg, llm)
    assert ids(llm) == ["extract", "verbalise", "answer"]
    assert found.evidence.paths == ()


def test_a_mention_takes_the_next_entity_if_its_best_is_taken(kg: MemoryGraph) -> None:
    found = ask(mindmap(), QUESTION, kg, reads("序", "《序》", "守株待免"))
    assert found.topics == ("序一", "序二", "守株待兔")
    assert list(event(found, "link").detail["scores"].values()) == [1.0, 1.0, 1.0]
    assert ask(mindmap(), QUESTION, kg, reads("不在图中的书")).topics == (
        "引文",
    )  # the nearest, whatever it is
    assert ask(mindmap(threshold=0.5), QUESTION, kg, reads("不在图中的书")).topics == ()


@pytest.mark.parametrize(
    ("no_mention", "asked", "status"),
    [("stop", ["extract"], "empty"), ("answer", ["extract", "answer"], "ok")],
)
def test_a_question_that_names_nothing(
    kg: MemoryGraph, no_mention: str, asked: list[str], status: str
) -> None:
    llm = reads()
    found = ask(mindmap(no_mention=no_mention), "Who wrote it?", kg, llm)
    assert (ids(llm), found.status) == (asked, status)
    assert "no_evidence" in found.flags
    assert ("parametric" in found.flags) == (status == "ok")


def test_linked_topics_and_gold_anchors_need_no_extraction(kg: MemoryGraph) -> None:
    llm = reads()
    found = ask(mindmap(topics="linked"), QUESTION, kg, llm)
    assert (ids(llm)[0], found.topics) == ("verbalise", ("守株待兔",))
    found = ask(mindmap(), QUESTION, kg, llm, gold=GOLD, oracle=("anchors",))
    assert (event(found, "link").op, found.topics) == ("gold", ("韩非子",))


# ---------------------------------------------------------------------- switches


PROSE: dict[str, Any] = {"answer": "它出自韩非所著之书。", "extract_answers": Answers(answers=("韩非",))}


def test_at_most_five_calls(kg: MemoryGraph) -> None:
    llm = reads("守株待兔", "王先慎", **PROSE)
    ask(mindmap(), QUESTION, kg, llm)
    assert ids(llm) == ["extract", "verbalise", "verbalise", "answer", "extract-answers"]


def test_with_the_probe_at_most_eleven_calls(kg: MemoryGraph) -> None:
    unsure = reads("守株待兔", "王先慎", probe=Sureness(score=0.6))
    ask(mindmap(probe=True), QUESTION, kg, unsure)
    assert ids(unsure) == [
        "extract", *["verbalise", "probe", "verbalise"] * 2, "answer", "probe", "answer",
    ]  # fmt: skip
    sure = reads("守株待兔", "王先慎", probe=Sureness(score=0.61))
    ask(mindmap(probe=True), QUESTION, kg, sure)
    assert len(sure.asked) == 7
    broken = reads("守株待兔", "王先慎", probe=Reply("unparsed"))  # no number: as in the code, asked again
    ask(mindmap(probe=True), QUESTION, kg, broken)
    assert len(broken.asked) == 10
    prose = reads("守株待兔", "王先慎", probe=Sureness(score=0.0), **PROSE)
    ask(mindmap(probe=True), QUESTION, kg, prose)
    assert len(prose.asked) == 11


def test_a_search_for_paths_that_was_cut_is_flagged(kg: MemoryGraph) -> None:
    llm = reads("守株待兔", "王先慎")
    cut = ask(mindmap(most_paths=1), QUESTION, kg, llm)
    assert (len(cut.evidence.paths), cut.flags) == (1, ("truncated",))
    assert ask(mindmap(most_paths=2), QUESTION, kg, llm).flags == ()
    used_up = ask(
        mindmap(most_paths=1), QUESTION, kg, reads("守株待兔", "王先慎", verbalise=Reply("skipped"))
    )
    assert (used_up.status, used_up.flags) == ("skipped", ("truncated",))


def test_a_thousand_shortest_paths_are_looked_at(tmp_path: Path) -> None:
    """甲甲 to 乙乙 over forty nodes and forty more, each with each: 1,600 shortest paths."""
    here, there = ([f"{side}{number:02}" for number in range(40)] for side in ("左边", "右边"))
    triples = [
        *(("甲甲", "r1", one) for one in here),
        *((one, "r1", other) for one in here for other in there),
        *((other, "r1", "乙乙") for other in there),
    ]
    kg = world(tmp_path, triples)
    found = ask(mindmap(), "甲甲和乙乙？", kg, reads("甲甲", "乙乙", answer="乙乙"))
    assert (len(found.evidence.paths), found.flags) == (5, ("truncated",))
    every = ask(
        mindmap(most_paths=1_600, neighbours=1), "甲甲和乙乙？", kg, reads("甲甲", "乙乙", answer="乙乙")
    )
    assert every.flags == ()


def test_inverse_edges_join_what_points_to_the_same(kg: MemoryGraph) -> None:
    llm = reads("守株待兔", "庄子集解")
    assert ask(mindmap(), QUESTION, kg, llm).evidence.paths == ()
    found = ask(mindmap(inverse_edges=True), QUESTION, kg, llm)
    assert found.evidence.paths[0].text == "守株待兔->from->五蠹->partOf->韩非子->by->王先慎<-by<-庄子集解"
    assert found.evidence.paths[0].triples[-1] == TripleRef(head="庄子集解", relation="by", tail="王先慎")


@pytest.mark.parametrize(("repeat", "text"), [(True, "五蠹->五蠹"), (False, "from->五蠹->partOf")])
def test_the_joint_is_written_twice_as_in_the_code(kg: MemoryGraph, repeat: bool, text: str) -> None:
    found = ask(mindmap(repeat_joint=repeat), QUESTION, kg, reads("守株待兔", "五蠹", "韩非子"))
    assert text in found.evidence.paths[0].text


def test_without_sentences_evidence_is_shown_as_it_is(kg: MemoryGraph) -> None:
    llm = reads("守株待兔")
    ask(mindmap(verbalise=False), QUESTION, kg, llm)
    assert ids(llm) == ["extract", "answer"]
    assert "守株待兔->from->五蠹" in render(llm.asked[-1])[1]["content"]


# ---------------------------------------------------------------------- prose, failures, oddities


def test_answers_are_picked_out_of_prose_by_one_more_call(kg: MemoryGraph) -> None:
    llm = reads("守株待兔", answer="它出自五蠹这一篇。", extract_answers=Answers(answers=("五蠹", "李斯")))
    found = ask(mindmap(), QUESTION, kg, llm)
    assert isinstance(llm.asked[-1], ExtractAnswers)
    assert [(a.text, a.entity_id, a.source) for a in found.answers] == [("五蠹", "五蠹", "adapter")]
    assert (found.adapter, found.flags) == ("extractor", ())


def test_an_answer_in_prose_that_no_evidence_shows_is_the_models_own(kg: MemoryGraph) -> None:
    llm = reads("守株待兔", answer="它的作者是李白。", extract_answers=Answers(answers=("李白",)))
    found = ask(mindmap(), QUESTION, kg, llm)
    assert [(a.text, a.source) for a in found.answers] == [("李白", "parametric")]
    assert found.flags == ("parametric",)


@pytest.mark.parametrize("status", ["refused", "unparsed", "error", "timeout"])
@pytest.mark.parametrize("call", ["extract", "answer"])
def test_a_call_it_needs_decides_the_status(kg: MemoryGraph, call: str, status: ReplyStatus) -> None:
    reply: Reply[Any] = Reply(status, error="no")
    llm = reads(extract=reply) if call == "extract" else reads("守株待兔", answer=reply)
    found = ask(mindmap(), QUESTION, kg, llm)
    assert (found.status, found.error) == (status, "no")


def test_sentences_that_fail_leave_the_evidence_as_it_is(kg: MemoryGraph) -> None:
    llm = reads("守株待兔", answer="五蠹", verbalise=Reply("unparsed"))
    found = ask(mindmap(), QUESTION, kg, llm)
    answer = llm.asked[-1]
    assert isinstance(answer, AnswerWithMindMap)
    assert answer.neighbours[0].text == "守株待兔->from->五蠹"
    assert (found.status, found.flags) == ("ok", ("parse_error",))


def test_what_no_sentence_was_made_of_is_not_told(kg: MemoryGraph) -> None:
    llm = reads("守株待兔", verbalise=Sentences(sentences=(Sentence(number=2, text="只有这句"),)))
    found = ask(mindmap(), QUESTION, kg, llm)
    answer = llm.asked[-1]
    assert isinstance(answer, AnswerWithMindMap)
    assert [(piece.number, piece.text) for piece in answer.neighbours] == [(2, "只有这句")]
    told = tuple(piece.triple for piece in found.evidence.triples)
    assert {(t.relation, t.tail) for t in told} == {("like", "刻舟求剑"), ("like", "守株缘木")}
    assert [event.triples for event in found.trace if event.stage == "prune"][-1] == told


def test_a_piece_that_was_not_told_cannot_be_cited(kg: MemoryGraph) -> None:
    only = Sentences(sentences=(Sentence(number=2, text="只有这句"),))
    found = ask(mindmap(), QUESTION, kg, reads("守株待兔", inference="[N1] [N2]", verbalise=only))
    assert [(cited.evidence_id, cited.ok) for cited in found.citations] == [
        ("n1.1", False),
        ("n2.1", True),
        ("n2.2", True),
    ]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_prompts_show_numbers_and_texts_alone(kg: MemoryGraph, language: Language) -> None:
    llm = reads("守株待兔", "王先慎")
    ask(mindmap(probe=True, paths=1), QUESTION, kg, llm)
    shown = {task.id: render(task, language)[1]["content"] for task in llm.asked}
    assert QUESTION in shown["mindmap-extract"]
    assert "1. 守株待兔->" in shown["mindmap-verbalise"]
    assert "[P1] 句1" in shown["mindmap-answer"]
    assert "Output 1:" in shown["mindmap-probe"]
    assert not any("Idiom" in text for text in shown.values())


def test_numbers_of_sentences_are_closed(kg: MemoryGraph) -> None:
    llm = reads("守株待兔")
    ask(mindmap(), QUESTION, kg, llm)
    (number,) = [
        task.output_schema()["properties"]["sentences"]["items"]["properties"]["number"]
        for task in llm.asked
        if isinstance(task, Verbalise)
    ]
    assert number == {"type": "integer", "enum": [1, 2, 3]}


def many(prediction: Prediction) -> int:
    return len(prediction.evidence.triples)


@pytest.mark.parametrize(
    ("mention", "check"),
    [
        ("中心", lambda found: many(found) == 1_000 and "truncated" in found.flags),
        ("孤零零", lambda found: many(found) == 0 and found.flags == ("no_evidence", "parametric")),
        (odd_graph.ODD, lambda found: found.answers[0].entity_id == odd_graph.END),
        ("圆圈", lambda found: many(found) == 1),
    ],
)
def test_oddities(odd: MemoryGraph, mention: str, check: Callable[[Prediction], bool]) -> None:
    found = ask(mindmap(), "……？", odd, reads(mention, answer=odd_graph.END))
    assert found.status == "ok"
    assert check(found)
