"""What the first sense of a dictionary entry says: a meaning, a work it is documented in, a story behind it.

::

    sense    := note* definition? evidence* later?
    evidence := intro? attribution 《work》 (“quotation” commentary* | story)?
    later    := 后 (因 | 遂)? (以 | 用) “word” (指 | 为 | 喻 …) definition

The evidence has the form of the idiom tables' derivations and is read by the same grammar.  Where the meaning only
comes after the evidence (后因以“江鲤”借指书信) it is taken from there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from clwqa_builders.extract.derivations import parse_derivation
from clwqa_builders.extract.dictionary import Entry, is_clean
from clwqa_builders.extract.lexicon import Lexicon
from clwqa_builders.extract.records import Citation, CrossRef, CrossRefKind
from clwqa_builders.extract.script import has_rare

_OPEN, _CLOSE = "“‘《（﹝", "”’》）﹞"
_ATTRIBUTION = r"(?:旧题)?[^《》“”，。；：（）指即有如称名因]{0,14}"
_ORIGIN = r"语本|语出|典出|源出|本自|出自|源自|本于|出于|语见|典见|原出"
_NUMBER = "[一二三四五六七八九十百〇○]"
_PLACE = rf"《[^》]+》(?:{_NUMBER}|[卷之第上中下回折出齣])*(?:[诗词曲赋文序]|传奇|杂剧)?(?:之{_NUMBER}+)?"
_TELLING = r"(?:记载|载|记|云|谓)[，：]?(?!“)"
_EVIDENCE = re.compile(
    rf"(?:(?P<story>事见|事本|事出)|(?P<intro>{_ORIGIN}|见于|详见|见)){_ATTRIBUTION}(?:引{_ATTRIBUTION})?《"
    rf"|据?{_ATTRIBUTION}{_PLACE}(?:{_ATTRIBUTION}引{_ATTRIBUTION}{_PLACE})?(?:：?“|(?P<tells>{_TELLING}))"
)
_FURTHER = re.compile(r"(?:参阅|参见|参看|又见|亦见|也见|事又见|按|一说|或谓|一本)")
_ADVERBS = r"后(?:世|人|来)?(?:常|多|亦|因|遂|乃|即|便|则|泛)*"
_CALLED = re.compile(rf"{_ADVERBS}称(?P<what>[^“”]+?)为“(?P<word>[^”]+)”。")
_BECAME = re.compile(
    rf"{_ADVERBS}(?:(?:以|用|称)“(?P<word>[^”]+)”(?:一词|一语)?|用以|用来|用|作)?，?"
    r"(?P<rest>(?:来|作)?(?:[泛借代喻特]?[指称]|谓|比喻|喻|形容|表示|为|作为).+)"
)
_VARIANT = re.compile(
    r"(?P<kind>亦作|也作|又作|或作|亦称|又称|同|见|参见|即)(?P<targets>“[^”]{2,8}”(?:[、，或](?=“)“[^”]{2,8}”)*)[。；，]?"
)
_QUOTED = re.compile(r"“([^”]+)”")
_QIAN = re.compile("^干")  # the hexagram 乾, simplified by mistake
_KINDS: dict[str, CrossRefKind] = {"同": "同", "即": "即", "见": "见", "参见": "参见"}
_NAMING = re.compile(r"指[^。]*。$|[^，。；]*的[^，。；的]{1,5}。$|.*的[并合美别代]称。$")
MIN_MEANING = 2  # letters
MIN_STORY = 16
MAX_OPENING = 24
HEAD = 24  # characters in which a work must be named for a sentence to be evidence


@dataclass(frozen=True, slots=True)
class Sense:
    """The first sense of a headword; every part may be missing."""

    word: str
    row: str
    meaning: str | None
    citation: Citation | None
    story: str | None
    crossrefs: tuple[CrossRef, ...]


def sentences(text: str) -> list[str]:
    """The sentences of a text; a full stop inside quotes or brackets ends none.

    >>> sentences("一百岁。语本《礼记》“百年曰期。颐。”郑玄注“要也。”后指老人。")
    ['一百岁。', '语本《礼记》“百年曰期。颐。”郑玄注“要也。”', '后指老人。']
    """
    found, depth, start = list[str](), 0, 0
    for at, char in enumerate(text):
        depth += (char in _OPEN) - (char in _CLOSE)
        ends = char == "。" or (char in "！？" and depth <= 0)
        closes = char == "”" and depth <= 0 and text[at - 1] in "。！？…’" and text[at + 1 : at + 2] == "后"
        if (ends and depth <= 0) or closes:
            found.append(text[start : at + 1])
            start, depth = at + 1, 0
    if text[start:].strip():
        found.append(text[start:])
    return found


@dataclass(slots=True)
class _Parts:
    """The sentences of a sense by what they do."""

    before: str = ""
    evidence: re.Match[str] | None = None
    after: str = ""
    later: str | None = None


def read_sense(entry: Entry, lexicon: Lexicon) -> Sense | None:
    """Read an entry's first sense that says something; None for what cannot be read or shown."""
    text, refs = first_telling(entry)
    if not text or not is_clean(text):
        return None
    parts, further = _Parts(), False
    for sentence in sentences(text):
        further = further or _FURTHER.match(sentence) is not None
        if (parts.before or parts.evidence) and (meaning := later_meaning(sentence, entry.word)):
            parts.later = parts.later or meaning
        elif further or parts.later:
            continue
        elif parts.evidence is None and "《" in sentence[:HEAD] and (found := _EVIDENCE.match(sentence)):
            parts.evidence = found
        elif parts.evidence is None:
            parts.before += sentence
        else:
            parts.after += sentence
    return _assemble(entry, lexicon, parts, refs)


def _assemble(entry: Entry, lexicon: Lexicon, parts: _Parts, refs: tuple[CrossRef, ...]) -> Sense | None:
    citation = _citation(parts.evidence.string, entry.word, lexicon) if parts.evidence else None
    meaning, story = parts.before or parts.later, None
    if citation and parts.evidence and parts.evidence["tells"]:
        story = parts.evidence.string[parts.evidence.end() :] + (parts.after if parts.later else "")
    elif (
        citation and not citation.quotation and (parts.later or (parts.evidence and parts.evidence["story"]))
    ):
        story = parts.before
        meaning = (
            parts.later or re.sub(r"^后(?:因|遂)?以(?=.)", "用以", parts.after) or _opening(parts.before)
        )
    if citation and story:
        citation = replace(citation, quotation=None, narrative=True)
    if story is not None and len(told := _told(story)) < MIN_STORY:
        meaning, story = meaning or story, None
    elif story is not None:
        story = told
    if not meaning or sum(map(str.isalnum, meaning)) < MIN_MEANING or not _is_one_meaning(meaning):
        meaning = None
    if not meaning and not citation:
        return None
    return Sense(entry.word, entry.row, meaning, citation, story, refs)


def _is_one_meaning(text: str) -> bool:
    """Whether a meaning is whole and the only one: no (1) whose (2) was read as more evidence, no lost mark."""
    return "（1）" not in text and text.count("‘") == text.count("’")


def _told(story: str) -> str:
    """A story without the sentence before it that only says what the word names.

    >>> _told("以熊胆制成的药丸。唐柳仲郢幼嗜学，其母曾和熊胆丸，使夜咀咽。"), _told("西周大臣泰颠和闳夭的并称。")
    ('唐柳仲郢幼嗜学，其母曾和熊胆丸，使夜咀咽。', '')
    """
    first, *rest = sentences(story) or [""]
    return "".join(rest) if _NAMING.match(first) else story


def _opening(story: str) -> str | None:
    """The sentence that says what a thing is before its story is told: 西汉田蚡和窦婴的并称。"""
    first, *rest = sentences(story)
    return first if rest and len(first) <= MAX_OPENING else None


def first_telling(entry: Entry) -> tuple[str, tuple[CrossRef, ...]]:
    """The first sense without the variants named at its head; a sense that names nothing else is passed over."""
    refs: dict[CrossRef, None] = {}
    for text in entry.senses[:2]:
        while found := _VARIANT.match(text):
            kind = _KINDS.get(found["kind"], "亦作")
            refs |= {
                CrossRef(kind, target): None
                for target in _QUOTED.findall(found["targets"])
                if target != entry.word
            }
            text = text[found.end() :]
        if text:
            return text, tuple(refs)
        if any(ref.kind != "亦作" for ref in refs):
            break  # 见“X”: the meaning is told there
    return "", tuple(refs)


def _citation(evidence: str, word: str, lexicon: Lexicon) -> Citation | None:
    """The first citation of a piece of evidence, read by the grammar of the idiom tables (which lost their “)."""
    printed = re.sub(r"^(?:见于|详见|见|据)", "", evidence).replace("：“", "“").replace("“", "")
    if "“" not in evidence:
        printed = printed.rstrip("。；，")
    derivation = parse_derivation(printed, word, lexicon)
    if not derivation.citations:
        return None
    first = derivation.citations[0]
    if not is_clean(first.title) or "“" in first.title or (first.quotation and "“" not in evidence):
        return None
    whole = first.quotation and first.quotation[-1] in "。！？…’；，" and not has_rare(first.quotation)
    section = first.section and (
        _QIAN.sub("乾", first.section) if first.title in ("易", "周易") else first.section
    )
    if section and has_rare(section):
        section = None  # 小昮 for 小毖: the printers lacked the character
    quotation = first.quotation if whole else None
    return replace(first, section=section, quotation=quotation, commentary=None)


def later_meaning(sentence: str, word: str) -> str | None:
    """The meaning a word came to have later, out of the sentence that tells it; None if it tells something else.

    >>> later_meaning("后以“剪烛”为促膝夜谈之典。", "剪烛"), later_meaning("后指书信。", "江鲤")
    ('用为促膝夜谈之典。', '指书信。')
    >>> later_meaning("后因称登场演戏为“优孟衣冠”。", "优孟衣冠"), later_meaning("后遂以产酒著名。", "曲阿酒")
    ('指登场演戏。', None)
    """
    if (found := _CALLED.match(sentence)) and found["word"] == word:
        return f"指{found['what']}。"
    found = _BECAME.match(sentence)
    if not found or found["word"] not in (None, word) or word in found["rest"]:
        return None
    return re.sub(r"^(?:来|作)?为(?=.)", "用为", found["rest"])
