"""Records that pass between the extraction steps.

Everything is frozen and hashable, so rows can be compared, cached and sent between processes.
Absent facts are ``None``; nothing is guessed to fill a field.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DerivationKind = Literal["citation", "narrative", "crossref", "none"]
CrossRefKind = Literal["同", "犹言", "犹", "亦作", "见", "即", "参见"]


@dataclass(frozen=True, slots=True)
class RawRow:
    """One dictionary row exactly as a package ships it (damage included)."""

    source: str
    row_id: str
    word: str
    pinyin: str
    derivation: str
    example: str
    explanation: str


@dataclass(frozen=True, slots=True)
class Citation:
    """One cited work: 《title·section》 locator by author of period, and what is quoted from it.

    ``title`` is the first segment inside 《》 (史记), ``section`` the named part (项羽本纪; 真州杂赋·序), ``locator``
    the numbered part (卷一, 第七回, 第二折), ``genre`` a genre word (诗, 词, 序).  In 《A》…引《B》 the title is A and
    ``quotes_work`` is B.  ``author`` holds several names joined by 、; ``period`` is dotted (南朝·宋).
    ``via`` is the annotator (裴松之注) or intermediary through whom the passage is quoted.
    """

    title: str
    section: str | None
    locator: str | None
    author: str | None
    author_role: str | None
    period: str | None
    genre: str | None
    quotation: str | None
    commentary: str | None
    via: str | None
    quotes_work: str | None
    narrative: bool = False


@dataclass(frozen=True, slots=True)
class CrossRef:
    """A pointer to another word: 同X, 犹言X, 亦作X …"""

    kind: CrossRefKind
    target: str


@dataclass(frozen=True, slots=True)
class Derivation:
    """Where a word comes from; ``allusion`` is the story when it is told rather than quoted."""

    kind: DerivationKind
    citations: tuple[Citation, ...]
    allusion: str | None
    crossrefs: tuple[CrossRef, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """A later use of the word; ``text`` keeps ～ in the word's place."""

    text: str | None
    citation: Citation | None


@dataclass(frozen=True, slots=True)
class Gloss:
    """The meaning: ``text`` the whole repaired gloss, ``sense`` the same without component glosses.

    ``components`` are (piece of the word, its meaning inside this word), in printed order.
    """

    text: str
    sense: str
    components: tuple[tuple[str, str], ...]
    crossrefs: tuple[CrossRef, ...]


@dataclass(frozen=True, slots=True)
class ParsedRow:
    """A raw row with everything that was read out of it."""

    raw: RawRow
    derivation: Derivation
    example: Example | None
    gloss: Gloss
