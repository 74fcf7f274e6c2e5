"""The head of a citation: attribution 《title》 locators genre [annotator 引 《second work》].

``head := attribution title ("、" attribution title)* locators genre locators via?``
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from clwqa_builders.extract.attribution import Attribution, parse_attribution
from clwqa_builders.extract.lexicon import Lexicon
from clwqa_builders.extract.locators import LocatorContext, parse_locators
from clwqa_builders.extract.records import Citation
from clwqa_builders.extract.scan import Cursor, balanced_end
from clwqa_builders.extract.titles import Title, parse_title

_LONG_GENRES = (
    "套曲", "套数", "散套", "散曲", "小令", "杂剧", "诗并序", "诗自序", "诗自注", "诗序", "诗引", "诗跋", "诗题",
    "词并序", "词序", "词自序", "词跋", "赋序", "并序", "一文", "一诗", "一词", "一书", "序", "跋",
)  # fmt: skip
_GENRE_SECTION_END = re.compile(r"[序跋]$")
_COUNT_OF_POEMS = re.compile(r"[一二三四五六七八九十]{1,2}首(?:之[一二三四五六七八九十]+)?")
_CLAUSE = re.compile(r"[^，。？！；：、]+")
_CONTINUES_NOUN = frozenset("，、。：；者曰云家话")
_PLAY_LOCATOR = re.compile(r"[折出回幕]|楔子")
_ANNOTATION = r"(?:集解|集注|集释|索隐|正义|补注|笺注|音义|自注|注|疏|笺|传)"
_ANNOTATORS = (
    "毛亨|裴松之|刘孝标|李善|颜师古|李贤|郑玄|孔颖达|杜预|何晏|赵岐|王逸|高诱|韦昭|郭璞|裴骃|司马贞|张守节|胡三省|郦道元|"
    "李周翰|吕延济|吕向|刘良|张铣|朱熹|邢昺|贾公彦|王弼|何休|范宁|杨倞|成玄英|郭象|薛综|应劭|如淳|晋灼|刘昭"
)
_BY_ANNOTATOR = re.compile(
    rf"(?:[\u4e00-\u9fff]{{1,2}}·){{0,2}}(?:[唐宋晋汉])?((?:{_ANNOTATORS}){_ANNOTATION})"
)
_CITES_NAME = re.compile(
    rf"(?P<via>[\u4e00-\u9fff]{{2,4}}?{_ANNOTATION})?[转所]?引用?(?P<work>[\u4e00-\u9fff·]{{2,6}}?(?:诗|词|语|文|曰|云|之言))"
)
_REPORTS = re.compile(
    r"中(?:的|把|有)(?=[^”]{8,}$)|[，。、]?中?(?:均|亦|曾|也)?有?(?:所?记载|所?载(?!.载|曰)|记述|记叙|描述|描写|叙述)"
    r"(?:着|有(?![人一个])|了|道|的)?[，：]?(?=.{8})"
)


@dataclass(frozen=True, slots=True)
class Head:
    """Everything a citation says before it quotes; ``reports`` when 载 or 记载 announces a told story."""

    attribution: Attribution
    title: Title
    locator: str | None
    genre: str | None
    via: str | None
    quotes_work: str | None
    also: tuple[tuple[Attribution, Title], ...]
    reports: bool

    def citations(
        self, quotation: str | None, commentary: str | None = None, *, narrative: bool = False
    ) -> tuple[Citation, ...]:
        """The citation records of this head; works cited beside the first (《A》、《B》) carry no quotation."""
        first = Citation(
            title=self.title.title,
            section=self.title.section,
            locator=self.locator,
            author=self.attribution.author,
            author_role=self.attribution.role,
            period=self.attribution.period,
            genre=self.genre or self.attribution.genre,
            quotation=quotation,
            commentary=commentary,
            via=self.via or self.attribution.via,
            quotes_work=self.quotes_work,
            narrative=narrative,
        )
        return (first, *(_bare_citation(who, title, narrative) for who, title in self.also))


def _bare_citation(who: Attribution, title: Title, narrative: bool) -> Citation:
    return Citation(
        title=title.title, section=title.section, locator=title.locator, author=who.author, author_role=who.role,
        period=who.period, genre=who.genre, quotation=None, commentary=None, via=who.via, quotes_work=None,
        narrative=narrative,
    )  # fmt: skip


def _tune_genre(genre: str, period: str | None) -> str:
    """What a lyric to a tune is when no genre is printed: 词 from Tang to Song, else the tune's usual genre."""
    return "词" if period and re.match(r"唐|五代|宋|南唐|[前后]蜀|[南北]宋", period) else genre


def is_metrical(text: str) -> bool:
    """Whether the first two clauses have the equal length of 4, 5 or 7 characters, as in regular verse."""
    clauses = _CLAUSE.findall(text)[:2]
    return len(clauses) == 2 and len(clauses[0]) == len(clauses[1]) and len(clauses[0]) in (4, 5, 7)


def _accept_genre(
    cursor: Cursor, title: Title, locator: str | None, lexicon: Lexicon, word: str
) -> str | None:
    """Read a genre word, unless it is the first word of the quotation (《四溟诗话》卷二诗，适情之具)."""
    if word and cursor.text.startswith(word[:2], cursor.pos):
        return None
    is_tune = title.title in lexicon.tunes
    is_book = (title.title in lexicon.books and not is_tune) or bool(locator)
    start = cursor.pos
    if genre := cursor.accept(*_LONG_GENRES):
        following = cursor.peek()
        if genre == "跋" and following in ("前", "扈", "涉"):
            cursor.pos = start
            return None
        if following in _CONTINUES_NOUN and following or (genre.startswith(("诗", "词")) and is_book):
            cursor.pos = start
            return None
        return genre
    genre = cursor.accept("诗", "词", "曲")
    if genre is None:
        return None
    rest = cursor.rest
    item_follows = bool(re.match(r"[之其（][一二三四五六七八九十]", rest)) or bool(
        _COUNT_OF_POEMS.match(rest)
    )
    certain = not rest or item_follows or (is_tune and genre != "诗")
    if rest and rest[0] in _CONTINUES_NOUN:
        accepted = False
    elif is_book and genre == "词" and not locator:
        accepted = title.title not in lexicon.numbered_books
    elif is_book:
        accepted = certain or (genre == "诗" and is_metrical(rest) and not is_metrical(genre + rest))
    else:
        accepted = certain or rest[0] not in "人之" or is_metrical(rest)
    if not accepted:
        cursor.pos = start
        return None
    return genre


def _accept_second_work(cursor: Cursor, lexicon: Lexicon) -> tuple[str | None, str | None] | None:
    """Read ``[annotator]引[attribution]《B》``; returns (annotator, B with its section), or None."""
    opening = cursor.text.find("《", cursor.pos)
    lead = cursor.text[cursor.pos : opening] if opening >= 0 else ""
    if opening < 0 or len(lead) > 26 or "引" not in lead or re.search(r"[，。；！？‘’”]", lead):
        return None
    annotator, _, before = lead.partition("引")
    annotator = annotator.rstrip("转所").rpartition("·")[2]
    if annotator and not re.search(rf"{_ANNOTATION}$", annotator):
        return None
    closing = balanced_end(cursor.text, opening)
    if closing is None or parse_attribution(before, lexicon) is None:
        return None
    cursor.pos = closing + 1
    return annotator or None, cursor.text[opening + 1 : closing]


def _accept_via(cursor: Cursor, lexicon: Lexicon) -> tuple[str | None, str | None]:
    """(annotator, second work) after the locators; (None, None) when the passage is quoted directly."""
    cursor.skip(" 。，" if cursor.rest.lstrip(" 。，").startswith("引") else " ")
    if second := _accept_second_work(cursor, lexicon):
        return second
    if found := cursor.match(_CITES_NAME):
        return found["via"], re.sub(r"(?:[曰云语]|之言)$", "", found["work"])
    if found := cursor.match(_BY_ANNOTATOR):
        return found[1], None
    return None, None


def _also_cited(cursor: Cursor, lexicon: Lexicon) -> tuple[tuple[Attribution, Title], ...]:
    """Further works of the same head: 《史记》、《汉书》; 《晋书·贾谧传》、南朝宋刘义庆《世说新语·惑弱》."""
    found: list[tuple[Attribution, Title]] = []
    while cursor.peek() and cursor.peek() in "、及和":
        opening = cursor.text.find("《", cursor.pos)
        closing = balanced_end(cursor.text, opening) if opening >= 0 else None
        who = parse_attribution(cursor.text[cursor.pos + 1 : opening], lexicon) if closing else None
        if closing is None or who is None or opening - cursor.pos > 20:
            break
        found.append((who, parse_title(cursor.text[opening + 1 : closing], lexicon)))
        cursor.pos = closing + 1
    return tuple(found)


def parse_head(
    cursor: Cursor,
    lexicon: Lexicon,
    word: str,
    *,
    at_field_end: bool = False,
    previous: Citation | None = None,
) -> Head | None:
    """Read one citation head at the cursor; None (cursor unmoved) if what stands there is not one.

    ``at_field_end`` for a source printed after an example, where nothing follows the head.  ``previous`` is the
    citation before this one: 又《文博士》 after a work of 老舍 is his as well.
    """
    start = cursor.pos
    opening = cursor.text.find("《", start)
    attribution = parse_attribution(cursor.text[start:opening], lexicon, word) if opening >= 0 else None
    closing = balanced_end(cursor.text, opening) if opening >= 0 else None
    if attribution is None or closing is None or not cursor.text[opening + 1 : closing].strip("《》· "):
        return None
    title = parse_title(cursor.text[opening + 1 : closing], lexicon, attribution.author)
    if previous and cursor.text.startswith(("又《", "又如《"), start) and title.title not in lexicon.books:
        attribution = replace(attribution, author=previous.author, period=previous.period)
    cursor.pos = closing + 1
    cursor.skip("》 \u3000\t")
    also = _also_cited(cursor, lexicon)
    modern = attribution.period is None and attribution.author is not None
    context = LocatorContext(
        title.title, word, modern, at_field_end, lexicon, has_section=title.section is not None
    )
    locators = [title.locator, parse_locators(cursor, context)]
    printed = _accept_genre(cursor, title, locators[1], lexicon, word)
    if printed and (count := cursor.match(_COUNT_OF_POEMS)):
        locators.append(count[0].partition("首")[2] or None)
    locators.append(parse_locators(cursor, replace(context, after_genre=True)) if printed else None)
    locator = "".join(part for part in locators if part) or None
    via, quotes_work = _accept_via(cursor, lexicon)
    if quotes_work:
        parse_locators(cursor, LocatorContext(quotes_work, word, False, at_field_end, lexicon))
        _accept_genre(cursor, Title(quotes_work, None, None), None, lexicon, word)
    reports = bool(cursor.match(_REPORTS))
    cursor.accept("载曰")
    is_tune = title.title in lexicon.tunes and not (locator and _PLAY_LOCATOR.search(locator))
    genre = printed or (_tune_genre(lexicon.tunes[title.title], attribution.period) if is_tune else None)
    return Head(attribution, title, locator, genre, via, quotes_work, also, reports)
