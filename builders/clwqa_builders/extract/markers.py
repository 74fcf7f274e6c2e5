"""The category of a dictionary word by the form in which its first sense begins: 官名。…, 佛教语。…, 古代的一种酒器。…

A dictionary defines by class: the head of the first clause says what kind of thing a word names.  ``sense_markers.tsv``
lists the heads, and other strict openings, that belong to one of the eight content categories; each line says how many
of its words a reader found right.  What a sense says of modern things (``sense_markers_modern.tsv``) is never marked.

A form is a regular expression with slots; ``{heads}`` is the line's own list of heads, the others are defined here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Final

from clwqa_builders.tables.loader import DIRECTORY, DOMAINS, _Row, _rows

TABLE: Final = DIRECTORY / "sense_markers.tsv"
MODERN: Final = DIRECTORY / "sense_markers_modern.tsv"
COLUMNS: Final = ("name", "category", "form", "heads", "unless", "words", "read", "right", "note")
FEWEST_RIGHT: Final = 0.94
"""Share of the words read that must be right for a form to stand in the table."""
FEWEST_WORDS: Final = 15
"""A form that marks fewer words is not worth a line."""

_PLAIN: Final = "[^，。；：、“”《》（）]"
_LONG_TIMES: Final = (
    "西周|东周|春秋|战国|西汉|东汉|两汉|秦汉|汉魏|三国|魏晋|西晋|东晋|南朝[宋齐梁陈]?|北朝|南北朝|六朝|北魏|北齐|北周|隋唐|唐宋|五代"
    "|北宋|南宋|两宋|宋元|辽金|金元|西夏|元明|明清|太平天国|后魏|新莽|王莽"
)
_SHORT_TIMES: Final = "夏|商|殷|周|秦|汉|魏|晋|隋|唐|宋|辽|金|元|明|清"
_NO_TIME: Final = (  # words of today that begin like a dynasty
    "元配|元气|明[亮了显知清确白]|清[廉明白雅晨]|周[围密遍]|夏[日季天]|商[人业]|金[属银玉]|汉[字语]"
)
_TIME: Final = (
    rf"(?:(?:{_LONG_TIMES})(?:代|朝|时|初|末|季|时期|时代)?"
    rf"|(?:{_SHORT_TIMES})(?:代|朝|时|初|末|季|中叶|制|人|宫|宗室|廷))"
)
_DYNASTY: Final = rf"(?!{_NO_TIME})(?:{_LONG_TIMES}|{_SHORT_TIMES})"

SLOTS: Final[Mapping[str, str]] = MappingProxyType({
    # what qualifies the head; neither a figure of speech nor a denial
    "lead": rf"(?!比喻|喻|形容|犹|极言|表示|不|没有|无){_PLAIN}{{0,14}}?",
    "end": r"(?=[，。；：、（]|$)",  # the first clause ends with the head
    "kind": "(?:的|之)?(?:一种|之一|名|名目|别称|总称|泛称|通称|统称|省称|合称|美称|俗称|敬称|代称|名称)?",
    "called": "(?:之|的)?(?:别称|别名|异名|古称|旧称|代称|省称|简称|尊称|敬称|美称|雅称|俗称|合称|并称|泛称|统称|通称"
    "|总称|称呼|蔑称|戏称|贬称|谑称|互称|自称|谦称|一种|名称|之一|名)?",
    "named": "(?:名|之名)?",
    "name": "名(?:之一)?",
    "gap": f"{_PLAIN}{{0,20}}?",
    "first": "[^。；“《]{0,18}?",  # the first words, clauses included
    "dynasty": _DYNASTY,
    "old": "(?:指|谓|即|特指|原指|本指|泛指|亦指|古指|旧指)?(?:我国|中国)?"
    "(?:古代|古时候?|古人|古(?![老怪朴雅拙板])|旧时|旧(?!日|有|的|居|宅)|上古|远古|先秦|封建(?:社会|时代|时)?"
    f"|{_TIME}(?:以来|以后)?(?:、?{_TIME})?|历代|旧日)(?!词|诗|装|风|代汉语)",
    "ruler": "(?:指|谓|特指|旧时|古代|旧指|古时)*(?:帝王|皇帝|天子|君王|君主|皇后|太子|皇太子|皇室|皇家|帝后|后妃|王室"
    "|国君|皇太后|太后|诸侯|皇子|帝王后妃|天子诸侯|公主)",
    "figure": "比喻|喻|形容|极言|后因以|后以|后遂以",  # the word is used for something else
    "tale": rf"^{_DYNASTY}[^，。；：]{{1,8}}(?:为|尝|时|不|以|嗜|有|，)",  # a person's story, not a definition
    "retold": "(?:后因以|后以|后遂以|后用|后因用|后常以|后因称|后即以|后遂用|后世因以|后人因以)",
})  # fmt: skip
_SLOT: Final = re.compile(r"\{([a-z]+)\}")


@dataclass(frozen=True, slots=True)
class SenseMarker:
    """One line of the table.

    ``words`` is how many words of the pinned dictionary it marks, ``right`` of ``read`` what a reader found.
    """

    name: str
    category: str
    form: re.Pattern[str]
    unless: re.Pattern[str] | None
    words: int
    read: int
    right: int

    def fits(self, sense: str) -> bool:
        """Whether the sense begins in this form and says nothing that speaks against it."""
        return self.form.match(sense) is not None and not (self.unless and self.unless.search(sense))


@dataclass(frozen=True, slots=True)
class SenseMarkers:
    """The table; the first line that fits settles a sense."""

    markers: tuple[SenseMarker, ...]
    modern: re.Pattern[str]

    def mark(self, sense: str) -> SenseMarker | None:
        """The marker of a first sense, without the variant forms named at its head; None for most senses.

        >>> load_sense_markers().mark("古代官名。掌管车马。").category
        'social_institutions'
        """
        found = next((marker for marker in self.markers if marker.fits(sense)), None)
        return None if found is None or self.modern.search(sense) else found


def load_sense_markers(table: Traversable = TABLE, modern: Traversable = MODERN) -> SenseMarkers:
    """Read both tables; a line that does not fit raises SourceError with the file, the line and the column."""
    found: dict[str, SenseMarker] = {}
    for row in _rows(table, COLUMNS):
        marker = _marker(row)
        if marker.name in found:
            raise row.error("name", f"{marker.name!r} stands twice", "delete one of the two lines")
        found[marker.name] = marker
    terms = [_checked(row, "term").pattern for row in _rows(modern, ("term", "why"))]
    return SenseMarkers(tuple(found.values()), re.compile("|".join(terms) or "(?!)"))


def _marker(row: _Row) -> SenseMarker:
    marker = SenseMarker(
        name=row.text("name"),
        category=row.choice("category", DOMAINS),
        form=_checked(row, "form"),
        unless=_checked(row, "unless", "|".join(row.many("unless"))) if row.cells["unless"] else None,
        words=row.number("words"),
        read=row.number("read"),
        right=row.number("right"),
    )
    if marker.words < FEWEST_WORDS:
        raise row.error("words", f"marks only {marker.words} words", "widen the form or delete the line")
    if not 0 < marker.read <= marker.words or marker.right > marker.read:
        raise row.error("read", f"{marker.right} right of {marker.read} read", "count again")
    if marker.right < FEWEST_RIGHT * marker.read:
        raise row.error("right", f"only {marker.right} of {marker.read} right", "make the form stricter")
    return marker


def _checked(row: _Row, field: str, text: str = "") -> re.Pattern[str]:
    """The expression of a cell with its slots filled in."""
    heads = "|".join(row.many("heads")) if "heads" in row.cells else ""

    def fill(slot: re.Match[str]) -> str:
        if slot[1] == "heads" and heads:
            return f"(?:{heads})"
        if slot[1] not in SLOTS:
            known = ", ".join(SLOTS)
            raise row.error(field, f"unknown slot {slot[0]}", f"use one of {known}, or fill in heads")
        return f"(?:{SLOTS[slot[1]]})"

    try:
        return re.compile(_SLOT.sub(fill, text or row.text(field)))
    except re.error as error:
        raise row.error(field, f"no regular expression: {error}", "correct the expression") from error
