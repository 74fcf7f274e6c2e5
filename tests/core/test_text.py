"""The comparison key: golden pairs, properties, and the folding table against an independent converter."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clwqa_bench.text import KEY_VERSION, comparison_key

GOLDEN = Path(__file__).parent / "golden" / "comparison_keys.tsv"
TABLE = files("clwqa_bench") / "data" / "fold.tsv"


def golden_pairs() -> list[tuple[str, ...]]:
    """(verdict, one, other, why); \\u escapes stand for what an editor would not show."""
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()[1:]
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [
        tuple(re.sub(r"\\u([0-9a-f]{4})", lambda u: chr(int(u[1], 16)), cell) for cell in row) for row in rows
    ]


@pytest.mark.parametrize(("verdict", "one", "other", "why"), golden_pairs())
def test_golden(verdict: str, one: str, other: str, why: str) -> None:
    same = comparison_key(one) == comparison_key(other)
    assert same == {"match": True, "differ": False}[verdict], why


def test_golden_table_is_large_and_not_trivial() -> None:
    pairs = {(one, other) for _, one, other, _ in golden_pairs()}
    assert len(pairs) == len(golden_pairs()) >= 200
    assert all(one != other for one, other in pairs)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("《史記》", "史记"),
        ("「《论语》·学而」", "论语·学而"),
        ("？！", "?!"),  # nothing but punctuation is kept
        ("《》", '""'),
        ("", ""),
        (" \t\u200b\ufeff\x00", ""),
        ("-5", "-5"),
        (".5", ".5"),
        ("……5", "5"),
        ("Rock ’n’ Roll", "rock n roll"),
        ("李白  Li\tBai", "李白li bai"),
        ("葛\U000e0100", "葛"),  # a variation selector
        ("赵昚\ud800", "赵昚\ud800"),  # a lone surrogate is somebody's mistake, not ours
    ],
)
def test_key(text: str, key: str) -> None:
    assert comparison_key(text) == key


untimed = settings(deadline=None)  # the first call reads the table
ANYTHING = st.text(
    st.one_of(
        st.characters(),  # lone surrogates included
        st.sampled_from("《》「」“”‘’'()（）【】·•.-—–，。… \n\u3000\u200b\u0308○〇0一二史記遷ＡßİΣ①㍿5ax"),
    )
)


@untimed
@given(ANYTHING)
def test_idempotent(text: str) -> None:
    key = comparison_key(text)
    assert comparison_key(key) == key


@untimed
@given(ANYTHING)
def test_never_erases_a_letter_or_number(text: str) -> None:
    if any(unicodedata.category(character)[0] in "LN" for character in text):
        assert comparison_key(text)


@untimed
@given(ANYTHING, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_normal_forms_are_one(text: str, form: str) -> None:
    assert comparison_key(unicodedata.normalize(form, text)) == comparison_key(text)  # type: ignore[arg-type]


@untimed
@given(ANYTHING, st.sampled_from(["《{}》", "「{}」", "“{}”。", "‘{}’", '"{}"，', " {}\n", "\ufeff{}"]))
def test_wrapping_changes_nothing(text: str, wrapping: str) -> None:
    key = comparison_key(text)
    assume(key[:1].isalnum() and key[-1:].isalnum())
    assert comparison_key(wrapping.format(key)) == key


# --- the folding table ---------------------------------------------------------------------------------------

# A changed table is another key: add its version and digest, do not replace the last one.
DIGESTS = {2: "bc7c805496f19e1cec8511da48ef5661b478099ae57fdf185626a67905273a28"}

# Folded although GB 2312 has them: variants of a commoner character, which nobody keeps apart from it.
COMMON_VARIANTS = "後麴捱摺菸甯锺馀迳於谘钜"

# Folded to the common character where OpenCC has a rarer one.
REVIEWED = dict(
    zip("槼壠讌緤鉋飈竚巗艣譆餧駞齩騌頴悞贑藷繈龎", "规垄宴绁刨飙伫岩橹嘻喂驼咬鬃颖误赣薯襁庞", strict=True)
)


def table(*kinds: str) -> dict[str, str]:
    rows = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]]
    pairs = [pair for kind, cell, _ in rows if kind in kinds for pair in cell.split()]
    assert all(len(pair) == 2 for pair in pairs)
    assert len({pair[0] for pair in pairs}) == len(pairs)
    return {pair[0]: pair[1] for pair in pairs}


def in_charset(character: str, charset: str) -> bytes:
    """The character's code, empty if the set lacks it.  GB 2312 is simplified, Big5 traditional."""
    return character.encode(charset, "ignore")


def test_table_belongs_to_the_version() -> None:
    assert hashlib.sha256(TABLE.read_bytes()).hexdigest() == DIGESTS[KEY_VERSION]


def test_table_needs_no_second_look() -> None:
    folds = table("traditional", "variant", "radical")
    assert folds.keys().isdisjoint(folds.values())
    assert all(unicodedata.normalize("NFKC", a + b) == a + b for a, b in folds.items())
    assert all(comparison_key(a) == comparison_key(b) == b for a, b in folds.items())


def test_kept_characters_are_kept() -> None:
    assert all(comparison_key(kept) == kept for kept in table("kept"))


def test_no_standard_simplified_character_is_folded() -> None:
    folds = table("traditional", "variant", "radical")
    assert {character for character in folds if in_charset(character, "gb2312")} == set(COMMON_VARIANTS)


def test_table_agrees_with_opencc() -> None:
    from opencc import OpenCC

    convert = OpenCC("t2s").convert
    assert {a: b for a, b in table("traditional").items() if convert(a) != b} == {}
    assert {a: b for a, b in table("variant").items() if convert(a) != a} == REVIEWED


def test_table_covers_traditional_writing() -> None:
    """Every Big5 character that OpenCC simplifies within the basic plane is folded or kept on purpose."""
    from opencc import OpenCC

    convert = OpenCC("t2s").convert
    big5 = [c for c in map(chr, range(0x4E00, 0xA000)) if in_charset(c, "big5")]
    simplified = {c for c in big5 if convert(c) != c and convert(c) <= "\uffff"}
    assert len(simplified) > 2600
    assert simplified - table("traditional", "variant", "kept").keys() == set()
