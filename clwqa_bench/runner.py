"""Running a system: every question of a split is asked once and its prediction appended to the run folder.

A run can be stopped anywhere, also by `kill -9`; the same call asks what is missing.  The folder belongs to one
configuration (`run.json`) and to one process at a time.  Nothing is scored here.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import orjson
from filelock import FileLock, Timeout

from clwqa_bench.console import progress, say
from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import ClwqaError, PredictionError
from clwqa_bench.predictions import Prediction, RunManifest, TraceEvent
from clwqa_bench.records import Question, QuestionView, Split
from clwqa_bench.registry import PluginError
from clwqa_bench.runs import ITEMS, MANIFEST, MAX_LINE, dataset_ref, read_manifest, read_run
from clwqa_bench.systems import Context, Resources, System, Trace

SYNC_EVERY = (
    0.1  # seconds: a slow disk (10 ms a sync) costs 10,000 quick answers a tenth of their time, not 100 s
)
TRACE_HEAD = 200  # entries of a trace list that are kept, besides those on a gold path
ERROR_LENGTH = 500  # characters of an exception's message


@dataclass(frozen=True, slots=True)
class Summary:
    """How a run stands: `asked` questions were asked by this call, in `seconds`; the rest by earlier ones."""

    folder: Path
    title: str
    questions: int
    asked: int
    statuses: Mapping[str, int]
    seconds: float
    sample: int | None = None
    error: str | None = None  # the first one met by this call


def run(
    system: System, dataset: Dataset, split: Split, out: Path, *, seed: int = 0, sample: int | None = None
) -> Summary:
    """Ask a system all questions of a split (or a `sample` of them) that `out` has no prediction for.

    Raises PredictionError when `out` belongs to another configuration or to a run that is going on, PluginError
    when the system cannot be prepared, OSError when the folder cannot be written.
    """
    every = list(dataset.view(split))
    if sample is not None and sample >= len(every):
        sample = None
    questions = sampled(every, sample, seed)
    manifest = manifest_of(system, dataset, split, seed, sample)
    began = time.perf_counter()
    with open_run(out, manifest) as writer:
        missing = [question for question in questions if question.id not in writer.statuses]
        error = asyncio.run(_fill(writer, system, dataset, split, seed, missing)) if missing else None
    return Summary(
        folder=out,
        title=manifest.title,
        questions=len(questions),
        asked=len(missing),
        statuses=dict(sorted(Counter(writer.statuses.values()).items())),
        seconds=round(time.perf_counter() - began, 3),
        sample=sample,
        error=error,
    )


def manifest_of(
    system: System, dataset: Dataset, split: Split, seed: int, sample: int | None = None
) -> RunManifest:
    """The identity of a run: whatever differs here makes another run."""
    return RunManifest(
        system=system.name,
        variant=system.variant,
        config=system.config.model_dump(mode="json"),
        dataset=dataset_ref(dataset, split),
        code_version=system.version,
        seed=seed,
        oracle=system.oracle,
        sample=sample,
    )


def sampled(questions: Sequence[QuestionView], sample: int | None, seed: int) -> list[QuestionView]:
    """The questions of a sample in their order; all of them if `sample` is None or not smaller.

    A pure function of ids, size and seed, so all systems are asked the same; a larger sample contains a smaller.
    """
    if sample is None or sample >= len(questions):
        return list(questions)
    drawn = sorted(questions, key=lambda q: hashlib.sha256(f"{seed}:{q.id}".encode()).digest())[:sample]
    return sorted(drawn, key=lambda q: q.id)


# ---------------------------------------------------------------------- asking


@dataclass(frozen=True)
class Gold:
    """The gold of a split, read only if something asks for it.  No system gets at it unless it is an oracle."""

    dataset: Dataset
    split: Split

    @cached_property
    def by_id(self) -> dict[str, Question]:
        """All questions with their gold."""
        return {question.id: question for question in self.dataset.questions(self.split)}


@dataclass(frozen=True, slots=True)
class Item:
    """A prediction and the line it is stored as."""

    prediction: Prediction
    line: bytes


async def _fill(
    writer: RunWriter,
    system: System,
    dataset: Dataset,
    split: Split,
    seed: int,
    missing: Sequence[QuestionView],
) -> str | None:
    """Answer what is missing and write it down; returns the first error met."""
    kg = dataset.kg()
    resources = Resources(kg, kg.ontology, train=lambda: dataset.questions("train"), seed=seed)
    _prepare(system, resources)
    first = None
    with progress(f"{system.name}, {len(missing):,} questions", total=len(missing)) as bar:
        async for item in _answers(system, resources, Gold(dataset, split), missing):
            bar.advance(writer.append(item))
            first = first or item.prediction.error
        bar.advance(writer.sync())
    return first


def _prepare(system: System, resources: Resources) -> None:
    try:
        system.prepare(resources)
    except (ClwqaError, OSError):
        raise
    except Exception as error:
        raise PluginError(
            f"system {system.name!r} cannot be prepared: {type(error).__name__}: {error}",
            fix="this is a fault of the system; nothing was asked",
        ) from error


async def _answers(
    system: System, resources: Resources, gold: Gold, questions: Sequence[QuestionView]
) -> AsyncIterator[Item]:
    """One after the other, in order; gives way before each question, so that an interrupt is heard."""
    for question in questions:
        await asyncio.sleep(0)
        ctx = Context(
            kg=resources.kg,
            rng=question_rng(resources.seed, question.id),
            gold=gold.by_id[question.id] if system.oracle else None,
        )
        yield await ask(system, question, ctx, gold)


def question_rng(seed: int, id: str) -> np.random.Generator:
    """Random numbers for one question, whatever was asked before it."""
    return np.random.default_rng([seed, *hashlib.sha256(id.encode()).digest()[:16]])


async def ask(system: System, question: QuestionView, ctx: Context, gold: Gold) -> Item:
    """Ask one question.  What the system raises, or returns that is not a prediction of it, is status `error`."""
    try:
        found = await system.answer(question, ctx)
        if not isinstance(found, Prediction):
            raise TypeError(f"answer() returned {type(found).__name__}, not a Prediction")
        if found.id != question.id:
            raise ValueError(f"answer() returned a prediction for {found.id!r}")
        return _item(found, ctx.trace, gold)
    except Exception as error:  # noqa: BLE001 - a system is foreign code: it may raise anything
        text = f"{type(error).__name__}: {error}"[:ERROR_LENGTH].encode("utf-8", "backslashreplace").decode()
        failed = Prediction(id=question.id, status="error", error=text, flags=("exception",))
        return _item(failed, Trace(), gold)


def _item(found: Prediction, trace: Trace, gold: Gold) -> Item:
    """Complete a prediction from the trace.  Raises TypeError or ValueError if it cannot be stored as JSON."""
    events = found.trace or tuple(trace.events)
    whole = found.model_copy(
        update={
            "usage": found.usage or trace.usage(),
            "trace": tuple(shortened(event, found.id, gold) for event in events),
        }
    )
    fields = whole.model_dump(mode="json", exclude_defaults=True)
    line = orjson.dumps({"schema_version": whole.schema_version, **fields}) + b"\n"
    if len(line) > MAX_LINE:
        raise ValueError(f"the prediction takes {len(line):,} bytes, more than {MAX_LINE:,}")
    return Item(whole, line)


def shortened(event: TraceEvent, id: str, gold: Gold) -> TraceEvent:
    """An event whose long lists keep their head and whatever lies on a gold path, so that the stage indicators
    stay exact.  `total` then says how many there were; the system never learns which were kept.
    """
    names = ("entities", "elements", "paths", "triples", "texts", "dropped")
    long = {name: entries for name in names if len(entries := getattr(event, name)) > TRACE_HEAD}
    if not long:
        return event
    question = gold.by_id[id]
    answers = {answer.entity_id for answer in question.answers}
    nodes = answers.union(*(path.entities for path in question.standard_paths))
    evidence = set(question.evidence)
    keep = {
        "entities": lambda entity: entity in nodes,
        "triples": lambda triple: triple in evidence,
        "paths": lambda path: any({t.head, t.tail} & answers for t in path.triples),
        "texts": lambda text: text.entity_id in nodes,
    }
    update: dict[str, Any] = {
        name: entries[:TRACE_HEAD] + tuple(filter(keep.get(name, lambda _: False), entries[TRACE_HEAD:]))
        for name, entries in long.items()
    }
    return event.model_copy(update={"total": event.total or max(map(len, long.values())), **update})


# ---------------------------------------------------------------------- the folder


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
    with _alone(folder):
        if (folder / MANIFEST).exists():
            _refuse_changes(folder / MANIFEST, manifest)
        else:
            _refuse_strangers(folder)
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


_JSON = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS


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
    if strangers := sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")):
        raise PredictionError(
            f"the folder is not a run and holds {strangers[0]!r}",
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
