"""The Hugging Face Hub, as everything that sends to it needs it: who asks, and what a fault of it says.

What the client library raises holds the request, whose headers hold the token, and quotes addresses that let in whoever
has them: presigned ones, by what stands behind their `?`.  Out of here comes a HubError in the Hub's own words, with
neither of them in it and no way back to the request.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

from clwqa_bench.errors import ClwqaError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

EXTRA = "pip install 'clwqa-bench[hub]'"
LOG_IN = "log in with `hf auth login`, or set HF_TOKEN to a token that may write"
QUERY = re.compile(r"\?\S+")
REPO = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]{0,94}[A-Za-z0-9])?")


class HubError(ClwqaError):
    """What the Hub refuses, or a Hub that cannot be reached."""


def refuse_name(repo: str) -> None:
    """Raise HubError unless a repository may be called that: ORG/NAME of letters, digits and . _ -."""
    if not REPO.fullmatch(repo) or ".." in repo or "--" in repo or repo.endswith(".git"):
        raise HubError(
            f"{repo!r} cannot be the name of a repository",
            fix="write ORG/NAME with letters, digits and single . _ - between them",
            field="--repo",
        )


def connect() -> HfApi:
    """The client of the Hub (HF_ENDPOINT, by default huggingface.co), with the token of `hf auth login` or HF_TOKEN.

    Nothing is asked yet.  Raises HubError without the client library or a token.
    """
    try:
        from huggingface_hub import HfApi, get_token
    except ImportError:
        raise HubError("huggingface_hub is not installed", fix=EXTRA) from None
    token = get_token()
    if not token:
        raise HubError("no token for the Hub", fix=LOG_IN)
    return HfApi(endpoint=os.environ.get("HF_ENDPOINT"), token=token, library_name="clwqa-bench")


@contextmanager
def asking(api: HfApi, doing: str, repo: str, *, again: str = "try again later") -> Iterator[None]:
    """Ask the Hub for something: `doing` and `repo` make the phrase "could not ... ORG/NAME".

    `again` is the fix where nothing but another attempt may help.  Raises HubError for whatever the client raises.
    """
    import huggingface_hub

    try:
        with quiet(huggingface_hub.utils):
            yield
    except ClwqaError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the HTTP library of this version raises
        raise _fault(error, str(api.token), doing, repo, again) from None


def reason(error: BaseException, token: str = "") -> str:
    """What an exception of the client says, in one line: without the token and without queries of addresses.

    An exception without a message is called by its type.
    """
    lines = str(getattr(error, "server_message", None) or error).strip().splitlines()
    said = lines[0] if lines else ""
    return QUERY.sub("", said.replace(token, "***") if token else said) or type(error).__name__


def _fault(error: BaseException, token: str, doing: str, repo: str, again: str) -> HubError:
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    while error.__cause__ is not None and getattr(error, "response", None) is None:
        error = error.__cause__  # what a helper of the client wrapped
    response = getattr(error, "response", None)
    status = None if response is None else response.status_code
    said = reason(error, token) if status is None else f"{status} {reason(error, token)}"
    if isinstance(error, HFValidationError):
        return HubError(said, fix="write --repo ORG/NAME", field="--repo")
    if isinstance(error, RepositoryNotFoundError):
        return HubError(
            f"the Hub has no dataset repository {repo}, or not for you: {said}",
            fix=f"check --repo ORG/NAME, and {LOG_IN}",
            field="--repo",
        )
    if status == 401:
        return HubError("the Hub does not accept this token", fix=LOG_IN)
    if status == 403:
        owner = repo.partition("/")[0]
        return HubError(f"this token may not {doing} {repo}: {said}", fix=f"{LOG_IN} for {owner}")
    return HubError(f"could not {doing} {repo}: {said}", fix=again)


@contextmanager
def quiet(library: ModuleType) -> Iterator[None]:
    """Without the bars of `huggingface_hub.utils` or `datasets.utils`: our own is enough."""
    if library.are_progress_bars_disabled():
        yield
        return
    library.disable_progress_bars()
    try:
        yield
    finally:
        library.enable_progress_bars()
