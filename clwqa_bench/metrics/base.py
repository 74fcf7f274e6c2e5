"""Metrics as values: a measure with its settings, named by one string that is printed, parsed, stored and hashed.

    F1(match=alias,text>=0.8,agg=macro)    Hits(match=alias,text>=0.8)@1    EvidenceR(of=shown,agg=macro)

The form is MEASURE(SETTING=VALUE,...)@K; what is left out is read as its default and always printed in full.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np

from clwqa_bench.errors import MetricError
from clwqa_bench.grid import Grid
from clwqa_bench.matching import HEADLINE, Policy
from clwqa_bench.metrics import answers, evidence, legacy, texts
from clwqa_bench.metrics.measure import Columns, Floats, Form, Group, Measure, Settings

MEASURES = {m.name: m for m in (*answers.MEASURES, *texts.MEASURES, *evidence.MEASURES)}
LEGACY = {m.name: m for m in legacy.MEASURES}
HEADLINES = ("Hits", "P", "R", "F1", "EM")  # what a paper's main table holds

_FORM = re.compile(r"(?P<name>[^\s()@,=]*)(?:\((?P<settings>[^()@]*)\))?(?:@(?P<k>[^\s()@]*))?")
# the value of `match` may hold a comma of its own
_SETTING = re.compile(r"\s*(?P<key>\w+)=(?P<value>[^=,]*(?:,\s*text>=[^=,]*)?)(?:,|$)")
_CUTOFFS = range(1, 1_000_000)
_ELSEWHERE = {"hublinkhit": "Recall"}  # what others call a measure, case folded -> ours
_HALF = {0x3000: " ", **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}}


@dataclass(frozen=True)
class Metric(Settings):
    """A number that can be computed for any predictions, such as ``Metric.parse("F1(agg=of-means)")``.

    Raises MetricError if there is no such measure, or if it has no such setting.
    """

    measure: str

    def __post_init__(self) -> None:
        definition = self.definition
        _choose(self, "of", definition.of)
        _choose(self, "agg", definition.forms)
        for name, has in (("match", definition.matched), ("k", definition.k is not None)):
            value = getattr(self, name)
            if (value is not None) != has:
                what = f"{self.measure} needs {name}" if has else f"{self.measure} has no {name}"
                raise MetricError(what, fix=_example(self.measure, definition))
        if self.k is not None and self.k not in _CUTOFFS:
            raise MetricError(f"@{self.k} is not a cutoff", fix="count items from 1")

    @classmethod
    def parse(cls, text: str) -> Metric:
        """Read a metric's name; ``Metric.parse(str(metric)) == metric``.

        Raises MetricError that says what is wrong, where, and what was probably meant.
        """
        if (half := half_width(text)) != text:
            cls.parse(half)  # if more is wrong with it, that is said instead
            raise MetricError(f"there are full-width signs in {text!r}", fix=f"did you mean {half!r}")
        found = _FORM.match(text := text.strip())
        if found is None or not found["name"] or found.end() < len(text):
            raise _unread(text, found.end() if found and found["name"] else 0)
        settings = _settings(text, found["settings"] or "", found.start("settings"))
        k = found["k"]
        if k is not None and not re.fullmatch(r"[1-9]\d{0,5}", k, re.ASCII):
            raise MetricError(
                f"@{k} in {text!r} is not a cutoff", fix="write a whole number from 1, as in @10"
            )
        match = Policy.parse(settings["match"]) if "match" in settings else None
        definition = _find(found["name"], match, text)
        default = _defaults(definition)
        return cls(
            found["name"],
            match=match or default.match,
            of=settings.get("of", default.of),
            agg=settings.get("agg", default.agg),
            k=default.k if k is None else int(k),
        )

    def __str__(self) -> str:
        return _written(self.measure, self)

    @property
    def definition(self) -> Measure:
        """The measure this metric is made of."""
        return _find(self.measure, self.match, self.measure)

    @property
    def label(self) -> str:
        """A short name for tables; whatever is not the headline's way is said."""
        definition = self.definition
        name = definition.title or (self.measure if self.k is None else self.measure + "@{k}")
        if self.agg == "of-means":
            name = f"{name} of means"
        elif self.agg != next(iter(definition.forms)):
            name = f"{self.agg}-{name}"
        ways = [str(way) for way in (self.match, self.of) if way not in (None, HEADLINE, "shown")]
        return name.format(k=self.k) + f" ({', '.join(ways)})" * bool(ways)

    @property
    def group(self) -> Group:
        """What part of a prediction it measures: answers, text or evidence; or legacy."""
        return self.definition.group

    @property
    def direction(self) -> int:
        """1 if higher is better, -1 if lower is."""
        return self.definition.direction

    @property
    def is_legacy(self) -> bool:
        """True if a source's own evaluator is behind it; such a number is never a headline."""
        return self.group == "legacy"

    @property
    def is_headline(self) -> bool:
        """True if it may stand for a system by itself."""
        return self.measure in HEADLINES and self.match == HEADLINE and self.agg != "micro"

    @property
    def _form(self) -> Form:
        return self.definition.forms[self.agg]

    def columns(self, grid: Grid) -> Columns:
        """The numbers per question whose means make the metric.

        Raises MetricError if these predictions cannot be measured this way (Hits@1 of unranked answers; what a
        judge says, if none has ruled).
        """
        return self._form.columns(grid, self)

    def reduce(self, means: Floats) -> Floats:
        """The metric from the means of its columns: shape (..., c) to (...)."""
        return self._form.reduce(means)

    def per_question(self, grid: Grid) -> Floats:
        """The metric of every question by itself, shape (questions,); nan where it does not apply."""
        columns = self.columns(grid)
        return np.where(columns.applies, self.reduce(columns.values), np.nan)


def half_width(text: str) -> str:
    """The text with full-width forms of ASCII, as a Chinese keyboard gives them, made half-width."""
    return text.translate(_HALF)


def _written(measure: str, settings: Settings) -> str:
    pairs = {"match": settings.match, "of": settings.of, "agg": settings.agg}
    listed = ",".join(f"{key}={value}" for key, value in pairs.items() if value is not None)
    return measure + f"({listed})" * bool(listed) + ("" if settings.k is None else f"@{settings.k}")


def _defaults(definition: Measure) -> Settings:
    return Settings(
        match=HEADLINE if definition.matched and definition.group != "legacy" else None,
        of=next(iter(definition.of), None),
        agg=next(iter(definition.forms)),
        k=definition.k,
    )


def _find(name: str, match: Policy | None, text: str) -> Measure:
    """The measure of a name; the sources' own go by the same names and are told apart by their policy."""
    known = LEGACY if match is not None and match.is_legacy else MEASURES
    if name in known:
        return known[name]
    folded = {other.casefold(): other for other in known} | ({} if known is LEGACY else _ELSEWHERE)
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
    raise MetricError(
        f"there is no metric {name!r}" + (f" under {match}" if known is LEGACY else ""),
        fix=f"did you mean {_corrected(text, name, known[folded[near[0]]], match)!r}"
        if near
        else f"use one of {_listed(known)}",
    )


def _corrected(text: str, name: str, meant: Measure, match: Policy | None) -> str:
    """The text with another name, if that can be read; else the nearest that can."""
    renamed = text.replace(name, meant.name, 1)
    for written in (renamed, renamed.partition("@")[0]):
        try:
            Metric.parse(written)
        except MetricError:
            continue
        return written
    default = _defaults(meant)
    return _written(meant.name, replace(default, match=match or default.match) if meant.matched else default)


def _settings(text: str, inside: str, start: int) -> dict[str, str]:
    """The settings between the brackets, which begin at a position of the text."""
    settings: dict[str, str] = {}
    place = 0
    while place < len(inside):
        found = _SETTING.match(inside, place)
        if found is None:
            raise _unread(text, start + place)
        key = found["key"]
        where = f"{text!r}, character {start + found.start('key') + 1}"
        if key not in ("match", "of", "agg"):
            near = get_close_matches(key, ("match", "of", "agg"), n=1)
            fix = f"did you mean {near[0]!r}" if near else "the settings are match, of and agg"
            raise MetricError(f"there is no setting {key!r} in {where}", fix=fix)
        if key in settings:
            raise MetricError(f"{key} is set twice in {where}", fix="keep one")
        settings[key] = found["value"].strip()
        place = found.end()
    return settings


def _unread(text: str, place: int) -> MetricError:
    return MetricError(
        f"cannot read the metric {text!r} from character {place + 1} on",
        fix="write NAME, NAME@K or NAME(SETTING=VALUE,...)@K, such as F1(match=alias,agg=macro)",
    )


def _choose(metric: Metric, setting: str, choices: Iterable[str | None]) -> None:
    """Raises MetricError unless a setting has one of the values a measure knows (none: it must be left out)."""
    choices = tuple(choices) or (None,)
    value = getattr(metric, setting)
    if value in choices:
        return
    if choices == (None,):
        raise MetricError(
            f"{metric.measure} has no {setting}", fix=_example(metric.measure, metric.definition)
        )
    raise MetricError(
        f"{metric.measure} has no {setting}={value}", fix=f"use one of {setting}={_listed(choices)}"
    )


def _example(name: str, definition: Measure) -> str:
    return f"write it like {_written(name, _defaults(definition))}"


def _listed(names: Iterable[str | None]) -> str:
    return ", ".join(str(name) for name in names)
