"""Verification: a submission is scored again from its predictions, held against what it claims, and probed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clwqa_bench.errors import ValidationFailed
from clwqa_bench.grid import Gold
from clwqa_bench.scoring import Scored, ScoreTable
from clwqa_leaderboard.bundle import SCORES
from clwqa_leaderboard.probes import Case, Finding, Marks, Standing, Traces, probe
from clwqa_leaderboard.scores import contradictions, of_the_board, scored
from clwqa_leaderboard.submission import Submission


class Rejected(ValidationFailed):
    """A bundle that can be read and that no board takes (exit code 1)."""


@dataclass(frozen=True)
class Verified:
    """A submission with the scores computed here, and everything the probes found.

    `supersedes` is the entry whose place the maintainers gave it, "" if none.
    """

    submission: Submission
    scored: Scored
    marks: Marks
    traces: Traces
    standing: Standing
    supersedes: str
    findings: tuple[Finding, ...]

    @property
    def table(self) -> ScoreTable:
        return self.scored.table

    @property
    def rejections(self) -> tuple[Finding, ...]:
        """Why it cannot be on the board; none if it can."""
        return tuple(finding for finding in self.findings if finding.level == "reject")

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """What readers of the board should know."""
        return tuple(finding for finding in self.findings if finding.level == "remark")

    def insist(self) -> None:
        """Raises Rejected, with the reasons, if there are any."""
        if found := self.rejections:
            raise Rejected(
                "; ".join(f"{finding.probe}: {finding.what}" for finding in found),
                fix=found[0].fix,
                file=self.submission.bundle.path,
            )


def verify(
    submission: Submission,
    gold: Gold,
    others: Mapping[str, Marks] | None = None,
    standing: Standing = "ranked",
    *,
    supersedes: str = "",
    withheld: bool = False,
) -> Verified:
    """Score a submission again and look it over; `others` are the marks of entries whose answers it must not have.

    Pure: the same bundle and gold give the same result.  Raises PredictionError where nothing can be scored: another
    data version or split, ids outside of it, two predictions for one question, a shard; SubmissionError for traces
    that are not the run's.
    """
    grid = submission.run.on(of_the_board(gold))
    result = scored(grid, submission.manifest, submission.run.notes)
    case = Case(submission.manifest, grid, others or {}, submission.traces(), withheld)
    found = (*_edited(submission, result.table), *_contradicted(submission), *probe(case, standing))
    return Verified(submission, result, case.marks, case.traces, standing, supersedes, found)


def _edited(submission: Submission, table: ScoreTable) -> Iterator[Finding]:
    """Stored scores that are not those of the predictions."""
    for what in contradictions(submission.claims, table) if submission.claims else ():
        yield Finding(
            probe="scores",
            level="reject",
            what=f"{SCORES} does not agree with the predictions: {what}",
            fix="pack the run again; scores are never taken from a bundle",
        )


def _contradicted(submission: Submission) -> Iterator[Finding]:
    """A form and a manifest that name a language model, and none."""
    backbone, model = submission.manifest.backbone, submission.disclosure.model
    if backbone.startswith("none/") != (model == "none"):
        yield Finding(
            probe="disclosure",
            level="reject",
            what=f"the form says model = {model!r}, the run says {backbone}",
            fix="fill in the form for this run, and pack again",
        )
