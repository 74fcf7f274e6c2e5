"""Undo the mechanical damage in the idiom tables.

Somebody once deleted two GBK byte pairs, A3BA (：) and A1B0 (“), without looking at character boundaries.  Aligned, the
pair is simply gone.  Unaligned, it was the second byte of one character and the first byte of the next, and the two
survivors fused into a third character: 。后 (A1A3 BAF3) became ◇ (A1F3).

Three repairs follow, from certain to reviewed:

* a fused *symbol* (◇, ‖, →) cannot stand in running Chinese, so it is split back by byte arithmetic;
* a fused *hanzi* (趁 for 常好) is a legal word too, so only places listed in ``damage.tsv`` are split; every listed
  fusion is itself checked against the byte arithmetic by the tests;
* runs shifted by one byte and errors of the traditional-to-simplified conversion are listed in the same table.

Plainly deleted ： and “ leave no trace; :func:`requote` puts “ back where a closing ” shows one is missing.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from clwqa_builders.extract.records import RawRow

_DELETED_PAIRS = (b"\xa3\xba", b"\xa1\xb0")

# Signs of GB2312 row A1 (and full-width forms of row A3) that belong in ordinary Chinese text.
_LEGITIMATE = frozenset("\u3000、。·ˉ—～…‘’“”〔〕〈《》「』【】○□①②③④！＃（），－．；？＜＝＞［］")


def fuse(text: str) -> str:
    """Damage ``text`` as the sources were damaged: delete A3BA and A1B0 wherever the bytes meet.

    The inverse direction of this module; the tests use it to state what repair must undo.
    """
    data = text.encode("gb18030")
    for pair in _DELETED_PAIRS:
        data = data.replace(pair, b"")
    return data.decode("gb18030", "replace")


@cache
def split_fusion(char: str) -> str | None:
    """The two characters that fused into ``char`` across a deleted pair, sentence mark first; None if impossible.

    Only marks can head a fused symbol: 。 (A1A3) with a following BAxx, ！ (A3A1) with a following B0xx.
    """
    try:
        code = char.encode("gbk")
    except UnicodeEncodeError:
        return None
    heads = {0xA1: (b"\xa1\xa3", b"\xba"), 0xA3: (b"\xa3\xa1", b"\xb0")}
    if len(code) != 2 or code[0] not in heads:
        return None
    mark, lead = heads[code[0]]
    try:
        return (mark + lead + code[1:]).decode("gbk")
    except UnicodeDecodeError:
        return None


def _is_hanzi(char: str) -> bool:
    return "\u4e00" <= char <= "\u9fff"


def _is_fused_symbol(char: str, before: str, after: str, tilde_is_word: bool) -> bool:
    """Whether ``char`` is a fusion rather than itself (some signs are both; the text around decides)."""
    between_hanzi = _is_hanzi(before[-1:]) and _is_hanzi(after[:1])
    if char in "～★":
        return not tilde_is_word and between_hanzi
    if char in "〉」":
        return not tilde_is_word and {"〉": "〈", "」": "「"}[char] not in before
    if char == "『":
        return "』" not in after
    if char in _LEGITIMATE:
        return False
    # Full-width letters and digits are fusions only inside running hanzi (你岂不知羞３公公), never in 阿Ｑ or １１.
    if "０" <= char <= "９":
        return between_hanzi and before[-1] not in "第卷回一二三四五六七八九十百"
    # ■（足旁）describes a character the printers lacked.
    return not char.isalpha() and after[:1] not in ("（", "(")


def split_symbols(text: str, *, tilde_is_word: bool = False) -> str:
    """Replace fused symbols by the mark and character they hide (◇ -> 。后).

    Where ``tilde_is_word`` (examples, quotations) ～ stands for the headword and ★ announces a source.
    """
    out = ""
    for at, char in enumerate(text):
        pair = None if _is_hanzi(char) else split_fusion(char)
        fused = pair is not None and _is_fused_symbol(char, out, text[at + 1 :], tilde_is_word)
        out += pair if pair and fused else char
    return out


@cache
def _reviewed() -> tuple[tuple[str, str], ...]:
    """The reviewed replacements of damage.tsv as (damaged, restored), longest first."""
    table = files(__package__).joinpath("damage.tsv").read_text(encoding="utf-8")
    pairs = []
    for line in table.splitlines()[1:]:
        if line and not line.startswith("#"):
            damaged, restored, _kind = line.split("\t")
            pairs.append((damaged, restored))
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


@cache
def _reviewed_pattern() -> re.Pattern[str]:
    return re.compile("|".join(re.escape(damaged) for damaged, _ in _reviewed()))


def apply_reviewed(text: str) -> str:
    """Replace the damaged phrases a reader has reviewed (非趁 -> 非常好)."""
    table = dict(_reviewed())
    return _reviewed_pattern().sub(lambda match: table[match[0]], text)


# 於 is plain 于 in simplified text, but stays in names and in the interjection.
_YU = re.compile(r"於(?![期陵菟戏乎潜！])(?<![樊商鲜]於)")


def simplify(text: str) -> str:
    """Finish the traditional-to-simplified conversion where it is regular (於 -> 于)."""
    return _YU.sub("于", text)


def repair(text: str, *, tilde_is_word: bool = False) -> str:
    """All exact and reviewed repairs of one field; idempotent, and the identity on undamaged text."""
    return simplify(split_symbols(apply_reviewed(text), tilde_is_word=tilde_is_word))


def repair_row(row: RawRow) -> tuple[str, str, str]:
    """The repaired (derivation, example, explanation) of a row."""
    return (
        repair(row.derivation, tilde_is_word=True),
        repair(row.example, tilde_is_word=True),
        repair(row.explanation),
    )
