"""Writing a run folder: it belongs to one configuration and one process at a time, and outlives every crash."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from filelock import FileLock, Timeout

from clwqa_bench.console import say
from clwqa_bench.errors import PredictionError
from clwqa_bench.predictions import Prediction, RunManifest
from clwqa_bench.runs import ITEMS, MANIFEST, read_manifest, read_run

SYNC_EVERY = 0.1  # seconds: 10,000 quick answers on a disk that takes 10 ms to sync cost 10 % more, not 100 s
_JSON = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS


@dataclass(frozen=True, slots=True)
class Item:
    """A prediction and the line it is stored as."""

    prediction: Prediction
    line: bytes


@dataclass
class RunWriter:
    """Appends predictions to `items.jsonl`; `statuses` holds the status of every question that has one."""

    stream: BinaryIO
    statuses: dict[str, str] = field(default_factory=dict)
    _pending: int = 0
    _synced: float = field(default_factory=time.monotonic)

    def append(self, item: Item) -> int:
        """Write a line; returns how many lines, this one included, have become safe against a power failure.

        A line is with the operating system at once.  It is forced to disk together with those of the last
        `SYNC_EVERY` seconds, so each of a slow system's answers is forced by itself.
        """
        self.stream.write(item.line)
        self.stream.flush()
        self.statuses[item.prediction.id] = item.prediction.status
        self._pending += 1
        return self.sync() if time.monotonic() - self._synced >= SYNC_EVERY else 0

    def sync(self) -> int:
        """Force to disk what is not there yet; returns how many lines that were."""
        os.fsync(self.stream.fileno())
        done, self._pending, self._synced = self._pending, 0, time.monotonic()
        return done


@contextmanager
def open_run(folder: Path, manifest: RunManifest) -> Iterator[RunWriter]:
    """Take a run folder for writing: a new one, or one of the same configuration to go on with.

    Raises PredictionError when another run holds it, when it belongs to another configuration, or when it holds
    something else; OSError when it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _refuse_strangers(folder)
    with _alone(folder):
        if (folder / MANIFEST).exists():
            _refuse_changes(folder / MANIFEST, manifest)
        else:
            _write_whole(
                folder / MANIFEST, orjson.dumps(manifest.model_dump(mode="json"), option=_JSON) + b"\n"
            )
        with (folder / ITEMS).open("ab") as stream:
            _cut_torn_line(folder / ITEMS, stream)
            done = read_run(folder).predictions
            writer = RunWriter(stream, {prediction.id: prediction.status for prediction in done})
            if done:
                say(f"{folder}: {len(done):,} questions are answered already")
            try:
                yield writer
            finally:
                writer.sync()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    lock = FileLock(folder / ".lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise PredictionError(
            "another run is writing here", fix="wait until it has finished, or use another --out", file=folder
        ) from None
    try:
        yield
    finally:
        lock.release()


def _refuse_changes(path: Path, manifest: RunManifest) -> None:
    """Raise PredictionError, naming what differs, unless the folder belongs to this configuration."""
    before = _flat(read_manifest(path).model_dump(mode="json"))
    now = _flat(manifest.model_dump(mode="json"))
    changed = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
    if changed:
        listed = ", ".join(f"{key} is {before.get(key)!r} there and {now.get(key)!r} now" for key in changed)
        raise PredictionError(
            f"this folder belongs to another run: {listed}",
            fix="use another --out, or the settings the run was begun with",
            file=path,
            field=", ".join(changed),
        )


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested values by dotted key."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _refuse_strangers(folder: Path) -> None:
    """Raise PredictionError if the folder is in use for something else; hidden files are what a run began with."""
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    if names and MANIFEST not in names:
        raise PredictionError(
            f"the folder is not a run and holds {names[0]!r}",
            fix="name a new or empty folder",
            file=folder,
        )


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all, also after a power failure."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _cut_torn_line(path: Path, stream: BinaryIO) -> None:
    """Cut off a last line that a killed run left without its end; its question is asked again."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        stream.truncate(whole)
        say(f"{path}: cut off an unfinished last line of {len(content) - whole:,} bytes")
