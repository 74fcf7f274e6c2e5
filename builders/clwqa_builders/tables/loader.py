"""Read the hand-checked tables into frozen values.

Every table is a TSV file beside this module: lines that start with ``#`` are remarks, the first other line names the
columns, a cell that holds several values separates them with ``;`` and an empty cell means "none" or "not known".
A line that does not fit raises SourceError with the file, the line, the column and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Final

from clwqa_bench.errors import SourceError

DIRECTORY: Final = files(__package__ or "clwqa_builders.tables")

WORK_KINDS: Final = frozenset({"Book", "Collection", "Drama", "Novel", "Periodical"})
PIECE_KINDS: Final = WORK_KINDS | {"Piece"}
PERIOD_KINDS: Final = frozenset({"Dynasty", "HistoricalPeriod"})
AUTHOR_STATUSES: Final = frozenset({"known", "none", "collective", "disputed"})
ROLES: Final = frozenset({"authored", "compiled", "attributed"})
DOMAINS: Final = frozenset({
    "arts_literature", "customs_practices", "history_geography", "language_dialects",
    "religion_beliefs", "social_institutions", "emotions_values", "technical_specialized",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Book:
    """A work, and what its title means in a citation.

    ``aliases`` are further titles; ``dotted_aliases`` are short ones that count only in 《诗·小雅》 or where no author
    is printed.  ``authors`` is empty for anonymous and collective works.  ``role`` (of the authors), ``period`` (an
    id of the table of periods) and ``domain`` (a category slug) are "" where there is none.  ``other_authors`` are
    names that citations of this same work also print: rival attributions, co-authors and slips.
    """

    title: str
    aliases: tuple[str, ...]
    dotted_aliases: tuple[str, ...]
    authors: tuple[str, ...]
    author_status: str
    role: str
    period: str
    kind: str
    domain: str
    other_authors: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Period:
    """A node of the tree of periods; years are historical (-1 is 1 BCE, there is no year 0), None where open."""

    id: str
    label: str
    aliases: tuple[str, ...]
    parent: str | None
    kind: str
    begin: int | None
    end: int | None
    order: int


@dataclass(frozen=True, slots=True)
class DynastyPair:
    """One dynasty in both chronologies; ``begin`` and ``end`` bound the first years of the eras it is good for."""

    first_id: str
    second_name: str
    begin: int
    end: int
    period: str


@dataclass(frozen=True, slots=True)
class EraCorrection:
    """The last year of an era, the ruler who proclaimed it, and his title."""

    end: int
    ruler: str
    ruler_title: str


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of a table with its place, so that every complaint can point at it."""

    file: str
    line: int
    cells: Mapping[str, str]

    def error(self, field: str, what: str, fix: str) -> SourceError:
        return SourceError(what, fix=fix, file=self.file, line=self.line, field=field)

    def text(self, field: str) -> str:
        """A cell that must not be empty."""
        if not (value := self.cells[field]):
            raise self.error(field, "the cell is empty", f"give a {field} or delete the line")
        return value

    def many(self, field: str) -> tuple[str, ...]:
        """The values of a cell that may hold several."""
        values = tuple(self.cells[field].split(";")) if self.cells[field] else ()
        if not all(values) or len(set(values)) < len(values):
            raise self.error(
                field,
                f"{self.cells[field]!r} has an empty or a repeated value",
                "separate different values with single semicolons",
            )
        return values

    def choice(self, field: str, allowed: frozenset[str]) -> str:
        if (value := self.cells[field]) not in allowed:
            raise self.error(field, f"unknown value {value!r}", f"use one of {', '.join(sorted(allowed))}")
        return value

    def year(self, field: str) -> int | None:
        return self.number(field) if self.cells[field] else None

    def number(self, field: str) -> int:
        try:
            return int(self.cells[field])
        except ValueError as error:
            raise self.error(
                field,
                f"{self.cells[field]!r} is not a whole number",
                "write digits only, with - before years BCE",
            ) from error


def _rows(source: Traversable, columns: tuple[str, ...]) -> Iterator[_Row]:
    """The lines of a table below its header, in order."""
    header = False
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        if not header and cells != list(columns):
            raise SourceError(
                f"the header is {cells}",
                fix=f"name the columns {list(columns)}",
                file=str(source),
                line=number,
            )
        if len(cells) != len(columns):
            raise SourceError(
                f"{len(cells)} cells where the header has {len(columns)}",
                fix="separate the cells with single tabs",
                file=str(source),
                line=number,
            )
        if header:
            yield _Row(str(source), number, dict(zip(columns, map(str.strip, cells), strict=True)))
        header = True


def _pairs(source: Traversable, key: str, value: str) -> Mapping[str, str]:
    """A two-column table as a read-only mapping; a key stands once."""
    found: dict[str, str] = {}
    for row in _rows(source, (key, value)):
        if row.text(key) in found:
            raise row.error(key, f"{row.text(key)!r} stands twice", "delete one of the two lines")
        found[row.text(key)] = row.text(value)
    return MappingProxyType(found)


def _book(row: _Row, kinds: frozenset[str]) -> Book:
    book = Book(
        title=row.text("title"),
        aliases=row.many("aliases"),
        dotted_aliases=row.many("dotted_aliases"),
        authors=row.many("author"),
        author_status=row.choice("author_status", AUTHOR_STATUSES),
        role=row.choice("role", ROLES | {""}),
        period=row.cells["period"],
        kind=row.choice("kind", kinds),
        domain=row.choice("domain", DOMAINS | {""}),
        other_authors=row.many("other_authors"),
        note=row.cells["note"],
    )
    if bool(book.authors) != bool(book.role):
        raise row.error("role", "author and role go together", "fill in both or neither")
    if book.authors and book.author_status in ("none", "collective"):
        raise row.error("author_status", f"{book.author_status!r} with an author", "say known or disputed")
    if not book.authors and book.author_status == "known":
        raise row.error("author_status", "'known' without an author", "name the author or say none")
    return book


BOOK_COLUMNS: Final = ("title", "aliases", "dotted_aliases", "author", "author_status", "role", "period", "kind",
                       "domain", "other_authors", "note")  # fmt: skip


def load_books(source: Traversable = DIRECTORY / "books.tsv") -> tuple[Book, ...]:
    """The works by title; no title or alias belongs to two of them."""
    books: list[Book] = []
    taken: set[str] = set()
    for row in _rows(source, BOOK_COLUMNS):
        book = _book(row, WORK_KINDS)
        for name in (book.title, *book.aliases, *book.dotted_aliases):
            if name in taken:
                raise row.error("title", f"{name!r} already belongs to a work", "keep the name in one place")
            taken.add(name)
        books.append(book)
    return tuple(books)


def load_same_title_works(source: Traversable = DIRECTORY / "same_title.tsv") -> tuple[Book, ...]:
    """Works of other authors under the titles of ``load_books``: meant when a citation names the author."""
    books: list[Book] = []
    taken: set[tuple[str, str]] = set()
    for row in _rows(source, BOOK_COLUMNS):
        row.text("author")
        book = _book(row, PIECE_KINDS)
        for author in book.authors:
            if (book.title, author) in taken:
                raise row.error(
                    "author", f"{book.title} by {author} stands twice", "delete one of the two lines"
                )
            taken.add((book.title, author))
        books.append(book)
    return tuple(books)


def load_periods(source: Traversable = DIRECTORY / "periods.tsv") -> tuple[Period, ...]:
    """The periods in order of time; a parent stands above its children in the file, so there is no cycle."""
    periods: dict[str, Period] = {}
    columns = ("id", "label", "aliases", "parent", "kind", "begin", "end", "order")
    for row in _rows(source, columns):
        period = Period(
            row.text("id"),
            row.text("label"),
            row.many("aliases"),
            row.cells["parent"] or None,
            row.choice("kind", PERIOD_KINDS),
            row.year("begin"),
            row.year("end"),
            row.number("order"),
        )
        if period.id in periods:
            raise row.error("id", f"{period.id!r} stands twice", "delete one of the two lines")
        if period.parent is not None and period.parent not in periods:
            raise row.error(
                "parent", f"no period {period.parent!r} stands above", "put the parent's line first"
            )
        if period.begin is not None and period.end is not None and period.begin > period.end:
            raise row.error(
                "begin", f"{period.begin} is later than {period.end}", "put the earlier year first"
            )
        periods[period.id] = period
    return tuple(periods.values())


def load_dynasty_pairs(source: Traversable = DIRECTORY / "dynasty_pairs.tsv") -> tuple[DynastyPair, ...]:
    """Which dynasty of one chronology package is which of the other, and its period here."""
    columns = ("first_id", "second_name", "begin", "end", "period")
    return tuple(
        DynastyPair(
            row.text("first_id"),
            row.text("second_name"),
            row.number("begin"),
            row.number("end"),
            row.text("period"),
        )
        for row in _rows(source, columns)
    )


def load_author_aliases(source: Traversable = DIRECTORY / "author_aliases.tsv") -> Mapping[str, str]:
    """Misprinted and other names of a person -> the name used here."""
    return _pairs(source, "variant", "canonical")


def load_title_typos(source: Traversable = DIRECTORY / "title_typos.tsv") -> Mapping[str, str]:
    """Misprinted titles -> the title meant."""
    return _pairs(source, "wrong", "right")


def load_person_periods(source: Traversable = DIRECTORY / "person_periods.tsv") -> Mapping[str, str]:
    """Person -> id of the period to place the person in."""
    return _pairs(source, "person", "period")


def load_work_kinds(source: Traversable = DIRECTORY / "work_kinds.tsv") -> Mapping[str, str]:
    """TITLE/AUTHOR (TITLE where no author is printed) -> the kind of a work that stands in no other table."""
    found: dict[str, str] = {}
    for row in _rows(source, ("work", "kind")):
        if row.text("work") in found:
            raise row.error("work", f"{row.text('work')!r} stands twice", "delete one of the two lines")
        found[row.text("work")] = row.choice("kind", PIECE_KINDS)
    return MappingProxyType(found)


def load_era_corrections(
    source: Traversable = DIRECTORY / "era_corrections.tsv",
) -> Mapping[tuple[str, str, int], EraCorrection]:
    """(period, era, first year) -> what both chronologies' print has wrong about it, put right."""
    columns = ("period", "era", "begin", "end", "ruler", "ruler_title")
    return MappingProxyType({
        (row.text("period"), row.text("era"), row.number("begin")): EraCorrection(
            row.number("end"), row.text("ruler"), row.text("ruler_title")
        )
        for row in _rows(source, columns)
    })  # fmt: skip


def load_tunes(source: Traversable = DIRECTORY / "tunes.tsv") -> frozenset[str]:
    """Names of ci and qu tunes (词牌, 曲牌)."""
    return frozenset(row.text("tune") for row in _rows(source, ("tune",)))


def load_false_variants(source: Traversable = DIRECTORY / "false_variants.tsv") -> frozenset[frozenset[str]]:
    """Pairs of words made of the same characters that do not mean the same."""
    rows = _rows(source, ("one", "other"))
    return frozenset(frozenset((row.text("one"), row.text("other"))) for row in rows)
