"""What models see of a question: character n-grams, with names replaced by what kind of thing they name."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

LONGEST_GRAM = 4
FEWEST_TEXTS = 2  # texts an n-gram occurs in, to be counted
THIS, OTHER = "◆", "◇"  # the mention looked at, and the other ones
PRIVATE = 0xE000  # first of the characters that stand for types

Floats = NDArray[np.float32]
Span = tuple[int, int]


def masked(text: str, spans: Sequence[Span], signs: Iterable[str]) -> str:
    """A text with spans (in order, apart from each other) replaced, each by its sign.

    >>> masked("“画蛇添足”出自《战国策》？", [(1, 5), (8, 13)], "◆◇")
    '“◆”出自◇？'
    """
    parts, at = [], 0
    for (start, end), sign in zip(spans, signs, strict=True):
        parts += [text[at:start], sign]
        at = end
    return "".join([*parts, text[at:]])


def grams(text: str) -> set[str]:
    """All character n-grams of a text, n from 1 to 4."""
    return {text[i : i + n] for n in range(1, LONGEST_GRAM + 1) for i in range(len(text) - n + 1)}


@dataclass(frozen=True)
class Grams:
    """A vocabulary of n-grams with their weights: texts as unit vectors of inverse document frequencies."""

    vocabulary: tuple[str, ...]
    weights: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "_column", {gram: i for i, gram in enumerate(self.vocabulary)})

    @staticmethod
    def fit(texts: Sequence[str]) -> Grams:
        """The n-grams of at least two of the texts, sorted."""
        counts = Counter(gram for text in texts for gram in grams(text))
        kept = sorted(gram for gram, count in counts.items() if count >= FEWEST_TEXTS)
        weights = [math.log((1 + len(texts)) / (1 + counts[gram])) + 1 for gram in kept]
        return Grams(tuple(kept), np.asarray(weights, np.float32))

    def vector(self, text: str) -> tuple[NDArray[np.intp], Floats]:
        """The n-grams of a text as columns, and their values."""
        column: dict[str, int] = self._column  # type: ignore[attr-defined]
        columns = np.array(sorted(column[gram] for gram in grams(text) if gram in column), np.intp)
        values = self.weights[columns]
        return columns, values / max(float(np.linalg.norm(values)), 1e-9)

    def matrix(self, texts: Sequence[str]) -> csr_matrix:
        """Texts as rows; shape (texts, n-grams)."""
        from scipy.sparse import csr_matrix

        rows = [self.vector(text) for text in texts]
        starts = np.cumsum([0, *(len(columns) for columns, _ in rows)])
        columns, values = (np.concatenate(parts) for parts in zip(*rows, strict=True))
        return csr_matrix((values, columns, starts), shape=(len(texts), len(self.vocabulary)))
