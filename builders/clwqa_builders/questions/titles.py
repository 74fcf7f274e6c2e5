"""Titles too alike to be told apart: spellings of one work, or a misprint of a better known one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

SAME_TITLE = 0.6  # from this likeness on (difflib's ratio) two titles may be spellings of one
SHORTEST = 4  # characters of a title that is compared letter by letter
RARE = 3  # most citations of a title that may be a misprint
_DATED = frozenset("年期日号0123456789")  # years and issues differ in one character by nature
_NUMERALS = frozenset("零〇○一二三四五六七八九十百千元上中下前后续初再甲乙丙丁")


def may_be_one(title: str, other: str) -> bool:
    """Whether two titles in one list may name one work.

    >>> may_be_one("出师表", "前出师表"), may_be_one("丽春堂", "四丞相高会丽春堂"), may_be_one("南史", "北史")
    (True, True, False)
    """
    short, long = sorted((title, other), key=len)
    return (len(short) > 1 and short in long) or SequenceMatcher(None, title, other).ratio() >= SAME_TITLE


def misprints(groups: Iterable[Sequence[tuple[str, int]]]) -> Iterator[tuple[int, int]]:
    """Pairs (group, position) of titles that differ in one character, no numeral, from another of their group that
    is cited as often or more.  A group holds (title, number of citations).

    >>> list(misprints([[("高宗本纪三", 9), ("高家本纪三", 1), ("高宗本纪四", 1)]]))
    [(0, 1)]
    """
    for number, group in enumerate(groups):
        alike: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for position, (title, _) in enumerate(group):
            if len(title) >= SHORTEST and title[-1] not in _DATED:
                for i, letter in enumerate(title):
                    if letter not in _NUMERALS:
                        alike[title[:i], title[i + 1 :]].append(position)
        worse = {
            position
            for positions in alike.values()
            if len(positions) > 1
            for position in positions
            if group[position][1] <= RARE
            and group[position][1] <= max(group[p][1] for p in positions if p != position)
        }
        yield from ((number, position) for position in sorted(worse))
