"""The five stage indicators (seed paper sec. 5.5.4) and answer accuracy given coverage, as columns per question.

They are what a metric is to scoring: numbers per question and a mask of the questions they are defined on, so the
same intervals go with them.  One that the run did not trace has no questions; it is never 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clwqa_bench.diagnostics.elements import marks_by_fit, marks_by_reference, mean_mark
from clwqa_bench.diagnostics.support import Holds, Support
from clwqa_bench.diagnostics.trace import Checkpoint, Trail, Trails
from clwqa_bench.grid import GoldQuestion, Grid
from clwqa_bench.matching import Policy
from clwqa_bench.metrics import Columns
from clwqa_bench.metrics.measure import Mask


@dataclass(frozen=True, slots=True)
class Findings:
    """A question's trail held against its gold; None where nothing is known."""

    question: GoldQuestion
    trail: Trail
    retrieved: Holds | None
    kept: Holds | None


@dataclass(frozen=True)
class Case:
    """A run with everything the indicators and the waterfall look at, question by question."""

    grid: Grid
    trails: Trails
    support: Support
    policy: Policy

    @cached_property
    def findings(self) -> tuple[Findings | None, ...]:
        """One per question; None where nothing was recorded."""
        return tuple(map(self._find, self.grid.gold.questions, self.trails.of))

    def _find(self, question: GoldQuestion, trail: Trail | None) -> Findings | None:
        if trail is None:
            return None
        held = [
            None if pool is None else self.support.holds(question, pool)
            for pool in (trail.retrieved, trail.kept)
        ]
        return Findings(question, trail, *held)


Value = Callable[[Findings], float | None]
"""What an indicator says of one question, None where it is not defined."""


@dataclass(frozen=True)
class Indicator:
    """One indicator of one run: `columns` as metrics have them, and what was not recorded if that leaves it empty."""

    name: str
    label: str
    columns: Columns
    lacks: str | None = None


def indicators(case: Case) -> tuple[Indicator, ...]:
    """All indicators of a run, the five of the paper first numbered as there."""
    traced, ontology = case.trails.traced, case.support.ontology

    def measure(name: str, label: str, value: Value, *needs: Checkpoint) -> Indicator:
        lacks = None if traced & set(needs) else " or ".join(needs)
        found = [None if lacks or f is None else value(f) for f in case.findings]
        return Indicator(name, label, _columns(found), lacks)

    def match(found: Findings) -> float | None:
        return mean_mark(marks_by_reference(found.question, found.trail, traced, ontology))

    def fit(found: Findings) -> float | None:
        return mean_mark(marks_by_fit(found.question, found.trail, traced, ontology))

    labels: tuple[Checkpoint, ...] = ("anchor labels", "target label")
    return (
        measure("anchor-f1", "(i) anchor entities, F1", anchor_f1, "linking"),
        measure("element-match", "(ii) element labels, the reference", match, *labels),
        measure("element-fit", "element labels, any that fit", fit, *labels),
        measure("coverage", "(iii) supporting path retrieved", coverage, "retrieval"),
        measure("coverage-loose", "gold answer retrieved by any path", coverage_loose, "retrieval"),
        measure("retention", "(iv) supporting path kept, if retrieved", retention, "ranking"),
        measure("complete", "(v) all answers retrieved, if several", complete, "retrieval"),
        *_accuracy(case),
    )


def _columns(values: Iterable[float | None]) -> Columns:
    listed = list(values)
    applies = np.fromiter((value is not None for value in listed), bool, len(listed))
    return Columns.of([value or 0.0 for value in listed], applies=applies)


# ---------------------------------------------------------------------- what an indicator says of one question


def anchor_f1(found: Findings) -> float | None:
    """F1 of the set of entities linked against the set of gold anchors."""
    linked, gold = found.trail.linked, {anchor.entity_id for anchor in found.question.anchors}
    if linked is None or not gold:
        return None
    return 2 * len(linked & gold) / (len(linked) + len(gold))


def coverage(found: Findings) -> float | None:
    """1 if a retrieved path supports the answer."""
    return None if found.retrieved is None else float(bool(found.retrieved.supported))


def coverage_loose(found: Findings) -> float | None:
    """1 if a gold answer occurs in what was retrieved, whatever led there."""
    return None if found.retrieved is None else float(bool(found.retrieved.reached))


def retention(found: Findings) -> float | None:
    """1 if a supporting path outlived the ranking; defined where one had been retrieved."""
    if found.retrieved is None or not found.retrieved.supported or found.kept is None:
        return None
    return float(bool(found.kept.supported))


def complete(found: Findings) -> float | None:
    """1 if every gold answer was retrieved; defined on questions with several."""
    golds = {answer.entity_id for answer in found.question.answers}
    if found.retrieved is None or len(golds) < 2:
        return None
    return float(golds <= found.retrieved.reached)


def _accuracy(case: Case) -> tuple[Indicator, ...]:
    """Hits@1 and F1 on the questions whose supporting path was retrieved, or shown if only that is recorded."""
    grid, matches = case.grid, case.grid.matches(case.policy)
    held = [f and (f.retrieved if "retrieval" in case.trails.traced else f.kept) for f in case.findings]
    covered = np.fromiter((bool(h and h.supported) for h in held), bool, len(grid))
    lacks = None if case.trails.traced & {"retrieval", "ranking"} else "retrieval or ranking"
    hits, f1 = first_right(case), 2 * matches.right / (matches.items + matches.golds)
    ranked = np.zeros(len(grid), bool) if grid.unranked else covered
    why = lacks or ("a ranking of the answers" if grid.unranked else None)
    return (
        Indicator("hits-if-covered", "Hits@1, if retrieved", Columns.of(hits, applies=ranked), why),
        Indicator("f1-if-covered", "F1, if retrieved", Columns.of(f1, applies=covered), lacks),
    )


def first_right(case: Case) -> Mask:
    """Which questions have a right answer at rank 1; shape (questions,)."""
    matches = case.grid.matches(case.policy)
    right = np.zeros(len(case.grid), bool)
    right[matches.rows[matches.ranks == 1]] = True
    return right
