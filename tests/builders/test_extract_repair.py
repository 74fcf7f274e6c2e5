"""Repair: what the damage did, and that it is undone exactly and never done twice."""

from __future__ import annotations

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_builders.extract.numerals import canonical, match_numeral, value
from clwqa_builders.extract.records import RawRow
from clwqa_builders.extract.repair import fuse, repair, repair_row, simplify, split_fusion, split_symbols

_TABLE = files("clwqa_builders.extract").joinpath("damage.tsv").read_text(encoding="utf-8")
REVIEWED = [tuple(line.split("\t")) for line in _TABLE.splitlines()[1:] if line and not line.startswith("#")]

# Hanzi whose GBK lead byte is BA: after a full stop and a deletion they fuse with it into a symbol.
_BA_HANZI = [
    char
    for byte in range(0xA1, 0xFF)
    if "\u4e00" <= (char := bytes((0xBA, byte)).decode("gbk", "replace")) <= "\u9fff"
]
_FUSING = [
    char
    for char in _BA_HANZI
    if not fuse("。" + char).isspace()
    and split_symbols("水" + fuse("。" + char) + "土") != "水" + fuse("。" + char) + "土"
]


@pytest.mark.parametrize(
    ("symbol", "hidden"),
    [("◇", "。后"), ("‖", "。含"), ("∥", "。何"), ("≤", "。很"), ("→", "。胡"), ("■", "。忽"), ("∶", "。好")],
)
def test_symbol_hides_a_full_stop_and_a_character(symbol: str, hidden: str) -> None:
    assert split_fusion(symbol) == hidden
    assert fuse(hidden) == symbol


@given(st.lists(st.sampled_from("山水花月天"), min_size=2, max_size=6), st.sampled_from(_FUSING))
def test_a_fused_symbol_is_split_back_exactly(around: list[str], hidden: str) -> None:
    text = "".join(around[:1]) + "。" + hidden + "".join(around[1:])
    assert split_symbols(fuse(text)) == text


def test_most_full_stops_before_ba_hanzi_can_be_told_from_ordinary_signs() -> None:
    assert len(_FUSING) > 60


@given(st.text(alphabet="山水花月，。；、《》‘’”（）？！…0123一二○第回", max_size=40))
def test_undamaged_text_is_unchanged(text: str) -> None:
    assert repair(text) == text


@given(st.text(alphabet="山水后非常趁◇‖棕於，。～★『』①", max_size=30), st.booleans())
def test_repair_is_idempotent(text: str, tilde_is_word: bool) -> None:
    once = repair(text, tilde_is_word=tilde_is_word)
    assert repair(once, tilde_is_word=tilde_is_word) == once


@pytest.mark.parametrize(
    ("damaged", "restored"), [(damaged, restored) for damaged, restored, kind in REVIEWED if kind == "fusion"]
)
def test_reviewed_fusion_obeys_the_byte_arithmetic(damaged: str, restored: str) -> None:
    assert fuse(restored) == damaged


@pytest.mark.parametrize(("damaged", "restored"), [(damaged, restored) for damaged, restored, _ in REVIEWED])
def test_reviewed_repair_does_not_feed_on_itself(damaged: str, restored: str) -> None:
    assert repair(damaged) == repair(repair(damaged))
    assert damaged not in restored


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("形容用药效果非趁。", "形容用药效果非常好。"),
        ("多用于棕人新婚。", "多用于祝贺人新婚。"),
        ("染於苍则苍", "染于苍则苍"),
        ("樊於期", "樊於期"),
        ("商於之地", "商於之地"),
        ("第一○五回", "第一○五回"),
        ("踉■（足旁）而历僻", "踉■（足旁）而历僻"),
        ("两队１１握手言和", "两队１１握手言和"),
        ("岂不知羞３公公", "岂不知羞！俺公公"),
    ],
)
def test_repair_of_single_phrases(text: str, repaired: str) -> None:
    assert repair(text) == repaired


def test_tilde_stands_for_the_word_in_examples_and_for_han_in_glosses() -> None:
    row = RawRow("s", "1", "哙伍", "", "无", "他～地来。", "哙樊哙～信鄙视樊哙。")
    assert repair_row(row) == ("无", "他～地来。", "哙樊哙。韩信鄙视樊哙。")


def test_simplify_leaves_the_interjection() -> None:
    assert simplify("於！予击石") == "於！予击石"


# --- numerals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numeral", "number"),
    [
        ("三", 3),
        ("十", 10),
        ("十四", 14),
        ("三六", 36),
        ("一○五", 105),
        ("一百零五", 105),
        ("一百五", 105),
        ("120", 120),
        ("廿三", 23),
    ],
)
def test_numeral_in_three_notations(numeral: str, number: int) -> None:
    assert match_numeral(numeral, 0) == numeral
    assert value(numeral) == number


@given(st.integers(1, 9999))
def test_canonical_numeral_keeps_its_value(number: int) -> None:
    assert value(canonical(str(number))) == number
    assert canonical(canonical(str(number))) == canonical(str(number))


def test_numeral_stops_where_the_notation_forbids_going_on() -> None:
    assert match_numeral("十三一簧两舌", 0) == "十三"
    assert match_numeral("山水", 0) == ""
