"""The entities a question names: marked names first, else the longest names in running text.

Nothing is learned here; what a name may mean is read off the graph.  An ambiguous name keeps all its bearers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.linking.passages import GAP, Passages
from clwqa_bench.text import is_ideograph, is_whole

MARKED = re.compile(r"“([^”]+)”|《([^》]+)》")
LONGEST, SHORTEST = 12, 2  # characters of a name looked for in running text
LONGEST_SPACED = 60  # the same in scripts that put spaces between words
LONGEST_PART = 12  # characters of a numbered part after a title: 《红楼梦》第七回
LONGEST_MAKER = 8  # characters of an author's name before a title: 苏轼《江城子》
SIMILAR = 0.75  # least likeness of a marked text to a name if none is equal
MAKERS = 20  # entities a work points to that are looked at
BEARERS = 50  # entities of one name that are looked at
REMEMBERED = 4096  # quotations whose bearers are kept, since linker and system ask about the same


@dataclass(frozen=True, slots=True)
class Mention:
    """Words of a question and the entities that bear them as a name, in the graph's order.

    `text` is what stands in the question from `start` on: a title with its book marks, a quotation without its
    quotation marks.  `marked` is False for a name found in running text.
    """

    text: str
    start: int
    bearers: tuple[str, ...]
    marked: bool = True

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Gazetteer:
    """Names and passages of a graph.

    `common` are names that are said without meaning their bearers (成语, 作者), in marks (“参见”) if they are so there.
    """

    def __init__(self, graph: GraphStore, *, common: Collection[str] = (), similar: float = SIMILAR) -> None:
        self._graph = graph
        self._common = frozenset(common)
        self._similar = similar
        self._exactly = lru_cache(REMEMBERED)(self._find_exactly)
        self._nearly = lru_cache(REMEMBERED)(self._find_nearly)

    def mentions(self, text: str) -> tuple[Mention, ...]:
        """What a text names, in its order: what is marked; only if that is nothing, the names outside marks."""
        unmarked = MARKED.sub(lambda match: " " * len(match[0]), text)
        return tuple(self._marked(text)) or tuple(self._running(unmarked))

    def all_mentions(self, text: str) -> tuple[Mention, ...]:
        """Every name in a text, marked or not, in its order; the longest at each place, none within another."""
        marked = list(self._marked(text))
        rest = MARKED.sub(lambda match: " " * len(match[0]), text)
        return tuple(sorted([*marked, *self._running(rest)], key=lambda mention: mention.start))

    def bearers(self, mention: str) -> tuple[str, ...]:
        """The entities that a mention can mean: a word, a quotation, or a title with its part and its author."""
        whole = [found for found in self._marked(mention) if (found.start, found.end) == (0, len(mention))]
        return whole[0].bearers if whole else self._quoted(mention.strip("“”"))

    def names(self, texts: Iterable[str]) -> set[str]:
        """Every name of the graph in some texts, overlapping ones too; one in quotation marks stands with them."""
        marked = {match[0] for text in texts for match in MARKED.finditer(text) if match[1]}
        running = {
            text[start:end] for text in texts for start in range(len(text)) for end in _ends(text, start)
        }
        return {name for name in marked | running if self._graph.lookup(name)}

    # ------------------------------------------------------------------ marked names

    def _marked(self, text: str) -> Iterator[Mention]:
        for match in MARKED.finditer(text):
            if match[2]:
                yield from self._title(text, match.start(), match.end())
                continue
            quoted, start = match[1], match.start(1)
            if match[0] in self._common:
                continue
            inner = MARKED.finditer(text, start, match.end(1)) if "《" in quoted else ()
            if bearers := self._exactly(quoted):
                yield Mention(quoted, start, bearers)
            elif titles := [t for title in inner for t in self._title(text, title.start(), title.end())]:
                yield from titles  # “见《隋唐嘉话》”
            elif bearers := self._nearly(quoted):
                yield Mention(quoted, start, bearers)

    def _quoted(self, quoted: str) -> tuple[str, ...]:
        return self._exactly(quoted) or self._nearly(quoted)

    def _find_exactly(self, quoted: str) -> tuple[str, ...]:
        named = () if GAP in quoted else self._graph.lookup(quoted)
        return named or self._passages.find(quoted, BEARERS)

    def _find_nearly(self, quoted: str) -> tuple[str, ...]:
        return tuple(node for node, likeness in self._graph.fuzzy(quoted, 1) if likeness >= self._similar)

    def _title(self, text: str, start: int, end: int) -> Iterator[Mention]:
        """A work, with the part that is told after it and the author who is told before it."""
        title = text[start + 1 : end - 1]
        bearers: tuple[str, ...] = ()
        for size in range(min(LONGEST_PART, len(text) - end), -1, -1):
            part = text[end : end + size]
            if part and not _is_bounded(part):
                continue
            if bearers := self._graph.lookup(f"{title}·{part}" if part else title):
                end += size
                break
        if not bearers:
            bearers = self._quoted(text[start:end])
        elif maker := self._maker(text[max(0, start - LONGEST_MAKER) : start], bearers):
            name, bearers = maker
            start -= len(name)
        if bearers:
            yield Mention(text[start:end], start, bearers)

    def _maker(self, before: str, works: Iterable[str]) -> tuple[str, tuple[str, ...]] | None:
        """The longest name before a title of something the works point to, and the works that do."""
        if not before[-1:].isalnum():
            return None
        by_name: dict[str, list[str]] = {}
        for work in list(works)[:BEARERS]:
            for node in self._graph.neighbours(work, direction="out", limit=MAKERS):
                maker = self._graph.entity(node)
                for name in {maker.label, *maker.aliases}:
                    if len(name) >= SHORTEST and before.endswith(name):
                        by_name.setdefault(name, []).append(work)
        if not by_name:
            return None
        name = max(by_name, key=len)
        return name, tuple(dict.fromkeys(by_name[name]))

    # ------------------------------------------------------------------ running text

    def _running(self, text: str) -> Iterator[Mention]:
        start = 0
        while start <= len(text) - SHORTEST:
            mention = self._longest(text, start)
            if mention is not None:
                yield mention
            start = start + 1 if mention is None else mention.end

    def _longest(self, text: str, start: int) -> Mention | None:
        for end in _ends(text, start):
            name = text[start:end]
            if bearers := self._graph.lookup(name):
                return Mention(name, start, bearers, marked=False) if name not in self._common else None
        return None

    def read(self) -> None:
        """Read the passages of the graph now, so that this is no part of the time of the first question."""
        _ = self._passages

    @cached_property
    def _passages(self) -> Passages:
        return Passages.of(self._graph)


def _ends(text: str, start: int) -> Iterator[int]:
    """Where a name that begins at a place of a text may end, the last place first.

    In scripts with spaces it is one or several whole words, and may end with a bracket: Cork (city).
    """
    if is_ideograph(text[start]):
        for end in range(min(start + LONGEST, len(text)), start + SHORTEST - 1, -1):
            if _is_bounded(text[start:end]):
                yield end
    elif text[start].isalnum():
        for end in range(min(start + LONGEST_SPACED, len(text)), start + SHORTEST - 1, -1):
            if (text[end - 1].isalnum() or text[end - 1] == ")") and is_whole(text, start, end):
                yield end


def _is_bounded(name: str) -> bool:
    """Whether a piece of text begins and ends with letters: a key would be found without what is around them."""
    return name[0].isalnum() and name[-1].isalnum()


def verbatim(graph: GraphStore, name: str, bearers: tuple[str, ...]) -> tuple[str, ...]:
    """The bearers whose label is written just as the name is, all if there is none (朝成暮遍, not 朝成暮徧)."""
    if len(bearers) < 2:
        return bearers
    exact = tuple(node for node in bearers if graph.entity(node).label == name)
    return exact or bearers
