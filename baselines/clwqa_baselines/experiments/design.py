"""What an experiment is made of: which runs, which figures of each, and how they are drawn.  All of it is data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from clwqa_bench.metrics import Metric
from clwqa_bench.predictions import Stage
from clwqa_bench.scoring import WHOLE

Unit = Literal["percent", "number", "ms", "usd"]
"""How a figure is written: in per cent, as it is, seconds in milliseconds, US dollars."""

PARTS: Final[Mapping[str, tuple[Stage, ...]]] = {
    "link": ("link", "plan"),
    "retrieve": ("type_paths", "expand", "retrieve", "prune"),
    "rank": ("rank",),
    "decide": ("memory", "reflect", "refine", "decide"),
    "answer": ("answer", "adapt"),
}
"""Stages of the trace put together to the parts that time is told of, for any system."""

BLANK = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Variant:
    """One row: a system with settings and stages taken from the gold, asked of every language model.

    A value such as "{scorer}" is a blank that the command line fills; without it the row is left out.
    `series` and `x` place the row in a plot of curves.  In a table by parts, one that is `whole` has a single row.
    """

    label: str
    system: str
    settings: Mapping[str, str] = field(default_factory=dict)
    oracle: tuple[str, ...] = ()
    series: str = ""
    x: float | None = None
    whole: bool = False

    def lacks(self, given: Iterable[str]) -> list[str]:
        """Names of the blanks that nothing is given for."""
        blanks = dict.fromkeys(name for value in self.settings.values() for name in BLANK.findall(value))
        return [name for name in blanks if name not in set(given)]

    def filled(self, given: Mapping[str, str]) -> Variant:
        """The variant without blanks."""
        return replace(self, settings={key: text.format_map(given) for key, text in self.settings.items()})


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of a run, on a stratum of the questions.  In a table by parts, "{part}" stands for the row's part."""

    heading: str
    figure: str
    unit: Unit = "percent"
    stratum: str = WHOLE


def scored(metric: str, heading: str = "", stratum: str = WHOLE) -> Column:
    """A metric of the suite, such as "Hits@1"."""
    parsed = Metric.parse(metric)
    return Column(heading or parsed.label, str(parsed), stratum=stratum)


def indicator(name: str, heading: str) -> Column:
    """A stage indicator, such as "coverage"."""
    return Column(heading, f"stage/{name}")


def used(what: str, heading: str, unit: Unit = "number") -> Column:
    """What a question took on average: calls, tokens_in, tokens_out, cost, seconds; or the share `cached`."""
    return Column(heading, f"used/{what}", unit)


@dataclass(frozen=True, slots=True)
class Bars:
    """A panel for each of these columns, a bar for each row."""

    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """One column over the `x` of the rows, a line for each series."""

    heading: str
    over: str


@dataclass(frozen=True, slots=True)
class Profile:
    """Columns side by side, a line for each row."""

    headings: tuple[str, ...]
    over: str
    value: str


Plot = Bars | Curves | Profile


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table and a plot of some runs.

    `paper` says what of the paper it makes again.  With `parts`, every run has a row for each part of its time.
    `lexical` are notes for runs without a language model.  To one that is `open`, any other installed system can be
    added.
    """

    name: str
    title: str
    paper: str
    variants: tuple[Variant, ...]
    columns: tuple[Column, ...]
    plot: Plot
    parts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    lexical: tuple[str, ...] = ()
    open: bool = False
