"""The back-end without a model: every task of ours has a rule, and anybody else's is told apart."""

from __future__ import annotations

import asyncio
import math
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.dataset import Dataset
from clwqa_bench.llm import open_llm
from clwqa_bench.llm.protocol import LLM, NOTHING, LLMError, Options
from clwqa_bench.llm.rules import Rules, relevance
from clwqa_bench.llm.tasks import (
    AnswerClosedBook,
    AnswerFromEvidence,
    Answers,
    ElementNote,
    ExtractAnswers,
    ExtractConstraints,
    Snippet,
    Task,
)
from clwqa_bench.systems import Resources
from tests import tiny_dataset as tiny

WORD = "CultureLoadedWord"


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> LLM:
    folder = tmp_path_factory.mktemp("lexical")
    tiny.write(folder / "tiny")
    dataset = Dataset.open(folder / "tiny")
    return open_llm(
        "lexical",
        Resources(
            kg=dataset.kg(),
            ontology=tiny.ONTOLOGY,
            train=lambda: dataset.questions("train"),
            cache=folder / "cache",
        ),
    )


def value(llm: LLM, task: Task[Answers]) -> Answers:
    reply = asyncio.run(llm.do(task))
    assert reply.status == "ok"
    assert reply.value is not None
    assert reply.value == task.Output.model_validate_json(reply.raw)
    assert (reply.usage.calls, reply.usage.tokens_in, reply.usage.tokens_out, reply.usage.cost) == (
        1,
        0,
        0,
        0,
    )
    return reply.value


def notes(*labels: str) -> tuple[ElementNote, ...]:
    return tuple(ElementNote(label=label, description="") for label in labels)


@pytest.mark.parametrize(
    ("labels", "anchor", "target"),
    [
        ((WORD, "Idiom", "Book"), WORD, "Book"),
        ((WORD, "CulturalSource"), WORD, "CulturalSource"),  # the nearest above
        (("文化负载词", "书籍"), tiny.ONTOLOGY.label(WORD), None),
        (("Book",), None, "Book"),
    ],
)
def test_constraints_in_the_labels_of_the_task(
    llm: LLM, labels: tuple[str, ...], anchor: str | None, target: str | None
) -> None:
    task = ExtractConstraints(question="“四面楚歌”见于哪部书？", elements=notes(*labels))
    reply = asyncio.run(llm.do(task))
    assert reply.value is not None
    known = anchor if anchor in labels else None
    assert [a.elements for a in reply.value.anchors] == ([(known,)] if known else [])
    assert reply.value.target_element == (target or "")


def snippet(number: int, answer: str, score: float | None) -> Snippet:
    return Snippet(number=number, text=f"第{number}条", answer=answer, score=score)


@pytest.mark.parametrize(
    ("snippets", "answers", "citations"),
    [
        ([], (), ()),
        ([("甲", 0.9), ("乙", 0.5)], ("甲",), (1,)),
        ([("甲", 0.9), ("乙", 0.9), ("甲", 0.9), ("丙", 0.1)], ("甲", "乙"), (1, 2, 3)),
        ([("甲", 0.1), ("乙", 0.9)], ("乙",), (2,)),
        ([("甲", None), ("乙", None)], ("甲",), (1,)),
    ],
)
def test_answers_are_the_ends_of_the_best_snippets(
    llm: LLM, snippets: list[tuple[str, float | None]], answers: tuple[str, ...], citations: tuple[int, ...]
) -> None:
    numbered = tuple(snippet(number, *given) for number, given in enumerate(snippets, start=1))
    reply = value(llm, AnswerFromEvidence(question="谁？", snippets=numbered))
    assert (reply.answers, reply.citations) == (answers, citations)  # type: ignore[attr-defined]


@pytest.mark.parametrize("reasoned", [True, False])
def test_nothing_is_known_without_a_book(llm: LLM, reasoned: bool) -> None:
    assert value(llm, AnswerClosedBook(question="谁写了《史记》？", reasoned=reasoned)).answers == ()


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("《史记》的作者是司马迁，汉人。", ("司马迁",)),  # 史记 is in the question
        ("出自《韩非子·五蠹》，韩非所作。", ("韩非子·五蠹", "韩非")),
        ("不知道。", ()),
    ],
)
def test_answers_in_prose_are_the_names_in_it(llm: LLM, text: str, answers: tuple[str, ...]) -> None:
    assert value(llm, ExtractAnswers(question="谁写了《史记》？", text=text)).answers == answers


def test_a_task_from_elsewhere_is_unparsed(llm: LLM) -> None:
    class Translate(Task[Answers]):
        id = "translate"
        version = 1
        Output = Answers
        max_tokens = 10
        stage = "answer"

    reply = asyncio.run(llm.do(Translate()))
    assert (reply.status, reply.value) == ("unparsed", None)
    assert "'translate'" in str(reply.error)


def test_a_task_from_elsewhere_may_bring_a_rule(llm: LLM) -> None:
    class Pick(Task[Answers]):
        """Which of the words says the same?"""

        id = "pick"
        version = 1
        Output = Answers
        max_tokens = 10
        stage = "answer"

        text: str
        words: tuple[str, ...]

        def by_rule(self, rules: Rules) -> Answers:
            near = rules.relevance(self.text, self.words)
            return Answers(answers=(self.words[near.index(max(near))],))

    assert value(llm, Pick(text="谁是作者？", words=("出处", "作者", "朝代"))).answers == ("作者",)


@given(st.text("出处作者朝代", max_size=4), st.lists(st.text("出处作者朝代", max_size=4), max_size=4))
def test_relevance_is_a_cosine_of_shared_grams(question: str, texts: list[str]) -> None:
    found = relevance(question, texts)
    assert len(found) == len(texts)
    for text, score in zip(texts, found, strict=True):
        assert 0 <= score <= 1 + 1e-9
        assert (score > 0) == bool(set(text) & set(question))
        if text and text == question:
            assert math.isclose(score, 1)


def test_relevance_is_the_same_to_the_last_digit_in_every_process() -> None:
    """Ties are decided by less, and sets of characters have another order in every process."""
    script = """
from clwqa_bench.llm.rules import relevance
texts = [chr(0x4E00 + 37 * n % 997) + "之乎者也"[n % 4] + chr(0x4E00 + 11 * n % 83) * 2 for n in range(200)]
print(relevance("".join(texts[::9]), texts))
"""
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1


def test_it_costs_nothing_and_says_what_it_is(llm: LLM) -> None:
    assert llm.name == "none/lexical"
    assert llm.estimate(AnswerClosedBook(question="谁？")) == NOTHING
    assert llm.describe()["backend"] == "lexical"


@pytest.mark.parametrize(
    ("spec", "options", "what"),
    [
        ("lexical:glm", Options(), "has no model 'glm'"),
        ("lexical", Options(settings={"rpm": "3"}), "has no setting 'rpm'"),
        ("lexical", Options(), "needs a dataset"),
    ],
)
def test_what_it_cannot_be_opened_with(spec: str, options: Options, what: str) -> None:
    with pytest.raises(LLMError, match=what):
        open_llm(spec, None, options)


def test_a_dry_one_needs_no_dataset() -> None:
    dry = open_llm("lexical", None, Options(dry=True))
    assert dry.estimate(AnswerClosedBook(question="谁？")) == NOTHING
    asyncio.run(dry.close())
