"""Numbered parts of a work: 卷三, 第七回, 第二部第六章, 之二, 楔子, 1983.2.20.

``locators := (volume | ordinal | counted | half | item | date | named | bare numeral)*``

A numeral may run into the quotation (卷一三人异趋 = 卷一 + 三人异趋), so every numeral that no classifier closes is
fitted against what follows it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clwqa_builders.extract.lexicon import Lexicon
from clwqa_builders.extract.numerals import canonical, match_numeral
from clwqa_builders.extract.scan import Cursor

_ORDINAL_CLASSIFIERS = (
    "回", "折", "出", "章", "卷", "幕", "本", "部", "集", "节", "则", "首", "齣", "套", "篇", "编", "辑", "册", "段",
    "场", "号", "期", "夜", "函", "讲", "课", "乐章",
)  # fmt: skip
_BARE_CLASSIFIERS = ("回", "折", "集", "幕", "章", "卷", "部", "出", "编")
_HALVES = re.compile(r"[上中下](?:卷|册|集|编|篇)(?![上下])|[内外杂]篇|[元亨利贞甲乙丙丁前后续别外]集(?!中)")
_NAMED = (
    "楔子", "引子", "序幕", "序曲", "尾声", "序言", "前言", "后记", "自序", "题词", "题记", "引言", "绪论", "附录",
)  # fmt: skip
_DATE = re.compile(
    r"[（(]?\d{4}(?:[.．·]\d{1,2}){1,2}[.．]?[）)]?"
    r"|\d{4}年(?:第?\d{1,2}(?:[—-]\d{1,2})?期|\d{1,2}月(?:\d{1,2}日)?|版)?(?:第\d+期)?"
    r"|(?<![\d])\d{1,2}[.．]\d{1,2}(?![\d])"
)
_ITEM = re.compile(
    r"[（(]?[之其]([一二三四五六七八九十]{1,3})[）)]?|[（(]([一二三四五六七八九十]{1,3}|\d{1,2}|[上中下])[）)]"
)
# 第十二七回: a misprint, but plainly the number of a chapter; kept as printed.
_GARBLED_CHAPTER = re.compile(
    r"十[一二三四五六七八九]{2}[回折]|[二三四五六七八九]十[一二三四五六七八九]{2}[回折]"
)
_VOLUME_LEAD = re.compile(r"卷[之第]?")
_AFTER_TITLE_HALF = re.compile(r"[上中下](?=[一二三四五六七八九十])")

# A first chapter is likely only before a word that opens a sentence: 一|我们, but 一跃, 一粥.
_OPENERS = frozenset("我你他她它咱俺这那没可但如当在从自因所于对算老")

# After these a last digit 一, 二, 三 or 十 belongs to the quotation: 一人, 三年, 十日.
_COUNTED_MORE = frozenset("子时拍行篇之有百千万余")
_CLAUSE_MARKS = frozenset("，。；！？、：")
_COUNTED_NOUNS = frozenset("人日年月夜岁")


@dataclass(frozen=True, slots=True)
class LocatorContext:
    """What decides how far a numeral reaches: the cited title, the headword, and whether the work is modern."""

    title: str
    word: str
    modern: bool
    at_field_end: bool
    lexicon: Lexicon
    after_genre: bool = False
    has_section: bool = False


def _fit(text: str, at: int, numeral: str, word: str) -> str:
    """The part of ``numeral`` that numbers; a tail that starts the quotation is given back."""
    if word and text.startswith(word[:2], at + len(numeral)):
        return numeral
    for keep in range(len(numeral) - 1, 0, -1):
        if word and word[0] == numeral[keep] and text.startswith(word[:3], at + keep):
            return numeral[:keep]
    following = text[at + len(numeral) : at + len(numeral) + 1]
    counts_noun = following in _COUNTED_NOUNS and numeral[-1] in "一二三十"
    if len(numeral) > 1 and (counts_noun or (following and following in "百千万")):
        return numeral[:-1]
    return numeral


def _begins_word(cursor: Cursor, context: LocatorContext) -> bool:
    """Whether the headword itself stands at the cursor (百折千回心不退), so that its numeral is no number of a part."""
    return bool(context.word) and cursor.text.startswith(context.word[:3], cursor.pos)


def _number(cursor: Cursor, context: LocatorContext) -> str:
    """Read an open numeral (one no classifier closes) and return its canonical form, or ''."""
    numeral = match_numeral(cursor.text, cursor.pos)
    if not numeral:
        return ""
    numeral = _fit(cursor.text, cursor.pos, numeral, context.word)
    cursor.pos += len(numeral)
    return canonical(numeral)


def _volume(cursor: Cursor, context: LocatorContext) -> str | None:
    """卷三, 卷第三一○, 卷上, 卷一百一十七, 卷四之二."""
    start = cursor.pos
    if not cursor.match(_VOLUME_LEAD):
        return None
    number = _number(cursor, context)
    if not number:
        half = cursor.accept("上", "中", "下", "首", "末")
        if half is None:
            cursor.pos = start
            return None
        # 卷上一, 卷中之二 number within the half.
        return "卷" + half
    half = cursor.accept("上", "中", "下") if context.title in context.lexicon.split_volumes else None
    part = re.compile(r"之([上中下一二三四五六七八九十])(?![一-鿿]?者)").match(cursor.text, cursor.pos)
    if part and half is None and context.at_field_end:
        cursor.pos = part.end()
        return f"卷{number}之{part[1]}"
    return f"卷{number}{half or ''}"


def _ordinal(cursor: Cursor, context: LocatorContext, follows_part: bool) -> str | None:
    """第七回, 第二部; 第五十七 without classifier."""
    start = cursor.pos
    if not cursor.accept("第第", "第", "（第", "(第"):
        return None
    numeral = match_numeral(cursor.text, cursor.pos)
    if not numeral:
        cursor.pos = start
        return None
    if garbled := cursor.match(_GARBLED_CHAPTER):
        return f"第{garbled[0]}"
    cursor.pos += len(numeral)
    classifier = cursor.accept(*_ORDINAL_CLASSIFIERS)
    if classifier:
        cursor.accept("）", ")")
        return f"第{canonical(numeral)}{classifier}"
    if follows_part:
        cursor.pos = start
        return None
    cursor.pos -= len(numeral)
    number = _number(cursor, context)
    return f"第{number}"


def _counted(cursor: Cursor, context: LocatorContext) -> str | None:
    """三十四回, 一折, 二集: an ordinal that lost its 第; only for works that are cited by number."""
    numeral = match_numeral(cursor.text, cursor.pos)
    classifiers: tuple[str, ...] = (
        ("回", "折", "幕", "出") if context.title in context.lexicon.numbered_books else ()
    )
    if len(numeral) > 1 and context.title in context.lexicon.books:
        classifiers = (*classifiers, "回", "章", "卷")
    if context.at_field_end or context.modern:
        classifiers = _BARE_CLASSIFIERS
    if not numeral or _begins_word(cursor, context):
        return None
    after = Cursor(cursor.text, cursor.pos + len(numeral))
    classifier = after.accept(*(classifiers or ("回",)))
    if not classifier or (classifier == "回" and not classifiers and len(numeral) < 2):
        return None
    cursor.pos = after.pos
    return f"第{canonical(numeral)}{classifier}"


def _item(cursor: Cursor, context: LocatorContext) -> str | None:
    """之二, 其三, （一）."""
    start = cursor.pos
    found = cursor.match(_ITEM)
    if not found:
        return None
    if found[2]:
        return f"（{found[2]}）"
    lead = "其" if "其" in found[0] else "之"
    kept = _fit(cursor.text, found.start(1), found[1], context.word)
    if len(kept) == 2 and kept[0] == "一":
        # The eleventh is printed 十一; a second digit after 一 begins the quotation (诗之一|一将功成).
        kept = "一"
    if not found[0].endswith(("）", ")")):
        cursor.pos = found.start(1) + len(kept)
    closed = found[0].endswith(("）", ")"))
    # 之一 never begins a quotation but for 庄子's 之二虫; 其五 may (其五言诗之善者).
    runs_on = cursor.peek() == "虫" if lead == "之" else kept[-1] + cursor.peek() in context.lexicon.counting
    if not closed and not context.after_genre and runs_on:
        cursor.pos = start
        return None
    return lead + kept


def _counts_on(cursor: Cursor, numeral: str) -> bool:
    """Whether the character after the numeral is what it counts (二三子, 十五时)."""
    following = cursor.text[cursor.pos + len(numeral) :][:1]
    return not following or following in _COUNTED_NOUNS | _COUNTED_MORE | _CLAUSE_MARKS


def _bare(cursor: Cursor, context: LocatorContext) -> str | None:
    """《子夜》四, 《山乡巨变》上十四: a bare numeral, by the habit of the book or for a modern work."""
    start = cursor.pos
    half = cursor.match(_AFTER_TITLE_HALF)
    numeral = match_numeral(cursor.text, cursor.pos)
    if len(numeral) == 3 and not context.at_field_end and not any(c in "十百○〇零" for c in numeral):
        # Positional three digits are rarer than a quotation that begins with 一 (三三|一名).
        numeral = numeral[:2]
    counting = context.lexicon.counting
    habit = context.title in context.lexicon.numeral_books and not context.has_section
    # Two digits number even an old work (《四十二章经》二十佛言), unless they count something.
    long = len(numeral) > 1 and not context.has_section and not _counts_on(cursor, numeral)
    if not numeral or numeral[0] in "百千" or not (habit or context.modern or context.at_field_end or long):
        cursor.pos = start
        return None
    if numeral.isascii() and not context.at_field_end:
        cursor.pos = start
        return None
    kept = _fit(cursor.text, cursor.pos, numeral, context.word)
    if _begins_word(cursor, context):
        cursor.pos = start
        return None
    following = cursor.text[cursor.pos + len(kept) : cursor.pos + len(kept) + 1]
    if len(kept) == 2 and kept[-1] + following in counting and not any(c in "十百" for c in kept):
        # 八|一句问话, not 81.
        kept, following = kept[0], kept[1]
    counts = len(kept) == 1 and kept + following in counting
    opens = kept != "一" or following in _OPENERS
    if not (habit or context.modern or context.at_field_end):
        counts = counts or kept[-1] + following in counting
    if not context.at_field_end and (not following or counts or not (habit or opens)):
        cursor.pos = start
        return None
    cursor.pos += len(kept)
    return (half[0] if half else "") + canonical(kept)


def parse_locators(cursor: Cursor, context: LocatorContext) -> str | None:
    """Read all numbered parts at the cursor; joined as printed (第三部第六章), numerals in canonical form."""
    parts: list[str] = []
    while True:
        cursor.skip()
        # A bare number divides a part or a volume of a novel, never a chapter, an act or an item.
        divisible = not parts or parts[-1][-1] in "部章卷篇集编段辑"
        part = (
            _volume(cursor, context)
            or _ordinal(cursor, context, follows_part=bool(parts))
            or (_counted(cursor, context) if divisible else None)
            or _item(cursor, context)
        )
        if part is None and (found := cursor.match(_DATE) or cursor.match(_HALVES)):
            part = found[0].strip("()（）").replace("．", ".")
        part = part or cursor.accept(*_NAMED)
        if part is None and divisible:
            part = _bare(cursor, context)
        if part is None:
            return "".join(parts) or None
        parts.append(part)
        if cursor.peek() == "·" and cursor.peek(2)[1:] in ("第", "卷"):
            cursor.pos += 1


# 四六 names the parallel prose of fours and sixes, 五百 a chapter of 法言.
_NUMERAL_NAMES = frozenset({"四六", "五百"})
_NUMBERED_SEGMENT = re.compile(
    r"卷[之第]?(?:[上中下首末]|[\d０-９一二三四五六七八九十百零○〇]+[上中下]?)|第[\d一二三四五六七八九十百零○〇]+[回折出章卷幕本部集节则首篇编辑册段场号期拍道]?"
    r"|[\d一二三四五六七八九十百零○〇]{1,5}[回折卷集]?|[之其][一二三四五六七八九十]+"
)


def as_locator(segment: str) -> str | None:
    """The normalised locator if a dotted segment of a title is only a number (卷一百一十七, 第十三回, 十三)."""
    if not _NUMBERED_SEGMENT.fullmatch(segment) or segment in _NUMERAL_NAMES:
        return None
    numeral = next((n for i in range(len(segment)) if (n := match_numeral(segment, i))), "")
    return segment.replace(numeral, canonical(numeral), 1) if numeral else segment
