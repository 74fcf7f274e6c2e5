"""What a measure is: numbers per question, and a smooth function of their means.

Nothing else is asked of a measure, so strata, intervals and paired tests need to know no measure by name.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Concatenate, Literal, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clwqa_bench.grid import Grid
from clwqa_bench.matching import Policy
from clwqa_bench.stats import Reduce, identity

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Group: TypeAlias = Literal["answers", "text", "evidence", "legacy"]

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Columns:
    """`values` (questions, c): finite numbers per question.  `applies` (questions,): where they mean anything."""

    values: Floats
    applies: Mask

    @classmethod
    def of(cls, *columns: ArrayLike, applies: Mask | None = None) -> Columns:
        """Columns side by side, each of shape (questions,); they apply to all questions unless told otherwise."""
        values = np.column_stack([np.asarray(column, np.float64) for column in columns])
        return cls(values, np.ones(len(values), bool) if applies is None else applies)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a metric adds to its measure; None where the measure has no such setting.

    `match`: when an answer is right.  `of`: which evidence is looked at.  `agg`: how questions become one number.
    `k`: how many of the first items count.
    """

    match: Policy | None = None
    of: str | None = None
    agg: str | None = None
    k: int | None = None

    @property
    def policy(self) -> Policy:
        """`match` of a measure that has one, which Metric sees to; so has `cutoff`."""
        assert self.match is not None
        return self.match

    @property
    def cutoff(self) -> int:
        assert self.k is not None
        return self.k


@dataclass(frozen=True)
class Form:
    """One way to aggregate a measure: the columns it needs, and what becomes of their means."""

    columns: Callable[[Grid, Settings], Columns]
    reduce: Reduce = identity


@dataclass(frozen=True)
class Measure:
    """A definition that metrics are made of.

    `forms` by aggregation, the default first; a measure with the one form None declares none.  `of` lists the
    evidence it can look at, the default first; `k` is its default cutoff, None if it has no cutoff.
    """

    name: str
    group: Group
    forms: Mapping[str | None, Form]
    matched: bool = False
    of: tuple[str, ...] = ()
    k: int | None = None
    direction: Literal[1, -1] = 1
    title: str = ""  # how tables call it, if not by its name

    @classmethod
    def mean(
        cls,
        name: str,
        group: Group,
        columns: Callable[[Grid, Settings], Columns],
        *,
        matched: bool = False,
        k: int | None = None,
        title: str = "",
    ) -> Measure:
        """A measure that is the plain mean of one value per question."""
        return cls(name, group, {None: Form(columns)}, matched=matched, k=k, title=title)


def ratio(part: ArrayLike, whole: ArrayLike) -> Floats:
    """`part / whole`, and 0 where `whole` is 0."""
    part, whole = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole != 0)


def harmonic(one: ArrayLike, other: ArrayLike) -> Floats:
    """Harmonic mean, and 0 where both are 0."""
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    return ratio(2 * one * other, one + other)


def share(means: Floats) -> Floats:
    """Reduce of columns (part, whole): the share over everything counted, not over questions."""
    return ratio(means[..., 0], means[..., 1])


def once_per_grid(make: Callable[Concatenate[Grid, P], T]) -> Callable[Concatenate[Grid, P], T]:
    """Remember what `make` returns for a grid (and further hashable arguments) as long as the grid lives."""
    made: dict[int, dict[object, T]] = {}

    def once(grid: Grid, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if id(grid) not in made:
            weakref.finalize(grid, made.pop, id(grid), None)
        of_grid = made.setdefault(id(grid), {})
        key = (args, tuple(sorted(kwargs.items())))
        if key not in of_grid:
            of_grid[key] = make(grid, *args, **kwargs)
        return of_grid[key]

    return once
