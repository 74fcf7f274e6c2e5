"""PoG: what it reads out of a result text, and what it falls back on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.legacy import LegacyCrash, LegacyRow, pog


def notes(*rows: tuple[str, str]) -> list[str]:
    """The notes for (text, gold) rows."""
    return [score.note for score in pog.evaluate([LegacyRow(text, (gold,)) for text, gold in rows])]


@pytest.mark.parametrize(
    ("text", "gold", "note"),
    [
        ('{"A": {"Answer": "红楼梦"}}', "红楼梦", "JSON: equal"),
        ('所以 {"Answer": "红 楼 梦"}', "红楼梦", "JSON: equal"),
        ('{"A": {"Answer": ["史记", "红楼梦"]}}', "红楼梦", "JSON: gold inside prediction"),
        ('{"A": {"Answer": []}}', "红楼梦", "JSON: miss"),
        ('{"A": {"Answer": []}}', "[]", "JSON: equal"),
        ('{"A": {"Answer": null}}', "None", "JSON: equal"),
        ('{"A": {"Answer": null}}', "无", "JSON: miss"),
        ('{"A": {"Answer": ""}}', "无", "JSON: empty prediction"),
        ('{"A": {"Answer": 12}}', "1", "JSON: gold inside prediction"),
        ('{"A": {"Answer": "史记"}, "Answer": "红楼梦"}', "红楼梦", "JSON: miss"),
    ],
    ids=[
        "the answer under A", "without A, after some text", "a list is printed, so any element is a hit",
        "an empty list is a miss", "unless the gold is how it prints", "null is the word None", "and no answer",
        "the empty text hits every gold", "numbers are printed too", "A goes first",
    ],
)  # fmt: skip
def test_json(text: str, gold: str, note: str) -> None:
    assert notes((text, gold)) == [note]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ('{"A": {"Answer": "红楼梦"}} 以上。', "last Answer string: equal"),
        ('{"A": {"Sufficient": "Yes"}, "R": "它是 \'Answer\': \'红楼梦\'"}', "last Answer string: equal"),
        ('{"A": "Yes", "Answer": "红楼梦"}', "last Answer string: equal"),
        ("{'A': {'Answer': '红楼梦'}}", "last Answer string: equal"),
        ('{"Answer": "史记"} 更正 {"Answer": "红楼梦"}', "last Answer string: equal"),
        ('{"Answer": "红楼梦"} 更正 {"Answer": "史记"}', "last Answer string: miss"),
        ('{"Answer": "红楼梦"} 更正 {"Answer": ""}', "last Answer string: equal"),
        ('{"Answer": ["史记", "红楼梦"]} 以上。', "Answer list: equal"),
        ('{"Answer": ["史记", "梦"]} 以上。', "Answer list: fragment of the gold"),
        ('{"Answer": []} 以上。', "Answer list: miss"),
        ('{"Answer": ["史记"]} 更正 {"Answer": ["红楼梦"]}', "Answer list: equal"),
    ],
    ids=[
        "trailing text", "missing key", "A is no object", "single quotes", "the last match counts",
        "also against the gold", "an empty string is no match", "any element of a list", "either way",
        "an empty list", "the last list counts",
    ],
)  # fmt: skip
def test_text_that_is_no_json(text: str, note: str) -> None:
    assert notes((text, "红楼梦")) == [note]


def test_text_without_a_brace_is_the_response() -> None:
    assert notes(("是红楼梦。", "红楼梦"), ("不知道", "红楼梦")) == [
        "whole text: gold inside prediction",
        "whole text: miss",
    ]


def test_a_stale_response_is_scored_for_the_next_question() -> None:
    rows = [('{"Answer": "韩非子"}', "韩非子"), ("{坏了", "韩非子"), ("{又坏了", "庄子"), ("{", "子")]
    assert notes(*rows) == [
        "JSON: equal",
        "stale response: equal",
        "stale response: miss",
        "stale response: gold inside prediction",
    ]


def test_an_empty_string_outside_json_is_stale_too() -> None:
    text = '{"A": {"Answer": ""}, "R": "没有"} 以上。'
    assert notes(("庄子", "庄子"), (text, "庄子"))[1] == "stale response: equal"


def test_duplicates_are_scored_at_the_place_of_the_first() -> None:
    rows = [
        LegacyRow("庄子", ("庄子",), "甲"),
        LegacyRow("{", ("列子",), "乙"),
        LegacyRow("列子", ("庄子",), "甲"),
    ]
    assert [row.prediction for row in pog.counted(rows)] == ["列子", "{"]
    assert pog.total(rows).values["right"] == 1  # 列子 is wrong for 甲, and as a stale response right for 乙


def test_a_list_leaves_the_earlier_response_in_place() -> None:
    assert (
        notes(("庄子", "庄子"), ('{"Answer": ["列子"]} x', "列子"), ("{", "庄子"))[2]
        == "stale response: equal"
    )


@pytest.mark.parametrize(
    ("texts", "row", "why"),
    [
        (["{坏了"], 1, "no earlier response"),
        (['{"Answer": ["列子"]} x', "{坏了"], 2, "no earlier response"),
        (["庄子", "{'Answer': ['列子']}"], 2, "not JSON"),
        (['{"Answer": [1]} x'], 1, "not a text"),
    ],
)
def test_where_it_crashes(texts: list[str], row: int, why: str) -> None:
    with pytest.raises(LegacyCrash, match=rf"PoG crashes on row {row}: .*{why}.* Fix: leave the row out"):
        pog.evaluate([LegacyRow(text, ("列子",)) for text in texts])


def test_a_list_where_it_expects_a_text() -> None:
    with pytest.raises(LegacyCrash, match="row 1: the prediction is a list"):
        pog.evaluate([LegacyRow(("庄子",), ("庄子",))])


@pytest.mark.parametrize(
    ("text", "gold", "how"),
    [
        ("Tang Dynasty", "tangdynasty", "equal"),
        ("　红楼梦　", "红楼梦", "equal"),
        ("红　楼梦", "红楼梦", "miss"),
        ("紅樓夢", "红楼梦", "miss"),
        ("《红楼梦》", "红楼梦", "gold inside prediction"),
    ],
)
def test_only_outer_white_space_ascii_spaces_and_case_are_normalised(text: str, gold: str, how: str) -> None:
    assert notes((text, gold)) == [f"whole text: {how}"]


def test_without_gold_every_row_is_a_miss() -> None:
    assert [score.hit for score in pog.evaluate([LegacyRow("", ())])] == [0.0]


def test_the_total_is_over_question_texts_and_the_last_row_wins() -> None:
    rows = [
        LegacyRow("庄子", ("庄子",), question="出自何书？"),
        LegacyRow("不知道", ("列子",), question="作者是谁？"),
        LegacyRow('{"Answer": "史记"}', ("庄子",), question="出自何书？"),
        LegacyRow("列子", ("列子",)),
        LegacyRow("列子", ("列子",)),
    ]
    total = pog.total(rows)
    assert total.values == {"Exact Match": 0.5, "right": 2, "listed as errors": 1}
    assert (total.n, total.denominator) == (4, "rows in the output file, one per question text (the last)")


def test_no_rows() -> None:
    with pytest.raises(LegacyCrash, match="PoG divides by zero"):
        pog.total([])


NO_BRACE = st.text(st.characters(exclude_characters="{", exclude_categories=["Cs"]))


@given(NO_BRACE, st.lists(NO_BRACE))
def test_strict_equality_implies_a_hit(answer: str, others: list[str]) -> None:
    (score,) = pog.evaluate([LegacyRow(answer, (*others, answer))])
    assert (score.hit, score.note) == (1.0, "whole text: equal")


@given(st.text(alphabet='{}[]":, Answer道', max_size=40))
def test_every_text_is_scored_or_crashes_by_name(text: str) -> None:
    first = LegacyRow("庄子", ("庄子",))
    try:
        scores = pog.evaluate([first, LegacyRow(text, ("道",))])
    except LegacyCrash:
        assert "Answer" in text  # with an earlier response only a list can crash it
    else:
        assert scores[1].hit in (0.0, 1.0)
