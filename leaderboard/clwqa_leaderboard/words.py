"""Text from strangers that a board shows: what may be in it, and what may be a name."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated

from pydantic import AfterValidator, Field

from clwqa_bench.text import shows

UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})  # Cf: no width, tags, what turns the direction
BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and a symbol that are drawn as nothing
JOINERS = frozenset("\u200c\u200d")  # Persian is not written without them, nor are many emoji
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+=,:/()-]{0,119}", re.ASCII)


def plain(text: str) -> str:
    """The text itself.  Raises ValueError for signs that cannot be seen or that turn the reading order around."""
    for sign in text:
        if sign != "\n" and sign not in JOINERS and _unseen(sign):
            raise ValueError(f"the sign U+{ord(sign):04X} cannot be seen; leave it out")
    return text


def _unseen(sign: str) -> bool:
    return sign in BLANK or unicodedata.category(sign) in UNSEEN


def shown(text: str) -> str:
    """The text itself, if a reader sees anything of it."""
    if not shows(text):
        raise ValueError("it shows nothing; write it out")
    return text


def unmarked(text: str) -> str:
    """The text itself, if it is one line of signs that are seen, without `<` and `>`: it stands in tables, and two
    names that look the same are the same."""
    if found := re.search(r"[<>\n\u200c\u200d]", shown(plain(text))):
        raise ValueError(f"{found[0]!a} is not for a name; leave markup and invisible signs out")
    return text


def safe_name(text: str) -> str:
    """The text itself, if it may name a system.  Raises ValueError for what looks like something else."""
    if not NAME.fullmatch(text):
        raise ValueError(
            f"{text[:80]!a} cannot name a system on a board: up to 120 signs of A-Z a-z 0-9 and ._+=,:/()- "
            "that begin with a letter or digit"
        )
    return text


def https(text: str) -> str:
    """The text itself, if it is empty or an address of the web."""
    if text and not re.fullmatch(r"https?://[^\s<>\"'`]{1,500}", text):
        raise ValueError("write an address that begins with https://")
    return text


def printable(text: str) -> str:
    """The text as one line that every terminal, log and JSON file can hold, whatever a stranger named a file."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


Line = Annotated[str, Field(min_length=1, max_length=120), AfterValidator(unmarked)]
Prose = Annotated[str, Field(max_length=2_000), AfterValidator(plain)]
Statement = Annotated[
    str, Field(min_length=1, max_length=2_000), AfterValidator(plain), AfterValidator(shown)
]
Address = Annotated[str, AfterValidator(https)]
