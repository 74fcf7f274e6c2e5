"""How an entity is named inside a Chinese question, and when that name is clear enough to ask with.

A name is clear when no other entity of the same family (words, works, persons, periods, passages, categories)
bears it as label or alias, and when it is no title that many works bear in the world (a tune, 序, 咏史);
otherwise a work is asked with its author, and anything else is not asked at all.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from clwqa_bench.ontology import Ontology
from clwqa_bench.text import comparison_key
from clwqa_builders.questions.columns import BoolArray, GraphColumns, Ragged
from clwqa_builders.questions.glosses import (
    LONG_GLOSS,
    alike,
    is_only_reference,
    is_torn,
    runs_on,
    stands_alone,
)
from clwqa_builders.questions.titles import misprints
from clwqa_builders.tables import load_tunes

CREATORS = ("authoredBy", "compiledBy", "attributedTo")
MASK = "～"
SHORTEST_PASSAGE = 2  # letters

_NUMERAL = r"[零〇一二三四五六七八九十百千\d]+"
_NUMBERED = re.compile(
    rf"第?{_NUMERAL}[回折出章卷节篇则集场幕]|卷之?({_NUMERAL}|[上中下])|[上中下][卷篇编]?|楔子"
)
_PAIRS = {"‘": "’", "“": "”", "《": "》", "〈": "〉", "（": "）", "(": ")", "[": "]", "【": "】"}
_LOOSE_END = "，。；：、,;: "
_QUOTED = str.maketrans("“”!?,;:", "‘’！？，；：")
# Letters of other scripts (pinyin in a gloss) and signs of damage; the capital of 阿Q is part of a name.
_UNCLEAN = re.compile(
    r"[a-zａ-ｚà-ɏα-ωа-я]|[A-ZＡ-Ｚ]{2}|[ˇˉˊˋ□■◇◆‖\ufffd\ue000-\uf8ff]|[，。；：、]{2}|[？！][，。；：、]|\s|[①-⑳]"
)
# Titles that say what kind of text a piece is, or its occasion, not which one.
_GENERAL = re.compile(
    r"(?:自|原|后|总|再版)?[序叙跋]|[序叙]言?|[前后引]言|后记|题记|附录|目录.*|小引|题[词辞解]|失[題题].*|发刊词|自[传述题]"
    r"|无题.*|杂[诗感文说]|[咏述感抒书遣有]?[怀感史兴志]|即[事目]|偶[成题作]|放言|有感|春[思怨]|闺[怨情]|古[风意]|[拟学]古"
    r"|[诗词歌论书记传铭赋]|.*[其之][一二三四五六七八九十]+|[五七]言.*|.*[一二三四五六七八九十]首"
)
_COMMON = re.compile(r".{1,2}|.{1,2}[行歌曲吟引词怨叹]")  # titles of pieces that may well have namesakes
# A chapter's heading that ran into the quotation.
_HEADED = re.compile(r".{0,4}第[一二三四五六七八九十百]+[章回卷节折]")
_NUMBER = re.compile(rf"[上中下]?{_NUMERAL}")
_TORN = re.compile(r"[？！，。；：、”’》）·]|[0-9０-９]")
_STATE = re.compile(r"(?:春秋|战国)·")  # a state of an age: who asks for the age is answered without it
_BOOKISH = re.compile(
    r"[^·]*(?:[录集史谱经禅]|诗话|词话|杂[记识志钞]|笔[记谈]|日[记钞]|随笔|新书|语林|类编|丛话|琐言|偶谈|遗书|全书|世范|补)"
)
_TOLD = re.compile(r"语出|[典事]出|[事语]?见《?")  # how a dictionary introduces a story it only points to


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
    return text.strip(_LOOSE_END).translate(_QUOTED)


def begins_torn(quotation: str) -> bool:
    """Whether a quotation opens with what belongs to the text before it: a closing mark, a printed number.

    >>> begins_torn("？3章她不等他说"), begins_torn("1983.1.6他说"), begins_torn("‘子曰’")
    (True, True, False)
    """
    return _TORN.match(quotation) is not None


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
        """Whether a passage is fit to be shown: at least two letters, paired marks, and nothing run into it.

        A gloss that only points to another word is no passage, nor a story that is only pointed to.
        """
        if entity not in self._sound:
            text = self.graph.texts[entity]
            match self.graph.types[entity]:
                case "Quotation":
                    headed = _HEADED.match(text) or (_NUMBER.match(text) and entity in self._in_whole_works)
                    spoilt = "《" in text or begins_torn(text) or bool(headed or re.search(r"\s", text))
                case "Explanation":
                    spoilt = is_only_reference(text) or entity in self._torn
                case _:
                    spoilt = _TOLD.match(text) is not None
            letters = sum(map(str.isalnum, text))
            self._sound[entity] = letters >= SHORTEST_PASSAGE and not spoilt and has_paired_marks(text)
        return self._sound[entity]

    def is_telling(self, entity: int) -> bool:
        """Whether the label is an answer by itself, not 自序, a tune's name, or a state where an age is asked."""
        label = self.graph.labels[entity]
        match self.graph.types[entity]:
            case "Piece":
                return _GENERAL.fullmatch(label) is None and not self._tunes.issuperset(label.split("·"))
            case "Dynasty":
                return _STATE.match(label) is None
            case _:
                return True

    def _clear_name(self, entity: int) -> str | None:
        family = self._family[self.graph.types[entity]]
        if family == "passage" and not self.is_sound(entity):
            return None
        if self.graph.types[entity] == "Explanation" and not self._tells_its_word(entity):
            return None
        common = self.graph.types[entity] == "Piece" and _COMMON.fullmatch(self.graph.labels[entity])
        bare = self.bare(entity) if self.is_telling(entity) and not common else None
        for name in (bare, self.qualified(entity)):
            if name and self._bearers[family, name] == 1 and not _UNCLEAN.search(name):
                return name
        return None

    def _own_title(self, entity: int) -> str:
        title, part = self._title_and_part(entity)
        return part or title

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

    def _tells_its_word(self, entity: int) -> bool:
        return entity not in self._ambiguous and stands_alone(self.bare(entity))

    @cached_property
    def _glossed(self) -> list[tuple[int, int]]:
        """Idioms and proverbs with their glosses."""
        heads, tails = self.graph.pairs(("hasExplanation",), "head")
        of_words = self.graph.is_a(("Idiom", "Proverb"))[heads]
        return list(zip(heads[of_words].tolist(), tails[of_words].tolist(), strict=True))

    @cached_property
    def _torn(self) -> frozenset[int]:
        """Glosses that a component's gloss has run into, and glosses of components cut off in the wrong place."""
        labels, texts = self.graph.labels, self.graph.texts
        found = {gloss for word, gloss in self._glossed if runs_on(texts[gloss], labels[word])}
        components, meanings = (self.graph.follow((r,)) for r in ("hasComponent", "hasExplanation"))
        words, glosses = self.graph.pairs(("hasComponentGloss",), "head")
        for word, gloss in zip(words.tolist(), glosses.tolist(), strict=True):
            for component in components[word].tolist():
                own = gloss in meanings[component]
                if own and is_torn(texts[gloss], labels[component], labels[word]):
                    found.add(gloss)
        return frozenset(found)

    @cached_property
    def _ambiguous(self) -> frozenset[int]:
        """Glosses that do not tell their word from all others, or begin with a piece of it."""
        labels, texts = self.graph.labels, self.graph.texts
        long = sorted({gloss for _, gloss in self._glossed if len(texts[gloss]) >= LONG_GLOSS})
        near = alike([texts[gloss] for gloss in long])
        found = {gloss for gloss, is_near in zip(long, near.tolist(), strict=True) if is_near}
        return frozenset(found | {gloss for word, gloss in self._glossed if texts[gloss][:1] in labels[word]})

    @cached_property
    def _in_whole_works(self) -> frozenset[int]:
        """Quotations whose chapter is not told: a number at their beginning may be that of the chapter."""
        passages, places = self.graph.pairs(("inContentUnit",), "head")
        whole = self.graph.is_a(self.ontology.with_descendants(["CulturalSource"]))[places]
        return frozenset(passages[whole].tolist())

    @cached_property
    def doubtful(self) -> BoolArray:
        """Mask of the works whose title may be a misprint of another's or whose kind is unsure: a piece titled
        like a book, an issue of a newspaper.
        """
        graph = self.graph
        cited = np.bincount(graph.pairs(("citesWork",), "tail")[0], minlength=len(graph))
        found = np.zeros(len(graph), dtype=bool)
        for relations in (("partOf",), CREATORS):
            over, members = graph.pairs(relations, "tail")
            groups = np.split(members, np.flatnonzero(np.diff(over)) + 1)
            named = ([(self._own_title(m), int(cited[m])) for m in group.tolist()] for group in groups)
            found[[int(groups[number][position]) for number, position in misprints(named)]] = True
        parts, wholes = graph.pairs(("partOf",), "head")
        found[parts[graph.is_a(("Periodical",))[wholes]]] = True
        pieces = np.flatnonzero(graph.is_a(("Piece",))).tolist()
        found[[piece for piece in pieces if _BOOKISH.fullmatch(graph.labels[piece])]] = True
        return found

    @cached_property
    def _tunes(self) -> frozenset[str]:
        return load_tunes()

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
