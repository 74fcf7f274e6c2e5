"""The matcher PoG and ToG call exact match: containment in either direction."""

from __future__ import annotations

from collections.abc import Iterable

EQUAL = "equal"
INSIDE = "gold inside prediction"
FRAGMENT = "fragment of the gold"
EMPTY = "empty prediction"
MISS = "miss"


def normalize(text: str) -> str:
    """Strip, delete every ASCII space, lower-case; punctuation and script stay as they are."""
    return text.strip().replace(" ", "").lower()


def compare(response: str, golds: Iterable[str]) -> str:
    """How ``response`` matches: the strictest of the ways above that holds for some gold, or MISS.

    The order is ours and changes no score; it tells what would also count elsewhere from what counts here only.
    """
    said = normalize(response)
    found = {_relation(said, normalize(gold)) for gold in golds}
    return next((how for how in (EQUAL, INSIDE, FRAGMENT, EMPTY) if how in found), MISS)


def _relation(said: str, gold: str) -> str:
    if said == gold:
        return EQUAL
    if not said:
        return EMPTY
    if said in gold:
        return FRAGMENT
    return INSIDE if gold in said else MISS
