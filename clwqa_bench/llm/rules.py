"""What tasks from elsewhere can build on to be done without a model: see `Task.by_rule`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from clwqa_bench.linking import Linker
from clwqa_bench.text import comparison_key


class Rules(Protocol):
    """What the back-end without a model gives to the rule of a task."""

    def linker(self) -> Linker:
        """What a question names and asks for, and how well a path's shape fits it; learned on the train split."""

    def relevance(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        """How well each text fits the question by the characters they share, in [0, 1]."""


def relevance(question: str, texts: Sequence[str]) -> tuple[float, ...]:
    """Cosine of character 1- and 2-grams, each weighted by how few of the texts hold it (ln(1 + n / df)).

    A gram that every text holds says nothing of which is meant, so it counts least; texts that share no gram with
    the question get 0.  Sums are exact, since sets have another order in every process and ties are decided by less
    than a last digit.
    """
    grams = [_grams(comparison_key(text)) for text in texts]
    held = Counter(gram for found in grams for gram in found)
    weight = {gram: math.log(1 + len(texts) / times) for gram, times in held.items()}
    asked = _grams(comparison_key(question))
    length = math.sqrt(math.fsum(weight[gram] ** 2 for gram in asked if gram in weight))
    return tuple(
        math.fsum(weight[gram] ** 2 for gram in found & asked)
        / (length * math.sqrt(math.fsum(weight[g] ** 2 for g in found)))
        if found & asked
        else 0.0
        for found in grams
    )


@lru_cache(maxsize=65536)
def _grams(text: str) -> frozenset[str]:
    return frozenset(text) | frozenset(map("".join, zip(text, text[1:], strict=False)))
