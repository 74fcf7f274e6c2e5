"""The comparison key: the one normal form in which names and answers are compared.

Two strings name the same thing when their keys are equal.  Nothing else in this project normalises text.
docs/comparison-key.md gives the reasons; data/fold.tsv is the folding table.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib.resources import files

KEY_VERSION = 2
"""Names the function with its table: any change of either bumps it, and what holds keys is built anew."""

_CJK = r"\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_DIGITS = "一二三四五六七八九"
_INVISIBLE = (  # first and last code point
    (0x00, 0x08),  # controls, but for white space
    (0x0E, 0x1B),
    (0x7F, 0x84),
    (0x86, 0x9F),
    (0xAD, 0xAD),  # soft hyphen
    (0x034F, 0x034F),  # grapheme joiner
    (0x061C, 0x061C),  # direction
    (0x180B, 0x180F),  # Mongolian variation selectors
    (0x200B, 0x200F),  # spaces without width, joiners, direction
    (0x202A, 0x202E),  # direction
    (0x2060, 0x206F),  # word joiner, direction
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xE0100, 0xE01EF),  # more variation selectors
)
_ONE_FORM = {
    "·": "•‧∙⋅●・･᛫⸱⦁",
    "-": "‐‑‒–−",
    "—": "―─⸺⸻",
    "'": "‘’‚‛`",
    '"': "“”„‟«»‹›「」『』﹁﹂﹃﹄〝〞〟《》〈〉",
}
_OUTER = " \"'。.,、;:!?…⋯—~〜·_"  # after NFKC, with every mark in its one form
_SETTLED = "abcdefghijklmnopqrstuvwxyz123456789·,;:!?。、()"  # with the CJK ideographs that are not folded
_BRACKETS = {"(": ")", "[": "]", "{": "}", "【": "】", "〔": "〕", "〖": "〗"}

# Each pattern begins with the character it is about: looking behind at every position would be slow.
_SPACE = re.compile(rf" (?:(?<=[{_CJK}·] )|(?=[{_CJK}·]))")
_IDEOGRAPH = re.compile(rf"[{_CJK}]")
_PIECE = re.compile(rf"[{_CJK}]|(?:(?![{_CJK}])\w)+|[^\w\s]")
_DASH = re.compile(r"[—-]{2,}")
_DOT = re.compile(rf"\.(?<=[{_CJK}]\.)(?=[{_CJK}])")  # 卡尔.马克思
_ZERO = re.compile(rf"[○◯0](?<=[{_DIGITS}〇].)[○◯0]*|[○◯](?<![○◯].)[○◯]*+(?=[{_DIGITS}])")  # 一九三○年
_QUOTE = re.compile(rf"\"|'(?:(?<![^\W{_CJK}]')|(?![^\W{_CJK}]))")  # not the apostrophe within a Latin word
_LEADING = re.compile(rf"(?:[{_OUTER.replace('.', '')}]|\.{{2,}}|[.-](?![.a-z0-9]))+")  # not of .5, .net, -5


def shows(text: str) -> bool:
    """Whether a reader would see anything at all: one character that is neither white space nor invisible."""
    if text[:1].isalnum():  # nearly always
        return True
    return any(character.isprintable() and not character.isspace() for character in text)


def comparison_key(text: str) -> str:
    """The form of ``text`` that is compared: total, idempotent, and empty only if ``text`` shows nothing.

    NFKC; invisible characters dropped; traditional and variant characters folded; case folded; middle dots,
    dashes and the zero of Chinese numerals in one form each; white space next to a CJK character removed and
    reduced to one space elsewhere; quotes and book marks removed; punctuation and brackets around the whole
    stripped.  What would leave nothing is not done.
    """
    settled, characters = _tables()
    while not (settled.issuperset(text) and text[:1].isalnum() and text[-1:].isalnum()):
        key = _pass(text, characters)
        if key == text:  # one step may prepare another (case folding, then NFKC)
            break
        text = key
    return text


@cache
def _tables() -> tuple[frozenset[str], dict[int, str | None]]:
    """Characters that never change inside a text, and what the others change to, one by one."""
    rows = (files("clwqa_bench") / "data" / "fold.tsv").read_text(encoding="utf-8").splitlines()[1:]
    cells = (row.split("\t") for row in rows)
    folds = {pair[0]: pair[1] for kind, pairs, _ in cells if kind != "kept" for pair in pairs.split()}
    forms = {form: one for one, others in _ONE_FORM.items() for form in others}
    invisible = {code: None for first, last in _INVISIBLE for code in range(first, last + 1)}
    settled = frozenset(map(chr, range(0x4E00, 0xA000))) - folds.keys() | set(_SETTLED)
    return settled, str.maketrans({**folds, **forms}) | invisible


def _pass(text: str, characters: dict[int, str | None]) -> str:
    text = unicodedata.normalize("NFKC", text).translate(characters).casefold()
    text = _SPACE.sub("", " ".join(text.split()))
    text = _ZERO.sub(lambda zeros: "〇" * len(zeros[0]), _DASH.sub("—", _DOT.sub("·", text)))
    bare = _QUOTE.sub("", text)
    if start := _LEADING.match(bare):
        bare = bare[start.end() :]
    return _unwrap(bare.rstrip(_OUTER)) or text


def _unwrap(text: str) -> str:
    """Remove brackets that enclose the whole; those around a part belong to the name."""
    close = _BRACKETS.get(text[:1])
    if close is None or not text.endswith(close) or text.count(close) != 1:
        return text
    return text[1:-1]


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether a piece of text is not cut out of a longer word; in scripts without spaces every piece is whole."""
    return not (
        _joined(text[start - 1 : start], text[start : start + 1])
        or _joined(text[end - 1 : end], text[end : end + 1])
    )


def holds(text: str, name: str) -> bool:
    """Whether a text has a name in it as a whole: "mali" is not in "somalia".

    >>> holds("where is somalia", "mali"), holds("mali and niger", "mali"), holds("守株待兔", "待兔")
    (False, True, True)
    """
    at = text.find(name)
    while at >= 0:
        if is_whole(text, at, at + len(name)):
            return True
        at = text.find(name, at + 1)
    return False


def pieces(text: str) -> frozenset[str]:
    """The characters of a text; of what is written with spaces, the words, in small letters.

    >>> sorted(pieces("Official language")), sorted(pieces("出自"))
    (['language', 'official'], ['出', '自'])
    """
    return frozenset(_PIECE.findall(text.casefold()))


def is_ideograph(character: str) -> bool:
    """Whether a character is of a script that puts no spaces between words (Chinese, Japanese)."""
    return _IDEOGRAPH.match(character) is not None


def _joined(before: str, after: str) -> bool:
    """Whether two neighbouring characters belong to one word of a script that has spaces."""
    return before.isalnum() and after.isalnum() and not (is_ideograph(before) or is_ideograph(after))
