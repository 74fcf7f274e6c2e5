"""Canonicalise citations: which work, which unit of it, by whom, of which period.

The hand-checked tables decide first; only for the long tail a majority vote over the other citations of the same
title decides, and only with support >= 3 and share >= 0.8.  Works are keyed by
(title, author): different works under one title stay different.  无名氏 is never a person.  A tune is never a source.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from clwqa_builders.extract.records import Citation
from clwqa_builders.tables import Book, Period

VOTE_SUPPORT = 3
VOTE_SHARE = 0.8
BOOK_SHARE = 0.3  # a title cited with a section or volume in this share of its uses is a book, not a piece

UNNAMED = frozenset({"无名氏", "佚名", "阙名", "无名", "缺名", "不著撰人"})
_ROLE = {"authored": "authoredBy", "compiled": "compiledBy", "attributed": "attributedTo"}
_COMPILER_WORDS = ("编", "辑", "纂", "主编", "编辑", "编著", "辑录")
_NOT_A_NAME = re.compile(
    r"[引注疏笺云曰说《》“”‘’，。；、\d]|^[上下前后]|[某等]$|今[存本]|另见|教案|^变文$|.[剧戏]$|^天地会$"
)
# Titles that name a kind of text: two unsigned ones are never known to be the same work.
_GENERIC = re.compile(r"[自]?[序跋叙]|前言|后记|失[题題]|无题|古诗|府君墓志铭|神道碑|问答[上下]?|书[序信]")
_RULER = re.compile(r".{1,2}[帝祖宗]|后主")
_MARKS = re.compile(r"[〈〉《》“”‘’，、。；：？！…\s]")
_SERIES = re.compile(r"^(之|其)[一二三四五六七八九十百]+$")
_MODERN = "近现代"
_POETRY = frozenset({"诗", "词", "曲", "赋", "套曲", "散曲", "小令", "套数"})


@dataclass(frozen=True, slots=True)
class Work:
    """A book-like source or a free-standing piece.

    ``kind`` is an ontology type (Book, Collection, Drama, Novel, Periodical, Piece); ``role`` the creator relation;
    ``domain`` a category slug when the table of books or the kind of work settles it, else None.
    """

    id: str
    title: str
    kind: str
    authors: tuple[str, ...]
    role: str
    period: str | None
    domain: str | None
    aliases: tuple[str, ...] = ()
    curated: bool = False


@dataclass(frozen=True, slots=True)
class Unit:
    """A chapter of a book, an act of a play, or a piece of a collection."""

    id: str
    label: str
    kind: str
    work: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a citation points: a work and, when stated, a unit of it."""

    work: Work
    unit: Unit | None
    conflict: str | None = None  # author as printed, when it contradicts the hand-checked table

    @property
    def id(self) -> str:
        return self.unit.id if self.unit else self.work.id


@dataclass(frozen=True, slots=True)
class Tables:
    """The hand-checked tables, as plain values."""

    books: tuple[Book, ...]
    same_title: tuple[Book, ...]
    author_aliases: Mapping[str, str]
    title_typos: Mapping[str, str]
    periods: tuple[Period, ...]
    person_periods: Mapping[str, str]
    tunes: frozenset[str]
    false_variants: frozenset[frozenset[str]]
    work_kinds: Mapping[str, str]


class Canonicaliser:
    """Resolves citations against the tables and the statistics of all citations.

    Built once from every citation; :meth:`place` is then a pure function of one citation.
    """

    def __init__(self, citations: Iterable[Citation], tables: Tables) -> None:
        self._tables = tables
        self._period_ids = {name: p.id for p in tables.periods for name in (p.id, p.label, *p.aliases)}
        self._parents = {p.id: p.parent for p in tables.periods}
        self._books = {b.title: b for b in tables.books}
        self._same_title = {(b.title, a): b for b in tables.same_title for a in b.authors}
        self._aliases = {alias: b.title for b in tables.books for alias in b.aliases}
        self._dotted = {alias: b.title for b in tables.books for alias in b.dotted_aliases}
        self._sections: dict[str, Counter[str]] = defaultdict(Counter)
        self._uses: Counter[str] = Counter()
        self._book_uses: Counter[str] = Counter()
        self._locators: dict[str, Counter[str]] = defaultdict(Counter)
        self._author_votes: dict[str, Counter[str]] = defaultdict(Counter)
        self._period_votes: dict[str, Counter[str]] = defaultdict(Counter)
        self._anonymous_periods: dict[str, Counter[str]] = defaultdict(Counter)
        for citation in citations:
            self._observe(citation)

    # -- names -----------------------------------------------------------------------------------------------

    def authors(self, citation: Citation) -> tuple[str, ...]:
        """Canonical person names of a citation; () when none is stated, unnamed or not a name."""
        names = []
        for part in re.split(r"[、，]", citation.author or ""):
            name = self._tables.author_aliases.get(part.strip(), part.strip())
            if citation.period and _RULER.fullmatch(name):
                ruler = citation.period.rpartition("·")[2] + name  # 梁·武帝 is 梁武帝
                name = self._tables.author_aliases.get(ruler, name)
            if name and name not in UNNAMED and not _NOT_A_NAME.search(name) and len(name) <= 12:
                names.append(name)
        return tuple(dict.fromkeys(names))

    def title(self, citation: Citation) -> str:
        """The canonical title: reviewed typos, then aliases; short ones only when dotted or unauthored, some only
        with their author (西厢记 by 董解元 is the 西厢记诸宫调)."""
        title = self._tables.title_typos.get(citation.title, citation.title)
        for author in self.authors(citation):
            if (known := self._aliases.get(f"{title}/{author}")) is not None:
                return known
        if title in self._aliases:
            return self._aliases[title]
        if title in self._dotted and (citation.section or not citation.author):
            return self._dotted[title]
        return title

    def period(self, name: str | None) -> str | None:
        return self._period_ids.get(name) if name else None

    def person_period(self, person: str) -> str | None:
        """Table first; otherwise the majority of the dynasties printed with the name, kin periods counted together."""
        if person in self._tables.person_periods:
            return self._tables.person_periods[person]
        votes = self._period_votes.get(person)
        if not votes:
            return None
        best, _ = min(votes.items(), key=lambda item: (-item[1], item[0]))
        kin = sum(n for p, n in votes.items() if p in self.lineage(best) or best in self.lineage(p))
        return best if kin / sum(votes.values()) >= VOTE_SHARE else None

    def lineage(self, period: str) -> tuple[str, ...]:
        """The period and its ancestors, nearest first."""
        chain = [period]
        while parent := self._parents.get(chain[-1]):
            chain.append(parent)
        return tuple(chain)

    # -- works -----------------------------------------------------------------------------------------------

    def place(self, citation: Citation) -> Place:
        """The work and unit a citation points to."""
        title, authors = self.title(citation), self.authors(citation)
        book = self._books.get(title)
        if book is not None:
            other = next(
                (self._same_title[title, a] for a in authors if (title, a) in self._same_title), None
            )
            agrees = not (authors and book.authors) or bool(
                {*book.authors, *book.other_authors} & set(authors)
            )
            conflict = None if agrees or other else "、".join(authors)
            return self._with_unit(
                self._curated(other or book, is_other=other is not None), citation, conflict
            )
        if title in self._tables.tunes:
            topic = f"{title}·{citation.section}" if citation.section else title
            return Place(self._piece(topic, authors, citation), None)
        whole = _winner(self._sections[title])
        if whole and set(authors) <= set(self._books[whole].authors):
            # A chapter cited by its own name alone (《逍遥游》, 荀子《劝学》).
            section = f"{title}·{citation.section}" if citation.section else title
            return self.place(replace(citation, title=whole, section=section, author=None))
        listed = self._tables.work_kinds.get(_key(title, authors), "")
        if listed != "Piece" and (listed or self._is_book(title)):
            return self._with_unit(self._tail_book(title, authors), citation, None)
        name = title + (f"·{citation.section}" if citation.section else "") + (citation.locator or "")
        return Place(self._piece(name, authors or self._voted_author(title), citation), None)

    def _observe(self, citation: Citation) -> None:
        title, authors = self.title(citation), self.authors(citation)
        self._uses[title] += 1
        located = citation.locator is not None and not _SERIES.match(citation.locator)
        if (citation.section or located) and citation.genre not in _POETRY:
            self._book_uses[title] += 1
        if citation.section and title in self._books:
            self._sections[citation.section][title] += 1
        if citation.locator:
            self._locators[title][citation.locator[-1]] += 1
        period = self.period(citation.period)
        if len(authors) == 1:
            self._author_votes[title][authors[0]] += 1
            if period:
                self._period_votes[authors[0]][period] += 1
        elif period and not authors:
            self._anonymous_periods[title][period] += 1

    def _curated(self, book: Book, *, is_other: bool) -> Work:
        key = f"{book.title}/{book.authors[0]}" if is_other and book.authors else book.title
        return Work(
            f"book:{key}",
            book.title,
            book.kind,
            book.authors,
            _ROLE.get(book.role, "authoredBy"),
            book.period or None,
            book.domain or None,
            () if is_other else tuple(a for a in book.aliases if "/" not in a),
            curated=True,
        )

    def _is_book(self, title: str) -> bool:
        return self._book_uses[title] / max(self._uses[title], 1) >= BOOK_SHARE

    def _tail_kind(self, title: str) -> str:
        marks = self._locators[title]
        if any(marks[act] for act in "折出齣幕场") or re.search(r".(传奇|杂剧)$", title):
            return "Drama"
        if marks["回"] > 0:
            return "Novel"
        return "Collection" if re.search(r"(集|文钞|诗钞|遗稿|诗稿|文稿|诗草)$", title) else "Book"

    def _tail_book(self, title: str, authors: tuple[str, ...]) -> Work:
        authors = authors or self._voted_author(title)
        key = _key(title, authors)
        kind = self._tables.work_kinds.get(key) or self._tail_kind(title)
        domain = "arts_literature" if kind in ("Drama", "Novel", "Collection") else None
        period = None if authors else _winner(self._anonymous_periods[title])
        return Work(f"book:{key}", title, kind, authors, "authoredBy", period, domain)

    def _piece(self, title: str, authors: tuple[str, ...], citation: Citation) -> Work:
        owner = authors[0] if authors else "?"
        if not authors and _GENERIC.fullmatch(title):
            owner += (citation.quotation or "")[:12]
        period = self.period(citation.period)
        classical = bool(authors) and (self.person_period(authors[0]) or period) not in (None, _MODERN)
        literary = classical or citation.genre in _POETRY or title.split("·")[0] in self._tables.tunes
        return Work(
            f"piece:{owner}/{_plain(title)}",
            title,
            "Piece",
            authors,
            "authoredBy",
            None if authors else period,
            "arts_literature" if literary else None,
        )

    def _voted_author(self, title: str) -> tuple[str, ...]:
        winner = _winner(self._author_votes[title])
        return (winner,) if winner else ()

    def _with_unit(self, work: Work, citation: Citation, conflict: str | None) -> Place:
        parts = [p for p in (citation.section, citation.locator) if p]
        if not parts:
            return Place(work, None, conflict)
        name = "·".join(parts)
        is_piece = work.kind == "Collection" and citation.section is not None
        kind = "Piece" if is_piece else "Chapter"
        unit = Unit(
            f"{kind.lower()}:{work.id.removeprefix('book:')}#{_plain(name)}",
            f"{work.title}·{name}",
            kind,
            work.id,
        )
        return Place(work, unit, conflict)


def creator_relation(work: Work, citation: Citation) -> str:
    """authoredBy unless the table or the printed role says compiled or attributed."""
    if not work.curated and citation.author_role in _COMPILER_WORDS:
        return "compiledBy"
    return work.role


def _key(title: str, authors: tuple[str, ...]) -> str:
    """What names a work that stands in no table of books."""
    return f"{title}/{authors[0]}" if authors else title


def _plain(title: str) -> str:
    """A title without the marks that one printing has and another has not: 读〈孟子〉 is 读孟子."""
    return _MARKS.sub("", title) or title


def _winner(votes: Counter[str]) -> str | None:
    if not votes:
        return None
    name, count = min(votes.items(), key=lambda item: (-item[1], item[0]))
    return name if count >= VOTE_SUPPORT and count / sum(votes.values()) >= VOTE_SHARE else None
