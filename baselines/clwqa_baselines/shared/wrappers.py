"""Where systems put their answer in the text they write; MindMap's outputs, and what lists have in common.

A wrapper takes the whole text and gives what is inside, or None if it is not there; see `adapter.Unwrap`.  ToG and PoG
hand over a list here; their braces and their JSON, as the published systems write them, are read by
`clwqa_bench.foreign.native`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ITEM_MARK = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)、．）])\s*")
"""What a line of a list begins with."""
_OUTPUT = re.compile(
    r"(?:Output|输出)\s*1\s*[*】\]]*\s*[:：]?(.*?)(?=(?:[*【\[]*(?:Output|输出)\s*2)|\Z)",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Section:
    """The part of a text that holds the answer, in prose."""

    text: str


Unwrapped = tuple[str, ...] | Section | None


def outputs(text: str) -> Unwrapped:
    """MindMap: the prose between ``Output 1`` and ``Output 2``, which gives the reasoning."""
    found = _OUTPUT.search(text)
    return Section(found[1].strip(" \n*:：")) if found else None
