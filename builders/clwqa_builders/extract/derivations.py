"""The derivation field.

::

    derivation  := none | crossref | story | citation tail*
    citation    := head quotation
    tail        := citation | same-work continuation ("又" locator quotation) | commentary | crossref | note
    story       := text (marker head)+ | "据"? head "载" text | text "。" citation tail*

A quotation runs to the ” after which the field ends or a tail begins; an earlier ” closes a phrase quoted inside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from clwqa_builders.extract.heads import Head, parse_head
from clwqa_builders.extract.lexicon import Lexicon
from clwqa_builders.extract.locators import LocatorContext, parse_locators
from clwqa_builders.extract.quotes import requote
from clwqa_builders.extract.records import Citation, CrossRef, CrossRefKind, Derivation
from clwqa_builders.extract.scan import Cursor

_EMPTY = frozenset({"", "无"})
_FINAL = frozenset("。！？…’；!?")
_BETWEEN = "。，；、： \u3000\t”'"
_MIN_STORY = 12

_CROSSREF_ONLY = re.compile(r"(参见|详见|见|即|同)[“]?([^《》，。；”]{2,20})”[。]?$")
_CROSSREF_NOTE = re.compile(
    r"(参见|详见|亦作|也作|又作|后作|后世作|今作|今通常作|后多作|后转为|一作|通作)[“]?([^，。；”]{3,20})”|^(见)[“]?([^《》，。；”]{3,20})”"
)
_CROSSREF_KINDS: dict[str, CrossRefKind] = {
    "参见": "参见",
    "详见": "参见",
    "见": "见",
    "即": "即",
    "同": "同",
}

_ANNOTATION = (
    r"(?:集解|集注|集释|集传|集说|章句|解诂|补注|校注|索隐|正义|音义|释文|证闻|易解|笺注|自注|注释|原注|注|疏|笺"
    r"|传(?![说闻令])|解|批|按语|校(?=《))"
)
_COMMENTARY = re.compile(
    rf"[［\[（]?(?:[\u4e00-\u9fff]{{1,3}}·){{0,2}}[\u4e00-\u9fff]{{0,5}}? ?{_ANNOTATION}"
    r"(?:[转所]?引[\u4e00-\u9fff·《》]{1,14}?[曰云])?[：曰云“ ]*(?![，。；、者])"
)
_NOTE = re.compile(
    r"\S{1,4}[，“”]{0,3}(?:一本|亦|又|或)作|按[，“：《]|一本作|一说|一作|亦作|也作|后作|后转为|今通常作|参见|详见|参阅|此[为言谓]|意指|意即|意思|谓"
    r"|[^，。”]{1,4}，?(?:通|同|即|指|系|以)“?"
)
_CONTINUATION = re.compile(r"[①-⑩]?(?:又如|又(?![说曰云问道])|同书|同上)[，：]?")
_TRAILING_JUNK = re.compile(r"(?:\s*\[下续示例\]|[?？]?お|(?<=[。！…’”])[?？]|[\s\u3000]+)$")
# A phrase quoted at the very end of a quotation: 就是“有的放矢”。”
_DOUBLE_CLOSE = re.compile(r"”[。！？…]?”")
# The next citation after a quotation whose ” is missing.
_NEXT_DOTTED = re.compile(
    r"(?<=[。！？])[\u4e00-\u9fff]{1,3}(?:·[\u4e00-\u9fff]{1,2})?·[\u4e00-\u9fff]{2,4}《"
)
# 《论语·为政》有“四十而不惑”的说法: a sentence about the work rather than a quotation.
_MENTION = re.compile(
    r"(?:有|作)(?P<phrase>[^”]{3,40})”"
    r"(?:之语|之句|之言|之说|之文|之记载|的说法|的话|的记载|的句子|[一二]语|[一二]句|语|句)"
)
_DESCRIBES = re.compile(r"[的之等，、；]|[一二三四]字")

_MARKER = re.compile(
    r"(?:后以[^。]{0,20})?(事见|事出|典出|语出|语本|语见|出自|参阅|参见|详见|载于|见于|见|据|故事出自)(?=[^《。，；”]{0,24}《)"
)
_SAYING = re.compile(r"(?:旧|古|俗|民|农)?(?:俗语|俗谚|谚语|旧谚|古谚|谚|常言|俗话)")
_SPEECH = re.compile(r"[曰云道说问答]")
_LAST_SPOKEN = re.compile(r"[曰云诗歌语]“(?P<words>[^“”]{4,})”$")


def _strip_junk(text: str) -> str:
    while (shorter := _TRAILING_JUNK.sub("", text)) != text:
        text = shorter
    return text


def _clean(quotation: str, word: str) -> str | None:
    """A quotation without the marks around it; inner phrases regain their lost “."""
    text = _strip_junk(quotation.strip("：“” \u3000\t")).lstrip("；，、。：").removeprefix("”")
    return requote(text, word) if text.strip("。，…") else None


def _story(text: str, word: str) -> str | None:
    return requote(_strip_junk(text).strip("，；、： \u3000").removeprefix("。"), word) or None


@dataclass(slots=True)
class _Reader:
    """One derivation being read: the cursor and the context of all productions."""

    cursor: Cursor
    lexicon: Lexicon
    word: str

    def starts_tail(self, at: int) -> bool:
        """Whether a tail can begin at ``at``: a head, a continuation, a commentary or a note."""
        probe = Cursor(self.cursor.text, at)
        probe.skip(_BETWEEN)
        if probe.at_end or probe.rest.startswith(("[下续", "お")):
            return True
        if parse_head(replace(probe), self.lexicon, self.word):
            return True
        return any(pattern.match(probe.text, probe.pos) for pattern in (_CONTINUATION, _COMMENTARY, _NOTE))

    def _speech_is_open(self, end: int) -> bool:
        """Whether the ” at ``end`` may close only the words of somebody the quotation tells of (曰…”X曰…”)."""
        text = self.cursor.text[self.cursor.pos : end]
        spoken = [found.end() for found in _SPEECH.finditer(text)]
        return bool(spoken) and "‘" not in text[spoken[-1] :] and "”" in self.cursor.text[end + 1 :]

    def quotation_end(self) -> int | None:
        """The index where the quotation at the cursor ends (its ”, as a rule); None if it runs to the end."""
        text, depth, last = self.cursor.text, 0, None
        following = _NEXT_DOTTED.search(text, self.cursor.pos)
        for i in range(self.cursor.pos, len(text)):
            depth += (text[i] == "《") - (text[i] == "》")
            if following and i == following.start() and last is None:
                return i
            if text[i] != "”" or depth > 0:
                continue
            last = i
            if _DOUBLE_CLOSE.match(text, i):
                continue
            final = i > self.cursor.pos and text[i - 1] in _FINAL
            inside_clause = not final and text[i + 1 : i + 2] in ("，", "、")
            if not inside_clause and self.starts_tail(i + 1):
                return i
            if final and not self._speech_is_open(i):
                return i
        return last

    def quotation(self) -> str | None:
        """Read the quotation at the cursor."""
        end = self.quotation_end()
        text = self.cursor.text[self.cursor.pos : end]
        self.cursor.pos = len(self.cursor.text) if end is None else end
        self.cursor.accept("”")
        return _clean(text, self.word)

    def describes(self) -> bool:
        """Whether what follows the head is a sentence about the work rather than words from it."""
        end = self.quotation_end()
        text = self.cursor.text
        if end is None or end == self.cursor.pos or text[end - 1] in _FINAL:
            return False
        return bool(_DESCRIBES.match(text, end + 1)) and not self.starts_tail(end + 1)

    def citation(self, previous: Citation | None = None) -> tuple[Citation, ...] | None:
        """Read a head and what it quotes; a told story is left at the cursor with narrative citations."""
        head = parse_head(self.cursor, self.lexicon, self.word, previous=previous)
        if head is None:
            return None
        if self.cursor.peek() == "”" and len(self.cursor.rest) > 2:
            self.cursor.pos += 1
        told_by_lead = head.attribution.story and "”" not in self.cursor.rest
        if head.reports or told_by_lead:
            return head.citations(None, narrative=True)
        if self.cursor.peek() == "。":
            return head.citations(None)
        if found := self.cursor.match(_MENTION):
            return head.citations(_clean(found["phrase"], self.word))
        if self.describes():
            return head.citations(None, narrative=True)
        if head.via or head.attribution.via:
            self.cursor.accept("曰")
        return head.citations(self.quotation())

    def continuation(self, previous: Citation) -> tuple[Citation, ...] | None:
        """Read a further passage of the work just cited: 又第四一回只见…”, 又桑间濮上之音…”."""
        start = self.cursor.pos
        if not self.cursor.match(_CONTINUATION) or "”" not in self.cursor.rest:
            self.cursor.pos = start
            return None
        modern = previous.period is None and previous.author is not None
        locator = parse_locators(
            self.cursor, LocatorContext(previous.title, self.word, modern, False, self.lexicon)
        )
        quotation = self.quotation()
        return (replace(previous, locator=locator or previous.locator, quotation=quotation, commentary=None),)

    def commentary(self) -> str | None:
        """Read an annotator's words up to the ” that closes them: 郑玄笺：迈、征，皆行也。"""
        found = _COMMENTARY.match(self.cursor.text, self.cursor.pos)
        if not found:
            return None
        lead = found[0].rstrip("：曰云“ ")
        self.cursor.pos = found.end()
        body = self.quotation()
        return f"{lead}：{body}" if body else None

    def tails(self, citations: list[Citation]) -> tuple[CrossRef, ...]:
        """Read everything after the first quotation, adding citations and commentary to ``citations``."""
        while True:
            self.cursor.skip(_BETWEEN)
            if self.cursor.at_end or self.cursor.rest.startswith("[下续"):
                return ()
            further = self.citation(citations[-1]) or self.continuation(citations[-1])
            if further and further[0].narrative and not self.cursor.at_end:
                # A further story: its text is a note on the citation before it.
                citations.extend(further)
                return self._note(citations)
            if further:
                citations.extend(further)
            elif note := self.commentary():
                _annotate(citations, note)
            else:
                return self._note(citations)

    def _note(self, citations: list[Citation]) -> tuple[CrossRef, ...]:
        rest = _strip_junk(self.cursor.rest)
        self.cursor.pos = len(self.cursor.text)
        crossrefs = _crossref_notes(rest)
        if len(rest) > 1 and not (crossrefs and _CROSSREF_ONLY.match(rest)):
            _annotate(citations, requote(rest, self.word))
        return crossrefs

    def told_sources(self, citations: list[Citation]) -> None:
        """Read the sources named after a story: 《吕氏春秋·举难》、《晏子春秋·问下二》、刘向《新序·杂事五》."""
        while not self.cursor.at_end:
            self.cursor.skip(_BETWEEN + "及和又")
            head = parse_head(self.cursor, self.lexicon, self.word)
            if head is None:
                marker = _MARKER.search(self.cursor.text, self.cursor.pos)
                if not marker:
                    return
                self.cursor.pos = marker.end()
            else:
                citations.extend(self._told_source(head))
                if head.reports:
                    return

    def _told_source(self, head: Head) -> tuple[Citation, ...]:
        self.cursor.skip()
        ends_here = self.cursor.peek() in tuple("、，；。及和载") or self.cursor.at_end
        quotes = not ends_here and not head.reports and "”" in self.cursor.rest
        return head.citations(self.quotation() if quotes else None, narrative=True)


def _crossref_notes(text: str) -> tuple[CrossRef, ...]:
    pairs = ((found[1] or found[3], found[2] or found[4]) for found in _CROSSREF_NOTE.finditer(text))
    return tuple(CrossRef(_CROSSREF_KINDS.get(kind, "亦作"), target) for kind, target in pairs)


def _annotate(citations: list[Citation], note: str) -> None:
    """Attach an annotation to the citation it follows."""
    last = citations[-1]
    citations[-1] = replace(last, commentary=f"{last.commentary} {note}" if last.commentary else note)


def _reported_sources(reader: _Reader, citations: list[Citation]) -> None:
    """Find further sources inside a story: …。又据《史记·高祖本纪》载，郦食其求见…"""
    text = reader.cursor.text
    for found in re.finditer(r"[。，；](?=[^。，；《》]{0,20}《)", text[reader.cursor.pos :]):
        probe = Cursor(text, reader.cursor.pos + found.end())
        head = parse_head(probe, reader.lexicon, reader.word)
        if head and head.reports:
            citations.extend(head.citations(None, narrative=True))


def _quotation_after_story(reader: _Reader) -> int | None:
    """Where, after a story, another work is quoted in a sentence of its own; None if none is."""
    text = reader.cursor.text
    for found in re.finditer("。", text[reader.cursor.pos :]):
        at = reader.cursor.pos + found.end()
        head = parse_head(Cursor(text, at), reader.lexicon, reader.word)
        if head and not head.reports and head.attribution.author and "”" in text[at:]:
            return at
    return None


def _told_after(reader: _Reader, citations: list[Citation]) -> Derivation:
    """A head followed by the story it tells."""
    _reported_sources(reader, citations)
    quoted_from = _quotation_after_story(reader)
    story = _story(reader.cursor.text[reader.cursor.pos : quoted_from], reader.word)
    spoken = _LAST_SPOKEN.search(story or "")
    if spoken and "”" not in (story or "")[: spoken.start()]:
        citations[0] = replace(citations[0], quotation=spoken["words"])
    told = [replace(citation, narrative=story is not None) for citation in citations]
    crossrefs: tuple[CrossRef, ...] = ()
    if quoted_from is not None:
        reader.cursor.pos = quoted_from
        told.extend(reader.citation() or ())
        crossrefs = reader.tails(told)
    return Derivation("narrative" if story else "citation", tuple(told), story, crossrefs)


def _told_before(reader: _Reader) -> Derivation:
    """A story in prose, with its sources named after it or quoted in a sentence of their own."""
    text = reader.cursor.text
    citations: list[Citation] = []
    crossrefs: tuple[CrossRef, ...] = ()
    marker = _MARKER.search(text)
    story = text
    if marker:
        story = text[: marker.start()]
        reader.cursor.pos = marker.end()
        reader.told_sources(citations)
    for stop in [] if citations else [m.end() for m in re.finditer("。", text)]:
        reader.cursor.pos = stop
        if further := reader.citation():
            story = text[:stop]
            citations.extend(further)
            crossrefs = reader.tails(citations)
            break
    allusion = _story(story.rstrip("◇"), reader.word)
    untold = "《" in text or _SAYING.match(text) or len(text) < _MIN_STORY or "·" in text[:4]
    if not citations and untold:
        return Derivation("none", (), None, _crossref_notes(text))
    return Derivation("narrative", tuple(citations), allusion, crossrefs)


def _restore_title_opening(text: str, lexicon: Lexicon) -> str:
    """Put back a 《 lost at the very start before a known book (魏书·逸士传》 -> 《魏书·逸士传》)."""
    closing = text.find("》")
    if closing < 0 or "《" in text[:closing]:
        return text
    title = text[:closing].partition("·")[0]
    return "《" + text if title in lexicon.books else text


def parse_derivation(text: str, word: str, lexicon: Lexicon) -> Derivation:
    """Parse one repaired derivation; what does not parse has kind "none"."""
    text = text.strip()
    if text in _EMPTY:
        return Derivation("none", (), None, ())
    if found := _CROSSREF_ONLY.match(text):
        return Derivation("crossref", (), None, (CrossRef(_CROSSREF_KINDS[found[1]], found[2]),))
    reader = _Reader(Cursor(_restore_title_opening(text, lexicon)), lexicon, word)
    first = reader.citation()
    if first is None:
        return _told_before(reader)
    citations = list(first)
    if first[0].narrative:
        return _told_after(reader, citations)
    rest = reader.cursor.rest.strip(_BETWEEN.replace("”", ""))
    if first[0].quotation is None and len(rest) > _MIN_STORY and not reader.starts_tail(reader.cursor.pos):
        return _told_after(reader, citations)
    crossrefs = reader.tails(citations)
    return Derivation("citation", tuple(citations), None, crossrefs)
