"""What the parser must know about the world, gathered from the data itself before parsing.

Several spellings are ambiguous one at a time and plain in bulk: is 宋 in 宋苏轼 a period or a surname, is 四 after
《子夜》 a chapter or the first word of the quotation?  :func:`build_lexicon` collects what is printed unambiguously
(宋·苏轼, 《史记·项羽本纪》) and how each title is cited, then draws its sets from these counts.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from clwqa_builders.extract.numerals import match_numeral
from clwqa_builders.extract.records import RawRow
from clwqa_builders.extract.repair import repair_row

# A title and what surrounds it; enough for statistics, the grammar proper reads citations.
_CITATION = re.compile(
    r"(?P<before>[^《》，。！？；：、“”‘’★（）()]{0,16})《(?P<inside>[^《》]{1,40})》(?=(?P<after>.{0,10}))"
)
_NUMBERED = re.compile(r"\s*(?:第[\d０-９一二三四五六七八九十百零○〇]|卷[一二三四五六七八九十百上中下])")
_HALF_VOLUME = re.compile(r"卷[一二三四五六七八九十百]+([上下])")
_SUNG = re.compile(r"词|(?:套|散)?曲")
_ROLE_END = re.compile(r"(?<=..)(?:等|著|撰|辑|主编)$")
_COUNTING = re.compile(
    r"(?<=[^》章部卷第])[一二三四五六七八九十](?=[\u4e00-\u9fff])[^一二三四五六七八九十回章卷]"
)
_CLAUSE = re.compile(r"[^。；？！，]+")
_CLASSIFIERS = "回折出章卷幕本部集节则套篇编册段场号期年月日"
_INTRO = re.compile(r"^(?:语出|语本|语见|典出|出自|本自|事见|参见|参阅|又见|亦见|见|又|据)")

# Periods under which states and dynasties are named (南朝·宋, 战国·楚).
PARENT_PERIODS = frozenset({"先秦", "春秋", "战国", "三国", "南朝", "北朝", "南北朝", "五代", "十国"})

# Books known to halve their volumes although the data show only one half.
_HALVED_BOOKS = frozenset({"二程遗书"})

# Shares and counts below which a spelling is not taken as the habit of a book.
_MIN_BARE_NUMERALS = 2
_MIN_BARE_SHARE = 0.5
_MIN_COUNTING = 9
_MIN_BOND = 3
_MIN_BOOK_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Closed sets the grammar consults; built once, shared read-only by all workers.

    * ``tunes`` maps a tune to the genre of its lyrics (词, 曲);
    * ``dotted_authors`` are (period, author), ``chapters`` (book, section) and ``works`` (author, title) pairs that
      are printed with a dot somewhere;
    * ``numeral_books`` number chapters by bare numerals, ``numbered_books`` cite chapters, acts or volumes by number
      at all, ``split_volumes`` number volumes 卷一上, 卷一下;
    * ``counting`` are a numeral and the character it often counts (一个, 五花): such a pair hardly begins with a
      chapter number;
    * ``bonds`` are two characters that recur side by side inside sentences: parts of a word, not a headword character
      and its meaning.
    """

    books: frozenset[str]
    periods: frozenset[str]
    dotted_authors: frozenset[tuple[str, str]]
    authors: frozenset[str]
    surnames: frozenset[str]
    numeral_books: frozenset[str]
    numbered_books: frozenset[str]
    split_volumes: frozenset[str]
    chapters: frozenset[tuple[str, str]]
    works: frozenset[tuple[str, str]]
    counting: frozenset[str]
    bonds: frozenset[str]
    tunes: Mapping[str, str]


def period_of(text: str, periods: frozenset[str], *, state: bool = False) -> str | None:
    """The normalised period printed as ``text`` (南朝宋 -> 南朝·宋, 清朝 -> 清, 粱 -> 梁); None if it is none.

    With ``state`` any single character passes, because states stand under their period (战国·郑).
    """
    text = text.strip().replace("粱", "梁")
    if text in PARENT_PERIODS:
        return text
    for parent in PARENT_PERIODS:
        child = text.removeprefix(parent)
        if child != text and (child in periods or (len(child) == 1 and child in "魏蜀吴楚")):
            return f"{parent}·{child}"
    if text.endswith(("朝", "代", "初", "末")) and text[:-1] in periods:
        return text[:-1]
    if text in periods:
        return text
    if state and len(text) == 1:
        return text
    return None


@dataclass(frozen=True, slots=True)
class _Mention:
    before: str
    title: str
    section: str
    after: str


def _mentions(fields: Iterable[str]) -> Iterable[_Mention]:
    for text in fields:
        for found in _CITATION.finditer(text):
            title, _, section = found["inside"].partition("·")
            yield _Mention(_INTRO.sub("", found["before"].strip()), title, section, found["after"])


def _split_dotted(before: str, periods: frozenset[str]) -> tuple[str, str] | None:
    """("南朝·宋", "刘义庆") from 南朝·宋·刘义庆; None unless the leading parts are all periods."""
    *parts, author = (part.strip() for part in before.replace("╞", "·").split("·"))
    found = [period_of(part, periods, state=i > 0) for i, part in enumerate(parts)]
    if not found or not author or None in found:
        return None
    return "·".join(part for part in found if part), author


def _bare_numeral(after: str) -> str:
    """The numeral right after a title if no classifier closes it, else ''."""
    numeral = match_numeral(after.lstrip(" "), 0)
    rest = after.lstrip(" ")[len(numeral) :]
    return "" if rest.startswith((*_CLASSIFIERS, ".")) else numeral


def _counting(fields: Iterable[str]) -> frozenset[str]:
    """Pairs of a numeral and the next character that recur inside running text."""
    pairs: Counter[str] = Counter()
    for text in fields:
        pairs.update(_COUNTING.findall(text))
    return frozenset(pair for pair, n in pairs.items() if n >= _MIN_COUNTING)


def _bonds(glosses: Iterable[str], examples: Iterable[str]) -> frozenset[str]:
    """Character pairs that recur inside clauses; the openings of gloss clauses, where a piece may meet its meaning,
    do not count.
    """
    pairs: Counter[str] = Counter()
    for texts, first in ((glosses, 3), (examples, 0)):
        for text in texts:
            for clause in _CLAUSE.findall(text):
                pairs.update(clause[i : i + 2] for i in range(first, len(clause) - 1))
    return frozenset(pair for pair, n in pairs.items() if n >= _MIN_BOND)


@dataclass(slots=True)
class _Habits:
    """How one title is cited over all its mentions."""

    uses: int = 0
    numbered: int = 0
    divided: int = 0
    bare: int = 0
    by_yuan: int = 0
    numerals: set[str] = field(default_factory=set)
    halves: Counter[str] = field(default_factory=Counter)
    sung: Counter[str] = field(default_factory=Counter)

    def note(self, mention: _Mention) -> None:
        """Count one more mention."""
        is_numbered = bool(_NUMBERED.match(mention.after))
        self.uses += 1
        self.numbered += is_numbered
        self.divided += is_numbered or bool(mention.section)
        self.by_yuan += mention.before.startswith("元")
        if numeral := _bare_numeral(mention.after):
            self.bare += 1
            self.numerals.add(numeral)
        if half := _HALF_VOLUME.match(mention.after):
            self.halves[half[1]] += 1
        if genre := _SUNG.match(mention.after):
            self.sung[genre[0][-1]] += 1

    @property
    def is_book(self) -> bool:
        return self.uses >= 2 and self.divided / self.uses >= _MIN_BOOK_SHARE

    @property
    def has_bare_numerals(self) -> bool:
        return len(self.numerals) >= _MIN_BARE_NUMERALS and self.bare / self.uses >= _MIN_BARE_SHARE

    @property
    def has_split_volumes(self) -> bool:
        return self.halves["上"] >= 2 and self.halves["下"] >= 2

    def genre(self, default: str) -> str:
        """The genre a tune is mostly printed with; if it never is, 曲 when Yuan authors use it, else ``default``."""
        if self.sung:
            return self.sung.most_common(1)[0][0]
        return "曲" if self.by_yuan else default


@dataclass(slots=True)
class _People:
    """Who is named before a title: with a dotted period, or alone."""

    dotted: set[tuple[str, str]] = field(default_factory=set)
    works: set[tuple[str, str]] = field(default_factory=set)
    alone: Counter[str] = field(default_factory=Counter)

    def note(self, mention: _Mention, periods: frozenset[str]) -> None:
        """Take in the names of one more mention."""
        pair = _split_dotted(mention.before, periods)
        names = re.split(r"[、 ]", _ROLE_END.sub("", pair[1] if pair else mention.before))
        if pair:
            self.dotted.update((pair[0], name) for name in names)
            self.works.update((name, mention.title) for name in names)
        else:
            self.alone.update(name for name in names if 2 <= len(name) <= 3)

    @property
    def authors(self) -> frozenset[str]:
        recurring = {name for name, n in self.alone.items() if n >= 2}
        return frozenset({name for _, name in self.dotted} | recurring)

    @property
    def surnames(self) -> frozenset[str]:
        first = Counter(name[0] for _, name in self.dotted if len(name) in (2, 3))
        return frozenset(surname for surname, n in first.items() if n >= 2)


def build_lexicon(
    rows: Iterable[RawRow],
    books: Iterable[str],
    periods: Iterable[str],
    tunes: Mapping[str, str],
) -> Lexicon:
    """Gather the lexicon from all rows, given the reviewed book titles, period names and tunes.

    Dotted authors, chapters and works are taken as printed; which titles are books, and which number their chapters by
    bare numerals, follows from how often they are cited so.
    """
    known_periods = frozenset(part for period in periods for part in period.split("·")) | PARENT_PERIODS
    repaired = [repair_row(row) for row in rows]
    fields = [text for derivation, example, _ in repaired for text in (derivation, example)]
    habits: defaultdict[str, _Habits] = defaultdict(_Habits)
    people = _People()
    chapters: set[tuple[str, str]] = set()
    for mention in _mentions(fields):
        habits[mention.title].note(mention)
        people.note(mention, known_periods)
        if mention.section:
            chapters.add((mention.title, mention.section))
    return Lexicon(
        books=frozenset(books)
        | {title for title, habit in habits.items() if habit.is_book and title not in tunes},
        periods=known_periods,
        dotted_authors=frozenset(people.dotted),
        surnames=people.surnames,
        authors=people.authors,
        numeral_books=frozenset(title for title, habit in habits.items() if habit.has_bare_numerals),
        numbered_books=frozenset(title for title, habit in habits.items() if habit.numbered >= 2),
        split_volumes=_HALVED_BOOKS | {title for title, habit in habits.items() if habit.has_split_volumes},
        chapters=frozenset(chapters),
        works=frozenset(people.works),
        counting=_counting(fields),
        bonds=_bonds([gloss for _, _, gloss in repaired], [example for _, example, _ in repaired]),
        tunes={tune: habits[tune].genre(default) for tune, default in tunes.items()},
    )
