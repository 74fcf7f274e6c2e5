"""Figures of scores against labels, worked out by hand and by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from clwqa_baselines.ceaf.scorer.statistics import fit, statistics
from tests.tiny_dataset import pair


def test_figures_worked_out_by_hand() -> None:
    found = fit(np.array([0.9, 0.7, 0.1]), np.array([0.85, 0.5, 0.15]))
    assert found.n == 3
    assert found.mse == pytest.approx((0.05**2 + 0.2**2 + 0.05**2) / 3)
    assert found.mae == pytest.approx(0.1)
    assert found.band == pytest.approx(2 / 3)  # 0.5 is the label of another band


def test_correlations_are_those_of_scipy_with_ties() -> None:
    rng = np.random.default_rng(0)
    wanted = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], 60)
    scores = np.round(wanted + rng.normal(0, 0.3, 60), 1)
    found = fit(wanted, scores)
    assert found.pearson == pytest.approx(stats.pearsonr(wanted, scores).statistic)
    assert found.spearman == pytest.approx(stats.spearmanr(wanted, scores).statistic)


@pytest.mark.parametrize(
    ("wanted", "scores"),
    [([0.9, 0.1], [0.8, 0.2]), ([0.5] * 4, [0.1, 0.2, 0.3, 0.4]), ([0.1, 0.5, 0.9], [0.5] * 3)],
)
def test_too_few_or_all_the_same_have_no_correlation(wanted: list[float], scores: list[float]) -> None:
    found = fit(np.array(wanted), np.array(scores))
    assert (found.pearson, found.spearman) == (None, None)


def test_every_pair_counts_once_by_band_and_once_by_element() -> None:
    records = [
        pair("test", "q3", "book:韩非子", "path-provenance"),
        pair("test", "q3", "person:韩非", "answer"),
        pair("test", "q3", "person:司马迁", "same-type"),
    ]
    found = statistics(records, [0.5, 0.8, 0.4])
    assert {band: one.n for band, one in found.by_band.items()} == {"L5": 1, "L3": 1, "L1": 1}
    assert {element: one.n for element, one in found.by_element.items()} == {"Book": 1, "Person": 2}
    assert found.by_element["Person"].mae == pytest.approx(0.2)
    assert found.by_band["L3"].band == 1
