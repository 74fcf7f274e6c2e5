"""Which questions of a graph are asked, and in which split: the draw of the packaged dataset on any graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.records import SPLITS
from clwqa_builders.own.instances import Asked
from clwqa_builders.questions.balance import HOP_TARGETS, SPLIT_SHARES, apportion
from clwqa_builders.questions.columns import GraphColumns
from clwqa_builders.questions.draw import TEMPLATE_SHARE, Drawn, Ints, Pool, draw
from clwqa_builders.questions.select import Flat, Selection, held_out_templates

ENOUGH = 6  # templates of a hop count, from which one of them is held out for the test split
HOPS = tuple(HOP_TARGETS)


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
    parts = [
        Flat.of(
            number,
            one.instances,
            columns,
            seed,
            category=one.instances.category,
            source=one.instances.anchors[one.instances.template.anchors[0]],
            groups=one.groups,
        )
        for number, one in enumerate(asked)
        if len(one.instances)
    ]
    if not parts:
        return None
    flat = Flat.concatenate(parts)
    shares = np.array([SPLIT_SHARES[name] for name in SPLITS])
    split = flat.shared_out(types, shares, seed)
    reserved = held_out(asked, seed)
    kept = flat.usable(split, np.array([one.instances.template.id in reserved for one in asked]))
    if len(np.unique(split[kept])) < len(SPLITS):
        return None
    drawn = _draw(flat.pool(kept, split), hop_targets(questions), types, shares)
    chosen = kept[drawn.chosen]
    if len(np.unique(split[chosen])) < len(SPLITS):
        return None
    return flat.selection(chosen, split, drawn)


def _draw(pool: Pool, hops: Ints, types: int, shares: NDArray[np.float64]) -> Drawn:
    """Every type of answer alike; no template has more than TEMPLATE_SHARE of its hop, where there are enough of both:
    two templates may fill a hop count, and one template may have a question in every split.
    """
    asked = np.unique(pool.hop)
    fewest = min(len(np.unique(pool.template[pool.hop == hop])) for hop in asked)
    wished = np.isin(np.arange(types), pool.category).astype(np.int64) * 1_000
    share = max(TEMPLATE_SHARE, 2 / fewest, 1 / (shares.min() * max(hops[asked].min(), 1)))
    return draw(pool, hops, wished, shares, share)
