"""Text from strangers that a board shows: what may be in it, and what may be a name."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated

from pydantic import AfterValidator, Field

BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
UNSEEN = frozenset({"Cc", "Cn", "Co", "Cs", "Zl", "Zp"})
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+=,:/()-]{0,119}", re.ASCII)


def plain(text: str) -> str:
    """The text itself.  Raises ValueError for signs that cannot be seen or that turn the reading order around."""
    for sign in text:
        if sign != "\n" and (sign in BIDI or unicodedata.category(sign) in UNSEEN):
            raise ValueError(f"the sign U+{ord(sign):04X} cannot be seen; leave it out")
    return text


def unmarked(text: str) -> str:
    """The text itself, if it is one plain line without `<` and `>`: it stands in tables and headings."""
    if found := re.search(r"[<>\n]", plain(text)):
        raise ValueError(f"{found[0]!r} is not for a name; leave markup out")
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
Statement = Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(plain)]
Address = Annotated[str, AfterValidator(https)]
