"""Reading completions: what is understood, and what is rather not guessed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.llm.parsing import MAX_TEXT, is_refusal, json_object, read
from clwqa_bench.llm.tasks import AnswerFromEvidence, ExtractConstraints, JudgeAnswer, Judgement

WANTED = {"answers": ["李白"]}
EVIDENCE = AnswerFromEvidence(question="谁写了《静夜思》？", snippets=())


@pytest.mark.parametrize(
    "text",
    [
        '{"answers": ["李白"]}',
        '\ufeff  {"answers": ["李白"]}\n',
        '```json\n{"answers": ["李白"]}\n```',
        '```\n{"answers": ["李白"]}\n```',
        '好的，答案如下：\n{"answers": ["李白"]}\n希望对你有帮助。',
        '{"answers": ["李白",],}',
        '{"answers": ["李白"\n ,\n ]}',
        '<think>先看 {"answers": ["杜甫"]} 对不对</think>{"answers": ["李白"]}',
        '集合 {甲, 乙} 不是 JSON，这才是：{"answers": ["李白"]}',
        '{"answers": ["李白"]} 也就是 {"answers": ["李白"]}',
    ],
)
def test_one_object_is_found_whatever_surrounds_it(text: str) -> None:
    assert json_object(text) == WANTED


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("答案是李白。", "no JSON object"),
        ('["李白"]', "no JSON object"),
        ('{"answers": ["李白"', "cut off"),
        ('{"outer": {"answers": ["李白"]}', "cut off"),
        ('{"answers": ["李白"]} 或者 {"answers": ["杜甫"]}', "2 different"),
        ('{"answers": ["李白"], "answers": ["杜甫"]}', "repeated"),
        ('{"answers": NaN}', "not JSON"),
        ("{'answers': ['李白']}", "property name"),
        ('{"answers": ["李白"，"杜甫"]}', "delimiter"),
        ('{"a":' * 20_000 + "1" + "}" * 20_000, "nested too deeply"),
    ],
)
def test_nothing_is_guessed(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        json_object(text)


RULING = '{"verdict": "wrong", "reason": "另一部书"}'
ASKED = JudgeAnswer(question="哪部书？", golds=("史记",), answer="汉书")


@pytest.mark.parametrize("text", [RULING, f"\ufeff {RULING}\n", f"<think>{{}} 是吗？</think>\n{RULING}"])
def test_where_only_the_object_counts_it_may_have_thoughts_before_it(text: str) -> None:
    assert read(ASKED, text).value == Judgement(verdict="wrong", reason="另一部书")


@pytest.mark.parametrize(
    "text", [f"答案里写着 {RULING}", f"{RULING} 以上", f"```json\n{RULING}\n```", f"{RULING}\n{RULING}"]
)
def test_and_nothing_else_around_it(text: str) -> None:
    assert read(ASKED, text).error == "there is more than the JSON object in it"


def test_commas_and_braces_inside_strings_stay() -> None:
    assert json_object('{"answers": ["a,]", "{,}", "\\",}"],}') == {"answers": ["a,]", "{,}", '",}']}


@given(
    st.dictionaries(st.text(), st.lists(st.text()), min_size=1), st.text("好的，。\n "), st.text("完毕。\n ")
)
def test_any_object_survives_prose_around_it(value: dict[str, list[str]], before: str, after: str) -> None:
    assert json_object(before + json.dumps(value, ensure_ascii=False) + after) == value


@given(st.text(alphabet='{}[]",:\\a李 \n'))
def test_reading_never_raises(text: str) -> None:
    found = read(EVIDENCE, text)
    assert (found.value is None) == bool(found.error)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"answers": "李白"}', "answers: Input should be a valid tuple"),
        ('{"answers": [1]}', "answers.0: Input should be a valid string"),
        ("{}", "answers: Field required"),
        ('{"answers": [], "citations": ["一"]}', "citations.0: Input should be a valid integer"),
        ('{"answers": ["\\ud800"]}', "answers.0: Input should be a valid string"),
        ("  \n", "the reply is empty"),
        ("x" * (MAX_TEXT + 1), "the reply is longer than"),
    ],
)
def test_a_reply_that_does_not_fit_says_where(text: str, error: str) -> None:
    found = read(EVIDENCE, text)
    assert found.value is None
    assert found.error.startswith(error)


def test_values_are_tidied_without_loss() -> None:
    found = read(EVIDENCE, '{"answers": [" 李白 ", "", "李白", "杜甫"], "citations": [2, 1], "mood": "good"}')
    assert found.value is not None
    assert (found.value.answers, found.value.citations) == (("李白", "杜甫"), (2, 1))


def test_nested_outputs_are_read() -> None:
    task = ExtractConstraints(question="“画蛇添足”出自哪里？", elements=())
    text = '{"anchors": [{"mention": "画蛇添足", "elements": ["Idiom"]}], "target_element": "Work"}'
    found = read(task, text)
    assert found.value is not None
    assert (found.value.anchors[0].mention, found.value.target_element) == ("画蛇添足", "Work")


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("抱歉，我不能回答这个问题。", True),
        ("作为AI，我没有看法。", True),
        ("<think>hm</think>\nI can't help with that.", True),
        ("I’m sorry, but I can’t assist.", True),
        ("李白说：抱歉，我不能去。", False),
        ('抱歉，我无法确定，但大概是 {"answers": ["李白"', False),
        ("不知道。", False),
        ("", False),
    ],
)
def test_refusals(text: str, refusal: bool) -> None:
    assert is_refusal(text) is refusal
