"""Read the two-part sayings: pairs (riddle, answers) out of the array literal in a JavaScript module.

The module is text to us: the one string that it hands to ``JSON.parse`` is read as JSON, nothing is executed.  Some
answers are puns explained in brackets that lost their second half (里外孬（n), or all behind the bracket (一言 for
一言难尽); such answers are left out.  An answer of two characters is so often what is left of one (碗了, 不简, 一旦)
that none is read.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from clwqa_bench.errors import SourceError

_ARRAY = re.compile(r"JSON\.parse\('(?P<json>\{.*?\})'\)", re.DOTALL)
_HAN = re.compile(r"[㐀-鿿〇]")
_READABLE = re.compile(r"[㐀-鿿〇，、！？—“”‘’《》：]+")
_END = "。，； ．.;"
SHORTEST_RIDDLE, SHORTEST_ANSWER = 3, 3
SET_PHRASE = 4


@dataclass(frozen=True, slots=True)
class Saying:
    """A riddle and its answers in printed order; ``row`` is the position of its first mention."""

    riddle: str
    answers: tuple[str, ...]
    row: str


def read_sayings(path: Path) -> list[Saying]:
    """All sayings whose riddle and at least one answer are whole, in the order of the file, each riddle once.

    Three characters that open another saying's answer of four are a cut one (怪事一 beside 怪事一桩).

    Raises SourceError when the array is not found or not made of pairs.
    """
    found: dict[str, tuple[dict[str, None], str]] = {}
    for number, (riddle, answers) in enumerate(_pairs(path)):
        riddle = riddle.strip(_END)
        if _is_whole(riddle, SHORTEST_RIDDLE):
            known, _ = found.setdefault(riddle, ({}, str(number)))
            told = (answer.strip(_END) for answer in re.split("[；;]", answers))
            known.update({answer: None for answer in told if _is_whole(answer, SHORTEST_ANSWER)})
    openings = {
        answer[: SET_PHRASE - 1]
        for known, _ in found.values()
        for answer in known
        if len(answer) == SET_PHRASE
    }
    kept = ((riddle, [a for a in known if a not in openings], row) for riddle, (known, row) in found.items())
    return [Saying(riddle, tuple(answers), row) for riddle, answers, row in kept if answers]


def _is_whole(text: str, shortest: int) -> bool:
    return _READABLE.fullmatch(text) is not None and len(_HAN.findall(text)) >= shortest


def _pairs(path: Path) -> list[tuple[str, str]]:
    fix = "clwqa-bench sources fetch --profile full"
    try:
        array = _ARRAY.search(path.read_text(encoding="utf-8"))
        lists = json.loads(array["json"].replace("\\'", "'")) if array else {}
    except (OSError, ValueError) as error:
        raise SourceError(f"the sayings cannot be read: {error}", file=path, fix=fix) from error
    pairs = next(iter(lists.values()), None)
    if not pairs or not all(
        isinstance(p, list) and len(p) == 2 and all(isinstance(t, str) for t in p) for p in pairs
    ):
        raise SourceError("the file holds no array of pairs of texts", file=path, fix=fix)
    return [(riddle, answers) for riddle, answers in pairs]
