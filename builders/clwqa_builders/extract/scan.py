"""A cursor over one field: the tokeniser under every production of the grammar."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_BLANK = " \u3000\t"


@dataclass(slots=True)
class Cursor:
    """A reading position.  Productions move it forward on success and leave it alone on failure."""

    text: str
    pos: int = 0

    @property
    def rest(self) -> str:
        return self.text[self.pos :]

    @property
    def at_end(self) -> bool:
        return self.pos >= len(self.text)

    def peek(self, length: int = 1) -> str:
        return self.text[self.pos : self.pos + length]

    def accept(self, *words: str) -> str | None:
        """Read one of ``words`` (list longer ones first); None if none is next."""
        for word in words:
            if self.text.startswith(word, self.pos):
                self.pos += len(word)
                return word
        return None

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Read ``pattern`` if it is next and not empty."""
        found = pattern.match(self.text, self.pos)
        if not found or found.end() == self.pos:
            return None
        self.pos = found.end()
        return found

    def skip(self, chars: Iterable[str] = _BLANK) -> None:
        """Pass over any run of ``chars``."""
        while self.pos < len(self.text) and self.text[self.pos] in chars:
            self.pos += 1


def balanced_end(text: str, at: int) -> int | None:
    """The index of the 》 that closes the 《 at ``at``; None if it is never closed.

    Inner titles may be printed 〈〉 or again 《》; a doubled 《《 or 》》 counts once.
    """
    start = at + 1 if text.startswith("《《", at) else at
    depth = 0
    for i in range(start, len(text)):
        if text[i] == "《":
            depth += 1
        elif text[i] == "》":
            depth -= 1
            if depth == 0:
                return i
    return text.find("》", at) if "》" in text[at:] else None
