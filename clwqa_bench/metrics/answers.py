"""Measures of the answers given: are they right, are they all there, do they come first.

Everything is read off :class:`Matches`, which says what a policy credits.  A question without an answer, whatever
the reason, has no items and scores 0 on all of them.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from clwqa_bench.errors import MetricError
from clwqa_bench.grid import Grid
from clwqa_bench.matching import Matches
from clwqa_bench.metrics.measure import Columns, Floats, Form, Mask, Measure, Settings, ratio, share
from clwqa_bench.metrics.overlap import Overlap, measures


def _overlap(grid: Grid, settings: Settings) -> Overlap:
    m = grid.matches(settings.policy)
    right = m.right.astype(np.float64)
    return Overlap(right, m.items.astype(np.float64), right, m.golds.astype(np.float64))


def _exact(grid: Grid, settings: Settings) -> Columns:
    """1 if the items are the golds: none wrong, none missing."""
    m = grid.matches(settings.policy)
    return Columns.of((m.right == m.items) & (m.right == m.golds))


# --- ranked -------------------------------------------------------------------------------------------------


def _ranked(grid: Grid, settings: Settings) -> Matches:
    """Matches of predictions whose order means something.  Raises MetricError if some say it does not."""
    if unranked := grid.unranked:
        raise MetricError(
            f"{len(unranked)} predictions ({unranked[0]}, ...) list several answers in no order",
            fix="declare `ranked: true` if the order is the system's own, or ask for E[Hits]@1",
        )
    return grid.matches(settings.policy)


def _within(m: Matches, k: int) -> Floats:
    """How many of the first k items are right."""
    return np.bincount(m.rows[m.ranks <= k], minlength=len(m.golds)).astype(np.float64)


def _hits(grid: Grid, settings: Settings) -> Columns:
    return Columns.of(_within(_ranked(grid, settings), settings.cutoff) > 0)


def _recall(grid: Grid, settings: Settings) -> Columns:
    m = _ranked(grid, settings)
    return Columns.of(ratio(_within(m, settings.cutoff), m.golds))


def _reciprocal_rank(grid: Grid, settings: Settings) -> Columns:
    m = _ranked(grid, settings)
    best = np.full(len(m.golds), np.inf)
    np.minimum.at(best, m.rows, m.ranks)
    return Columns.of(np.where(best <= settings.cutoff, 1 / best, 0))


def _average_precision(grid: Grid, settings: Settings) -> Columns:
    """Precision at the rank of each right item among the first k, summed, over min(golds, k) as in HubLink.

    Dividing by all golds, as trec_eval does, would put 1 out of reach where there are more than k.
    """
    m = _ranked(grid, settings)
    k = settings.cutoff
    order = np.lexsort((m.ranks, m.rows))
    rows, ranks = m.rows[order], m.ranks[order]
    found = np.arange(1, len(rows) + 1) - np.searchsorted(rows, rows)  # right so far in the same question
    gain = np.where(ranks <= k, found / ranks, 0)
    return Columns.of(ratio(np.bincount(rows, gain, len(m.golds)), np.minimum(m.golds, k)))


def _expected_hits(grid: Grid, settings: Settings) -> Columns:
    """Chance that k items drawn without replacement hold a right one (for k = 1: the share of right items)."""
    m = grid.matches(settings.policy)
    miss = np.ones(len(m.golds))
    for drawn in range(min(settings.cutoff, int(m.items.max(initial=0)))):
        left = m.items - drawn
        miss *= np.where(left > 0, ratio(np.maximum(left - m.right, 0), left), 1)
    return Columns.of(1 - miss)


# --- lists ------------------------------------------------------------------------------------------------


def _places(grid: Grid, settings: Settings) -> list[list[int | None]]:
    """For every question whose gold is a list the place in it of each item given; nothing for the others."""
    _ranked(grid, settings)
    return [
        list(grid.match(row, settings.policy).credited) if question.ordered else []
        for row, question in enumerate(grid.gold.questions)
    ]


def _lists(grid: Grid) -> Mask:
    return np.array([question.ordered for question in grid.gold.questions], bool)


def _same_list(grid: Grid, settings: Settings) -> Columns:
    """1 if the items are the golds in their order."""
    golds = [len(question.answers) for question in grid.gold.questions]
    places = _places(grid, settings)
    same = [given == list(range(n)) for given, n in zip(places, golds, strict=True)]
    return Columns.of(same, applies=_lists(grid))


def _pair_order(grid: Grid, settings: Settings) -> Columns:
    """Share of the pairs of golds of which both are given, and in their order."""
    golds = np.array([len(question.answers) for question in grid.gold.questions])
    kept = [[p for p in given if p is not None] for given in _places(grid, settings)]
    right = [sum(a < b for a, b in combinations(given, 2)) for given in kept]
    return Columns.of(ratio(right, golds * (golds - 1) / 2), applies=_lists(grid))


# --- not about being right ----------------------------------------------------------------------------------


def _coverage(grid: Grid, _: Settings) -> Columns:
    return Columns.of([bool(answers) for answers in grid.answers])


def _parametric(grid: Grid, _: Settings) -> Columns:
    given = np.array([len(answers) for answers in grid.answers], np.float64)
    own = [sum(a.source == "parametric" for a in answers) for answers in grid.answers]
    return Columns.of(own, given, applies=given > 0)


MEASURES = (
    Measure.mean("Hits", "answers", _hits, matched=True, k=1),
    *measures(("P", "R", "F1"), "answers", _overlap, matched=True),
    Measure.mean("EM", "answers", _exact, matched=True),
    Measure.mean("MRR", "answers", _reciprocal_rank, matched=True, k=10),
    Measure.mean("MAP", "answers", _average_precision, matched=True, k=10),
    Measure.mean("Recall", "answers", _recall, matched=True, k=10),
    Measure.mean(
        "E[Hits]", "answers", _expected_hits, matched=True, k=1, title="E[Hits@{k}] under random order"
    ),
    Measure.mean("ListEM", "answers", _same_list, matched=True),
    Measure.mean("PairOrder", "answers", _pair_order, matched=True),
    Measure.mean("Coverage", "answers", _coverage),
    Measure(
        "ParametricShare",
        "answers",
        {"micro": Form(_parametric, share)},
        title="Parametric share",
        direction=-1,
    ),
)
