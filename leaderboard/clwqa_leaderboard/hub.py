"""Handing a bundle in as a pull request on a dataset repository of the Hugging Face Hub."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from clwqa_bench.hub import asking, connect, refuse_name
from clwqa_leaderboard.board import BUNDLE, board_key
from clwqa_leaderboard.submission import Submission


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What is sent, and the pull request it became (None if nothing was sent)."""

    repo: str
    path: str
    title: str
    description: str
    url: str | None = None


def proposal(submission: Submission, repo: str) -> PullRequest:
    """The pull request that hands a bundle in: one file, at the place of its entry.

    Raises HubError for a name that no repository has.
    """
    refuse_name(repo)
    form, digest = submission.disclosure, submission.bundle.digest
    return PullRequest(
        repo=repo,
        path=f"submissions/{board_key(submission.manifest.dataset)}/{submission.id}/{BUNDLE}",
        title=f"Submission: {form.title}",
        description=f"{form.authors}\n\n{submission.manifest.title}\n\nSHA256SUMS: {digest}",
    )


def send(request: PullRequest, bundle: Path) -> PullRequest:
    """Open the pull request.  Raises HubError for whatever the Hub refuses."""
    api = connect()
    with asking(api, "open a pull request on", request.repo):
        from huggingface_hub import CommitOperationAdd

        done = api.create_commit(
            request.repo,
            [CommitOperationAdd(request.path, bundle)],
            commit_message=request.title,
            commit_description=request.description,
            repo_type="dataset",
            create_pr=True,
        )
    return replace(request, url=done.pr_url)
