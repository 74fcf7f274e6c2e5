"""A dataset repository on the Hugging Face Hub, as far as publishing needs one.

Every fault comes out as a HubError in the Hub's own words, and never with the token in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clwqa_bench.console import Progress
from clwqa_bench.hub import EXTRA, asking, connect
from clwqa_builders.publish.errors import PublishError

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile

MAIN = "main"
KIND: Any = "dataset"
OWN = (".gitattributes",)  # what the Hub itself puts into a new repository
LARGE = 1 << 20  # bytes from which a file is sent by itself; smaller ones go with the commit
AGAIN = "run the same command again, it goes on where it stopped"


@dataclass(frozen=True)
class Head:
    """What a branch points to: a commit, and its files."""

    commit: str
    private: bool
    files: Mapping[str, RepoFile]

    @property
    def is_empty(self) -> bool:
        """Whether nobody has put anything there."""
        return not self.files.keys() - set(OWN)

    def holds(self, name: str, path: Path, sha256: str) -> bool:
        """Whether a file is there with the content of `path`, whose digest that is."""
        found = self.files.get(name)
        if found is None or found.size != path.stat().st_size:
            return False
        return found.lfs.sha256 == sha256 if found.lfs else found.blob_id == _git_oid(path)


@dataclass(frozen=True)
class Hub:
    """One dataset repository, as the token that is used for it sees it."""

    repo: str
    api: HfApi

    @classmethod
    def connect(cls, repo: str) -> Hub:
        """The repository at the Hub that `clwqa_bench.hub.connect` knows.

        Nothing is asked yet.  Raises HubError without the client library or a token, PublishError without `datasets`.
        """
        try:
            import datasets  # noqa: F401  what was published is read with it
        except ImportError as error:
            raise PublishError(f"{error.name} is not installed", fix=EXTRA) from None
        return cls(repo, connect())

    @property
    def page(self) -> str:
        """Address of the repository."""
        return f"{self.api.endpoint}/datasets/{self.repo}"

    def head(self, branch: str = MAIN) -> Head | None:
        """What a branch points to; None if there is no such repository, or it has no such branch."""
        from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
        from huggingface_hub.hf_api import RepoFile

        with self._asking("look at"):
            try:
                info = self.api.dataset_info(self.repo, revision=branch)
                listed = self.api.list_repo_tree(
                    self.repo, recursive=True, revision=str(info.sha), repo_type=KIND
                )
                files = {entry.path: entry for entry in listed if isinstance(entry, RepoFile)}
            except (RepositoryNotFoundError, RevisionNotFoundError):
                return None
        return Head(str(info.sha), bool(info.private), files)

    def create(self, private: bool) -> None:
        """Make the repository."""
        with self._asking("create"):
            self.api.create_repo(self.repo, repo_type=KIND, private=private)

    def branch(self, name: str, at: Head) -> None:
        """Make a branch."""
        with self._asking("make a branch in"):
            self.api.create_branch(self.repo, branch=name, revision=at.commit, repo_type=KIND)

    def commit(
        self,
        branch: str,
        onto: Head,
        changed: Mapping[str, Path],
        removed: list[str],
        message: tuple[str, str],
        progress: Progress,
    ) -> str:
        """Upload files and put them on a branch in one commit; its hash.

        Content that arrived earlier, in an attempt that failed, is not sent again.  `progress` advances by bytes.
        Raises HubError, with no commit made, also if the branch has moved on since `onto`.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        with self._asking("upload to"):
            additions = [CommitOperationAdd(name, path) for name, path in changed.items()]
            for addition in sorted(additions, key=lambda each: each.upload_info.size):
                size = addition.upload_info.size
                if size >= LARGE:
                    progress.note(f"{addition.path_in_repo}, {size / 1e6:,.1f} MB")
                    self.api.preupload_lfs_files(
                        self.repo, [addition], repo_type=KIND, revision=branch, free_memory=False
                    )
                progress.advance(size)
            done = self.api.create_commit(
                self.repo,
                [*additions, *(CommitOperationDelete(name, is_folder=False) for name in removed)],
                commit_message=message[0],
                commit_description=message[1],
                repo_type=KIND,
                revision=branch,
                parent_commit=onto.commit,
            )
        return done.oid

    def fetch(self, name: str, commit: str, cache: Path) -> Path:
        """Download a file as it is in a commit; `cache` holds nothing but what is fetched here."""
        with self._asking("download from"):
            path = self.api.hf_hub_download(
                self.repo, name, repo_type=KIND, revision=commit, cache_dir=cache, force_download=True
            )
        return Path(path)

    def _asking(self, doing: str) -> AbstractContextManager[None]:
        return asking(self.api, doing, self.repo, again=AGAIN)


def _git_oid(path: Path) -> str:
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
