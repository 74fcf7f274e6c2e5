"""One commit: what a repository has to be like before, and what is sent to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
from pydantic import ValidationError

from clwqa_bench.console import Progress
from clwqa_bench.dataset import Manifest
from clwqa_builders.output.manifest import MANIFEST
from clwqa_builders.publish.errors import PublishError
from clwqa_builders.publish.hub import MAIN, Head, Hub
from clwqa_builders.publish.parcel import Parcel

BRANCH = re.compile(r"(?!refs/|[0-9a-f]{40}$)[A-Za-z0-9][A-Za-z0-9._/-]*")


@dataclass(frozen=True)
class Released:
    """Where a parcel is now: the commit, whether this run made it, and whether only its owners can read it."""

    commit: str
    committed: bool
    private: bool


def release(
    parcel: Parcel,
    hub: Hub,
    progress: Progress,
    *,
    branch: str = MAIN,
    public: bool = False,
    allow_update: bool = False,
) -> Released:
    """Put a parcel on a branch of a repository; both are made if they are not there.

    A branch that holds the parcel already stays as it is.  Commits go on top of what there is, never in its place.
    Raises PublishError if a branch holds something else and `allow_update` does not say that it may be changed, if
    the repository is more public than asked for; HubError if the Hub refuses.
    """
    if not BRANCH.fullmatch(branch):
        raise PublishError(f"{branch!r} is not a branch", fix="name a branch", field="--revision")
    main = hub.head()
    if main is None:
        hub.create(private=not public)
        main = _must(hub, MAIN)
    elif not main.private and not public:
        raise PublishError(
            f"the repository {hub.repo} is there and public",
            fix="add --public if everybody may read this, or name another repository",
            field="--public",
        )
    head = main if branch == MAIN else hub.head(branch)
    if head is None:
        hub.branch(branch, main)
        head = _must(hub, branch)
    changed = {
        name: path for name, path in parcel.files.items() if not head.holds(name, path, parcel.sha256(name))
    }
    if not changed:
        return Released(head.commit, False, head.private)
    is_new = head.is_empty or (branch != MAIN and head.commit == main.commit)
    if not is_new and not allow_update:
        raise PublishError(
            f"{hub.repo} ({branch}) has other content already: {_some(head)}",
            fix="add --allow-update for a commit on top of it, or --revision BRANCH, or name another repository",
            field="--repo",
        )
    progress.expect(sum(path.stat().st_size for path in changed.values()))
    digests = "\n".join(f"{name}: {digest}" for name, digest in parcel.manifest.content.items())
    message = (parcel.title, f"{digests}\n\nclwqa-bench {parcel.manifest.code_version}")
    commit = hub.commit(branch, head, changed, _left_over(parcel, hub, head), message, progress)
    return Released(commit, True, head.private)


def _must(hub: Hub, branch: str) -> Head:
    head = hub.head(branch)
    if head is None:
        raise PublishError(
            f"{hub.repo} ({branch}) was made and is not there", fix="run the same command again"
        )
    return head


def _some(head: Head, number: int = 3) -> str:
    names = sorted(head.files)
    return ", ".join(names[:number]) + (f" and {len(names) - number} more" if len(names) > number else "")


def _left_over(parcel: Parcel, hub: Hub, head: Head) -> list[str]:
    """Files of an earlier release that this one has no more; nobody else's files are touched, and none at all if the
    manifest that is there cannot be read."""
    if MANIFEST not in head.files:
        return []
    with TemporaryDirectory() as cache:
        try:
            earlier = Manifest.model_validate(
                orjson.loads(hub.fetch(MANIFEST, head.commit, Path(cache)).read_bytes())
            )
        except (orjson.JSONDecodeError, ValidationError):
            return []
    return sorted((earlier.files.keys() & head.files.keys()) - parcel.files.keys())
