"""Which questions of a graph are asked, and in which split: the draw of the packaged dataset on any graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.records import SPLITS
from clwqa_builders.own.instances import Asked
from clwqa_builders.questions.balance import HOP_TARGETS, SPLIT_SHARES, apportion
from clwqa_builders.questions.columns import GraphColumns, Ragged
from clwqa_builders.questions.draw import TEMPLATE_SHARE, Drawn, Ints, Pool, draw
from clwqa_builders.questions.groups import assign_splits
from clwqa_builders.questions.select import Selection, held_out_templates, mixed, priorities

TEST = SPLITS.index("test")
ENOUGH = 6  # templates of a hop count, from which one of them is held out for the test split
HOPS = tuple(HOP_TARGETS)


@dataclass(frozen=True)
class _Flat:
    """All instances as parallel arrays."""

    template: Ints
    row: Ints
    hop: Ints
    category: Ints
    anchor: Ints
    fact: NDArray[np.uint64]
    priority: NDArray[np.uint64]
    groups: Ragged

    @classmethod
    def of(cls, asked: Sequence[Asked], columns: GraphColumns, seed: int) -> _Flat:
        parts = [(number, one.instances) for number, one in enumerate(asked) if len(one.instances)]
        sizes = [len(instances) for _, instances in parts]
        anchor = np.concatenate([instances.anchors[instances.template.anchors[0]] for _, instances in parts])
        told = [np.add.reduceat(mixed(i.answers.values), i.answers.offsets[:-1]) for _, i in parts]
        ranks = [
            priorities(seed, i.template.id, [(columns.ids[e],) for e in i.words.values.tolist()])
            for _, i in parts
        ]
        return cls(
            template=np.repeat([number for number, _ in parts], sizes),
            row=np.concatenate([np.arange(size) for size in sizes]),
            hop=np.repeat([instances.template.hops - 1 for _, instances in parts], sizes),
            category=np.concatenate([instances.category for _, instances in parts]),
            anchor=anchor,
            fact=mixed(anchor) * np.uint64(3) + np.concatenate(told),
            priority=np.concatenate(ranks),
            groups=Ragged.concatenate([one.groups for one in asked if len(one.instances)]),
        )


def hop_targets(questions: int) -> Ints:
    """(4,) questions of each hop count, in the proportions of the seed paper."""
    shares = np.array(list(HOP_TARGETS.values())) / sum(HOP_TARGETS.values())
    return apportion(questions, shares)


def held_out(asked: Sequence[Asked], seed: int) -> frozenset[str]:
    """Templates that only the test split may use, one of each hop count that has ENOUGH."""
    hops = {one.instances.template.id: one.instances.template.hops for one in asked if len(one.instances)}
    counts = np.bincount(list(hops.values()), minlength=len(HOPS) + 1)
    return held_out_templates(seed, {id: hop for id, hop in hops.items() if counts[hop] >= ENOUGH})


def select(
    asked: Sequence[Asked], columns: GraphColumns, types: int, questions: int, seed: int
) -> Selection | None:
    """Draw so many questions, fewer where the graph does not supply them; None if there is not one for each split.

    Deterministic in its arguments.
    """
    if not any(len(one.instances) for one in asked):
        return None
    flat = _Flat.of(asked, columns, seed)
    shares = np.array([SPLIT_SHARES[name] for name in SPLITS])
    split = _splits(flat, types, shares, seed)
    reserved = held_out(asked, seed)
    is_held = np.array([one.instances.template.id in reserved for one in asked])
    kept = np.flatnonzero((split >= 0) & (~is_held[flat.template] | (split == TEST)))
    if len(np.unique(split[kept])) < len(SPLITS):
        return None
    pool = Pool(
        flat.template[kept],
        flat.hop[kept],
        flat.category[kept],
        split[kept],
        flat.anchor[kept],
        flat.fact[kept],
        flat.priority[kept],
        [(anchor,) for anchor in flat.anchor[kept].tolist()],
    )
    drawn = _draw(pool, hop_targets(questions), types, shares)
    chosen = kept[drawn.chosen]
    if len(np.unique(split[chosen])) < len(SPLITS):
        return None
    first_group = flat.groups.values[flat.groups.offsets[:-1]]
    return Selection(
        rows=tuple(zip(flat.template[chosen].tolist(), flat.row[chosen].tolist(), strict=True)),
        split=tuple(SPLITS[s] for s in split[chosen].tolist()),
        group=tuple(first_group[chosen].tolist()),
        drawn=drawn,
        instances=len(split),
        ungrouped=int((split < 0).sum()),
    )


def _draw(pool: Pool, hops: Ints, types: int, shares: NDArray[np.float64]) -> Drawn:
    """Every type of answer alike; no template has more than TEMPLATE_SHARE of its hop, where there are enough of both:
    two templates may fill a hop count, and one template may have a question in every split.
    """
    asked = np.unique(pool.hop)
    fewest = min(len(np.unique(pool.template[pool.hop == hop])) for hop in asked)
    wished = np.isin(np.arange(types), pool.category).astype(np.int64) * 1_000
    share = max(TEMPLATE_SHARE, 2 / fewest, 1 / (shares.min() * max(hops[asked].min(), 1)))
    return draw(pool, hops, wished, shares, share)


def _splits(flat: _Flat, types: int, shares: NDArray[np.float64], seed: int) -> Ints:
    """Split of each instance, -1 where the groups it tells lie in different ones."""
    groups = np.unique(flat.groups.values)
    number = np.searchsorted(groups, flat.groups.values)
    starts = flat.groups.offsets[:-1]
    weights = np.zeros((len(groups), len(HOPS) * types))
    alone = np.flatnonzero(flat.groups.lengths == 1)
    np.add.at(weights, (number[starts[alone]], flat.hop[alone] * types + flat.category[alone]), 1.0)
    order = priorities(seed, "groups", [(str(g),) for g in groups.tolist()])
    split = assign_splits(weights, shares, order)[number]
    least, most = np.minimum.reduceat(split, starts), np.maximum.reduceat(split, starts)
    return np.where(least == most, least, -1)
