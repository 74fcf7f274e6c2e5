"""BM25 and TF-IDF over the characters and character pairs of comparison keys, by inverted lists in mapped arrays.

A weight is fixed when the index is built, so either scoring is a sum over the lists of the question's grams.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clwqa_baselines.shared.vectors.base import Floats, Hit, Kept, best, write_ids
from clwqa_bench.console import progress
from clwqa_bench.text import comparison_key

Grams = NDArray[np.uint64]
Ints = NDArray[np.int64]

SHOW_EVERY = 10_000  # texts
FIRST: Final = np.uint64(21)  # bits of the second character of a pair; alone, a character has no first


@dataclass(frozen=True, slots=True)
class Counted:
    """Occurrences of grams in texts, sorted by gram, then text."""

    gram: Grams
    text: Ints
    times: Floats
    lengths: Floats  # grams of each text

    @property
    def starts(self) -> Ints:
        """Where each distinct gram begins."""
        return np.flatnonzero(np.r_[True, self.gram[1:] != self.gram[:-1]][: len(self.gram)])


@dataclass(frozen=True)
class Weighting:
    """How occurrences weigh: `k1` and `b` of BM25, or the cosine of 1 + ln tf times ln(1 + n / df) if `cosine`."""

    cosine: bool = False
    k1: float = 1.2
    b: float = 0.75

    def rarity(self, held: Ints, texts: int) -> Floats:
        """The weight of a gram that `held` of the texts hold."""
        if self.cosine:
            return np.log1p(texts / held).astype(np.float32)
        return np.log1p((texts - held + 0.5) / (held + 0.5)).astype(np.float32)

    def weights(self, counted: Counted) -> Floats:
        """The weight of every occurrence, without the question's part of it."""
        starts = counted.starts
        held = np.diff(np.append(starts, len(counted.gram)))
        rarity = np.repeat(self.rarity(held, len(counted.lengths)), held)
        if self.cosine:
            weights = (1 + np.log(counted.times)) * rarity
            norms = np.sqrt(np.bincount(counted.text, weights**2, minlength=len(counted.lengths)))
            return (weights / norms[counted.text]).astype(np.float32)
        mean = max(float(counted.lengths.mean()), 1.0) if len(counted.lengths) else 1.0
        worn = self.k1 * (1 - self.b + self.b * counted.lengths[counted.text] / mean)
        return (rarity * counted.times * (self.k1 + 1) / (counted.times + worn)).astype(np.float32)

    def asked(self, times: Floats, rarity: Floats) -> Floats:
        """The question's part of the weight of each of its grams that some text holds; no others count."""
        if not self.cosine:
            return times
        weights = (1 + np.log(times)) * rarity
        return (weights / (np.sqrt(np.sum(weights**2)) or 1.0)).astype(np.float32)


WEIGHTINGS: Final = {"bm25": Weighting(), "tfidf": Weighting(cosine=True)}


def grams(keys: Sequence[str]) -> tuple[Grams, Ints]:
    """All characters and pairs of characters of some keys, each with the number of its key."""
    length = np.fromiter(map(len, keys), np.int64, len(keys))
    text = np.frombuffer("".join(keys).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    owner = np.repeat(np.arange(len(keys)), length)
    inside = owner[1:] == owner[:-1]
    pairs = ((text[:-1] + np.uint64(1)) << FIRST | text[1:])[inside]
    return np.concatenate([text, pairs]), np.concatenate([owner, owner[:-1][inside]])


def count(texts: Iterable[str]) -> Counted:
    """How often each text holds each gram."""
    keys = [comparison_key(text) for text in texts]
    gram, owner = grams(keys)
    lengths = np.bincount(owner, minlength=len(keys)).astype(np.float32)
    values, codes = np.unique(gram, return_inverse=True)
    pairs, times = np.unique(codes * np.int64(max(len(keys), 1)) + owner, return_counts=True)
    code, text = np.divmod(pairs, max(len(keys), 1))
    return Counted(values[code], text, times.astype(np.float32), lengths)


def similarity(question: str, texts: Sequence[str], weighting: Weighting) -> list[float]:
    """Scores of some texts, by the document frequencies of these texts."""
    counted = count(texts)
    starts = counted.starts
    held = np.diff(np.append(starts, len(counted.gram)))
    asked, times = _asked(question)
    at = np.searchsorted(asked, counted.gram[starts])
    there = asked[np.minimum(at, len(asked) - 1)] == counted.gram[starts] if len(asked) else at < 0
    wanted = np.zeros(len(starts), np.float32)
    rarity = weighting.rarity(held[there], len(texts))
    wanted[there] = weighting.asked(times[at[there]], rarity)
    scores = np.bincount(
        counted.text, weighting.weights(counted) * np.repeat(wanted, held), minlength=len(texts)
    )
    return [float(score) for score in scores]


# ---------------------------------------------------------------------- on disk


def build(texts: Iterable[tuple[str, str]], folder: Path, weighting: Weighting) -> None:
    """Write the index of (id, text) into a folder."""
    ids, read = [], []
    with progress("reading texts") as shown:
        for id, text in texts:
            ids.append(id)
            read.append(text)
            if len(ids) % SHOW_EVERY == 0:
                shown.advance(SHOW_EVERY)
        shown.note(f"{len(ids):,} texts; sorting what they are made of")
        counted = count(read)
        weights = weighting.weights(counted)
    starts = counted.starts
    folder.mkdir(parents=True)
    write_ids(ids, folder)
    arrays = {
        "gram": counted.gram[starts],
        "start": np.append(starts, len(counted.gram)),
        "text": counted.text.astype(np.int32),
        "weight": weights,
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


class _List(NamedTuple):
    """The texts that hold a gram of the question, ascending, and what it adds to each."""

    texts: NDArray[np.int32]
    adds: Floats


class SparseIndex(Kept):
    """An index folder, mapped."""

    def __init__(self, folder: Path, weighting: Weighting) -> None:
        super().__init__(folder)
        self._weighting = weighting
        self._gram, self._start, self._text, self._weight = (
            np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))
            for name in ("gram", "start", "text", "weight")
        )

    def search(self, text: str, k: int) -> list[Hit]:
        """See `TextIndex`; texts that share no gram are not found."""
        scores = np.zeros(len(self), np.float32)
        for found in self._lists(text):
            scores[found.texts] += found.adds  # a text is in a list once
        places = best(scores, k)
        places = places[scores[places] > 0]
        return self._ids.hits(places, scores[places])

    def _lists(self, text: str) -> Iterator[_List]:
        """One for each gram of a text that is held at all."""
        asked, times = _asked(text)
        at = np.searchsorted(self._gram, asked)
        there = np.isin(asked, self._gram[at[at < len(self._gram)]])
        at, times = at[there], times[there]
        rarity = self._weighting.rarity(self._start[at + 1] - self._start[at], len(self))
        factors = self._weighting.asked(times, rarity)
        for place, factor in zip(at.tolist(), factors.tolist(), strict=True):
            span = slice(self._start[place], self._start[place + 1])
            yield _List(self._text[span], self._weight[span] * np.float32(factor))


def _asked(text: str) -> tuple[Grams, Floats]:
    gram, _ = grams([comparison_key(text)])
    found, times = np.unique(gram, return_counts=True)
    return found, times.astype(np.float32)
