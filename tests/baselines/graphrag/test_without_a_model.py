"""GraphRAG with `--llm lexical` on the tiny dataset: all modes answer, and say what becomes of odd questions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clwqa_baselines.graphrag.rules import UNKNOWN
from clwqa_baselines.graphrag.shown import citations, lines
from clwqa_baselines.graphrag.system import GraphRag
from clwqa_baselines.graphrag.tasks import AnswerFromTables, Response
from clwqa_bench.dataset import Dataset
from clwqa_bench.diagnostics import diagnose
from clwqa_bench.grid import align
from clwqa_bench.llm.lexical import Lexical
from clwqa_bench.llm.protocol import Reply
from clwqa_bench.llm.tasks import Answers, ExtractAnswers, Task, render
from clwqa_bench.predictions import Evidence, EvidenceText, Prediction
from clwqa_bench.records import Question, QuestionView
from clwqa_bench.runs import gold_of
from clwqa_bench.systems import Context, Resources, SettingError
from tests import tiny_dataset
from tests.baselines.culture import Double

MODES = ("local", "report-retrieval", "global", "dynamic")
SMALL = {"max_cluster_size": 6, "report_edges": "all"}
CHAPTER = "成语“守株待兔”出自何篇？"
SEPARATORS = "甲，乙；丙、丁 -> (戊)｜己"
ODD = [
    tiny_dataset.entity("word:孤云野鹤", "Idiom"),
    tiny_dataset.entity("book:sep", "Book", SEPARATORS),
    tiny_dataset.entity("person:sep", "Person", "辛 ；壬, and 癸"),
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("tiny")
    triples = [*tiny_dataset.TRIPLE_ROWS, ("book:sep", "authoredBy", "person:sep")]
    tiny_dataset.write(folder, entities=[*tiny_dataset.ENTITY_ROWS, *ODD], triples=triples)
    return Dataset.open(folder)


@pytest.fixture(scope="module")
def resources(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Resources:
    kg = dataset.kg()
    folder = tmp_path_factory.mktemp("cache")
    given = Resources(kg, kg.ontology, lambda: dataset.questions("train"), cache=folder)
    return replace(given, llm=Lexical(given))


def ask(
    resources: Resources,
    text: str,
    *,
    gold: Question | None = None,
    id: str = "q",
    llm: Any = None,
    **settings: Any,
) -> Prediction:
    system = GraphRag(GraphRag.Config(**SMALL | settings))
    system.prepare(resources)
    oracle = ("anchors",) if gold else ()
    ctx = Context(resources.kg, np.random.default_rng(0), gold=gold, oracle=oracle, llm=llm or resources.llm)
    found = asyncio.run(system.answer(QuestionView(id=id, text=text), ctx))
    return found.model_copy(update={"trace": tuple(ctx.trace.events), "usage": ctx.trace.usage()})


def stages(found: Prediction) -> list[str]:
    return [event.stage for event in found.trace]


def calls(found: Prediction) -> int:
    return sum(usage.calls for usage in found.usage.values())


# ---------------------------------------------------------------------- answers


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_reads_the_answer_off_what_it_is_shown(resources: Resources, mode: Any) -> None:
    found = ask(resources, CHAPTER, mode=mode)
    assert [(a.text, a.entity_id, a.source) for a in found.answers] == [
        ("韩非子·五蠹", "chapter:韩非子/五蠹", "graph")
    ]
    assert found.raw_answer is not None
    assert found.raw_answer.startswith("韩非子·五蠹 [Data: Relationships (")
    assert (found.adapter, found.ranked) == ("wrapper", True)
    assert all(citation.ok for citation in found.citations)
    assert {"word:守株待兔", "chapter:韩非子/五蠹"} <= {
        e for t in found.evidence.shown() for e in (t.head, t.tail)
    }
    assert stages(found)[-3:] == ["retrieve", "answer", "adapt"]


def test_what_relevant_reports_refer_to_is_retrieved(resources: Resources) -> None:
    """Also what no point refers to, and so is no evidence."""
    found = ask(resources, CHAPTER, mode="dynamic")
    (relevant,) = [event for event in found.trace if event.op == "relevant"]
    assert relevant.stage == "retrieve"
    assert set(relevant.triples) >= {piece.triple for piece in found.evidence.triples} > set()


@pytest.mark.parametrize(("mode", "bound"), [("local", 1), ("report-retrieval", 1), ("global", 2)])
def test_calls_are_bounded(resources: Resources, mode: Any, bound: int) -> None:
    assert calls(ask(resources, CHAPTER, mode=mode)) == bound  # all reports of the tiny graph are one batch


@pytest.mark.parametrize("mode", MODES)
def test_the_same_question_is_always_answered_alike(resources: Resources, mode: Any) -> None:
    once, again = (ask(resources, CHAPTER, mode=mode).model_copy(update={"usage": {}}) for _ in range(2))
    assert once == again


@pytest.mark.parametrize("mode", MODES)
def test_prose_is_read_by_the_extractor(resources: Resources, mode: Any) -> None:
    found = ask(resources, CHAPTER, mode=mode, response_type="prose")
    assert (found.adapter, found.native_format) == ("extractor", "prose")
    assert "chapter:韩非子/五蠹" in [answer.entity_id for answer in found.answers]


def test_it_starts_from_what_the_gold_says_if_so_asked(resources: Resources) -> None:
    gold = tiny_dataset.QUESTIONS[5]
    found = ask(resources, gold.question, gold=gold)
    assert found.topics == ("word:四面楚歌",)
    assert [event.op for event in found.trace if event.stage == "link"] == ["gold"]
    linked = ask(resources, gold.question, entry="topics")
    assert (linked.topics, linked.trace[0].op) == (("word:四面楚歌",), "linked")


def test_up_to_twice_as_many_entities_are_kept_unless_cut(resources: Resources) -> None:
    assert len(ask(resources, CHAPTER, top_k_entities=3).topics) == 6
    assert len(ask(resources, CHAPTER, top_k_entities=3, cut_entities=True).topics) == 3


def test_the_diagnosis_reads_the_trace(resources: Resources, dataset: Dataset) -> None:
    questions = [(q.id, q.question) for q in tiny_dataset.QUESTIONS if q.split == "test"]
    found = [ask(resources, text, id=id, entry="topics") for id, text in questions]
    diagnosis = diagnose(align(gold_of(dataset, "test"), found), resources.ontology, resamples=50, by=())
    assert {"linking", "retrieval", "ranking"} <= set(diagnosis.traced)
    anchors = diagnosis.cell("anchor-f1")
    assert anchors is not None
    assert (anchors.value, anchors.n) == (1.0, 2)


# ---------------------------------------------------------------------- odd questions and graphs


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "text", ["", "Which book does it come from?", "今天天气怎么样？", "“孤云野鹤”出自哪部书？"]
)
def test_a_question_the_tables_do_not_answer_is_empty(resources: Resources, mode: Any, text: str) -> None:
    found = ask(resources, text, mode=mode)
    assert (found.status, found.answers, found.raw_answer) == ("empty", (), UNKNOWN)
    assert "answer" in stages(found)


@pytest.mark.parametrize("settings", [{"entry": "topics"}, {"mode": "report-retrieval"}])
def test_where_nothing_is_found_nothing_is_asked(resources: Resources, settings: Any) -> None:
    found = ask(resources, "☂", **settings)
    assert (found.status, found.flags, calls(found)) == ("empty", ("no_evidence",), 0)


def test_names_with_separators_stay_whole(resources: Resources) -> None:
    found = ask(resources, f"《{SEPARATORS}》的作者是谁？")
    assert [answer.entity_id for answer in found.answers] == ["person:sep"]


def test_a_question_in_english_is_answered_from_what_it_names(resources: Resources) -> None:
    found = ask(resources, "Which chapter does “守株待兔” come from?", entry="topics")
    assert found.topics == ("word:守株待兔",)
    assert found.status in ("ok", "empty")


@pytest.mark.parametrize("status", ["refused", "unparsed", "error", "timeout", "skipped"])
@pytest.mark.parametrize("mode", ["local", "report-retrieval"])
def test_an_answer_that_fails_is_the_status_of_the_question(
    resources: Resources, status: Any, mode: Any
) -> None:
    found = ask(resources, CHAPTER, mode=mode, llm=Double(lambda _: Reply(status, raw="…")))
    assert (found.status, found.answers, stages(found)[-1]) == (status, (), "answer")
    assert found.evidence.texts


# ---------------------------------------------------------------------- from text to answers


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("史记 [Data: Relationships (1, 2)]\n- 韩非子。[Data: Reports (3)]", ("史记", "韩非子")),
        ("1. 史记\n\n2. 韩非子", ("史记", "韩非子")),
        ("甲，乙；丙、丁 [Data: Entities (4)]", ("甲，乙；丙、丁",)),
        (
            "根据表中的内容，这个成语最早见于司马迁所写的那部史书，也就是通常所说的《史记》，因此答案是它。",
            None,
        ),
    ],
)
def test_answers_are_read_line_by_line(text: str, answers: Sequence[str] | None) -> None:
    assert lines(text) == answers


def test_a_reference_to_what_was_not_shown_is_kept_and_marked() -> None:
    shown = Evidence(texts=(EvidenceText(id="report:3", text="…", kind="community"),))
    found = citations("甲 [Data: Reports (3, 4, +more); Relationships (3)]", shown)
    assert [(c.evidence_id, c.ok) for c in found] == [
        ("report:3", True),
        ("report:4", False),
        ("relationship:3", False),
    ]


def test_an_answer_in_prose_is_kept_as_it_is_and_its_references_are_not_read_out(
    resources: Resources,
) -> None:
    prose = "这个成语出自《韩非子·五蠹》[Data: Relationships (1)]，这一点表中写得很清楚，没有别的说法可以与它相比。"

    def reply(task: Task[Any]) -> Any:
        if isinstance(task, ExtractAnswers):
            assert "Data" not in task.text
            return Answers(answers=("韩非子·五蠹",))
        return Response(response=prose)

    found = ask(resources, CHAPTER, llm=Double(reply), response_type="prose")
    assert (found.raw_answer, found.adapter, calls(found)) == (prose, "extractor", 2)
    assert [answer.entity_id for answer in found.answers] == ["chapter:韩非子/五蠹"]


# ---------------------------------------------------------------------- prompts


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("as_list", ["list", "prose"])
def test_every_prompt_can_be_written(
    resources: Resources, language: Any, as_list: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Task[Any]] = []
    do: Callable[..., Any] = Lexical.do

    async def noting(self: Lexical, task: Any) -> Any:
        asked.append(task)
        return await do(self, task)

    monkeypatch.setattr(Lexical, "do", noting)
    for mode in MODES:
        ask(resources, CHAPTER, mode=mode, response_type=as_list)
    for task in asked:
        system, user = render(task, language)
        assert system["content"]
        if isinstance(task, AnswerFromTables):
            for row in (*task.reports, *task.entities, *task.relations, *task.sources):
                assert str(row.number) in user["content"]
            assert "chapter:" not in user["content"]  # ids are not shown


def test_gold_anchors_are_refused_where_nothing_starts_from_entities(resources: Resources) -> None:
    with pytest.raises(SettingError, match="mode=global starts from no entities"):
        GraphRag(GraphRag.Config(mode="global")).check_oracle(("anchors",))
