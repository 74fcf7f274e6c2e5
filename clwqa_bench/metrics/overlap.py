"""Precision, recall and F1 of two sets, and the three ways to make one number of many questions.

Answers and evidence are measured by the same few lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clwqa_bench.grid import Grid
from clwqa_bench.metrics.measure import (
    Columns,
    Floats,
    Form,
    Group,
    Mask,
    Measure,
    Settings,
    harmonic,
    ratio,
    share,
)


@dataclass(frozen=True, eq=False)
class Overlap:
    """Counts per question, each of shape (questions,).

    `right` of the `given` items are gold; `found` of the `wanted` golds are among the items.
    """

    right: Floats
    given: Floats
    found: Floats
    wanted: Floats
    applies: Mask | None = None

    @property
    def precision(self) -> Floats:
        return ratio(self.right, self.given)

    @property
    def recall(self) -> Floats:
        return ratio(self.found, self.wanted)


def of_means(means: Floats) -> Floats:
    """Reduce of columns (P, R): the harmonic mean of mean P and mean R (seed paper sec. 5.1)."""
    return harmonic(means[..., 0], means[..., 1])


def micro_f1(means: Floats) -> Floats:
    """Reduce of columns (right, given, found, wanted)."""
    return harmonic(share(means[..., :2]), share(means[..., 2:]))


def measures(
    names: tuple[str, str, str],
    group: Group,
    counts: Callable[[Grid, Settings], Overlap],
    *,
    matched: bool = False,
    of: tuple[str, ...] = (),
    titles: tuple[str, str, str] = ("", "", ""),
) -> tuple[Measure, Measure, Measure]:
    """Precision, recall and F1 under these names, for whatever `counts` counts.

    macro: mean over questions.  micro: over all items and golds of all questions together, so that questions with
    many weigh more.  of-means: of F1 only.
    """

    def columns(pick: Callable[[Overlap], tuple[Floats, ...]]) -> Callable[[Grid, Settings], Columns]:
        def build(grid: Grid, settings: Settings) -> Columns:
            overlap = counts(grid, settings)
            return Columns.of(*pick(overlap), applies=overlap.applies)

        return build

    forms: tuple[dict[str | None, Form], ...] = (
        {
            "macro": Form(columns(lambda o: (o.precision,))),
            "micro": Form(columns(lambda o: (o.right, o.given)), share),
        },
        {
            "macro": Form(columns(lambda o: (o.recall,))),
            "micro": Form(columns(lambda o: (o.found, o.wanted)), share),
        },
        {
            "macro": Form(columns(lambda o: (harmonic(o.precision, o.recall),))),
            "of-means": Form(columns(lambda o: (o.precision, o.recall)), of_means),
            "micro": Form(columns(lambda o: (o.right, o.given, o.found, o.wanted)), micro_f1),
        },
    )
    p, r, f = (
        Measure(name, group, of_one, matched, of, title=title)
        for name, of_one, title in zip(names, forms, titles, strict=True)
    )
    return p, r, f
