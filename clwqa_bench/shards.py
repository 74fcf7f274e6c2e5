"""Parts of a run: which questions a shard asks, and how its shards become one run folder again."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast

from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import PredictionError
from clwqa_bench.predictions import DatasetRef, RunManifest
from clwqa_bench.records import Split
from clwqa_bench.run_folder import differences, manifest_bytes, write_whole
from clwqa_bench.runs import ITEMS, MANIFEST, RETRIES, Run, dataset_ref, read_run, sampled

SHOWN = 3  # ids named in a message


class Shard(NamedTuple):
    """One of several parts of a run; written "2/8"."""

    number: int  # from 1
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Raises PredictionError unless it is "i/n" with i from 1 to n."""
        parts = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text, re.ASCII)
        if parts is None or int(parts[1]) > int(parts[2]):
            raise PredictionError(
                f"{text!r} is no shard", fix="write i/n with i from 1 to n, as in 2/8", field="shard"
            )
        return cls(int(parts[1]), int(parts[2]))

    def holds(self, id: str) -> bool:
        """Whether a question is asked by this shard: the id alone decides, and every id has one shard."""
        digest = hashlib.sha256(f"shard:{id}".encode()).digest()
        return int.from_bytes(digest[:8]) % self.of == self.number - 1


def asked(ids: Iterable[str], sample: int | None, seed: int, shard: str | None) -> frozenset[str]:
    """The ids that a run asks: of a sample if there is one, the shard's part if there is one."""
    drawn = sampled(ids, sample, seed)
    return frozenset(filter(Shard.parse(shard).holds, drawn)) if shard else drawn


@dataclass(frozen=True, slots=True)
class Merged:
    """A run put together from `shards` folders."""

    folder: Path
    title: str
    questions: int
    shards: int


def merge(folders: Sequence[Path], dataset: Dataset, out: Path) -> Merged:
    """Put the shards of one run together in a new folder, questions in the order of the split.

    Raises PredictionError when they are not all the shards of one run of this dataset, or one is not complete.
    """
    runs = sorted((read_run(folder) for folder in folders), key=_shard)
    manifest = _one_identity(runs)
    _every_shard_once(runs)
    split = _split_of(manifest.dataset, dataset, runs[0])
    ids = [question.id for question in dataset.view(split)]
    for run in runs:
        _complete(run, ids)
    lines = {id: line for run in runs for id, line in _lines(run)}
    _write(
        out,
        {
            RETRIES: b"".join(path.read_bytes() for run in runs if (path := run.path / RETRIES).exists()),
            ITEMS: b"".join(lines[id] for id in ids if id in lines),
            MANIFEST: manifest_bytes(manifest),
        },
    )
    return Merged(out, manifest.title, len(lines), len(runs))


def _shard(run: Run) -> Shard:
    if run.manifest is None or run.manifest.shard is None:
        raise PredictionError(
            "this is not a shard of a run",
            fix="name the folders made with --shard; what is not one is scored as it is",
            file=run.path,
        )
    return Shard.parse(run.manifest.shard)


def _one_identity(runs: Sequence[Run]) -> RunManifest:
    """The manifest of the whole run.  Raises PredictionError, naming what differs, if the shards are of several."""
    first, *others = (run.manifest.model_copy(update={"shard": None}) for run in runs if run.manifest)
    for run, manifest in zip(runs[1:], others, strict=True):
        if changed := differences(first, manifest):
            listed = ", ".join(f"{key}: {was!r} there, {now!r} here" for key, (was, now) in changed.items())
            raise PredictionError(
                f"this is a shard of another run than {runs[0].path}: {listed}",
                fix="merge the shards of one run",
                file=run.path / MANIFEST,
                field=", ".join(changed),
            )
    return first


def _every_shard_once(runs: Sequence[Run]) -> None:
    """Raises PredictionError unless the shards are 1 to n of n; `runs` are sorted by shard."""
    shards = [_shard(run) for run in runs]
    for run, before, shard in zip(runs[1:], shards, shards[1:], strict=False):
        if shard.number == before.number or shard.of != shards[0].of:
            raise PredictionError(
                f"shard {shard.number}/{shard.of} does not go with shard {before.number}/{before.of}",
                fix="merge each shard of one division once",
                file=run.path,
                field="shard",
            )
    missing = sorted(set(range(1, shards[0].of + 1)) - {shard.number for shard in shards})
    if missing:
        named = ", ".join(f"{number}/{shards[0].of}" for number in missing)
        raise PredictionError(f"shards are missing: {named}", fix="run them and name them too", field="shard")


def _split_of(ref: DatasetRef, dataset: Dataset, run: Run) -> Split:
    """The split that was asked.  Raises PredictionError if it is not one of this dataset."""
    here = dataset_ref(dataset, ref.split)
    if changed := [name for name in DatasetRef.model_fields if getattr(ref, name) != getattr(here, name)]:
        raise PredictionError(
            f"the shards were asked {ref.name} {ref.version}, and this is {here.name} {here.version}"
            f" (another {', '.join(changed)})",
            fix="name the dataset that was asked with --dataset",
            file=run.path / MANIFEST,
            field=f"dataset.{changed[0]}",
        )
    return cast(Split, ref.split)


def _complete(run: Run, ids: Sequence[str]) -> None:
    """Raises PredictionError unless a shard has answers to its questions and to no others, each once."""
    assert run.manifest is not None
    manifest = run.manifest
    expected = asked(ids, manifest.sample, manifest.seed, manifest.shard)
    there = Counter(prediction.id for prediction in run.predictions)
    if wrong := [id for id, number in there.items() if number > 1 or id not in expected]:
        raise PredictionError(
            f"there twice, or not of shard {manifest.shard}: {_named(wrong)}",
            fix="a run folder must not be edited; make the shard again",
            file=run.items,
        )
    if missing := sorted(expected - there.keys()):
        raise PredictionError(
            f"shard {manifest.shard} lacks {len(missing):,} of {len(expected):,} questions ({_named(missing)})",
            fix="give its `run` command again, which goes on with what is missing",
            file=run.path,
        )


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:SHOWN]) + (", ..." if len(ids) > SHOWN else "")


def _lines(run: Run) -> Iterator[tuple[str, bytes]]:
    """The lines of a run as they stand, by question."""
    with run.items.open("rb") as stream:
        lines = stream.readlines()
    for prediction, number in zip(run.predictions, run.lines, strict=True):
        yield prediction.id, lines[number - 1]


def _write(out: Path, files: Mapping[str, bytes]) -> None:
    """Make a folder with these files (empty ones are left out); it is there whole or not at all."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PredictionError("the run cannot go there: it is in use", fix="name a new folder", file=out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as partial:
        made = Path(partial) / out.name
        made.mkdir()
        for name, content in files.items():
            if content:
                write_whole(made / name, content)
        made.rename(out)
