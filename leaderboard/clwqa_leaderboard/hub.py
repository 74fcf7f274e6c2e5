"""Handing a bundle in as a pull request on a dataset repository of the Hugging Face Hub."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from clwqa_leaderboard.board import BUNDLE, board_key
from clwqa_leaderboard.errors import SubmissionError
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
    """The pull request that hands a bundle in: one file, at the place of its entry."""
    form, digest = submission.disclosure, submission.bundle.digest
    return PullRequest(
        repo=repo,
        path=f"submissions/{board_key(submission.manifest.dataset)}/{submission.id}/{BUNDLE}",
        title=f"Submission: {form.title}",
        description=f"{form.authors}\n\n{submission.manifest.title}\n\nSHA256SUMS: {digest}",
    )


def send(
    request: PullRequest, bundle: Path, endpoint: str | None = None, token: str | None = None
) -> PullRequest:
    """Open the pull request; the token is the one of `hf auth login` or HF_TOKEN if none is given.

    Raises SubmissionError for whatever the Hub refuses, without the token in it.
    """
    try:
        from huggingface_hub import CommitOperationAdd, HfApi
        from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError
    except ImportError:
        raise SubmissionError(
            "huggingface_hub is not installed",
            fix="pip install 'clwqa-bench[hub]', or hand the bundle in yourself",
        ) from None
    api = HfApi(endpoint=endpoint or os.environ.get("HF_ENDPOINT"), token=token)
    try:
        done = api.create_commit(
            request.repo,
            [CommitOperationAdd(request.path, bundle)],
            commit_message=request.title,
            commit_description=request.description,
            repo_type="dataset",
            create_pr=True,
        )
    except RepositoryNotFoundError:
        raise SubmissionError(
            f"the Hub has no dataset repository {request.repo}, or not for you",
            fix="check --repo ORG/NAME, and log in with `hf auth login`",
            field="--repo",
        ) from None
    except HFValidationError as error:
        raise SubmissionError(str(error), fix="write --repo ORG/NAME", field="--repo") from None
    except Exception as error:  # whatever its HTTP library raises, which is not the same one in every version
        raise SubmissionError(
            f"the Hub did not take it: {_reason(error)}",
            fix="log in with `hf auth login`, or try again later",
        ) from error
    return PullRequest(request.repo, request.path, request.title, request.description, done.pr_url)


def _reason(error: Exception) -> str:
    """What the server said; the request, whose headers hold the token, is not part of it."""
    said = getattr(error, "server_message", None) or str(error).splitlines()[0]
    response = getattr(error, "response", None)
    status = f"{response.status_code} " if response is not None else ""
    return f"{status}{said}"
