"""Types of entities that nobody wrote down, from the relations that the entities take part in.

Entities are grouped by what they take part in (`discover`).  Where some have types, every relation end and every group
votes for the types of the others (`infer`).  Where none has, the groups are the types of the ontology (`match`), if
there is one, or types by themselves.  All see an entity as the set of its *slots*: a slot is one end of a relation, and
the set of them the entity's characteristic set (Neumann and Moerkotte, ICDE 2011).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix, hstack
from scipy.special import xlogy

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

UNKNOWN = -1
HALF = 0.5
ROUNDS = 10  # of estimating the chances of slots
SOME = 0.1  # share of two groups' members that have the same slot, for it to be common to them
FORBIDDEN = -1e6
MOST_SETS = 300  # characteristic sets that are merged pair by pair; rarer ones join the group they fit best


@dataclass(frozen=True)
class Edges:
    """All triples as numbers, each seen from both its ends: entity ``here`` is in ``slot`` with entity ``there``."""

    here: Ints
    slot: Ints
    there: Ints
    entities: int
    slots: int

    @classmethod
    def of(cls, heads: Ints, relations: Ints, tails: Ints, symmetric: Bools, entities: int) -> Edges:
        """Slot 2r is the head of relation r, 2r + 1 its tail; both ends of a symmetric relation are its head."""
        return cls(
            here=np.concatenate([heads, tails]),
            slot=np.concatenate([2 * relations, 2 * relations + ~symmetric[relations]]),
            there=np.concatenate([tails, heads]),
            entities=entities,
            slots=2 * len(symmetric),
        )

    @cached_property
    def matrix(self) -> csr_matrix:
        """(entities, slots), 1 where an entity is in a slot, however often."""
        shape = self.entities, self.slots
        matrix = csr_matrix((np.ones(len(self.here)), (self.here, self.slot)), shape=shape)
        matrix.data[:] = 1
        return matrix

    def refined(self, group: Ints) -> Edges:
        """The same with slots told apart by the group at their other end."""
        codes, slot = np.unique(self.slot * (group.max() + 2) + group[self.there] + 1, return_inverse=True)
        return replace(self, slot=slot.ravel(), slots=len(codes))


def infer(slots: csr_matrix, group: Ints, known: Ints, allowed: Bools) -> tuple[Ints, Floats]:
    """A type and the confidence in it for every entity, by the votes of its slots (SDType: Paulheim and Bizer, 2013).

    ``known`` (entities,) holds type numbers or UNKNOWN; ``allowed`` (slots, types) says which types an end may have.
    A slot votes with the types of the known entities that are in it; if there are none, evenly for those that are
    allowed.  The entity's ``group`` (see `discover`) has a vote as well: it tells provinces from countries when two of
    each are known, of which the slot "located in something" says nothing.  The weight of a vote is how far it is from
    the types' overall shares: the sum of squared differences.  The confidence is the winner's share of the votes; an
    entity whose slots say nothing stays UNKNOWN with confidence 0.
    """
    grouped, known_rows = np.flatnonzero(group >= 0), np.flatnonzero(known >= 0)
    shape = len(group), int(group.max(initial=-1)) + 1
    slots = hstack(
        [slots, csr_matrix((np.ones(len(grouped)), (grouped, group[grouped])), shape=shape)]
    ).tocsr()
    allowed = np.vstack([allowed, np.ones((shape[1], allowed.shape[1]), dtype=bool)])
    is_of = csr_matrix(
        (np.ones(len(known_rows)), (known_rows, known[known_rows])), shape=(len(known), allowed.shape[1])
    )
    seen = np.asarray((slots.T @ is_of).todense()) * allowed
    votes = _shares(np.where(seen.sum(axis=1, keepdims=True) > 0, seen, allowed))
    overall = np.asarray(is_of.sum(axis=0)).ravel()
    prior = _shares(overall if overall.any() else np.ones_like(overall))
    weight = ((votes - prior) ** 2).sum(axis=1)
    scores = slots @ (votes * weight[:, None])
    total = slots @ weight
    confidence = np.divide(scores.max(axis=1), total, out=np.zeros(len(known)), where=total > 0)
    # Of types with equal votes the first, which is the most general: parents come before children.
    best = np.where(total > 0, np.argmax(scores >= scores.max(axis=1, keepdims=True) - 1e-9, axis=1), UNKNOWN)
    return np.where(known >= 0, known, best), np.where(known >= 0, 1.0, confidence)


def _shares(counts: Floats) -> Floats:
    total = counts.sum(axis=-1, keepdims=True)
    return np.divide(counts, total, out=np.zeros_like(counts, dtype=float), where=total > 0)


def discover(edges: Edges) -> tuple[Ints, Floats]:
    """A group and the confidence in it for every entity when nothing is known; entities without slots are UNKNOWN.

    Equal characteristic sets start as one group; of the groups with a slot in common, the two whose union most
    shortens the description of the data are merged, until no union does (minimum description length: Rissanen, 1978).
    Described are the group of every entity and, as if they were independent within a group, which slots it has of those
    that its group may have, with half a log n for each chance that has to be told.  This is done twice, the second time
    with slots told apart by the group at their other end: both a province and a country are located in something, but
    not in the same.  The confidence is the group's posterior probability.
    """
    group, _ = _grouped(edges.matrix)
    return _grouped(edges.refined(group).matrix)


def _grouped(slots: csr_matrix) -> tuple[Ints, Floats]:
    rows = np.flatnonzero(np.diff(slots.indptr))
    set_of, first = _characteristic_sets(slots, rows)
    sizes = np.bincount(set_of)
    common = np.argsort(-sizes, kind="stable")[:MOST_SETS]
    members = sizes[common].astype(float)
    held = np.asarray(slots[first[common]].todense()) * members[:, None]
    chances = _posterior(slots[first], *_merge(held, members))
    group, confidence = np.full(slots.shape[0], UNKNOWN, dtype=np.int64), np.zeros(slots.shape[0])
    group[rows], confidence[rows] = chances.argmax(axis=1)[set_of], chances.max(axis=1)[set_of]
    return group, confidence


def _characteristic_sets(slots: csr_matrix, rows: Ints) -> tuple[Ints, Ints]:
    """The number of the set that each row has, and the first row with each set; sets in the order of their slots."""
    slots.sort_indices()
    keys = [slots.indices[slots.indptr[row] : slots.indptr[row + 1]].tobytes() for row in rows.tolist()]
    first = dict(zip(reversed(keys), reversed(rows.tolist()), strict=True))
    number = {key: i for i, key in enumerate(sorted(first))}
    return np.array([number[key] for key in keys]), np.array([first[key] for key in number])


def match(held: Floats, sizes: Floats, allowed: Bools, leaf: Bools) -> Ints:
    """The type of each group: no two the same while there are types left, and together as likely as can be.

    ``held`` (groups, slots) counts the members of a group that have a slot; ``allowed`` (slots, types) is what the
    ontology says, and votes as in `infer`.  A type that is not allowed where half of the group is, is none for it.
    """
    within = held / sizes[:, None]
    votes = _shares(allowed.astype(float))
    weight = ((votes - 1 / allowed.shape[1]) ** 2).sum(axis=1)
    scores = within @ (votes * weight[:, None]) + 1e-6 * leaf
    scores[(within >= HALF).astype(float) @ ~allowed > 0] = FORBIDDEN
    found = scores.argmax(axis=1)
    groups, types = linear_sum_assignment(scores, maximize=True)
    possible = scores[groups, types] > FORBIDDEN
    found[groups[possible]] = types[possible]
    return found


def _merge(held: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Greedy merging of groups: (groups, slots) members that have each slot, and (groups,) sizes; largest first."""
    total = sizes.sum()
    gain = np.array([_gain(held, sizes, i, total) for i in range(len(sizes))])
    np.fill_diagonal(gain, -np.inf)
    alive = np.ones(len(sizes), dtype=bool)
    while alive.sum() > 1:
        one, other = np.unravel_index(np.argmax(gain), gain.shape)
        if gain[one, other] <= 0:
            break
        held[one] += held[other]
        sizes[one] += sizes[other]
        alive[other] = False
        row = np.where(alive, _gain(held, sizes, int(one), total), -np.inf)
        row[one] = -np.inf
        gain[one], gain[:, one] = row, row
        gain[other], gain[:, other] = -np.inf, -np.inf
    kept = np.flatnonzero(alive)
    kept = kept[np.argsort(-sizes[kept], kind="stable")]
    return held[kept], sizes[kept]


def _gain(held: Floats, sizes: Floats, one: int, total: float) -> Floats:
    """How much shorter the description gets when group ``one`` is merged with each other group."""
    apart = _length(held, sizes, total) + _length(held[one], sizes[one], total)
    gain = apart - _length(held + held[one], sizes + sizes[one], total)
    usual = held >= SOME * sizes[:, None]
    return np.where((usual & usual[one]).any(axis=1), gain, -np.inf)


def _length(held: Floats, sizes: Floats, total: float) -> Floats:
    """Description length of groups: (..., slots) members with each slot, (...) sizes -> (...) nats."""
    n = np.asarray(sizes, dtype=float)
    share = held / n[..., None]
    chance, seen = share, np.ones_like(n)
    for _ in range(ROUNDS):  # entities without any slot are never seen, so the shares are of those that are
        seen = 1 - np.prod(1 - chance, axis=-1)
        chance = share * seen[..., None]
    bits = xlogy(held, chance) + xlogy(n[..., None] - held, 1 - chance)
    parameters = 0.5 * np.log(n + 1) * held.shape[-1]
    return parameters - bits.sum(axis=-1) + n * np.log(seen) + n * np.log(total / n)


def _posterior(sets: csr_matrix, held: Floats, sizes: Floats) -> Floats:
    """(sets, groups) probabilities of each group given which slots an entity has (Laplace's rule)."""
    has = (held + 1) / (sizes[:, None] + 2)
    log = sets @ np.log(has / (1 - has)).T + np.log(1 - has).sum(axis=1) + np.log(sizes)
    chances = np.exp(log - log.max(axis=1, keepdims=True))
    return chances / chances.sum(axis=1, keepdims=True)
