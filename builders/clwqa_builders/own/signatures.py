"""Relation signatures from the data: which types a relation leads from and to (the ontology graph of OPI, sec. 3.2.2).

A relation's triples are counted by the types of their ends, and the dominant pairs are kept.  Where OPI keeps one pair,
all are kept here that are systematic, since a relation such as "located in" leads from thousands of provinces to
countries as well as from a few regions to continents: a pair that holds ``LEAST_SHARE`` of the triples, or that
``LEAST_MEMBERS`` of the entities of both its types take part in.  The rest are exceptions, which are listed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clwqa_builders.own.kinds import Bools, Ints

LEAST_SHARE = 0.02
LEAST_MEMBERS = 0.1
MIRRORED = 0.95  # share of a relation's triples that are there both ways, from which it is symmetric
Z = 1.96  # of a 95 % interval


@dataclass(frozen=True)
class Signature:
    """The kept (head type, tail type) pairs of a relation with their triples, the commonest first.

    ``coverage`` is the share of the relation's triples that follow them, ``confidence`` the lower end of its 95 %
    Wilson interval: a relation with few triples is known less well.
    """

    pairs: tuple[tuple[int, int, int], ...]
    triples: int
    kept: int

    @property
    def coverage(self) -> float:
        return self.kept / self.triples

    @property
    def confidence(self) -> float:
        n, p = self.triples, self.coverage
        middle, spread = p + Z * Z / (2 * n), Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
        return (middle - spread) / (1 + Z * Z / n)


def induce(heads: Ints, tails: Ints, type_of: Ints, *, symmetric: bool) -> tuple[Signature, Bools]:
    """The signature of one relation, and a mask of the triples that follow it.

    A pair of a symmetric relation stands for itself and its mirror image.
    """
    sizes = np.bincount(type_of)
    if symmetric:
        turned = type_of[heads] > type_of[tails]
        heads, tails = np.where(turned, tails, heads), np.where(turned, heads, tails)
    codes, inverse, counts = np.unique(
        type_of[heads] * len(sizes) + type_of[tails], return_inverse=True, return_counts=True
    )
    inverse = inverse.ravel()
    head_types, tail_types = codes // len(sizes), codes % len(sizes)
    taking = (
        _distinct(ends, inverse, len(codes)) / sizes[types]
        for ends, types in ((heads, head_types), (tails, tail_types))
    )
    kept = (counts >= LEAST_SHARE * len(heads)) | (np.minimum(*taking) >= LEAST_MEMBERS)
    order = sorted(np.flatnonzero(kept).tolist(), key=lambda i: (-counts[i], codes[i]))
    pairs = tuple((int(head_types[i]), int(tail_types[i]), int(counts[i])) for i in order)
    follows = kept[inverse]
    return Signature(pairs, len(heads), int(follows.sum())), follows


def _distinct(ends: Ints, pair: Ints, pairs: int) -> Ints:
    """How many different entities each pair has at one end."""
    width = int(ends.max()) + 1
    return np.bincount(np.unique(pair * width + ends) // width, minlength=pairs)


def is_mirrored(heads: Ints, tails: Ints) -> bool:
    """Whether nearly every triple is there both ways, so that the relation is symmetric."""
    width = int(max(heads.max(), tails.max())) + 1
    return bool(np.isin(heads * width + tails, tails * width + heads).mean() >= MIRRORED)
