"""The stratified draw: quotas, caps, spread and determinism on a synthetic pool."""

import numpy as np
import pytest
from numpy.typing import NDArray

from clwqa_builders.questions.draw import TEMPLATE_SHARE, WORD_CAPS, Pool, draw
from clwqa_builders.questions.groups import assign_splits, clusters, joined_by

SHARES = np.array([0.8, 0.1, 0.1])
HOPS, CATEGORIES = np.array([400, 200]), np.array([300, 200, 100])


def pool(size: int = 6_000, seed: int = 1) -> Pool:
    rng = np.random.default_rng(seed)
    template = rng.integers(0, 16, size)
    return Pool(
        template=template,
        hop=template % 2,
        category=rng.integers(0, 3, size),
        split=rng.choice(3, size, p=SHARES),
        source=rng.zipf(2.0, size) % 50,
        fact=np.arange(size, dtype=np.uint64),
        priority=rng.integers(0, 2**63, size, dtype=np.uint64),
        words=[(int(w),) for w in rng.integers(0, 900, size)],
    )


def test_hops_categories_and_splits_are_exact_when_there_is_enough() -> None:
    p = pool()
    drawn = draw(p, HOPS, CATEGORIES, SHARES)
    assert np.bincount(p.hop[drawn.chosen]).tolist() == [400, 200]
    assert np.bincount(p.category[drawn.chosen]).tolist() == [300, 200, 100]
    assert np.bincount(p.split[drawn.chosen]).tolist() == [480, 60, 60]


def test_caps_hold() -> None:
    p = pool()
    chosen = draw(p, HOPS, CATEGORIES, SHARES).chosen
    for hop, total in enumerate(HOPS):
        per_template = np.bincount(p.template[chosen][p.hop[chosen] == hop])
        assert per_template.max() <= TEMPLATE_SHARE * total
    words = np.bincount([p.words[i][0] for i in chosen])
    assert words.max() <= WORD_CAPS[-1]


def test_one_fact_is_asked_once() -> None:
    p = pool()
    twins = Pool(p.template, p.hop, p.category, p.split, p.source, p.fact // 2, p.priority, p.words)
    chosen = draw(twins, HOPS, CATEGORIES, SHARES).chosen
    assert len(set(twins.fact[chosen].tolist())) == len(chosen)


def test_rare_sources_are_not_drowned_by_a_big_one() -> None:
    p = pool()
    big = np.bincount(p.source).argmax()
    chosen = draw(p, HOPS, CATEGORIES, SHARES).chosen
    assert (p.source[chosen] == big).mean() < (p.source == big).mean()


def test_a_scarce_category_stays_short_in_proportion_and_the_hop_is_still_exact() -> None:
    p = pool()
    keep = np.flatnonzero((p.category != 2) | (np.arange(len(p.hop)) % 40 == 0))
    scarce = Pool(
        *(a[keep] for a in (p.template, p.hop, p.category, p.split, p.source, p.fact, p.priority)),
        words=[p.words[i] for i in keep],
    )
    drawn = draw(scarce, HOPS, CATEGORIES, SHARES)
    assert np.bincount(scarce.hop[drawn.chosen]).tolist() == [400, 200]
    assert 0 < (scarce.category[drawn.chosen] == 2).sum() < 100
    split = scarce.split[drawn.chosen][scarce.category[drawn.chosen] == 2]
    assert abs((split == 0).sum() - 0.8 * len(split)) <= 2.5


def test_the_draw_depends_on_nothing_but_its_input() -> None:
    assert (
        draw(pool(), HOPS, CATEGORIES, SHARES).chosen == draw(pool(), HOPS, CATEGORIES, SHARES).chosen
    ).all()
    assert not np.array_equal(
        draw(pool(seed=2), HOPS, CATEGORIES, SHARES).chosen, draw(pool(), HOPS, CATEGORIES, SHARES).chosen
    )


def test_clusters_are_named_by_their_least_member() -> None:
    shared_quotation = joined_by(np.array([4, 2, 7, 5]), np.array([9, 9, 9, 1]))
    variants = (np.array([7]), np.array([0]))
    assert clusters(9, [shared_quotation, variants]).tolist() == [0, 1, 0, 3, 0, 5, 6, 0, 8]


@pytest.mark.parametrize("seed", range(3))
def test_groups_share_out_every_stratum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.poisson(0.4, (3_000, 6)).astype(float)
    split = assign_splits(weights, SHARES, rng.integers(0, 2**63, 3_000, dtype=np.uint64))
    for number, share in enumerate(SHARES):
        got = weights[split == number].sum(axis=0) / weights.sum(axis=0)
        assert np.abs(got - share).max() < 0.005


def test_an_important_stratum_is_shared_out_best() -> None:
    rng = np.random.default_rng(1)
    part = rng.integers(0, 40, 600)  # small strata in two large ones
    weights = np.zeros((600, 42))
    weights[np.arange(600), part] = weights[np.arange(600), 40 + part % 2] = 1
    order = rng.integers(0, 2**63, 600, dtype=np.uint64)
    importance = np.where(np.arange(42) < 40, 1.0, 300.0)

    def off(split: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.abs(weights[split == 2].sum(axis=0) / weights.sum(axis=0) - SHARES[2])

    plain, weighted = (off(assign_splits(weights, SHARES, order, how)) for how in (None, importance))
    assert weighted[40:].max() < 0.005 < plain[40:].max()
    assert weighted[:40].max() < 0.15
