"""Gold files of public question sets, each as its publishers write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from clwqa_bench.errors import PredictionError
from clwqa_bench.foreign import ForeignQuestion, read_gold
from clwqa_bench.records import Answer
from tests.core.foreign_files import document, write

WEBQSP = {
    "Version": "1.0",
    "Questions": [
        {
            "QuestionId": "WebQTest-7",
            "RawQuestion": "which river runs past the yellow crane tower?",
            "ProcessedQuestion": "which river runs past the yellow crane tower",
            "Parses": [
                {
                    "InferentialChain": ["river.past", "river.name"],
                    "Answers": [
                        {"AnswerType": "Entity", "AnswerArgument": "m.yz", "EntityName": "Yangtze"},
                        {"AnswerType": "Value", "AnswerArgument": "223", "EntityName": None},
                    ],
                },
                {
                    "InferentialChain": None,
                    "Answers": [{"AnswerType": "Entity", "AnswerArgument": "m.yz", "EntityName": "Yangtze"}],
                },
            ],
        },
        {
            "QuestionId": "WebQTest-8",
            "RawQuestion": "who?",
            "Parses": [{"InferentialChain": None, "Answers": []}],
        },
    ],
}


def only(path: Path, format: str, **options: int) -> ForeignQuestion:
    (question,) = read_gold(path, format, **options).questions
    return question


@pytest.mark.parametrize("value", [WEBQSP, WEBQSP["Questions"]], ids=["as published", "as a list"])
def test_webqsp_takes_the_answers_of_all_parses(tmp_path: Path, value: object) -> None:
    gold = read_gold(document(tmp_path / "w.json", value), "webqsp")
    question = gold.questions[0]
    assert (question.id, question.text) == ("WebQTest-7", "which river runs past the yellow crane tower?")
    assert question.answers == (
        Answer(entity_id="m.yz", label="Yangtze"),
        Answer(entity_id="223", label="223", kind="literal"),
    )
    assert question.surfaces == ("Yangtze", "223", "Yangtze")
    assert question.strata == ("hops=2",)
    assert gold.left_out == ("WebQTest-8",)
    assert [q.id for q in gold.gold.questions] == ["WebQTest-7"]
    assert gold.gold.questions[0].strata == ("hops=2", "answers=many")


def test_webqsp_on_one_line(tmp_path: Path) -> None:
    assert read_gold(write(tmp_path / "w.json", WEBQSP), "webqsp").left_out == ("WebQTest-8",)


CWQ = {
    "ID": "WebQTest-7_ab12",
    "webqsp_ID": "WebQTest-7",
    "compositionality_type": "conjunction",
    "question": "Which river runs past the tower and the city?",
}


def test_cwq_has_names_ids_and_aliases(tmp_path: Path) -> None:
    answers = [
        {"answer_id": "m.yz", "answer": "Yangtze", "aliases": ["Chang Jiang", "长江"]},
        {"answer_id": "m.x", "answer": None, "aliases": []},
    ]
    question = only(document(tmp_path / "c.json", [CWQ | {"answers": answers}]), "cwq")
    assert question.answers == (
        Answer(entity_id="m.yz", label="Yangtze", aliases=("Chang Jiang", "长江")),
        Answer(entity_id="m.x", label="m.x"),
    )
    assert question.surfaces == ("Yangtze", "Chang Jiang", "长江", "m.x")
    assert (question.strata, question.group) == (("compositionality_type=conjunction",), "WebQTest-7")
    assert not question.bare


@pytest.mark.parametrize("answer", ["Yangtze", ["Yangtze"]])
def test_cwq_as_tog_and_pog_ship_it(tmp_path: Path, answer: object) -> None:
    question = only(document(tmp_path / "c.json", [CWQ | {"answer": answer}]), "cwq")
    assert question.answers == (Answer(entity_id="Yangtze", label="Yangtze", kind="literal"),)
    assert question.bare


def test_grailqa(tmp_path: Path) -> None:
    rows = [
        {
            "qid": 2101960008000,
            "question": "哪座楼临江？",
            "level": "zero-shot",
            "num_edge": 2,
            "answer": [
                {"answer_type": "Entity", "answer_argument": "m.hhl", "entity_name": "黄鹤楼"},
                {"answer_type": "Value", "answer_argument": "223^^http://www.w3.org/2001/XMLSchema#integer"},
            ],
        },
        {"qid": 2101960009000, "question": "无答案的问题？"},
    ]
    gold = read_gold(document(tmp_path / "g.json", rows), "grailqa")
    question = gold.questions[0]
    assert question.id == "2101960008000"
    assert [(a.label, a.aliases, a.kind) for a in question.answers] == [
        ("黄鹤楼", (), "entity"),
        ("223^^http://www.w3.org/2001/XMLSchema#integer", ("223",), "literal"),
    ]
    assert question.surfaces == ("黄鹤楼", "223^^http://www.w3.org/2001/XMLSchema#integer")
    assert question.strata == ("level=zero-shot", "num_edge=2")
    assert gold.left_out == ("2101960009000",)


def test_an_empty_name_is_a_gold_for_the_scripts_only(tmp_path: Path) -> None:
    answer = {"answer_type": "Entity", "answer_argument": "m.x", "entity_name": ""}
    question = only(
        document(tmp_path / "g.json", [{"qid": 1, "question": "谁？", "answer": [answer]}]), "grailqa"
    )
    assert (question.surfaces, question.answers[0].label) == (("",), "m.x")


@pytest.mark.parametrize(
    ("name", "hops", "strata"),
    [
        ("2-hop/vanilla/qa_test.txt", None, ("hops=2",)),
        ("qa_test_3hop.txt", None, ("hops=3",)),
        ("qa_test.txt", 1, ("hops=1",)),
        ("qa_test.txt", None, ()),
    ],
)
def test_metaqa(tmp_path: Path, name: str, hops: int | None, strata: tuple[str, ...]) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "who wrote [Journey to the West]\tWu Cheng'en\n\nwho plays in [Hero]\tA|B|A\n", encoding="utf-8"
    )
    first, second = read_gold(path, "metaqa", hops=hops).questions
    assert (first.id, first.text) == ("1", "who wrote [Journey to the West]")
    assert (second.id, [answer.label for answer in second.answers]) == ("3", ["A", "B"])
    assert first.strata == strata


def test_plain_lines(tmp_path: Path) -> None:
    path = write(
        tmp_path / "p.jsonl",
        {
            "id": 1,
            "question": "红楼梦的作者？",
            "answers": [{"text": "曹雪芹", "id": "p:cxq", "aliases": ["曹霑"]}],
        },
        {"id": "b", "answers": ["李白", "李白", "杜甫"]},
    )
    first, second = read_gold(path, "jsonl").questions
    assert first.answers == (Answer(entity_id="p:cxq", label="曹雪芹", aliases=("曹霑",)),)
    assert first.surfaces == ("曹雪芹", "曹霑")
    assert (first.id, second.text, [a.label for a in second.answers]) == ("1", "", ["李白", "杜甫"])


def test_the_version_is_the_content(tmp_path: Path) -> None:
    one = read_gold(write(tmp_path / "a.jsonl", {"id": "a", "answers": ["甲"]}), "jsonl", split="dev").ref
    same = read_gold(write(tmp_path / "b.jsonl", {"id": "a", "answers": ["甲"]}), "jsonl", split="dev").ref
    other = read_gold(write(tmp_path / "c.jsonl", {"id": "a", "answers": ["乙"]}), "jsonl", split="dev").ref
    assert one == same != other
    assert (one.name, one.split, len(one.version), one.content.startswith(one.version)) == (
        "jsonl",
        "dev",
        12,
        True,
    )


GOOD = '{"id": "a", "answers": ["甲"]}\n'


@pytest.mark.parametrize(
    ("format", "content", "message"),
    [
        ("jsonl", "", r"gold: the file is empty"),
        ("jsonl", GOOD + GOOD, r"gold:2: a second question a\."),
        ("jsonl", GOOD + '{"id": "b", "answers": ["甲"', r"gold:2: the last line is cut off"),
        ("jsonl", GOOD + '{"id": "b", "answers": [NaN]}\n', r"gold:2: this is not JSON: it has no NaN"),
        ("jsonl", GOOD + "[1]\n", r"gold:2: a list where an object is due"),
        ("jsonl", '{"id": "a", "answers": "甲"}\n', r"gold:1: field answers: a text where a list is due"),
        ("jsonl", '{"id": "a", "answers": [3]}\n', r"gold:1: field answers\[0\]: a number where an object is due"),
        ("jsonl", '{"id": true, "answers": ["甲"]}\n', r"gold:1: field id: true or false where an id is due"),
        ("jsonl", '{"id": "", "answers": ["甲"]}\n', r"gold:1: field id: an empty text where an id is due"),
        ("jsonl", '{"id": "a", "answers": []}\n', r"gold: none of the 1 questions has a gold answer"),
        ("jsonl", '{"id": "a"}\n', r"gold:1: field answers: there is no such field; the fields are id"),
        ("jsonl", '{\n "id": "a"\n}\n', r"gold: one object where a list of them is due"),
        ("webqsp", '[{"qid": 1, "question": "甲？"}]', r"field \[0\]\.Parses: .* this looks like GrailQA gold"),
        ("webqsp", '{\n "Questions": 3\n}', r"gold: field Questions: a number where a list is due"),
        ("webqsp", '{"Questions": [{"QuestionId": "a", "Parses": [{"Answers": [{}]}]}]}',
         r"field Questions\[0\]\.ProcessedQuestion: there is no such field"),
        ("grailqa", '[{"qid": 1, "question": "甲？", "answer": [{"answer_type": "Entity"}]}]',
         r"field \[0\]\.answer\[0\]\.answer_argument: there is no such field"),
        ("grailqa", '[\n{"qid": 1,\n}]', r"gold:3: this is not JSON"),
        ("cwq", '[{"ID": "a", "question": "甲？", "answers": [{"aliases": []}]}]',
         r"field \[0\]\.answers\[0\]\.answer: an answer without a name"),
        ("metaqa", "who wrote [X] Y\n", r"gold:1: there is no tab"),
        ("freebaseqa", GOOD, r"there is no gold format 'freebaseqa'\. Fix: use one of webqsp, cwq,"),
    ],
)  # fmt: skip
def test_bad_gold(tmp_path: Path, format: str, content: str, message: str) -> None:
    path = tmp_path / "gold"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(PredictionError, match=message) as caught:
        _ = read_gold(path, format).gold
    assert caught.value.file == str(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (GOOD.encode("gb18030"), r":1: it looks like GB18030"),
        (b"{}\n\xff\xff\xff", r":2: it is not UTF-8: byte 4 of the file"),
        (GOOD.encode("utf-16"), r":1: it looks like UTF-16"),
    ],
)
def test_encodings(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "gold"
    path.write_bytes(data)
    with pytest.raises(PredictionError, match=message):
        read_gold(path, "jsonl")


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "gold"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert only(path, "jsonl").id == "a"


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(PredictionError, match=r"there is no file here"):
        read_gold(tmp_path / "none", "jsonl")
