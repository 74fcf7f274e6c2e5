"""Running a system: every question of a split is asked once and its prediction appended to the run folder.

A run can be stopped anywhere, also by `kill -9`; the same call asks what is missing.  Nothing is scored here.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from clwqa_bench.asking import Setup, SplitGold, ask
from clwqa_bench.console import Progress, progress
from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import ClwqaError
from clwqa_bench.kg.remote import RemoteGraph
from clwqa_bench.kg.stores import graph_of
from clwqa_bench.llm import open_llm
from clwqa_bench.llm.protocol import LLM, Activity, Options
from clwqa_bench.llm.tasks import prompts_digest
from clwqa_bench.predictions import RunManifest
from clwqa_bench.records import QuestionView, Split
from clwqa_bench.registry import PluginError
from clwqa_bench.run_folder import RunWriter, open_run
from clwqa_bench.runs import dataset_ref
from clwqa_bench.shards import Shard, asked
from clwqa_bench.systems import Bounds, Resources, SettingError, System, dataset_cache

COLLECT_EVERY = 50_000  # objects more than before
SHOW_EVERY = 10.0  # seconds between two lines about what the language model is doing


@dataclass(frozen=True, slots=True)
class Selection:
    """Which questions of a split are asked: all, a `sample` drawn by `seed`, of either one shard ("2/8")."""

    split: Split
    seed: int = 0
    sample: int | None = None
    shard: str | None = None

    def of(self, dataset: Dataset) -> tuple[Selection, list[QuestionView]]:
        """The questions by id, and the selection without what makes no difference (a sample of everything)."""
        every = list(dataset.view(self.split))
        sample = self.sample if self.sample is not None and self.sample < len(every) else None
        shard = self.shard if self.shard and Shard.parse(self.shard).of > 1 else None
        ids = asked((question.id for question in every), sample, self.seed, shard)
        return replace(self, sample=sample, shard=shard), [q for q in every if q.id in ids]


@dataclass(frozen=True, slots=True)
class Model:
    """The language model of a run, for a system that uses one: spec and options of `open_llm`, and the `bounds` of
    what one question may take of it.
    """

    spec: str = "lexical"
    options: Options = field(default_factory=Options)
    bounds: Bounds = Bounds()


@dataclass(frozen=True, slots=True)
class Pace:
    """How questions are asked; none of it is part of a run's identity.

    So many at a time; each for at most `timeout` seconds; with `retry`, failures of earlier calls are asked again.
    """

    concurrency: int = 8
    timeout: float | None = None
    retry: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """How a run stands: `asked` questions were asked by this call, in `seconds`; the rest by earlier ones.

    `retried` of those asked had failed in an earlier call.
    """

    folder: Path
    title: str
    questions: int
    asked: int
    statuses: dict[str, int]
    seconds: float
    sample: int | None = None
    shard: str | None = None
    retried: int = 0
    error: str | None = None  # the first one met by this call
    llm: str = ""  # what the language model did in this call


def run(
    system: System,
    dataset: Dataset,
    split: Split,
    out: Path,
    *,
    seed: int = 0,
    sample: int | None = None,
    shard: str | None = None,
    oracle: Sequence[str] = (),
    model: Model | None = None,
    kg: str | None = None,
    pace: Pace | None = None,
) -> Summary:
    """Ask a system all questions of a split (of a `sample`, of a `shard`) that `out` has no prediction for.

    The graph it asks is the dataset's own, or the same one in the graph store at the address `kg`.
    Raises PredictionError when `out` belongs to another configuration or to a run that is going on, PluginError
    when the system cannot be prepared, SettingError for an oracle it does not know, GraphError when the graph of the
    dataset is not at `kg`, LLMError when the language model cannot be used, OSError when the folder cannot be written.
    What was answered before is kept.
    """
    model, pace = model or Model(), pace or Pace()
    selection, questions = Selection(split, seed, sample, shard).of(dataset)
    began = time.perf_counter()
    with asyncio.Runner() as loop, opened(system, dataset, selection, oracle, model, loop, kg) as setup:
        manifest = manifest_of(setup, selection, model)
        with open_run(out, manifest, retry=pace.retry) as writer:
            missing = [question for question in questions if question.id not in writer.statuses]
            error = None
            if missing:
                prepare(system, setup.resources)
                with _collecting_seldom():
                    error = loop.run(_fill(writer, setup, missing, pace, model.options.activity))
    return Summary(
        folder=out,
        title=manifest.title,
        questions=len(questions),
        asked=len(missing),
        statuses=dict(sorted(Counter(writer.statuses.values()).items())),
        seconds=round(time.perf_counter() - began, 3),
        sample=selection.sample,
        shard=selection.shard,
        retried=writer.retried,
        error=error,
        llm=model.options.activity.line(),
    )


def manifest_of(setup: Setup, selection: Selection, model: Model) -> RunManifest:
    """The identity of a run: whatever differs here makes another run."""
    system, llm = setup.system, setup.resources.llm
    config = system.config.model_dump(mode="json")
    if isinstance(setup.resources.kg, RemoteGraph):
        config["kg"] = setup.resources.kg.server
    bounds = setup.bounds.given()
    if bounds:
        config["question"] = bounds
    return RunManifest(
        system=system.name,
        variant=",".join(filter(None, [system.variant, *(f"question_{k}={v}" for k, v in bounds.items())])),
        backbone=llm.name if llm else "none/lexical",
        config=config | {"llm": {**llm.describe(), **_own_tasks(system, model)}} if llm else config,
        dataset=dataset_ref(setup.gold.dataset, selection.split),
        code_version=system.version,
        seed=selection.seed,
        oracle=setup.oracle,
        sample=selection.sample,
        shard=selection.shard,
    )


def _own_tasks(system: System, model: Model) -> dict[str, Any]:
    """The tasks that a system brings along, by id: version and digest of the prompt."""
    language = model.options.language
    asks = {task.id: f"{task.version}/{prompts_digest(language, (task,))}" for task in system.tasks}
    return {"asks": asks} if asks else {}


# ---------------------------------------------------------------------- before the first question


@contextmanager
def opened(
    system: System,
    dataset: Dataset,
    selection: Selection,
    oracle: Sequence[str],
    model: Model,
    loop: asyncio.Runner,
    kg: str | None = None,
) -> Iterator[Setup]:
    """What a run needs; graph and language model are closed in the end."""
    replaced = replaced_by_gold(system, oracle)
    if replaced and dataset.withholds(selection.split):
        raise SettingError(
            f"{system.name} takes {', '.join(replaced)} from the gold, which is withheld",
            fix="leave --oracle out, or use another split",
            field="oracle",
        )
    content = dataset.manifest.content
    with graph_of(dataset, kg) as graph:
        resources = Resources(
            kg=graph,
            ontology=graph.ontology,
            train=lambda: dataset.questions("train"),
            seed=selection.seed,
            cache=dataset_cache(content.get("kg", ""), content.get("qa", "")),
        )
        with _language_model(system, resources, model, loop) as llm:
            gold = SplitGold(dataset, selection.split)
            ready = replace(resources, llm=llm, wait=loop.run)
            yield Setup(system, ready, gold, replaced, model.bounds if llm else Bounds())


@contextmanager
def _language_model(
    system: System, resources: Resources, model: Model, loop: asyncio.Runner
) -> Iterator[LLM | None]:
    """The language model, if the system uses one; closed in the loop that it was used in."""
    if not system.uses_llm:
        yield None
        return
    llm: LLM = open_llm(model.spec, resources, model.options)
    try:
        yield llm
    finally:
        loop.run(llm.close())


def replaced_by_gold(system: System, oracle: Iterable[str]) -> tuple[str, ...]:
    """The stages a run replaces by gold.  Raises SettingError for one that the system does not let be replaced, at all
    or with its settings."""
    stages = tuple(sorted(set(oracle)))
    for stage in stages:
        if stage not in system.oracles:
            known = ", ".join(system.oracles)
            raise SettingError(
                f"{system.name} cannot take {stage!r} from the gold",
                fix=f"use one of {known}" if known else "leave --oracle out: it lets no stage be replaced",
                field="oracle",
            )
    system.check_oracle(stages)
    return tuple(dict.fromkeys((*system.oracle, *stages)))


def prepare(system: System, resources: Resources) -> None:
    """Let a system prepare itself.  Raises PluginError for whatever it fails with, other than errors of a user."""
    try:
        system.prepare(resources)
    except (ClwqaError, OSError):
        raise
    except Exception as error:
        raise PluginError(
            f"system {system.name!r} cannot be prepared: {type(error).__name__}: {error}",
            fix="this is a fault of the system; nothing was asked",
        ) from error


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Let the garbage collector pass over what is there already, and look for cycles in the rest less often.

    The records of one question may be thousands; none is in a cycle, and all go when its line is written.
    """
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    gc.freeze()
    gc.set_threshold(COLLECT_EVERY, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not frozen:  # else what was frozen before would be looked at again as well
            gc.unfreeze()


# ---------------------------------------------------------------------- asking


async def _fill(
    writer: RunWriter, setup: Setup, missing: Sequence[QuestionView], pace: Pace, activity: Activity
) -> str | None:
    """Answer what is missing, so many at a time, and write each down as it comes; returns the first error met."""
    room = asyncio.Semaphore(pace.concurrency)
    errors: list[str] = []
    with progress(f"{setup.system.name}, {len(missing):,} questions", total=len(missing)) as bar:

        async def work(question: QuestionView) -> None:
            async with room:
                item = await ask(setup, question, pace.timeout)
            bar.advance(writer.append(item))
            errors.extend(filter(None, [item.prediction.error]))

        showing = asyncio.create_task(show(activity, bar))
        try:
            async with asyncio.TaskGroup() as group:
                safe = group.create_task(writer.keep_safe(bar.advance))
                works = []
                for question in missing:
                    works.append(group.create_task(work(question)))
                    await _begun(room)
                await asyncio.wait(works)
                safe.cancel()
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
        finally:
            showing.cancel()
            bar.advance(writer.sync())
    return errors[0] if errors else None


async def _begun(room: asyncio.Semaphore) -> None:
    """Give way to the question just begun, then wait until there is room for another.

    An interrupt is heard here, so also between the questions of a system that never waits for anything.
    """
    await asyncio.sleep(0)
    async with room:
        pass


async def show(activity: Activity, bar: Progress) -> None:
    """Say every few seconds what the language model is doing, if that has changed."""
    shown = ""
    while True:
        await asyncio.sleep(SHOW_EVERY)
        if (line := activity.line()) != shown:
            bar.note(line)
            shown = line
