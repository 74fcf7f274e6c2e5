"""A run on the tiny dataset's test split (q5: 史记, q6: 汉), its bundle, and ways to tamper with it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from clwqa_bench.dataset import Dataset
from clwqa_bench.predictions import RunManifest
from clwqa_bench.runs import dataset_ref
from clwqa_leaderboard.board import Judge, Stored, add
from clwqa_leaderboard.disclosure import Disclosure, read_form
from clwqa_leaderboard.packing import pack
from clwqa_leaderboard.submission import opened

needs_ssh = pytest.mark.skipif(
    not (shutil.which("ssh-keygen") or os.environ.get("CI")),
    reason="OpenSSH is not installed; continuous integration fails without it",
)
USAGE = {"answer": {"calls": 1, "seconds": 0.5, "tokens_in": 100, "tokens_out": 10}}
Q5: dict[str, Any] = {
    "schema_version": 1,
    "id": "q5",
    "status": "ok",
    "ranked": True,
    "answers": [{"text": "史记", "entity_id": "book:史记"}],
    "usage": USAGE,
    "trace": [{"stage": "link", "entities": ["word:四面楚歌"]}],
}
Q6: dict[str, Any] = {**Q5, "id": "q6", "answers": [{"text": "战国"}], "trace": []}

FORM = """
schema_version = 1
title = "查图"
authors = "A. Author"
date = 2026-11-30
code = "open"
model = "none"
description = "Reads the graph."
training = "None."
test_seen = "no"
knowledge = "None."
hardware = "Two cores."
"""


@dataclass(frozen=True)
class Scene:
    """A dataset with its gold, and a folder to work in."""

    folder: Path
    dataset: Dataset
    judge: Judge

    @classmethod
    def of(cls, folder: Path, dataset: Dataset, gold: Path | None = None) -> Scene:
        return cls(folder, dataset, Judge.of(dataset, "test", gold))

    @property
    def submissions(self) -> Path:
        return self.folder / "submissions"

    def manifest(self, **changes: Any) -> RunManifest:
        ref = dataset_ref(self.dataset, "test")
        fields = {"system": "demo", "dataset": ref, "code_version": "1", "backbone": "none/lexical"}
        return RunManifest(**{**fields, **changes})

    def run(self, name: str = "run", *lines: Any, **manifest: Any) -> Path:
        """A run folder with these predictions: Q5 and Q6 if none are given."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "run.json").write_text(self.manifest(**manifest).model_dump_json(), encoding="utf-8")
        rows = [json.dumps(row, ensure_ascii=False) + "\n" for row in lines or (Q5, Q6)]
        (folder / "items.jsonl").write_text("".join(rows), encoding="utf-8")
        return folder

    def form(self, text: str = FORM) -> Disclosure:
        path = self.folder / "form.toml"
        path.write_text(text, encoding="utf-8")
        return read_form(path)

    def bundle(self, *lines: Any, name: str = "demo", **manifest: Any) -> Path:
        """A bundle of such a run; its scores are left out where the run cannot be scored."""
        run = self.run(f"run-{name}", *lines, **manifest)
        return pack(run, self.form(), self.folder / f"{name}.zip")

    def scored_bundle(self, name: str = "demo") -> Path:
        return pack(self.run(f"run-{name}"), self.form(), self.folder / f"{name}.zip", gold=self.judge.gold)

    def add(self, bundle: Path, standing: Any = "ranked") -> Stored:
        with opened(bundle) as submission:
            return add(submission, self.judge, self.submissions, standing)

    def board(self) -> dict[str, bytes]:
        """Every file of all boards, so that a test can say that nothing has changed."""
        files = self.submissions.rglob("*") if self.submissions.exists() else ()
        return {str(path): path.read_bytes() for path in files if path.is_file()}


def contents(bundle: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def tampered(
    bundle: Path,
    change: Callable[[dict[str, bytes]], None],
    *,
    honest_sums: bool = True,
    name: str = "bad.zip",
) -> Path:
    """A copy of a bundle with its files changed; the attacker corrects SHA256SUMS unless told not to."""
    files = contents(bundle)
    change(files)
    if honest_sums:
        listed = {n: c for n, c in files.items() if not n.startswith("SHA256SUMS")}
        files["SHA256SUMS"] = "".join(
            f"{hashlib.sha256(listed[n]).hexdigest()}  {n}\n" for n in sorted(listed)
        ).encode()
    return zipped(bundle.with_name(name), files)


def zipped(path: Path, files: Mapping[str, bytes] | list[tuple[zipfile.ZipInfo | str, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items() if isinstance(files, Mapping) else files:
            archive.writestr(name, content)
    return path


def rows(*predictions: Mapping[str, Any]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in predictions)


def bare(prediction: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """A prediction as it stands in a bundle, without its trace."""
    return {key: value for key, value in prediction.items() if key != "trace"} | changes
