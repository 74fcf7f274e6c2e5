"""Where each question was lost: one stage per question, so the counts sum to the number of questions.

A stage lost a question if it is the first whose outcome no longer supports the answer.  Evidence that still does
proves that no stage before it lost anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from clwqa_bench.diagnostics.elements import marks_by_fit
from clwqa_bench.diagnostics.indicators import Case, Findings, first_right
from clwqa_bench.diagnostics.support import Holds
from clwqa_bench.diagnostics.trace import Checkpoint
from clwqa_bench.errors import MetricError
from clwqa_bench.grid import OUTCOMES, GoldQuestion
from clwqa_bench.metrics.shown import is_carried

Loss = Literal["hits", "recall"]
"""A question is lost if its first answer is wrong, or if any gold answer is missing."""

RIGHT, UNSUPPORTED, UNKNOWN = "right", "right, unsupported", "not recorded"
STAGES = ("linking", "elements", "retrieval", "ranking", "answering")
BROKEN = ("missing", "skipped", "error", "timeout")  # outcomes that are a loss by themselves


@dataclass(frozen=True, slots=True)
class Share:
    """A stage, the questions it lost, and their share in per cent."""

    stage: str
    count: int
    percent: float


def largest_remainder(counts: Sequence[int], places: int = 1) -> tuple[float, ...]:
    """Shares in per cent, rounded to `places` decimals so that they sum to 100 (all 0 if there is nothing).

    Every share is rounded down, and the units left over go to the largest remainders, earlier ones first
    (Hamilton's method).
    """
    total, units = sum(counts), 100 * 10**places
    if total == 0:
        return (0.0,) * len(counts)
    floors = [count * units // total for count in counts]
    by_remainder = sorted(range(len(counts)), key=lambda i: -(counts[i] * units % total))
    for i in by_remainder[: units - sum(floors)]:
        floors[i] += 1
    return tuple(floor / 10**places for floor in floors)


def stage_names(traced: Iterable[Checkpoint]) -> dict[str, str]:
    """What the stages are called: one that was not traced is merged into the next that was ("linking or retrieval").

    Elements are left out rather than merged where no labels are traced: most systems choose none.
    """
    seen = {
        checkpoint.replace("anchor labels", "elements").replace("target label", "elements")
        for checkpoint in traced
    }
    names, waiting = {}, list[str]()
    for stage in STAGES:
        if stage == "elements" and stage not in seen:
            continue
        waiting.append(stage)
        if stage in seen or stage == "answering":
            *before, last = waiting
            names[stage] = " or ".join(([", ".join(before)] if before else []) + [last])
            waiting = []
    return names


def attribute(case: Case, loss: Loss = "hits") -> tuple[str, ...]:
    """The stage that lost each question, or RIGHT, UNSUPPORTED or UNKNOWN; in the order of the gold's questions.

    Raises MetricError when the first answer is asked for and answers have no order.
    """
    if loss == "hits" and case.grid.unranked:
        raise MetricError(
            f"{len(case.grid.unranked)} predictions list several answers in no declared order, so none is the first",
            fix="use --loss recall, or set ranked=true if the order is the system's own ranking",
        )
    matches = case.grid.matches(case.policy)
    right = first_right(case) if loss == "hits" else matches.right == matches.golds
    judge = _Judge(case, loss, stage_names(case.trails.traced))
    return tuple(judge.right(row) if right[row] else judge.lost(row) for row in range(len(case.grid)))


@dataclass(frozen=True)
class _Judge:
    case: Case
    loss: Loss
    names: Mapping[str, str]

    def right(self, row: int) -> str:
        """Right; unsupported if evidence is recorded in this run and none of it holds a right answer."""
        if self.case.trails.traced.isdisjoint({"retrieval", "ranking"}):
            return RIGHT
        found = self.case.findings[row]
        return RIGHT if found and self._is_supported(row, found) else UNSUPPORTED

    def _is_supported(self, row: int, found: Findings) -> bool:
        """Whether a credited answer, or the gold it was credited to, is in the evidence that was left in the end."""
        trail = found.trail
        held, pool = (found.kept, trail.kept) if found.kept else (found.retrieved, trail.retrieved)
        if held is None or pool is None:
            return False
        grid, nodes, wordings = self.case.grid, pool.nodes, pool.wordings
        match = grid.match(row, self.case.policy)
        return any(
            found.question.answers[gold].entity_id in held.reached
            or is_carried(grid, row, grid.answers[row][item], nodes, wordings)
            for item, gold in zip(match.items, match.credited, strict=True)
            if gold is not None
        )

    def lost(self, row: int) -> str:
        outcome, found = self.case.grid.outcomes[row], self.case.findings[row]
        if outcome in BROKEN or (found is None and outcome != "ok"):
            return f"no answer ({outcome})"
        if found is None:
            return UNKNOWN
        for stage, passed in self._checks(found).items():
            if stage in self.names and passed is not True:
                return UNKNOWN if passed is None else self.names[stage]
        if outcome != "ok":
            return f"{self.names['answering']} ({outcome})"
        return "matching" if self._is_residue(row) else self.names["answering"]

    def _checks(self, found: Findings) -> dict[str, bool | None]:
        """Whether the answer was still within reach after each stage; None if unknown."""
        question = found.question
        anchors = {anchor.entity_id for anchor in question.anchors}
        linked = found.trail.linked
        marks = marks_by_fit(question, found.trail, self.case.trails.traced, self.case.support.ontology)
        checks: dict[str, bool | None] = {
            "linking": None if linked is None else anchors <= linked,
            "elements": None if marks is None else all(map(any, marks)),
            "retrieval": self._within(question, found.retrieved),
            "ranking": self._within(question, found.kept),
        }
        proven = max((i for i, stage in enumerate(checks) if i >= 2 and checks[stage]), default=-1)
        return {stage: True if i <= proven else passed for i, (stage, passed) in enumerate(checks.items())}

    def _within(self, question: GoldQuestion, held: Holds | None) -> bool | None:
        """Whether evidence supports what is asked for from every anchor: a gold answer, or for recall all of them."""
        if held is None:
            return None
        golds = {answer.entity_id for answer in question.answers}
        return bool(held.whole) if self.loss == "hits" else golds <= held.whole

    def _is_residue(self, row: int) -> bool:
        """Whether an answer would have been right but for matching: others bear its name, or no judge ruled on it."""
        match = self.case.grid.match(row, self.case.policy)
        looked_at = match.items[:1] if self.loss == "hits" else match.items
        return bool(match.unjudged or set(looked_at) & set(match.ambiguous))


def waterfall(stages: Iterable[str], traced: Iterable[Checkpoint]) -> tuple[Share, ...]:
    """Counts and shares by stage in the order of the pipeline; every stage that was traced has a row, others if they
    occur.  The counts sum to the number of questions, the percentages to 100.0.
    """
    counts = Counter(stages)
    names = stage_names(traced)
    order = [RIGHT, UNSUPPORTED, *(f"no answer ({o})" for o in OUTCOMES), *names.values()]
    order += [*(f"{names['answering']} ({o})" for o in OUTCOMES), "matching", UNKNOWN]
    shown = [stage for stage in order if counts[stage] or stage == RIGHT or stage in names.values()]
    percents = largest_remainder([counts[stage] for stage in shown])
    return tuple(Share(s, counts[s], percent) for s, percent in zip(shown, percents, strict=True))
