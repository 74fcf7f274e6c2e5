"""From what a system writes to an ordered list of answers, by the first of four tiers that finds any.

1. *list*: the system's output is a list already.
2. *wrapper*: answers stand where the system was told to put them (a line each, a section); see `wrappers`.
3. *extractor*: the language model of the run picks answers out of prose; what does not stand there is dropped.
4. *dictionary*: the names of the graph in the prose, but for those that the question says itself.

A tier in which the system says that it does not know is the last one.  A section that holds nothing but names is cut
up, see `Names.cut`.  A name becomes the entity that was shown under it, else the only one that bears it.

Each answer says where it is from: `parametric` (the model's own memory) if no evidence shows it, else `adapter` from
the last two tiers and `graph` from the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from clwqa_baselines.shared.names import Reader, called
from clwqa_baselines.shared.replies import FLAGS, spared
from clwqa_baselines.shared.wrappers import ITEM_MARK, Section, Unwrapped
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.llm.tasks import ExtractAnswers
from clwqa_bench.predictions import Evidence, Flag, PredictedAnswer, TraceEvent
from clwqa_bench.systems import Context, Resources
from clwqa_bench.text import comparison_key, holds, shows

Tier = Literal["list", "wrapper", "extractor", "dictionary"]
Unwrap = Callable[[str], Unwrapped]
"""None: the wrapper is not there.  Nothing in it: the system declines.  A `Section` is prose for the later tiers to
look at, unless it is names alone."""

MOST = 10  # answers of the dictionary

DECLINES = frozenset(
    comparison_key(text)
    for text in (
        *("null", "none", "unknown", "n/a", "no answer", "I don't know", "I do not know"),
        *("insufficient information", "not enough information"),
        *("无", "未知", "不详", "不明", "不知道", "未提及", "没有答案", "证据不足", "信息不足"),
        *("无法确定", "无法回答", "无法判断", "不能确定"),
    )
)
"""Answers (as comparison keys) that say there is none."""
_DECLINING = re.compile(
    r"(?:无法|不能|难以|未能)(?:从[^，。]*?)?(?:确定|回答|判断|得知|给出|推断|知道|确认|看出|说明|断定)"
    r"|不(?:知道|清楚|得而知|确定|足以)"
    r"|(?:没有|并未|未)\S{0,6}?(?:提到|提及|说明|记载|给出|找到|提供|指出|涉及|交代|包含|收录|相关)"
    r"|(?<!是)(?:不是|并非|不算|不在)|(?:无关|不同)[，。；！）)]?$"
    r"|insufficient|not enough|unable to|cannot|can't"
    r"|(?:do|does)(?:n't| not) (?:know|mention|say)",
    re.IGNORECASE,
)
"""A clause that says what is not known, or what is not so, names no answer."""
_CLAUSE = re.compile(r"[^，。！？；：（）\n,!?;()]+[，。！？；：（）\n,!?;()]*")
_CITATION = re.compile(
    r"\s*[\[【［](?:"
    r"data:[^\]】］]*|(?:数据|来源|证据)\s*[:：][^\]】］]*"
    r"|\s*[a-z证据段]{0,2}\d+(?:\s*[,，、;；–-]\s*[a-z]{0,2}\d+)*\s*"
    r")[\]】］]",
    re.IGNORECASE,
)
"""[1], 【2、3】, [p1], [Data: Reports (2, 7, +more)]."""
_LINES = re.compile(r"[\n|]")
_LISTED = re.compile(r"[;；、]|(?<=》)(?=《)|(?<=”)(?=“)")
_LOOSE = re.compile(r"[,，]|\s+and\s+|和|及")
_CJK = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Adapted:
    """Answers, best first, and the tier they are from; None if no tier found any and none said that there are none."""

    answers: tuple[PredictedAnswer, ...] = ()
    tier: Tier | None = None
    flags: tuple[Flag, ...] = ()  # of an extractor call that failed; parametric if any answer is

    @property
    def fields(self) -> dict[str, Any]:
        """What a prediction says of its answers."""
        status = "ok" if self.answers else "empty"
        return {"answers": self.answers, "adapter": self.tier, "ranked": True, "status": status}


@dataclass(frozen=True)
class Adapter:
    """The tiers of one system: `unwrap` is its wrapper, if it has one."""

    graph: GraphStore
    reader: Reader
    unwrap: Unwrap | None = None

    @staticmethod
    def open(resources: Resources, unwrap: Unwrap | None = None) -> Adapter:
        """The adapter of a system, made in `prepare`."""
        return Adapter(resources.kg, Reader.open(resources), unwrap)

    async def adapt(
        self,
        question: str,
        text: str,
        ctx: Context,
        *,
        listed: Sequence[str] | None = None,
        evidence: Evidence | None = None,
        extract: bool = True,
    ) -> Adapted:
        """The answers in `listed`, else in `text` ("" if there is nothing to fall back to).

        `evidence` is what was shown: it settles ambiguous names, and answers rest on the pieces that show them.
        `extract` allows the extractor's call.
        """
        names = Names(self.graph, evidence or Evidence())
        found = self._native(text, listed, names)
        flags: tuple[Flag, ...] = ()
        if isinstance(found, Section):
            found, flags = await self._prose(question, found.text, ctx, names, extract)
        texts, tier = found
        answers = names.answers(texts, "adapter" if tier in ("extractor", "dictionary") else "graph")
        if any(answer.source == "parametric" for answer in answers):
            flags = (*flags, "parametric")
        ids = tuple(answer.entity_id for answer in answers if answer.entity_id)
        ctx.trace.add(TraceEvent(stage="adapt", op=tier or "", entities=ids, detail={"texts": list(texts)}))
        return Adapted(answers, tier, flags)

    def _native(self, text: str, listed: Sequence[str] | None, names: Names) -> Found | Section:
        """Tiers 1 and 2; the prose that is left to look at if they find nothing."""
        if given := [item for item in listed or () if shows(item)]:
            return _known(given), "list"
        if _declines(text):
            return (), "wrapper" if self.unwrap else None
        inside = self.unwrap(text) if self.unwrap and text else None
        if isinstance(inside, Section):
            if _declines(inside.text):
                return (), "wrapper"
            pieces = names.cut(inside.text)
            return (pieces, "wrapper") if pieces and all(map(names.bearers, pieces)) else inside
        if inside is None:
            return Section(text)
        return _known(inside), "wrapper"

    async def _prose(
        self, question: str, text: str, ctx: Context, names: Names, extract: bool
    ) -> tuple[Found, tuple[Flag, ...]]:
        """Tiers 3 and 4.  An extractor that finds no answer has been told that there is none; one that fails, or
        writes what is not there, leaves it to the dictionary."""
        prose = _CITATION.sub("", text)
        flags: tuple[Flag, ...] = ()
        if not shows(prose):
            return ((), None), ()
        if extract:
            reply = await spared(ExtractAnswers(question=question, text=prose), ctx, "adapt")
            flags = FLAGS.get(reply.status, ()) if reply else ()
            if reply and reply.value is not None:
                there = [answer for answer in reply.value.answers if _occurs(answer, prose)]
                if there or not reply.value.answers:
                    return (_known(there), "extractor"), flags
        found = self._named(question, prose)
        return (found, "dictionary" if found else None), flags

    def _named(self, question: str, prose: str) -> tuple[str, ...]:
        """Names in the clauses that do not say what is not known, the longest at each place, in order."""
        said = "".join(clause for clause in _CLAUSE.findall(prose) if not _DECLINING.search(clause))
        asked = {node for mention in self.reader.gazetteer.all_mentions(question) for node in mention.bearers}
        found = [
            mention.text
            for mention in self.reader.gazetteer.all_mentions(said)
            if mention.text not in question and not asked.issuperset(mention.bearers)
        ]
        return tuple(dict.fromkeys(found))[:MOST]


Found = tuple[Sequence[str], Tier | None]


@dataclass(frozen=True)
class Names:
    """What names mean next to some evidence."""

    graph: GraphStore
    evidence: Evidence
    _bearers: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def bearers(self, text: str) -> tuple[str, ...]:
        """Entities called so, those shown first in their order; a passage that was shown is called by its text."""
        key = comparison_key(text)
        if key not in self._bearers:
            found = self.graph.lookup(text) or self._passages.get(key, ())
            place = {node: at for at, node in enumerate(self.shown)}
            self._bearers[key] = tuple(sorted(found, key=lambda node: place.get(node, len(place))))
        return self._bearers[key]

    def entity(self, text: str) -> str | None:
        """The entity meant: the one shown first, else the only one."""
        found = self.bearers(text)
        return found[0] if found and (found[0] in self.shown or len(found) == 1) else None

    def cut(self, text: str) -> tuple[str, ...]:
        """The answers in one string.

        The whole if it is a name.  Else its lines (also divided by ``|``), and the pieces of each between ``;`` and
        ``、`` if one of them is a name, and of these between commas, ``and``, ``和`` and ``及`` if all are: a passage
        in words of the model's own stays one answer, as does a name that holds a separator.  Where there is no
        Chinese, every separator divides what is not a name.
        """
        pieces = [text] if self.bearers(text) else [ITEM_MARK.sub("", line) for line in _LINES.split(text)]
        for separator, enough in ((_LISTED, any), (_LOOSE, all)):
            pieces = [part for piece in pieces for part in self._divided(piece, separator, enough)]
        return tuple(stripped for piece in pieces if shows(stripped := piece.strip(" \t\r\n.。")))

    def _divided(
        self, text: str, separator: re.Pattern[str], enough: Callable[[Iterable[object]], bool]
    ) -> list[str]:
        parts = [part.strip() for part in separator.split(text)]
        if self.bearers(text) or len(parts) == 1:
            return [text]
        foreign = not _CJK.search(text)
        return parts if foreign or enough([part and self.bearers(part) for part in parts]) else [text]

    def answers(
        self, texts: Iterable[str], source: Literal["graph", "adapter"]
    ) -> tuple[PredictedAnswer, ...]:
        """Answers in this order, one per entity or comparison key; `source` is that of what was shown."""
        answers: dict[str, PredictedAnswer] = {}
        for text in filter(shows, texts):
            node = self.entity(text)
            support = self.shown.get(node, ()) if node else ()
            answer = PredictedAnswer(
                text=text,
                entity_id=node,
                support=support,
                source=source if self.is_shown(text) else "parametric",
            )
            answers.setdefault(node or comparison_key(text), answer)
        return tuple(answers.values())

    def is_shown(self, text: str) -> bool:
        """Whether the evidence has it: as an entity, in its words, or piece by piece if it is a list in one string."""
        if self.entity(text) in self.shown or self._say(text):
            return True
        pieces = self.cut(text)
        return len(pieces) > 1 and all(map(self.is_shown, pieces))

    def _say(self, text: str) -> bool:
        words, keys = self._words
        return holds(words, text) or holds(keys, comparison_key(text))

    @cached_property
    def shown(self) -> dict[str, tuple[str, ...]]:
        """Entities in the order shown, each with the ids of the pieces that show it."""
        found: dict[str, list[str]] = {}
        for path in self.evidence.paths:
            for node in dict.fromkeys(end for t in path.triples for end in (t.head, t.tail)):
                found.setdefault(node, []).append(path.id)
        for piece in self.evidence.triples:
            for node in dict.fromkeys((piece.triple.head, piece.triple.tail)):
                found.setdefault(node, []).append(piece.id)
        for text in self.evidence.texts:
            if text.entity_id:
                found.setdefault(text.entity_id, []).append(text.id)
        return {node: tuple(ids) for node, ids in found.items()}

    @cached_property
    def _words(self) -> tuple[str, str]:
        """All that was shown in words, and what the entities are called: as it stands, and as comparison keys."""
        evidence = self.evidence
        words = [path.text for path in evidence.paths]
        words += [triple.text for triple in evidence.triples]
        words += [text.text for text in evidence.texts]
        words += [called(self.graph.entity(node)) for node in self.shown]
        return "\n".join(words), "\n".join(map(comparison_key, words))

    @cached_property
    def _passages(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for node in self.shown:
            if text := self.graph.entity(node).text:
                found.setdefault(comparison_key(text), []).append(node)
        return {key: tuple(nodes) for key, nodes in found.items()}


def _known(texts: Iterable[str]) -> tuple[str, ...]:
    """Those that are answers, not words for having none."""
    return tuple(text for text in texts if shows(text) and not _declines(text))


def _declines(text: str) -> bool:
    return bool(text) and comparison_key(text) in DECLINES


def _occurs(answer: str, prose: str) -> bool:
    return shows(answer) and (answer in prose or comparison_key(answer) in comparison_key(prose))
