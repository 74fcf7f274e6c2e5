"""How an entity is named inside a Chinese question, and when that name is clear enough to ask with.

A name is clear when no other entity of the same family (words, works, persons, periods, passages, categories)
bears it as label or alias; otherwise a work is asked with its author, and anything else is not asked at all.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from clwqa_bench.ontology import Ontology
from clwqa_bench.text import comparison_key
from clwqa_builders.questions.columns import GraphColumns, Ragged

CREATORS = ("authoredBy", "compiledBy", "attributedTo")
MASK = "～"

_NUMERAL = r"[零〇一二三四五六七八九十百千\d]+"
_NUMBERED = re.compile(
    rf"第?{_NUMERAL}[回折出章卷节篇则集场幕]|卷之?({_NUMERAL}|[上中下])|[上中下][卷篇编]?|楔子"
)
_PAIRS = {"‘": "’", "“": "”", "《": "》", "〈": "〉", "（": "）", "(": ")", "[": "]", "【": "】"}
_LOOSE_END = "，。；：、,;: "
# Letters of other scripts (pinyin in a gloss) and signs of damage; the capital of 阿Q is part of a name.
_UNCLEAN = re.compile(
    r"[a-zａ-ｚà-ɏα-ωа-я]|[A-ZＡ-Ｚ]{2}|[ˇˉˊˋ□■◇◆‖\ufffd\ue000-\uf8ff]|[，。；：、]{2}|[？！][，。；：、]"
)


def bracketed(title: str, part: str = "") -> str:
    """《史记》, 《史记·项羽本纪》, 《红楼梦》第七回: a numbered part stands outside the brackets.

    >>> bracketed("史记", "项羽本纪"), bracketed("红楼梦", "第七回")
    ('《史记·项羽本纪》', '《红楼梦》第七回')
    """
    *named, last = part.split("·")
    if not _NUMBERED.fullmatch(last):
        named, last = [*named, last], ""
    inside = "·".join(p for p in (title, *named) if p)
    return f"《{inside.replace('《', '〈').replace('》', '〉')}》{last}"


def period_name(label: str) -> str:
    """清 -> 清代, 南朝·宋 -> 南朝宋; longer names stand as they are."""
    return f"{label}代" if len(label) == 1 else label.replace("·", "")


def passage(text: str) -> str:
    """A passage as it is quoted inside “ ”: inner double quotes become single, loose ends are cut."""
    return text.strip(_LOOSE_END).replace("“", "‘").replace("”", "’")


def has_paired_marks(text: str) -> bool:
    """Whether quotation marks and brackets open and close in order, and enclose something.

    >>> has_paired_marks("子曰‘是也’"), has_paired_marks("是也。’"), has_paired_marks("‘’注")
    (True, False, False)
    """
    open_marks: list[str] = []
    for before, mark in zip(" " + text, text, strict=False):
        if mark in _PAIRS:
            open_marks.append(mark)
        elif mark in _PAIRS.values():
            opened = open_marks.pop() if open_marks else ""
            if _PAIRS.get(opened) != mark or before in _PAIRS:
                return False
    return not open_marks


@dataclass(frozen=True)
class Mentions:
    """Names for the entities of one graph; ``name(i)`` is None when entity i has no clear name."""

    graph: GraphColumns
    ontology: Ontology
    _cache: dict[int, str | None] = field(default_factory=dict, repr=False)
    _sound: dict[int, bool] = field(default_factory=dict, repr=False)
    _names: dict[int, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def name(self, entity: int) -> str | None:
        if entity not in self._cache:
            self._cache[entity] = self._clear_name(entity)
        return self._cache[entity]

    def names(self, entity: int) -> tuple[str, ...]:
        """Comparison keys of all strings that would give the entity away: its label, aliases, and for a passage
        the whole text.

        Single characters are left out (they occur everywhere), but a dynasty of one character is guarded in
        its usual longer forms, and a chapter also by the title of its book.
        """
        if entity not in self._names:
            self._names[entity] = self._revealing(entity)
        return self._names[entity]

    def _revealing(self, entity: int) -> tuple[str, ...]:
        graph, label = self.graph, self.graph.labels[entity]
        found = [label, *graph.aliases[entity], graph.texts[entity]]
        match self._family[graph.types[entity]]:
            case "period" if len(label) == 1:
                found += [label + suffix for suffix in "代朝国"]
            case "work":
                found += [graph.labels[whole] for whole in self._wholes[entity]]
        return tuple(key for key in dict.fromkeys(map(comparison_key, found)) if len(key) >= 2)

    def bare(self, entity: int) -> str:
        """The name without regard to whether others share it."""
        graph, label = self.graph, self.graph.labels[entity]
        match self._family[graph.types[entity]]:
            case "passage":
                return passage(graph.texts[entity])
            case "work":
                return bracketed(*self._title_and_part(entity))
            case "period" if graph.types[entity] != "Era":
                return period_name(label)
            case _:
                return label

    def qualified(self, entity: int) -> str | None:
        """A work with its only author in front, 苏轼《江城子》; None for everything else."""
        makers = {int(m) for whole in (entity, *self._wholes[entity]) for m in self._makers[whole]}
        if self._family[self.graph.types[entity]] != "work" or len(makers) != 1:
            return None
        return self.graph.labels[makers.pop()] + self.bare(entity)

    def is_sound(self, entity: int) -> bool:
        """Whether a passage is fit to be shown: some text, paired marks, and no second citation run into it."""
        if entity not in self._sound:
            text = self.graph.texts[entity]
            cited = self.graph.types[entity] == "Quotation" and "《" in text
            self._sound[entity] = bool(text) and not cited and has_paired_marks(text)
        return self._sound[entity]

    def _clear_name(self, entity: int) -> str | None:
        family = self._family[self.graph.types[entity]]
        if family == "passage" and not self.is_sound(entity):
            return None
        for name in (self.bare(entity), self.qualified(entity)):
            if name and self._bearers[family, name] == 1 and not _UNCLEAN.search(name):
                return name
        return None

    def _title_and_part(self, entity: int) -> tuple[str, str]:
        label = self.graph.labels[entity]
        for whole in self._wholes[entity]:
            title = self.graph.labels[whole]
            if label.startswith(f"{title}·"):
                return title, label.removeprefix(f"{title}·")
        if self.graph.types[entity] == "Chapter" and "·" in label:
            title, part = label.split("·", 1)
            return title, part
        return label, ""

    @cached_property
    def _family(self) -> dict[str, str]:
        roots = {
            "word": ["CultureLoadedWord"],
            "work": ["ContentUnit", "CulturalSource"],
            "person": ["Person"],
            "period": ["HistoricalPeriod"],
            "passage": ["Explanation", "Quotation", "Allusion"],
        }
        families = {t: name for name, tops in roots.items() for t in self.ontology.with_descendants(tops)}
        return {t: families.get(t, "other") for t in {*self.ontology.types, *self.graph.types}}

    @cached_property
    def _wholes(self) -> Ragged:
        return self.graph.follow(("partOf",))

    @cached_property
    def _makers(self) -> Ragged:
        return self.graph.follow(CREATORS)

    @cached_property
    def _bearers(self) -> Counter[tuple[str, str]]:
        """How many entities of a family can be meant by a name."""
        bearers: Counter[tuple[str, str]] = Counter()
        for entity, type_ in enumerate(self.graph.types):
            family = self._family[type_]
            forms = {self.bare(entity), self.qualified(entity)}
            if family == "work":
                forms.update(bracketed(alias) for alias in self.graph.aliases[entity])
            else:
                forms.update(self.graph.aliases[entity])
            bearers.update((family, form) for form in forms if form)
        return bearers
