"""What stands inside 《》: title, named section, numbered parts.

``title := segment ("·" segment)*``; the first segment is the work, numbered ones are locators, the rest the section.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clwqa_builders.extract.lexicon import Lexicon
from clwqa_builders.extract.locators import as_locator
from clwqa_builders.extract.quotes import requote_title

# How a section of a dynastic history or a play ends when its dot was lost (《汉书何并传》).
_HISTORY = re.compile(r"(?:书|史|史记|国志|汉纪|通志|通典)$")
_HISTORY_SECTION = re.compile(
    r".{1,6}(?:传|本纪|世家|列传|志|纪|纪[上下一二三四五]|传[上下一二三四五]|传论|传赞|载记)$"
)
# A longer title of the same author is another work when it goes on so.
_SEQUEL = re.compile(r"[续后前外补新二三别集序跋]|.*[序跋注传赋论]$")
_ITEM = re.compile(r"(?P<name>[^（）]{2,})(?P<item>（[之其]?[一二三四五六七八九十上中下]{1,3}）)")
_OPENERS, _CLOSERS = "〈《（(＜", "〉》）)＞"


@dataclass(frozen=True, slots=True)
class Title:
    """``title`` 史记, ``section`` 项羽本纪 or None, ``locator`` from numbered segments or None."""

    title: str
    section: str | None
    locator: str | None


def _segments(inside: str) -> list[str]:
    """Split at the dots that are not inside a nested title."""
    segments, depth, start = [], 0, 0
    for i, c in enumerate(inside):
        depth += (c in _OPENERS) - (c in _CLOSERS)
        if (c in "·╞" or (c in ".．" and not inside[i - 1 : i + 2].isascii())) and depth <= 0:
            segments.append(inside[start:i])
            start = i + 1
    segments.append(inside[start:])
    return [segment.strip() for segment in segments if segment.strip()]


def _split_known(title: str, author: str | None, lexicon: Lexicon) -> tuple[str, str] | None:
    """Split a title whose dot was lost into a known book and its section; None unless both are certain."""
    if title in lexicon.books:
        return None
    for length in range(len(title) - 2, 1, -1):
        book, section = title[:length], title[length:]
        if (book, section) in lexicon.chapters:
            return book, section
        if book in lexicon.books and _HISTORY.search(book) and _HISTORY_SECTION.fullmatch(section):
            return book, section
        same_work = author is not None and (author, book) in lexicon.works and book in lexicon.books
        if same_work and len(section) >= (2 if book.endswith("记") else 3):
            return None if _SEQUEL.match(section) else (book, section)
    return None


def parse_title(inside: str, lexicon: Lexicon, author: str | None = None) -> Title:
    """Read the text between 《 and 》; a lost dot is restored only where book and section are both known."""
    inside = inside.replace("＜", "〈").replace("＞", "〉").strip("《》 ")
    first, *others = _segments(inside) or [inside]
    title = requote_title(first)
    if split := _split_known(title, author, lexicon):
        title, section = split
        others = [section, *others]
    if split_item := _ITEM.fullmatch(others[-1] if others else title):
        name = split_item["name"]
        title, others = (title, [*others[:-1], name]) if others else (name, others)
    numbered = [locator for segment in others if (locator := as_locator(segment))]
    named = [requote_title(segment) for segment in others if not as_locator(segment)]
    if split_item:
        numbered.append(split_item["item"])
    return Title(title, "·".join(named) or None, "".join(numbered) or None)
