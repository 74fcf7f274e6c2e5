"""Where systems put their answer in the text they write: the wrappers of the published ones.

Each takes the whole text and gives what is inside, or None if the wrapper is not there; see `adapter.Unwrap`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clwqa_bench.text import comparison_key

YES, NO = frozenset({"yes", "是", "足够", "能"}), frozenset({"no", "否", "不足", "不能"})

_GROUP = re.compile(r"[{｛]([^{}｛｝]*)[}｝]")
_FIELD = re.compile(
    r"[\"']?Answer[\"']?\s*[:：]\s*(\[[^\[\]]*\]|\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^,，}\n]+)", re.IGNORECASE
)
_ITEM = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'")
_OUTPUT = re.compile(
    r"(?:Output|输出)\s*1\s*[*】\]]*\s*[:：]?(.*?)(?=(?:[*【\[]*(?:Output|输出)\s*2)|\Z)",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Section:
    """The part of a text that holds the answer, in prose."""

    text: str


Unwrapped = str | Sequence[str] | Section | None


def braces(text: str) -> Unwrapped:
    """ToG and its chain of thought: ``{Yes} ... {answer}``, or ``... {answer}``; a lone ``{No}`` declines."""
    groups: list[str] = [group.strip() for group in _GROUP.findall(text)]
    if not groups:
        return None
    first = comparison_key(groups[0])
    if first in NO:
        return ""
    if first in YES:
        return groups[1] if len(groups) > 1 else None
    return groups[0]


def answer_field(text: str) -> Unwrapped:
    """PoG: the field ``Answer`` of a JSON object, at the top or one level below; a string or a list of strings."""
    try:
        found = json.loads(text[text.index("{") : text.rindex("}") + 1])
        return _texts(_field(found))
    except (ValueError, KeyError, RecursionError):  # nearly JSON, as models write it
        written = _FIELD.search(text)
        return _loosely(written[1].strip()) if written else None


def outputs(text: str) -> Unwrapped:
    """MindMap: the prose between ``Output 1`` and ``Output 2``, which gives the reasoning."""
    found = _OUTPUT.search(text)
    return Section(found[1].strip(" \n*:：")) if found else None


def _field(found: Any) -> Any:
    """Raises KeyError if there is no such field."""
    if isinstance(found, dict):
        for key, value in found.items():
            if key.casefold() == "answer":
                return value
        for value in found.values():
            if isinstance(value, dict):
                return _field(value)
    raise KeyError("Answer")


def _texts(value: Any) -> Unwrapped:
    if isinstance(value, list):
        return tuple(str(item) for item in value if item is not None)
    return "" if value is None else str(value)


def _loosely(written: str) -> Unwrapped:
    items = [one or other for one, other in _ITEM.findall(written)]
    if written.startswith("["):
        return tuple(items) or tuple(filter(None, map(str.strip, written[1:-1].split(","))))
    return items[0] if items else written
