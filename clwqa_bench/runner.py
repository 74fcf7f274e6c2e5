"""Running a system: every question of a split is asked once and its prediction appended to the run folder.

A run can be stopped anywhere, also by `kill -9`; the same call asks what is missing.  Nothing is scored here.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from clwqa_bench.console import progress
from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import ClwqaError
from clwqa_bench.predictions import Prediction, RunManifest, TraceEvent
from clwqa_bench.records import Question, QuestionView, Split
from clwqa_bench.registry import PluginError
from clwqa_bench.run_folder import Item, RunWriter, open_run
from clwqa_bench.runs import MAX_LINE, dataset_ref, sampled
from clwqa_bench.systems import Context, Resources, System, Trace

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
    asked = sampled([question.id for question in every], sample, seed)
    questions = [question for question in every if question.id in asked]
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


# ---------------------------------------------------------------------- asking


@dataclass(frozen=True)
class SplitGold:
    """The gold of a split, read only if something asks for it.  No system gets at it unless it is an oracle."""

    dataset: Dataset
    split: Split

    @cached_property
    def by_id(self) -> dict[str, Question]:
        """All questions with their gold."""
        return {question.id: question for question in self.dataset.questions(self.split)}


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
        async for item in _answers(system, resources, SplitGold(dataset, split), missing):
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
    system: System, resources: Resources, gold: SplitGold, questions: Sequence[QuestionView]
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


async def ask(system: System, question: QuestionView, ctx: Context, gold: SplitGold) -> Item:
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
    try:
        return _item(failed, ctx.trace, gold)
    except (TypeError, ValueError):  # the trace is what could not be written
        return _item(failed, Trace(), gold)


def _item(found: Prediction, trace: Trace, gold: SplitGold) -> Item:
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


def shortened(event: TraceEvent, id: str, gold: SplitGold) -> TraceEvent:
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
