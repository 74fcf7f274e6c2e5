"""Lines of verse that lost a character, as far as the form of the poem tells.

A poem in lines of five or seven shows a clause that is one short (or one too many); a poem to a tune shows it beside
the others to that tune.  Such a line is cut: it stays in the text, without its full stop, and is no sentence.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from clwqa_builders.extract.anthologies import ENDS, Passage, han, read_anthologies

Pattern = tuple[int, ...]

REGULAR = (5, 7)
FEWEST = 4  # clauses that show how long the clauses of a poem are
AGREEING = 2  # other poems that show how long the clauses of a tune are
_PAUSE = re.compile("[，；：。！？]+")


def read_passages(files: Mapping[str, Path]) -> list[Passage]:
    """All passages of the anthologies as they enter the graph; raises what :func:`read_anthologies` does."""
    return cut_damaged(read_anthologies(files))


def cut_damaged(passages: Iterable[Passage]) -> list[Passage]:
    """The passages, with the lines that lost a character cut."""
    passages = list(passages)
    tunes = defaultdict[str, Counter[Pattern]](Counter)
    for passage in passages:
        if passage.at.genre == "词":
            tunes[passage.at.title][_pattern(passage)] += 1
    return [_cut(passage, tunes) for passage in passages]


def odd_clauses(pattern: Pattern) -> list[int]:
    """The clauses of a regular poem that are one character off, by position; none of an irregular one.

    >>> odd_clauses((7, 7, 6, 7)), odd_clauses((7, 7, 3, 7)), odd_clauses((3, 3, 7, 7))
    ([2], [], [])
    """
    length, count = Counter(pattern).most_common(1)[0] if pattern else (0, 0)
    odd = [at for at, n in enumerate(pattern) if n != length]
    fits = length in REGULAR and len(pattern) >= FEWEST and count == len(pattern) - 1
    return [at for at in odd if abs(pattern[at] - length) == 1] if fits else []


def short_clauses(pattern: Pattern, others: Mapping[Pattern, int]) -> list[int]:
    """The clause that is one character shorter than in the poems to the same tune that agree in all the rest.

    >>> short_clauses((6, 7, 7), {(7, 7, 7): 2, (6, 7, 7): 1}), short_clauses((6, 7, 7), {(6, 7, 7): 2})
    ([0], [])
    """
    if others.get(pattern, 0) > 1:
        return []
    for other, count in others.items():
        if count >= AGREEING and len(other) == len(pattern):
            differing = [at for at, n in enumerate(pattern) if n != other[at]]
            if len(differing) == 1 and pattern[differing[0]] == other[differing[0]] - 1:
                return differing
    return []


def _cut(passage: Passage, tunes: Mapping[str, Mapping[Pattern, int]]) -> Passage:
    if passage.at.genre == "词":
        odd = short_clauses(_pattern(passage), tunes[passage.at.title])
    elif passage.at.genre == "诗":
        odd = odd_clauses(_pattern(passage))
    else:
        return passage
    lines, first = list[str](), 0
    for line in passage.lines:
        last = first + len(_lengths(line))
        lines.append(line.rstrip(ENDS) if any(first <= at < last for at in odd) else line)
        first = last
    return replace(passage, lines=tuple(lines))


def _pattern(passage: Passage) -> Pattern:
    return tuple(length for line in passage.lines for length in _lengths(line))


def _lengths(line: str) -> list[int]:
    return [length for clause in _PAUSE.split(line) if (length := len(han(clause)))]
