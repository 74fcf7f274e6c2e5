"""Content category of a word, from a lexicon of weighted terms.

Which of the eight sub-categories a word belongs to is a matter of judgement: for about half of the idioms a
reader can defend a second answer.  So the category is scored rather than decided; the score, the runner-up, the
margin between them and the terms that were found are all kept, and a label is given only where the margin is at
least ``MARGIN``.

The rules the scores imitate, in this order:

1. The literal image decides when it belongs to a domain (the *domain* categories: arts, customs, history,
   religion, institutions, technical).  Their terms count wherever they stand.
2. Otherwise the meaning decides (the *meaning* categories: speech and generic quantity, degree and situation are
   language; feeling, virtue, conduct and ability are emotions).  Their terms count only in the part of the
   gloss that tells the meaning, i.e. from the first "形容", "比喻" ... on, when there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, cast, get_args

from clwqa_bench.errors import SourceError

Place = Literal["word", "gloss"]
TermField = Literal["word", "gloss", "both"]

DOMAIN_SLUGS: Final = (
    "arts_literature",
    "customs_practices",
    "history_geography",
    "religion_beliefs",
    "social_institutions",
    "technical_specialized",
)
MEANING_SLUGS: Final = ("language_dialects", "emotions_values")
SLUGS: Final = DOMAIN_SLUGS + MEANING_SLUGS

MARGIN: Final = 2.0
"""Smallest lead over the runner-up at which a label is given."""

REPEAT: Final = {**dict.fromkeys(DOMAIN_SLUGS, 1.0), **dict.fromkeys(MEANING_SLUGS, 0.5)}
"""What each further term of a category adds, as a share of its weight.

Several terms of one domain paint one image.  Terms of the meaning categories are the common words of glosses
(feelings, quantities), so a long gloss must not win by length alone.
"""

NO_CATEGORY: Final = "-"
"""Category of a term that only claims its text, so that no shorter term is found inside it (精神 holds no 神)."""

REVIEWED: Final = "reviewed"
"""Note that a one-character term needs to be searched in glosses, where most characters mean too many things."""

LEXICON: Final = Path(__file__).resolve().parent.parent / "tables" / "categorise_lexicon.tsv"
COLUMNS: Final = ("term", "category", "weight", "field", "note")

_MEANING = re.compile("形容|比喻|喻指|泛指|借指|引[申伸]|表示|常用|[。，]后[用指多泛以来]|现指|也指|亦指")


class Match(NamedTuple):
    """A term found in a word or its gloss."""

    term: str
    slug: str
    weight: float
    field: Place


@dataclass(frozen=True, slots=True)
class Categorisation:
    """Scores of one word; ``ranked`` has the slugs with a positive score, best first."""

    scores: Mapping[str, float]
    ranked: tuple[str, ...]
    label: str | None
    margin: float
    second: str | None
    matched: tuple[Match, ...]


class Entry(NamedTuple):
    """A line of the lexicon: a term of a category, its weight, and where it is looked for."""

    term: str
    slug: str
    weight: float
    field: TermField

    @property
    def places(self) -> tuple[Place, ...]:
        """The texts in which the term is looked for."""
        return ("word", "gloss") if self.field == "both" else (self.field,)


class _Matcher:
    """Finds terms from left to right, the longest at each place, never one inside another."""

    def __init__(self, terms: Mapping[str, tuple[tuple[str, float], ...]]) -> None:
        self._terms = terms
        lengths: dict[str, set[int]] = {}
        for term in terms:
            lengths.setdefault(term[0], set()).add(len(term))
        self._lengths = {first: tuple(sorted(found, reverse=True)) for first, found in lengths.items()}

    def find(self, text: str) -> Iterator[tuple[int, str, tuple[tuple[str, float], ...]]]:
        """Yield (position, term, ((slug, weight), ...))."""
        at, end = 0, len(text)
        while at < end:
            for length in self._lengths.get(text[at], ()):
                term = text[at : at + length]
                weights = self._terms.get(term)
                if weights is not None:
                    yield at, term, weights
                    at += length
                    break
            else:
                at += 1


class Lexicon:
    """Terms with their categories and weights, ready for matching."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        found: dict[Place, dict[str, list[tuple[str, float]]]] = {"word": {}, "gloss": {}}
        for entry in entries:
            for place in entry.places:
                weights = found[place].setdefault(entry.term, [])
                if entry.slug != NO_CATEGORY:
                    weights.append((entry.slug, entry.weight))
        self.word = _Matcher({term: tuple(weights) for term, weights in found["word"].items()})
        self.gloss = _Matcher({term: tuple(weights) for term, weights in found["gloss"].items()})


def load_lexicon(path: Path = LEXICON) -> Lexicon:
    """Read a lexicon table (TSV: term, category, weight, field, note; lines starting with # are comments).

    Raises SourceError, with line and field, for a line that cannot be used.
    """
    with path.open(encoding="utf-8", newline="") as file:
        return Lexicon(_entries(path, file))


def _entries(path: Path, lines: Iterable[str]) -> Iterator[Entry]:
    seen: dict[tuple[str, str, str], int] = {}
    header_read = False
    for number, line in enumerate(lines, start=1):
        if line.startswith("#") or not line.strip():
            continue
        cells = line.rstrip("\r\n").split("\t")
        if not header_read:
            if tuple(cells) != COLUMNS:
                raise SourceError(
                    f"the header is {cells}",
                    fix=f"start with {COLUMNS}",
                    file=path,
                    line=number,
                    field="header",
                )
            header_read = True
            continue
        entry = _entry(path, number, cells)
        for place in entry.places:
            first = seen.setdefault((entry.term, entry.slug, place), number)
            if first != number:
                raise SourceError(
                    f"{entry.term} is already a {place} term of {entry.slug} on line {first}",
                    fix="keep one of the two lines",
                    file=path,
                    line=number,
                    field="term",
                )
        yield entry


def _entry(path: Path, line: int, cells: Sequence[str]) -> Entry:
    def fault(field: str, what: str, fix: str) -> SourceError:
        return SourceError(what, fix=fix, file=path, line=line, field=field)

    if len(cells) != len(COLUMNS):
        raise fault("line", f"{len(cells)} cells", f"give {len(COLUMNS)} cells separated by tabs")
    term, slug, weight_text, field, note = cells
    if not term or term != term.strip():
        raise fault("term", f"the term is {term!r}", "write the term without spaces around it")
    if slug not in SLUGS and slug != NO_CATEGORY:
        raise fault("category", f"{slug!r} is no category", f"use one of {', '.join(SLUGS)} or {NO_CATEGORY}")
    try:
        weight = float(weight_text)
    except ValueError:
        raise fault("weight", f"{weight_text!r} is no number", "write a number such as 3") from None
    if not (0 < weight <= 8 if slug != NO_CATEGORY else weight == 0):
        raise fault("weight", f"the weight is {weight_text}", f"use 0 < weight <= 8, and 0 for {NO_CATEGORY}")
    if field not in get_args(TermField):
        raise fault("field", f"{field!r} is no field", f"use one of {', '.join(get_args(TermField))}")
    if len(term) == 1 and field != "word" and slug != NO_CATEGORY and note != REVIEWED:
        raise fault(
            "field",
            f"one character ({term}) searched in glosses",
            f"use the field 'word', or put '{REVIEWED}' in the note once the glosses it hits have been read",
        )
    return Entry(term, slug, weight, cast(TermField, field))


def categorise(
    word: str, sense: str, components: Sequence[tuple[str, str]], lexicon: Lexicon
) -> Categorisation:
    """Score the categories of one word from itself, its sense and the glosses of its components.

    Deterministic; ties are ordered by slug.  Never raises for any text.
    """
    matched = _matches(word, sense, components, lexicon)
    scores: dict[str, float] = {}
    for match in sorted(matched, key=lambda match: -match.weight):
        # The strongest term counts in full.
        share = REPEAT[match.slug] if match.slug in scores else 1.0
        scores[match.slug] = scores.get(match.slug, 0.0) + share * match.weight
    ranked = tuple(sorted(scores, key=lambda slug: (-scores[slug], slug)))
    best = scores[ranked[0]] if ranked else 0.0
    margin = best - (scores[ranked[1]] if len(ranked) > 1 else 0.0)
    return Categorisation(
        scores=MappingProxyType(scores),
        ranked=ranked,
        label=ranked[0] if ranked and margin >= MARGIN else None,
        margin=margin,
        second=ranked[1] if len(ranked) > 1 else None,
        matched=matched,
    )


def categorise_all(
    rows: Iterable[tuple[str, str, Sequence[tuple[str, str]]]], lexicon: Lexicon
) -> list[Categorisation]:
    """``categorise`` for many (word, sense, components)."""
    return [categorise(word, sense, components, lexicon) for word, sense, components in rows]


def _matches(
    word: str, sense: str, components: Sequence[tuple[str, str]], lexicon: Lexicon
) -> tuple[Match, ...]:
    """The distinct terms that count, in reading order: word, sense, components."""
    found: dict[tuple[str, str], Match] = {}

    def add(place: Place, term: str, slug: str, weight: float) -> None:
        found.setdefault((term, slug), Match(term, slug, weight, place))

    for _, term, weights in lexicon.word.find(word):
        for slug, weight in weights:
            add("word", term, slug, weight)
    marker = _MEANING.search(sense)
    meaning_starts = marker.start() if marker else 0
    for at, term, weights in lexicon.gloss.find(sense):
        for slug, weight in weights:
            if at >= meaning_starts or slug in DOMAIN_SLUGS:
                add("gloss", term, slug, weight)
    for _, gloss in components:
        for _, term, weights in lexicon.gloss.find(gloss):
            for slug, weight in weights:
                if slug in DOMAIN_SLUGS:
                    add("gloss", term, slug, weight)
    return tuple(found.values())
