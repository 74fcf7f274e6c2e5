"""From the text a system wrote to the answers it gave, as far as that takes neither a graph nor a model.

A wrapper is opened (PoG's JSON, ToG's braces), a list is taken as it is, and a text is split where a separator cannot
be part of a name: at line ends, semicolons, bars and the Chinese enumeration comma.  It is *not* split at commas or at
"and", because names hold them and only a graph could tell; such an answer stays one item and is seldom right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from clwqa_bench.foreign.reading import parse
from clwqa_bench.matching import key_of
from clwqa_bench.predictions import PredictedAnswer, Prediction, Status
from clwqa_bench.text import shows

Native = Literal["json", "braces", "lines", "prose"]
Output = str | tuple[str, ...]

NOTHING = frozenset(
    map(
        key_of,
        ("none", "null", "unknown", "n/a", "insufficient information", "i don't know",
         "不知道", "我不知道", "无法确定", "未知"),
    )
)  # fmt: skip
"""Answers that say there is no answer, as comparison keys."""

_SEPARATOR = re.compile(r"[\n;；、|]")
_GROUP = re.compile(r"\{(.*?)\}", re.DOTALL)
_STRING = re.compile(r"""["']Answer["']\s*:\s*["']([^"']+)["']""")
_LIST = re.compile(r"""["']Answer["']\s*:\s*(\[.*?\])""", re.DOTALL)
_MARKS = ("# Answer:", "the answer is:")


@dataclass(frozen=True, slots=True)
class Reading:
    """The answers found in an output.  `texts` is None if it cannot be read, () if it says there is no answer."""

    texts: tuple[str, ...] | None
    native: Native
    ranked: bool = False

    @property
    def status(self) -> Status:
        if self.texts is None:
            return "unparsed"
        return "ok" if self.texts else "empty"

    def prediction(self, id: str, output: Output, ranked: bool = False) -> Prediction:
        """The reading as a prediction for one question; `ranked` if the file says that order means rank."""
        return Prediction(
            id=id,
            status=self.status,
            ranked=self.ranked or ranked,
            answers=tuple(PredictedAnswer(text=text) for text in self.texts or ()),
            raw_answer=output if isinstance(output, str) else "\n".join(output),
            native_format=self.native,
            adapter="native list" if self.native == "lines" else "native wrapper",
        )


def pog(output: Output) -> Reading:
    """`A.Answer`, or `Answer`, of the JSON in the text; of several in a broken text the last one, as PoG reads it."""
    text = _joined(output)
    start = text.find("{")
    if start < 0:
        return _wrapped(text, "prose")
    try:
        return _value(_answer_field(parse(text[start:])), "json")
    except (ValueError, KeyError):
        pass
    if strings := _STRING.findall(text):
        return _wrapped(strings[-1], "json")
    for found in reversed(_LIST.findall(text)):
        try:
            return _value(parse(found), "json")
        except ValueError:
            continue
    return Reading(None, "json")


def tog(output: Output) -> Reading:
    """The first pair of braces; the second if the first says that the facts suffice (`{Yes}`)."""
    text = _joined(output)
    if "{" not in text:
        return _wrapped(text, "prose")
    groups = _GROUP.findall(text)
    if groups and key_of(groups[0]) == "yes":
        groups = groups[1:]
    return _wrapped(groups[0], "braces") if groups else Reading(None, "braces")


def lines(output: Output) -> Reading:
    """The lines of a text in no order; of a list the most frequent first, which is how RoG and GCR rank."""
    if isinstance(output, str):
        return Reading(_said(output.split("\n")), "lines")
    answers = [line for text in output for line in _after_mark(text).split("\n")]
    by_frequency = [text for text, _ in Counter(filter(None, map(str.strip, answers))).most_common()]
    return Reading(_said(by_frequency), "lines", ranked=True)


def plain(output: Output) -> Reading:
    """A list as it is, or a text split at separators."""
    return _wrapped(output, "prose") if isinstance(output, str) else Reading(_said(output), "lines")


READERS: Mapping[str, Callable[[Output], Reading]] = MappingProxyType(
    {"pog": pog, "tog": tog, "rog": lines, "gcr": lines, "metaqa": plain, "jsonl": plain}
)
"""Result format -> how an output of it is read."""


def split(text: str) -> tuple[str, ...]:
    """The pieces of a text between separators that no name holds, white space stripped, empty ones dropped."""
    return tuple(piece for part in _SEPARATOR.split(text) if (piece := part.strip()))


def _wrapped(text: str, native: Native) -> Reading:
    return Reading(_said([text] if key_of(text) in NOTHING else split(text)), native)


def _value(answer: Any, native: Native) -> Reading:
    """What stands in PoG's field `Answer`: a text, a number, a list of these, or null."""
    if isinstance(answer, str):
        return _wrapped(answer, native)
    values: Sequence[Any] = answer if isinstance(answer, list) else [answer]
    if any(isinstance(value, list | dict) for value in values):
        return Reading(None, native)
    return Reading(_said(str(value) for value in values if value is not None), native)


def _answer_field(data: Any) -> Any:
    """Raises KeyError where there is no such field."""
    if not isinstance(data, dict):
        raise KeyError("Answer")
    inner = data.get("A")
    return (inner if isinstance(inner, dict) else data)["Answer"]


def _said(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts that show something and do not say that there is no answer."""
    return tuple(text for one in texts if shows(text := one.strip()) and key_of(text) not in NOTHING)


def _after_mark(text: str) -> str:
    """What GCR writes after the reasoning path, or the whole text."""
    for mark in _MARKS:
        if mark in text:
            return text.partition(mark)[2]
    return text


def _joined(output: Output) -> str:
    return output if isinstance(output, str) else "\n".join(output)
