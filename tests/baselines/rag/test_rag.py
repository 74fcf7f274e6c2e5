"""RAG on the hand-made culture: passages, windows, what is found and shown, what becomes of the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from clwqa_baselines.rag.config import RagConfig
from clwqa_baselines.rag.passages import Passages
from clwqa_baselines.rag.system import Rag
from clwqa_baselines.rag.tasks import AnswerFromPassages
from clwqa_bench.dataset import Dataset
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import Triple
from clwqa_bench.llm.protocol import Reply
from clwqa_bench.llm.tasks import AnswerClosedBook, ClosedBookAnswer, EvidenceAnswer, Task, render
from clwqa_bench.predictions import Citation, PredictedAnswer
from tests import tiny_dataset
from tests.baselines import culture
from tests.baselines.culture import PASSAGE, Double, ask

ENTRY = f"Idiom类：守株待兔\nfrom：五蠹\nlike：刻舟求剑；守株缘木\nquotes：{PASSAGE}"


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return culture.graph(tmp_path_factory.mktemp("culture"))


def passages(kg: MemoryGraph, **settings: Any) -> Passages:
    return Passages(kg, kg.ontology, RagConfig(**settings))


def rag(**settings: Any) -> Rag:
    return Rag(RagConfig(**settings))


def answers(*texts: str, cites: tuple[int, ...] = ()) -> Double:
    def reply(task: Task[Any]) -> Any:
        if isinstance(task, AnswerClosedBook):
            return ClosedBookAnswer(answers=texts)
        return EvidenceAnswer(answers=texts, citations=cites)

    return Double(reply)


# ---------------------------------------------------------------------- passages


def test_an_entry_says_what_a_node_points_to(kg: MemoryGraph) -> None:
    found = passages(kg)
    assert dict(found)["0 守株待兔"] == ENTRY
    assert dict(found)["0 韩非"] == "Person类：韩非（又称韩非子）"
    passage = found.passage("0 守株待兔")
    assert (passage.node, passage.text) == ("守株待兔", ENTRY)
    assert Triple("守株待兔", "from", "五蠹") in passage.triples
    assert len(passage.triples) == 4


def test_a_node_alone_says_only_its_own_text(kg: MemoryGraph) -> None:
    found = dict(passages(kg, passages="nodes"))
    assert found["0 守株待兔"] == "Idiom类：守株待兔"
    assert found["0 引文"] == f"Quotation类：{PASSAGE}"


def test_windows_overlap_and_end_with_the_text(kg: MemoryGraph) -> None:
    found = passages(kg, chunk=30, overlap=10)
    windows = [text for id, text in found if id.endswith(" 守株待兔")]
    assert windows == [ENTRY[0:30], ENTRY[20:50], ENTRY[40:70], ENTRY[60:]]
    second = found.passage("1 守株待兔")
    assert second.text == windows[1]
    assert {triple.relation for triple in second.triples} <= {"like", "quotes"}


def test_explanations_can_be_left_out(tmp_path: Path) -> None:
    tiny_dataset.write(tmp_path)
    tiny = Dataset.open(tmp_path).kg()
    assert "不知变通" in dict(passages(tiny))["0 word:守株待兔"]
    without = dict(passages(tiny, explanations=False))
    assert "不知变通" not in "".join(without.values())
    assert "兔走触株" in without["0 word:守株待兔"]


def test_an_overlap_must_leave_something_new() -> None:
    with pytest.raises(ValidationError, match="overlap"):
        RagConfig(chunk=64, overlap=64)


# ---------------------------------------------------------------------- the system


@pytest.mark.parametrize("retriever", ["bm25", "tfidf"])
def test_the_best_passages_are_shown_in_order(retriever: str, kg: MemoryGraph) -> None:
    llm = answers("五蠹", cites=(1,))
    found = ask(rag(retriever=retriever, top_k=2), "“守株待兔”出自哪里？", kg, llm)
    assert [text.id for text in found.evidence.texts] == ["p1", "p2"]
    assert (found.evidence.texts[0].text, found.evidence.texts[0].entity_id) == (ENTRY, "守株待兔")
    (task,) = llm.asked
    assert isinstance(task, AnswerFromPassages)
    assert [(passage.number, passage.text) for passage in task.passages] == [
        (number, text.text) for number, text in enumerate(found.evidence.texts, start=1)
    ]
    for language in ("zh", "en"):
        _, user = render(task, language)  # type: ignore[arg-type]
        assert ENTRY in user["content"]
    assert found.answers == (PredictedAnswer(text="五蠹", entity_id="五蠹"),)
    assert found.citations == (Citation(marker="[1]", evidence_id="p1"),)
    assert [event.stage for event in found.trace] == ["retrieve", "answer", "adapt"]
    assert found.usage["answer"].calls == 1


def test_own_knowledge_is_allowed_or_not(kg: MemoryGraph) -> None:
    said = []
    for allowed in (True, False):
        llm = answers("五蠹")
        ask(rag(own_knowledge=allowed), "守株待兔", kg, llm)
        said.append(render(llm.asked[0])[1]["content"])
    assert "自己的知识" in said[0]
    assert "自己的知识" not in said[1]


def test_without_passages_the_model_is_asked_what_it_knows(kg: MemoryGraph) -> None:
    llm = answers("韩非子")
    found = ask(rag(), "???", kg, llm)
    assert llm.asked == [AnswerClosedBook(question="???")]
    assert (found.status, found.flags) == ("ok", ("no_evidence", "parametric"))


def test_what_the_model_says_from_memory_is_told_apart(kg: MemoryGraph) -> None:
    found = ask(rag(), "守株待兔", kg, answers("五蠹", "李白", cites=(1,)))
    assert [(a.text, a.source) for a in found.answers] == [("五蠹", "graph"), ("李白", "parametric")]
    assert found.flags == ("parametric",)


@pytest.mark.parametrize("status", ["refused", "unparsed", "error", "timeout", "skipped"])
def test_a_failed_call_is_the_status_of_the_question(status: Any, kg: MemoryGraph) -> None:
    found = ask(rag(), "守株待兔", kg, Double(lambda task: Reply(status, raw="……", error="why")))
    assert (found.status, found.answers, found.error, found.raw_answer) == (status, (), "why", "……")
    assert found.evidence.texts
