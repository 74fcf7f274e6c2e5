"""Put the project's own runs on its board.

    python leaderboard/own_board.py EXPERIMENTS...    # folders that `clwqa-bench experiment` made, with `runs` in them

Every run of a system in `own_board.toml` is packed thin, verified and added; it takes the place of the entry that the
same system, back-end and sample had before.  Bundles are kept in EXPERIMENTS/bundles, so that a command that was
stopped goes on where it was.  Runs with other settings than the defaults, or with gold in some stage, have no entry.
"""

from __future__ import annotations

import argparse
import datetime
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from clwqa_bench.console import say
from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import ClwqaError
from clwqa_bench.predictions import RunManifest
from clwqa_bench.records import Split
from clwqa_bench.runs import ITEMS, MANIFEST, read_manifest
from clwqa_leaderboard.board import SUBMISSIONS, Judge, Stored, add, read_entries
from clwqa_leaderboard.disclosure import Disclosure, parse_disclosure
from clwqa_leaderboard.packing import pack
from clwqa_leaderboard.probes import Standing
from clwqa_leaderboard.submission import opened

FORMS = Path(__file__).with_suffix(".toml")
SPLIT: Split = "test"


@dataclass(frozen=True)
class OwnRun:
    """A run of one of our systems, what we say of it, and where its bundle is kept."""

    folder: Path
    manifest: RunManifest
    form: Disclosure
    standing: Standing

    @property
    def bundle(self) -> Path:
        return self.folder.parents[1] / "bundles" / f"{self.folder.name}.zip"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("experiments", nargs="+", type=Path, help="folders with a folder `runs` in them")
    parser.add_argument("--dataset", default="data/clwqa-100k", type=Path)
    parser.add_argument("--submissions", default=SUBMISSIONS, type=Path, help="the folder of all boards")
    options = parser.parse_args(arguments)
    judge = Judge.of(Dataset.open(options.dataset, verify=False), SPLIT)
    refused = 0
    for run in (run for folder in options.experiments for run in own_runs(folder)):
        try:
            stored = put(run, judge, options.submissions)
        except ClwqaError as error:
            say(str(error))
            refused += 1
        else:
            sizes = ", ".join(f"{p.name} {p.stat().st_size:,}" for p in sorted(stored.folder.iterdir()))
            say(f"{stored.entry.id} ({stored.entry.standing}): {sizes}")
    return 1 if refused else 0


def own_runs(experiments: Path, forms: Path = FORMS) -> Iterator[OwnRun]:
    """The runs of a folder that have entries, sorted by name; the others are named."""
    table = tomllib.loads(forms.read_text(encoding="utf-8"))
    for path in sorted(experiments.glob(f"runs/*/{MANIFEST}")):
        manifest = read_manifest(path)
        if manifest.system not in table["system"] or _is_varied(manifest):
            say(f"left out: {path.parent.name}")
            continue
        answers = form_of(table, manifest)
        standing: Standing = answers.pop("standing", "ranked" if manifest.sample is None else "sample")
        made = datetime.datetime.fromtimestamp((path.parent / ITEMS).stat().st_mtime, datetime.UTC)
        answers["date"] = made.date().isoformat()
        yield OwnRun(path.parent, manifest, parse_disclosure(orjson.dumps(answers), forms), standing)


def _is_varied(manifest: RunManifest) -> bool:
    """Whether settings differ from the defaults, or gold took part where a system has its own stage."""
    return bool(manifest.variant) or bool(manifest.oracle and manifest.system != "oracle")


def form_of(table: Mapping[str, Any], manifest: RunManifest) -> dict[str, Any]:
    """The answers of a run's form: what is said of all runs, of the back-end, and of the system."""
    backend = manifest.backbone.partition("/")[0]
    answers = {**table["form"], **table["backend"][backend], **table["system"][manifest.system]}
    return {name: text.strip() if isinstance(text, str) else text for name, text in answers.items()}


def put(run: OwnRun, judge: Judge, submissions: Path) -> Stored:
    """Pack a run and put it on the board, in place of the entry it had before; if it is refused, that one stays."""
    _packed(run, judge)
    board = submissions / judge.board.key
    before = [stored for stored in read_entries(board) if _same_place(stored.entry.manifest, run.manifest)]
    with opened(run.bundle) as submission, tempfile.TemporaryDirectory(dir=run.bundle.parent) as aside:
        if there := next((stored for stored in before if stored.entry.id == submission.id), None):
            return there
        for stored in before:
            shutil.move(stored.folder, aside)
        try:
            return add(submission, judge, submissions, run.standing)
        except BaseException:
            for stored in before:
                shutil.move(Path(aside) / stored.folder.name, stored.folder)
            raise


def _packed(run: OwnRun, judge: Judge) -> None:
    """Make the bundle, unless there is one of this run and form."""
    items = run.folder / ITEMS
    if run.bundle.exists() and run.bundle.stat().st_mtime >= items.stat().st_mtime:
        with opened(run.bundle) as submission:
            if submission.disclosure == run.form:
                return
    run.bundle.unlink(missing_ok=True)
    pack(run.folder, run.form, run.bundle, gold=judge.gold, thin=True)


def _same_place(one: RunManifest, other: RunManifest) -> bool:
    return (one.system, one.variant, one.backbone, one.sample) == (
        other.system, other.variant, other.backbone, other.sample,
    )  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
