"""The example field: a later use of the word, with its source after ★ or in closing brackets.

``example := text "★" head | text "（" head "）" | text head | head quotation | text``
"""

from __future__ import annotations

import re

from clwqa_builders.extract.heads import parse_head
from clwqa_builders.extract.lexicon import Lexicon
from clwqa_builders.extract.quotes import requote
from clwqa_builders.extract.records import Citation, Example
from clwqa_builders.extract.scan import Cursor

_BRACKETED = re.compile(r"[（(](?P<source>[^（）()]*《[^）)]*?(?:[（(][^）)]*[）)][^）)]*?)?)[）)]?[。》]?$")
_UNMARKED = re.compile(r"(?<=[。！？”’…])(?P<source>[^《》，。！？；：“”‘’…]{0,14}《[^《》]+》.{0,14})$")


def _source(text: str, word: str, lexicon: Lexicon) -> Citation | None:
    """The citation printed after an example; it quotes nothing itself."""
    text = text.strip("★ \u3000②③④①。")
    closing = text.rfind("》")
    if "《" in text and closing < text.rfind("《"):
        text += "》"
    head = parse_head(Cursor(text), lexicon, word, at_field_end=True)
    return head.citations(None)[0] if head else None


def _text(text: str, word: str) -> str | None:
    text = text.strip(" \u3000★").removesuffix("[下续示例]").strip()
    return requote(text, word) or None


def parse_example(field: str, word: str, lexicon: Lexicon) -> Example | None:
    """Parse one repaired example; None when the row has none.  The text keeps ～ in the word's place."""
    field = field.strip()
    if field in ("", "无"):
        return None
    text, star, source = field.rpartition("★")
    if star and text:
        return Example(_text(text, word), _source(source, word, lexicon))
    if found := _BRACKETED.search(field):
        citation = _source(found["source"], word, lexicon)
        if citation and found.start():
            return Example(_text(field[: found.start()], word), citation)
    cursor = Cursor(field)
    if (head := parse_head(cursor, lexicon, word)) and cursor.rest.strip("。”"):
        return Example(_text(cursor.rest.strip("：“").removesuffix("”"), word), head.citations(None)[0])
    if found := _UNMARKED.search(field):
        citation = _source(found["source"], word, lexicon)
        if citation:
            return Example(_text(field[: found.start()], word), citation)
    return Example(_text(field, word), None)
