"""Which entry takes the place of another: a better run, or the same one with its form corrected.

Anybody can write the id of an entry into a form.  It counts where one key signed both, or where the maintainers say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clwqa_leaderboard.entry import Entry
from clwqa_leaderboard.probes import Standing
from clwqa_leaderboard.submission import Submission


@dataclass(frozen=True, slots=True)
class Claim:
    """Whose an entry is, how it stands, and which one it replaces: as its form says, as the maintainers say."""

    signed_by: str
    standing: Standing
    named: str
    granted: str

    @classmethod
    def of(cls, entry: Entry) -> Claim:
        return cls(entry.signed_by, entry.standing, entry.disclosure.supersedes, entry.supersedes)

    @classmethod
    def made(cls, submission: Submission, standing: Standing, granted: str) -> Claim:
        """That of the entry which a submission would become."""
        return cls(submission.signed_by, standing, submission.disclosure.supersedes, granted)


def predecessor(claim: Claim, claims: Mapping[str, Claim]) -> str:
    """Id of the entry whose place is taken, "" if there is none; `claims` are those of the board, by id."""
    if claim.granted in claims:
        return claim.granted
    old = claims.get(claim.named)
    if old is None or not claim.signed_by:
        return ""
    same = (old.signed_by, old.standing) == (claim.signed_by, claim.standing)
    return claim.named if same else ""


def predecessors(claim: Claim, claims: Mapping[str, Claim]) -> frozenset[str]:
    """Ids of the entry whose place is taken, of the one before that, and so on."""
    found: set[str] = set()
    while (id := predecessor(claim, claims)) and id not in found:
        found.add(id)
        claim = claims[id]
    return frozenset(found)


def related(id: str, claim: Claim, claims: Mapping[str, Claim]) -> frozenset[str]:
    """Ids of the entries that this one came after or before: they may have the same answers."""
    after = {other for other, its in claims.items() if id in predecessors(its, claims)}
    return predecessors(claim, claims) | after
