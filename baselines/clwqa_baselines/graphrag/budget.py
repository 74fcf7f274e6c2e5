"""Filling a table under a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def within(rows: Iterable[T], tokens: Callable[[T], int], room: int) -> Iterator[T]:
    """The first rows, until one does not fit."""
    for row in rows:
        room -= tokens(row)
        if room < 0:
            return
        yield row
