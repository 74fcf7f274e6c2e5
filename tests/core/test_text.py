"""The comparison key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.text import comparison_key

SAME = """
史记        《史记》
史记        〈史记〉
史记        「史记」
史记        “史记”。
史记        史記
史记·项羽本纪  史记•项羽本纪
史记·项羽本纪  史記・項羽本紀
司马迁       司馬遷
韩愈        (韩愈)
钟馗        锺馗
守株待兔      守 株 待 兔
守株待兔      "守株待兔",
守株待兔      守株待兔……
ABC       ＡＢＣ
abc       ABC
第1回       第１回
二〇〇八      二〇〇八
江城子(密州出猎)  江城子（密州出猎）
"""

DIFFERENT = """
史记   史
干    乾
征    徵
一    二
史记·项羽本纪   史记项羽本纪
江城子(密州出猎)  江城子(乙卯正月)
己    已
"""


def pairs(table: str) -> list[tuple[str, str]]:
    return [tuple(line.split(maxsplit=1)) for line in table.strip().splitlines()]


@pytest.mark.parametrize(("one", "other"), pairs(SAME))
def test_same(one: str, other: str) -> None:
    assert comparison_key(one) == comparison_key(other)


@pytest.mark.parametrize(("one", "other"), pairs(DIFFERENT))
def test_different(one: str, other: str) -> None:
    assert comparison_key(one) != comparison_key(other)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("《史記》", "史记"),
        ("？！", "?!"),  # nothing but punctuation is kept
        ("", ""),
        (" \t\u200b\ufeff", ""),
        ("「《论语》·学而」", "论语》·学而"),  # only what stands around the whole is stripped
        ("C++", "c++"),
        ("50%", "50%"),
        ("-5", "-5"),
        ("李\u3000白", "李白"),
        ("李白  Li\tBai", "李白 li bai"),
        ("葛\U000e0100", "葛"),  # a variation selector
    ],
)
def test_key(text: str, key: str) -> None:
    assert comparison_key(text) == key


CHARACTERS = st.one_of(
    st.characters(),  # anything at all, lone surrogates included
    st.sampled_from("《》「」“”()（）·•。，… \u3000\u200b史記遷ＡßİΣ①㍿"),
)


@given(st.text(CHARACTERS))
def test_total_and_idempotent(text: str) -> None:
    key = comparison_key(text)
    assert comparison_key(key) == key


@given(st.text(CHARACTERS))
def test_never_erases_a_letter_or_number(text: str) -> None:
    if any(character.isalnum() for character in text):
        assert comparison_key(text)


@given(
    st.text(st.characters(categories=["Lo", "Ll", "Nd"]), min_size=1),
    st.sampled_from(["《{}》", "“{}”。", " {} "]),
)
def test_wrapping_changes_nothing(name: str, wrapping: str) -> None:
    assert comparison_key(wrapping.format(name)) == comparison_key(name)
