"""Questions asked twice.

Two questions are the same if their texts agree once punctuation and spelling variants are put aside. They are near
duplicates if they have the same gold and their character trigrams overlap almost completely: that is what two
wordings of one quotation, or one phrasing used twice, look like. The same template filled with another word is not.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from clwqa_builders.validate.model import Fault, rule
from clwqa_builders.validate.tables import DatasetTables, Ints, spans

SIMILAR = 0.9
"""Jaccard overlap of character trigrams from which two questions with one gold are near duplicates."""
BANDS, ROWS = 8, 8  # a pair at 0.9 shares a band with probability 0.989, at 0.95 with 0.9999
SEED = 20240229


def bare(key: str) -> str:
    """A comparison key without punctuation and white space."""
    return "".join(letter for letter in key if unicodedata.category(letter)[0] not in "PZ")


@rule("exact-duplicate", "error", "No question text with the same gold occurs twice.")
def exact_duplicate(tables: DatasetTables) -> Iterator[Fault]:
    for rows in spans(list(zip(tables.column("question"), tables.gold, strict=True))).values():
        for row in rows[1:]:
            yield Fault(tables.ids[row], "question", f"the same question as {tables.ids[rows[0]]}")


@rule("conflicting-gold", "error", "One question (punctuation and variants aside) never has two gold sets.")
def conflicting_gold(tables: DatasetTables) -> Iterator[Fault]:
    for rows in spans(list(map(bare, tables.keys))).values():
        for row in rows[1:]:
            if tables.gold[row] != tables.gold[rows[0]]:
                yield Fault(
                    tables.ids[row], "answers", f"other answers than the same question {tables.ids[rows[0]]}"
                )


@rule(
    "near-duplicate",
    "warning",
    f"No two questions with one gold share {SIMILAR:.0%} of their character trigrams.",
)
def near_duplicate(tables: DatasetTables) -> Iterator[Fault]:
    texts, splits = list(map(bare, tables.keys)), tables.column("split")
    for first, second in _candidates(texts, tables.gold):
        if tables.column("question")[first] == tables.column("question")[second]:
            continue  # exact-duplicate reports it
        if (overlap := jaccard(texts[first], texts[second])) >= SIMILAR:
            across = (
                "" if splits[first] == splits[second] else f", across {splits[first]} and {splits[second]}"
            )
            yield Fault(tables.ids[second], "question", f"{overlap:.0%} like {tables.ids[first]}{across}")


def trigrams(text: str) -> set[str]:
    return {text[i : i + 3] for i in range(max(1, len(text) - 2))}


def jaccard(one: str, other: str) -> float:
    """Overlap of the character trigrams of two texts, 0..1."""
    a, b = trigrams(one), trigrams(other)
    return len(a & b) / len(a | b)


def _candidates(texts: list[str], gold: list[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Pairs (earlier, later) with the same gold that agree in a whole band of their MinHash signatures, sorted."""
    if not texts:
        return []
    numbers: dict[tuple[str, ...], int] = {}
    answers = np.array([numbers.setdefault(ids, len(numbers)) for ids in gold], dtype=np.uint64)
    signatures = minhash(texts)
    pairs: set[tuple[int, int]] = set()
    for band in range(BANDS):
        keys = _mix(np.column_stack([answers, signatures[:, band * ROWS : (band + 1) * ROWS]]))
        order = np.argsort(keys, kind="stable")
        edges = np.flatnonzero(
            np.diff(
                keys[order], prepend=keys[order[:1]] + np.uint64(1), append=keys[order[-1:]] + np.uint64(1)
            )
        )
        for start, end in zip(edges[:-1], edges[1:], strict=True):
            if end - start > 1:
                bucket = order[start:end].tolist()
                pairs |= {(a, b) for i, a in enumerate(bucket) for b in bucket[i + 1 :]}
    return sorted(pairs)


def minhash(texts: list[str]) -> NDArray[np.uint64]:
    """MinHash signatures, (texts, BANDS * ROWS): equal entries estimate the overlap of two texts' trigrams."""
    padded = [text.ljust(3, "\0") for text in texts]
    codes = np.frombuffer("".join(padded).encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    lengths = np.array([len(text) for text in padded])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    shingles = (codes[:-2] << np.uint64(42)) ^ (codes[1:-1] << np.uint64(21)) ^ codes[2:]
    inside = np.ones(len(shingles), dtype=bool)  # the last two positions of a text reach into the next one
    ends = (starts + lengths)[:-1]
    inside[np.concatenate([ends - 1, ends - 2])] = False
    first = starts - 2 * np.arange(len(texts))
    return _minima(shingles[inside], first)


def _minima(shingles: NDArray[np.uint64], first: Ints) -> NDArray[np.uint64]:
    rng = np.random.default_rng(SEED)
    factors = rng.integers(1, 1 << 63, size=BANDS * ROWS, dtype=np.uint64) | np.uint64(1)
    spread = shingles ^ (shingles >> np.uint64(29))
    columns = []
    for factor in factors:
        hashed = spread * factor
        hashed ^= hashed >> np.uint64(32)
        hashed *= np.uint64(0x9E3779B97F4A7C15)
        columns.append(np.minimum.reduceat(hashed, first))
    return np.column_stack(columns)


def _mix(columns: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One number per row, equal for equal rows."""
    mixed = np.zeros(len(columns), dtype=np.uint64)
    for column in columns.T:
        mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed
