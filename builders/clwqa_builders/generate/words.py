"""Which words are asked about: a seeded order of all words, so that asking for more only adds to what is there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from clwqa_bench.kg.memory import MemoryGraph
from clwqa_builders.questions.select import WORD_TYPES

FEWEST_FACTS = 2  # a word with less evidence is passed over: there is nothing to choose from


def record_id(word: str, seed: int) -> str:
    """Names the call about a word; calls are made, and questions accepted, in the order of these."""
    return hashlib.blake2b(f"{seed}/generate/{word}".encode(), digest_size=8).hexdigest()


def words(graph: MemoryGraph, seed: int) -> Iterator[str]:
    """All culture-loaded words but single characters, in the seeded order."""
    known = [type_ for type_ in WORD_TYPES if type_ in graph.ontology.types]
    found = {word for type_ in known for word in graph.by_type(type_, descendants=False)}
    return iter(sorted(found, key=lambda word: record_id(word, seed)))
