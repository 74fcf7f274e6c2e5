"""Zero-shot and chain of thought: one call, the model's words, no graph."""

from __future__ import annotations

import pytest

from clwqa_baselines.llm_only import ChainOfThought, ZeroShot
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.llm.protocol import Reply, ReplyStatus
from clwqa_bench.llm.tasks import AnswerClosedBook, ClosedBookAnswer
from clwqa_bench.predictions import PredictedAnswer
from tests.baselines import culture
from tests.baselines.culture import Double, ask


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return culture.graph(tmp_path_factory.mktemp("culture"))


@pytest.mark.parametrize(("kind", "reasoned"), [(ZeroShot, False), (ChainOfThought, True)])
def test_one_call_and_answers_in_the_models_words(
    kind: type[ZeroShot], reasoned: bool, kg: MemoryGraph
) -> None:
    llm = Double(lambda task: ClosedBookAnswer(answers=("《韩非子》", "韩非子", "五蠹", "…\u200b")))
    found = ask(kind(), "出自哪里？", kg, llm)
    assert llm.asked == [AnswerClosedBook(question="出自哪里？", reasoned=reasoned)]
    texts = ["《韩非子》", "五蠹", "…\u200b"]  # the second names what the first does
    assert found.answers == tuple(PredictedAnswer(text=text, source="parametric") for text in texts)
    assert (found.status, found.ranked, found.flags) == ("ok", True, ("parametric",))
    assert found.usage["answer"].calls == 1
    assert not found.evidence.ids()


def test_a_model_that_does_not_know_gives_no_answer(kg: MemoryGraph) -> None:
    found = ask(ZeroShot(), "?", kg, Double(lambda task: ClosedBookAnswer(answers=())))
    assert (found.status, found.answers) == ("empty", ())


@pytest.mark.parametrize("status", ["refused", "unparsed", "error", "timeout", "skipped"])
def test_a_failed_call_is_the_status_of_the_prediction(status: ReplyStatus, kg: MemoryGraph) -> None:
    reply: Reply[ClosedBookAnswer] = Reply(status, raw="原文", error="why")
    found = ask(ZeroShot(), "?", kg, Double(lambda task: reply))
    assert (found.status, found.raw_answer, found.error, found.answers) == (status, "原文", "why", ())
