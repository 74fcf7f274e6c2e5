"""Identifiers and readable labels from whatever names a table or an ontology uses."""

from __future__ import annotations

import re
from collections.abc import Iterable

from clwqa_bench.ontology import Ontology

IDENTIFIER = re.compile(r"[^\W\d]\w*")
_WORD = re.compile(r"\w+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_")


def identifiers(names: Iterable[str], taken: Iterable[str] = (), *, capital: bool) -> dict[str, str]:
    """A name that query languages take without quotes, for each name: "born in" -> bornIn, an IRI -> its last part.

    >>> identifiers(["born in", "P31", "http://example.org/capital", "capital"], capital=False)
    {'born in': 'bornIn', 'P31': 'P31', 'http://example.org/capital': 'capital', 'capital': 'capital2'}
    """
    used, found = set(taken), dict[str, str]()
    for name in names:
        words = _WORD.findall(local(name)) or ["unnamed"]
        joined = words[0] + "".join(word[:1].upper() + word[1:] for word in words[1:])
        joined = joined[:1].upper() + joined[1:] if capital else joined
        base = joined if IDENTIFIER.fullmatch(joined) else f"_{joined}"
        chosen, number = base, 2
        while chosen in used:
            chosen, number = f"{base}{number}", number + 1
        used.add(chosen)
        found[name] = chosen
    return found


def local(name: str) -> str:
    """The last part of an IRI; other names as they are."""
    return re.split(r"[/#]", name.rstrip("/#"))[-1] if "://" in name else name


def readable(name: str) -> str:
    """A name as words: hasCapital -> has capital, TimeZone -> time zone, P31 and ISO3166 stay.

    >>> [readable(name) for name in ("hasCapital", "TimeZone", "P31", "part_of", "born in")]
    ['has capital', 'time zone', 'P31', 'part of', 'born in']
    """
    words = _HUMP.sub(" ", local(name)).split()
    return " ".join(word if word.isupper() or any(map(str.isdigit, word)) else word.lower() for word in words)


def label(ontology: Ontology, name: str, language: str) -> str:
    """The label of a type or relation in a language, else in any, else its name as words."""
    found = ontology.label(name, language)
    return readable(name) if found == name else found
