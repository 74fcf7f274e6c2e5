"""Writing a run folder: it belongs to one configuration and one process at a time, and outlives every crash."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any, Final

import orjson
from filelock import FileLock, Timeout

from clwqa_bench.console import say
from clwqa_bench.errors import PredictionError
from clwqa_bench.predictions import Prediction, RunManifest, Status
from clwqa_bench.records import Record
from clwqa_bench.runs import ITEMS, MANIFEST, RETRIES, read_manifest, read_run

RETRYABLE: Final[frozenset[Status]] = frozenset({"error", "timeout", "skipped"})
"""What says nothing of the answer a system would give: a fault, too little time, a budget used up."""

SYNC_EVERY = 0.1  # seconds: 10,000 quick answers on a disk that takes 10 ms to sync cost 10 % more, not 100 s
_JSON = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS


@dataclass(frozen=True, slots=True)
class Item:
    """A prediction and the line it is stored as."""

    prediction: Prediction
    line: bytes


@dataclass
class RunWriter:
    """Appends predictions to `items.jsonl`; `statuses` holds the status of every question that has one.

    `retried` counts the questions whose former prediction was put aside when the folder was opened.
    """

    stream: FileIO
    statuses: dict[str, str] = field(default_factory=dict)
    retried: int = 0
    _pending: int = 0
    _synced: float = field(default_factory=time.monotonic)

    def append(self, item: Item) -> int:
        """Write a line; returns how many lines, this one included, have become safe against a power failure.

        A line is with the operating system at once.  It is forced to disk together with those of the last
        `SYNC_EVERY` seconds, so each of a slow system's answers is forced by itself; `keep_safe` forces what no other
        follows.
        Raises OSError, with nothing written, when it cannot be.
        """
        append_line(self.stream, item.line)
        self.statuses[item.prediction.id] = item.prediction.status
        self._pending += 1
        return self.sync() if self._left() <= 0 else 0

    async def keep_safe(self, told: Callable[[int], object]) -> None:
        """Force every line to disk at most `SYNC_EVERY` seconds after it was written, and tell how many that were.

        Goes on until cancelled.  Raises OSError when the disk does not take them.
        """
        while True:
            await asyncio.sleep(self._left() if self._pending else SYNC_EVERY)
            if self._pending and self._left() <= 0:
                told(self.sync())

    def _left(self) -> float:
        """Seconds until what is written has to be forced to disk."""
        return self._synced + SYNC_EVERY - time.monotonic()

    def sync(self) -> int:
        """Force to disk what is not there yet; returns how many lines that were."""
        os.fsync(self.stream.fileno())
        done, self._pending, self._synced = self._pending, 0, time.monotonic()
        return done


def append_line(stream: FileIO, line: bytes) -> None:
    """Write a line whole at the end of a file that is not buffered.

    Raises OSError, with nothing written, when it cannot be.
    """
    start = stream.seek(0, os.SEEK_END)
    rest = memoryview(line)
    try:
        while rest:
            rest = rest[stream.write(rest) :]
    except OSError as error:  # a full disk, mostly
        with contextlib.suppress(OSError):
            stream.truncate(start)
        raise OSError(error.errno, error.strerror, str(stream.name)) from error


@contextmanager
def open_run(folder: Path, manifest: RunManifest, *, retry: bool = False) -> Iterator[RunWriter]:
    """Take a run folder for writing: a new one, or one of the same configuration to go on with.  One where nothing was
    asked yet is as good as new, whatever its configuration: a run that could not begin does not keep the folder.
    With `retry`, predictions of a `RETRYABLE` status are moved to `retries.jsonl`, so that they are missing again.
    Raises PredictionError when another run holds it, when it belongs to another configuration, or when it holds
    something else; OSError when it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _refuse_strangers(folder)
    with alone(folder):
        if begun(folder):
            refuse_changes(folder / MANIFEST, manifest)
        else:
            write_whole(folder / MANIFEST, manifest_bytes(manifest))
        cut_torn_line(folder / ITEMS)
        retried = _put_aside(folder) if retry else 0
        with (folder / ITEMS).open("ab", buffering=0) as stream:
            done = {prediction.id: prediction.status for prediction in read_run(folder).predictions}
            writer = RunWriter(stream, {**done}, retried)
            if done:
                say(f"{folder}: {len(done):,} questions are answered already")
            try:
                yield writer
            finally:
                writer.sync()


def begun(folder: Path) -> bool:
    """Whether a folder holds a run that has asked anything."""
    if not (folder / MANIFEST).exists():
        return False
    return any(path.exists() and path.stat().st_size > 0 for path in (folder / ITEMS, folder / RETRIES))


def manifest_bytes(manifest: RunManifest) -> bytes:
    """A manifest as `run.json` holds it."""
    return orjson.dumps(manifest.model_dump(mode="json"), option=_JSON) + b"\n"


def differences(before: Record, now: Record) -> dict[str, tuple[Any, Any]]:
    """What of two identities is not the same, by dotted key: (before, now).

    A run's variant only sums up its settings, so it is left out where these are named.
    """
    one, other = (_flat(manifest.model_dump(mode="json")) for manifest in (before, now))
    changed = [key for key in sorted({*one, *other}) if one.get(key) != other.get(key)]
    if any(key.startswith("config.") for key in changed):
        changed = [key for key in changed if key != "variant"]
    return {key: (one.get(key), other.get(key)) for key in changed}


def _put_aside(folder: Path) -> int:
    """Move what may be asked again to `retries.jsonl`; returns how many that are.

    First they are copied, then left out of `items.jsonl`: if killed between, the next call finds the copies.
    """
    run = read_run(folder)
    with run.items.open("rb") as stream:
        lines = stream.readlines()
    again = {
        number - 1
        for number, prediction in zip(run.lines, run.predictions, strict=True)
        if prediction.status in RETRYABLE
    }
    if not again:
        return 0
    aside = folder / RETRIES
    cut_torn_line(aside)
    kept = set(aside.read_bytes().splitlines(keepends=True))
    with aside.open("ab") as stream:
        stream.writelines(lines[place] for place in sorted(again) if lines[place] not in kept)
        stream.flush()
        os.fsync(stream.fileno())
    write_whole(run.items, b"".join(line for place, line in enumerate(lines) if place not in again))
    say(f"{folder}: {len(again):,} questions are asked again; what they had is kept in {RETRIES}")
    return len(again)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder.  Raises PredictionError if one is there already."""
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


def refuse_changes(path: Path, manifest: RunManifest) -> None:
    """Raise PredictionError, naming what differs, unless the folder belongs to this configuration."""
    if changed := differences(read_manifest(path), manifest):
        listed = ", ".join(f"{key} is {was!r} there and {now!r} now" for key, (was, now) in changed.items())
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


def write_whole(path: Path, content: bytes) -> None:
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


def cut_torn_line(path: Path) -> None:
    """Cut off a last line that a killed run left without its end; makes the file if it is not there."""
    with path.open("a+b") as stream:
        stream.seek(0)
        content = stream.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            stream.truncate(whole)
            say(f"{path}: cut off an unfinished last line of {len(content) - whole:,} bytes")
