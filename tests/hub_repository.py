"""What a Hub on the loopback interface keeps: repositories as commits, and files as git and git-lfs name them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

LFS = re.compile(r"\.(zip|parquet|gz|arrow)$")  # kinds of files the Hub keeps as LFS objects
LFS_BYTES = 10_000_000  # and those of any kind that are larger


@dataclass
class Commit:
    """A state of a repository and how it came about."""

    oid: str
    title: str
    description: str
    files: Mapping[str, bytes]
    parent: str | None = None


@dataclass
class Repository:
    """A dataset repository: commits by hash, and the hash every branch or pull request points to."""

    name: str
    private: bool = False
    commits: dict[str, Commit] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.commit("main", "initial commit", "", {".gitattributes": b""})

    @property
    def pull_requests(self) -> list[str]:
        return [ref for ref in self.refs if ref.startswith("refs/pr/")]

    def at(self, revision: str) -> Commit | None:
        """The commit of a hash, branch or pull request."""
        return self.commits.get(self.refs.get(revision, revision))

    def files(self, revision: str = "main") -> Mapping[str, bytes]:
        commit = self.at(revision)
        assert commit is not None, f"no revision {revision}"
        return commit.files

    def history(self, ref: str = "main") -> list[Commit]:
        """The commits of a branch or pull request, newest first."""
        commits, commit = [], self.at(ref)
        while commit is not None:
            commits.append(commit)
            commit = self.commits[commit.parent] if commit.parent else None
        return commits

    def commit(
        self, ref: str, title: str, description: str, files: Mapping[str, bytes], parent: str | None = None
    ) -> Commit:
        """Put a commit on top of `ref`; a new pull request starts at `parent`."""
        parent = self.refs.get(ref, parent)
        content = repr((parent, title, sorted((path, sha256(file)) for path, file in files.items())))
        made = Commit(hashlib.sha1(content.encode()).hexdigest(), title, description, files, parent)
        self.commits[made.oid], self.refs[ref] = made, made.oid
        return made


def listed(path: str, content: bytes) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "file", "path": path, "oid": git_oid(content), "size": len(content)}
    if is_lfs(path, len(content)):
        entry["lfs"] = {"oid": sha256(content), "size": len(content), "pointerSize": 130}
    return entry


def is_lfs(path: str, size: int) -> bool:
    return bool(LFS.search(path)) or size > LFS_BYTES


@lru_cache  # a file of 100 MB is asked for often
def git_oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@lru_cache
def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
