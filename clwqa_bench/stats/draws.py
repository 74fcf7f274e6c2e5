"""Random weights and signs per cluster: drawn once per question list, shared by every number computed on it.

A resample is a vector with one entry per cluster.  All resamples together would be a matrix of ``number x
clusters`` (800 MB for 10,000 of each), so it is never held: it is drawn piece by piece from one stream and
multiplied at once by all the columns asked for.

Every product is **exact**: columns are first rounded to a grid coarse enough that no sum of weighted entries
can round (relative step about 1e-12; whole numbers are left as they are).  Addition without rounding does not
depend on its order, so a result is the same to the last bit whatever the matrix library, the number of
threads, the size of a piece, or the other columns in the same product.
"""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
Block: TypeAlias = tuple[IntArray, FloatArray]  # clusters (m,), their sums (m, k)

SPARSE = 6  # a block on fewer than one in so many clusters is multiplied with those alone
_CELLS = 2**18  # entries of one piece: 2 MB of float64, which stays in cache


def seed_of(ids: Iterable[str], purpose: str) -> int:
    """A seed from what is measured, so the same questions give the same resamples whoever runs them.

    The order of ``ids`` does not matter; ``purpose`` ("bootstrap", "permutation") keeps streams apart.
    Raises ValueError without ids.
    """
    ordered = sorted(ids)
    if not ordered:
        raise ValueError("a seed needs at least one id")
    digest = hashlib.sha256(json.dumps([purpose, ordered]).encode()).digest()
    return int.from_bytes(digest[:16], "big")


def cluster_codes(groups: Sequence[str]) -> IntArray:
    """Clusters of questions as codes 0..C-1, shape (questions,), numbered by sorted group name.

    Sorted, so that a cluster draws the same weights however the questions are ordered.
    """
    if not len(groups):
        raise ValueError("no questions, hence no clusters")
    return np.unique(np.asarray(groups, dtype=np.str_), return_inverse=True)[1].astype(np.int64)


def cluster_sums(columns: FloatArray, clusters: IntArray, count: int) -> FloatArray:
    """Column sums of each cluster: (questions, c) and codes (questions,) below ``count`` -> (count, c)."""
    if len(columns) != len(clusters):
        raise ValueError(f"{len(columns)} rows of columns, {len(clusters)} cluster codes")
    if len(clusters) and not 0 <= clusters.min() <= clusters.max() < count:
        raise ValueError(f"cluster codes {clusters.min()} to {clusters.max()}, expected 0 to {count - 1}")
    return np.stack([np.bincount(clusters, weights=column, minlength=count) for column in columns.T], axis=1)


@dataclass(frozen=True)
class Draws(ABC):
    """``number`` random vectors over ``clusters`` clusters, always the same for the same three numbers."""

    clusters: int
    number: int
    seed: int
    cells: int = field(default=_CELLS, repr=False, compare=False)  # size of a piece; changes no result

    def __post_init__(self) -> None:
        if min(self.clusters, self.number, self.cells) < 1 or self.seed < 0:
            raise ValueError(
                f"needs clusters, draws and cells of at least 1 and a seed of at least 0: {self}"
            )

    @abstractmethod
    def draw(self, rng: np.random.Generator, rows: int) -> FloatArray:
        """The next ``rows`` vectors of the stream, as whole numbers in an array (clusters, rows)."""

    def pieces(self) -> Iterator[tuple[slice, FloatArray]]:
        """All vectors in order: which of them, and their entries (clusters, vectors of the piece)."""
        rng = np.random.default_rng(self.seed)
        step = max(1, self.cells // self.clusters)
        for start in range(0, self.number, step):
            stop = min(start + step, self.number)
            yield slice(start, stop), self.draw(rng, stop - start)

    def sums(self, blocks: Iterable[Block]) -> Iterator[FloatArray]:
        """Weighted column sums of each block: (clusters (m,), sums (m, k)) -> (k, number).

        Ask for everything in one call: the vectors are drawn once, and equal columns are multiplied and held
        once, 8 bytes x ``number`` each.
        """
        stacks: dict[bytes, _Stack] = {}
        places: list[tuple[_Stack, list[int]]] = []
        everything = np.arange(self.clusters)
        for clusters, sums in blocks:
            if (
                len(clusters) * SPARSE > self.clusters
            ):  # zeros for the others cost less than picking these out
                sums, found = np.zeros((self.clusters, sums.shape[1])), sums
                sums[clusters], clusters = found, everything
            stack = stacks.setdefault(clusters.tobytes(), _Stack(clusters, self.clusters))
            places.append((stack, [stack.place(_on_grid(column, self.clusters)) for column in sums.T]))
        for stack in stacks.values():
            stack.begin(self.number)
        # Small products: handing each to several threads costs more than it saves, on busy cores far more.
        with threadpool_limits(limits=1, user_api="blas"):
            for where, entries in self.pieces():
                for stack in stacks.values():
                    stack.multiply(where, entries)
        return (stack.totals[rows] for stack, rows in places)


@dataclass(frozen=True)
class Resamples(Draws):
    """Cluster bootstrap: how often each cluster is in each resample, C draws with replacement.

    Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), ch. 6; whole clusters are drawn because
    questions on the same facts are not independent (Cameron and Miller 2015, sec. III.C).
    """

    def draw(self, rng: np.random.Generator, rows: int) -> FloatArray:
        """How often each cluster was drawn, (clusters, rows); every column sums to ``clusters``."""
        # 32-bit draws share one buffer with the generator, so the stream does not see where a piece ends.
        drawn = rng.integers(self.clusters, size=(rows, self.clusters), dtype=np.uint32)
        cells = drawn + np.arange(0, rows * self.clusters, self.clusters)[:, None]
        counts = np.bincount(cells.ravel(), minlength=rows * self.clusters)
        return np.ascontiguousarray(counts.reshape(rows, self.clusters).T, dtype=np.float64)


@dataclass(frozen=True)
class Flips(Draws):
    """Paired permutation: for each cluster, +1 (two systems stay as they are) or -1 (they are swapped)."""

    def draw(self, rng: np.random.Generator, rows: int) -> FloatArray:
        """Fair signs, (clusters, rows)."""
        words = rng.integers(2**64, size=(rows, -(-self.clusters // 64)), dtype=np.uint64)
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=self.clusters)
        return np.ascontiguousarray(1.0 - 2.0 * bits.T)


def _on_grid(column: FloatArray, clusters: int) -> FloatArray:
    """``column`` rounded so that no weighted sum of it rounds: |weights| of a vector sum to <= ``clusters``."""
    exponent = math.frexp(float(np.abs(column).max()))[1] + clusters.bit_length()  # all sums < 2**exponent
    step = math.ldexp(1.0, max(exponent, -900) - 52)  # its multiples up to 2**(exponent + 1) are floats
    return np.rint(column / step) * step


class _Stack:
    """The distinct columns of all blocks on the same clusters, so that one product serves them all."""

    def __init__(self, clusters: IntArray, count: int) -> None:
        # all clusters in order: take them as they are, without a copy
        self._clusters = slice(None) if np.array_equal(clusters, np.arange(count)) else clusters
        self.totals: FloatArray = np.empty((0, 0))
        self._columns: dict[bytes, tuple[int, FloatArray]] = {}

    def place(self, column: FloatArray) -> int:
        """The row of ``totals`` that will hold this column's sums."""
        return self._columns.setdefault(column.tobytes(), (len(self._columns), column))[0]

    def begin(self, number: int) -> None:
        self._matrix = np.stack([column for _, column in self._columns.values()])
        self.totals = np.empty((len(self._matrix), number))

    def multiply(self, where: slice, entries: FloatArray) -> None:
        self.totals[:, where] = self._matrix @ entries[self._clusters]
