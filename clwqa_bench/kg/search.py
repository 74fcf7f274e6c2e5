"""Finding entities by name: exact on comparison keys, and approximate over character uni- and bigrams.

Everything is written at build time and memory-mapped, so opening it costs nothing.  A key is one distinct
comparison key of a label or alias; keys are numbered in code-point order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clwqa_bench.kg.layout import Ints, load_array, read_batch, write_batch
from clwqa_bench.text import comparison_key

CANDIDATES = 256  # keys that share most grams and are compared in full
FILTERS = 64  # sets of types of which it is remembered which keys they have
_BIGRAM = 0x9E3779B1  # spreads the first character of a bigram over 32 bits


def write(labels: Sequence[str], aliases: Sequence[Sequence[str]], index: Path) -> None:
    """Write the name index of nodes 0..n-1."""
    pairs = {
        (key, node)
        for node, (label, others) in enumerate(zip(labels, aliases, strict=True))
        for name in (label, *others)
        if (key := comparison_key(name))
    }
    ordered = sorted(pairs)
    keys = sorted({key for key, _ in ordered})
    number = {key: i for i, key in enumerate(keys)}
    codes = np.fromiter((number[key] for key, _ in ordered), np.int32, len(ordered))
    np.save(index / "key_node.npy", np.fromiter((node for _, node in ordered), np.int32, len(ordered)))
    np.save(index / "key_start.npy", np.searchsorted(codes, np.arange(len(keys) + 1)).astype(np.int32))
    np.save(index / "key_length.npy", np.fromiter(map(len, keys), np.int32, len(keys)))
    write_batch(pa.table({"key": pa.array(keys, pa.string())}), index / "keys.arrow")
    grams, owners = _grams(keys)
    first = np.flatnonzero(np.concatenate([grams[:1] == grams[:1], grams[1:] != grams[:-1]]))
    np.save(index / "gram.npy", grams[first])
    np.save(index / "gram_start.npy", np.append(first, len(grams)).astype(np.int32))
    np.save(index / "gram_key.npy", owners)


class NameIndex:
    """The name index of a graph directory."""

    def __init__(self, index: Path, type_code: Ints) -> None:
        self._type_code = type_code
        self._keys = _Utf8(read_batch(index / "keys.arrow").column(0))
        self._length = load_array(index / "key_length.npy")
        self._node, self._start = load_array(index / "key_node.npy"), load_array(index / "key_start.npy")
        self._gram = np.asarray(np.load(index / "gram.npy", mmap_mode="r"))
        self._gram_start = load_array(index / "gram_start.npy")
        self._gram_key = load_array(index / "gram_key.npy")
        self._keys_of = lru_cache(FILTERS)(self._find_keys_of)

    def exact(self, name: str) -> list[int]:
        """Nodes with a label or alias of the same comparison key, ascending."""
        key = comparison_key(name).encode("utf-8")
        place = bisect_left(self._keys, key)
        if not key or place == len(self._keys) or self._keys[place] != key:
            return []
        return self._nodes_of(place)

    def similar(self, name: str, k: int, types: Sequence[int] | None) -> list[tuple[int, float]]:
        """Up to ``k`` (node, similarity), best first, then by node."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        key = comparison_key(name)
        keys = self._candidates(key, types)
        texts = [self._keys[place].decode("utf-8") for place in keys.tolist()]
        scores = process.cdist([key], texts, scorer=OSA.normalized_similarity, dtype=np.float64)[0]
        best: dict[int, float] = {}
        for place, score in zip(keys.tolist(), scores.tolist(), strict=True):
            for node in self._nodes_of(place):
                if score > best.get(node, 0.0) and (types is None or self._type_code[node] in types):
                    best[node] = score
        return sorted(best.items(), key=lambda item: (-item[1], item[0]))[:k]

    def _nodes_of(self, key: int) -> list[int]:
        nodes: list[int] = self._node[self._start[key] : self._start[key + 1]].tolist()
        return nodes

    def _candidates(self, key: str, types: Sequence[int] | None) -> Ints:
        """The keys that share most grams with ``key``, rare grams counting more, long keys less."""
        grams, _ = _grams([key])
        places = np.searchsorted(self._gram, grams)
        places = places[places < len(self._gram)]
        places = places[np.isin(self._gram[places], grams)]
        spans = [slice(self._gram_start[p], self._gram_start[p + 1]) for p in places.tolist()]
        if not spans:
            return np.zeros(0, np.int32)
        found = np.concatenate([self._gram_key[span] for span in spans])
        rarity = [np.log1p(len(self._keys) / (span.stop - span.start)) for span in spans]
        weight = np.repeat(rarity, [span.stop - span.start for span in spans])
        total = np.bincount(found, weight, minlength=len(self._keys))
        if types is not None:
            total = total * self._keys_of(tuple(types))
        keys = np.flatnonzero(total)
        closeness = total[keys] / (len(key) + self._length[keys])
        order = np.lexsort((keys, -closeness))[:CANDIDATES]
        return keys[order].astype(np.int32)

    def _find_keys_of(self, types: tuple[int, ...]) -> NDArray[np.bool_]:
        """Which keys name an entity of one of the types."""
        fits = np.isin(self._type_code[self._node], types)
        return np.logical_or.reduceat(fits, self._start[:-1])


class _Utf8(Sequence[bytes]):
    """An Arrow string array as a sequence of UTF-8 bytes, for bisect; bytes sort as code points do.

    Read from its buffers, which is several times faster than through Arrow's scalars.
    """

    def __init__(self, array: pa.StringArray) -> None:
        _, offsets, data = array.buffers()
        self._offsets = memoryview(offsets).cast("i")[array.offset : array.offset + len(array) + 1]
        self._data = memoryview(data or b"")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, place: int) -> bytes:  # type: ignore[override]
        return bytes(self._data[self._offsets[place] : self._offsets[place + 1]])


def _grams(keys: Sequence[str]) -> tuple[NDArray[np.uint32], Ints]:
    """All distinct (gram, key number), sorted.

    A unigram is its code point, a bigram a 32-bit hash of two.  The rare collision only adds a candidate.
    """
    length = np.fromiter(map(len, keys), np.int64, len(keys))
    text = np.frombuffer("".join(keys).encode("utf-32-le", "surrogatepass"), np.uint32)
    owner = np.repeat(np.arange(len(keys), dtype=np.uint64), length)
    bigram = text[:-1] * np.uint32(_BIGRAM) + text[1:]
    inside = owner[1:] == owner[:-1]
    gram = np.concatenate([text, bigram[inside]]).astype(np.uint64)
    # one 64-bit number per pair sorts far faster than pairs do
    pairs = np.sort(gram << np.uint64(32) | np.concatenate([owner, owner[:-1][inside]]))
    pairs = pairs[np.concatenate([pairs[:1] == pairs[:1], pairs[1:] != pairs[:-1]])]
    return (pairs >> np.uint64(32)).astype(np.uint32), (pairs & np.uint64(0xFFFFFFFF)).astype(np.int32)
