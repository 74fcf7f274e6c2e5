"""What a run would ask of a language model, and at what price, before anything is asked.

A few of its questions are put to the system with the lexical back-end in the model's place, so that what a system
asks after the first reply is seen too.  Every task is priced as if nothing were cached and replies were as long as
they may be.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Any

from clwqa_bench.asking import Setup, ask
from clwqa_bench.console import progress
from clwqa_bench.dataset import Dataset
from clwqa_bench.llm import open_llm
from clwqa_bench.llm.protocol import LLM, NOTHING, Estimate, LLMError, Options, Reply
from clwqa_bench.llm.tasks import OutputT, Task
from clwqa_bench.predictions import RunManifest
from clwqa_bench.records import QuestionView, Split
from clwqa_bench.run_folder import RETRYABLE, begun, refuse_changes
from clwqa_bench.runner import Model, Selection, manifest_of, opened, prepare
from clwqa_bench.runs import ITEMS, MANIFEST, read_run, sampled
from clwqa_bench.systems import Resources, System

TRIED = 200  # questions tried; the rest is taken to be like them

UNKNOWN = (
    "replies from the cache cost nothing and are not taken off",
    "most replies are shorter than the longest, which is what is counted",
    "a reply that cannot be read is sent back up to twice, and a failed request again, which is not counted",
)
"""What cannot be known without asking, whatever the system."""

WITH_STAND_IN = (
    "what is asked after a first reply is as with the lexical back-end's replies; the model's can differ"
)
WITHOUT_STAND_IN = "what is asked after the first reply to a question is not counted: there was none"


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of one task, and their tokens and cost (US dollars, None if no price is known) at most."""

    calls: int
    tokens_in: int
    tokens_out: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What `questions` would take, from `tried` of them; `unknown` says what of it cannot be known."""

    title: str
    questions: int
    tried: int
    tasks: Mapping[str, Calls]
    total: Calls
    unknown: tuple[str, ...] = UNKNOWN


@dataclass
class DryModel:
    """Prices every task for the model it stands for, and lets a stand-in reply; without one, nothing replies."""

    model: LLM
    stand_in: LLM | None
    calls: Counter[str] = field(default_factory=Counter)
    estimates: dict[str, Estimate] = field(default_factory=lambda: defaultdict(lambda: NOTHING))

    @property
    def name(self) -> str:
        """That of the model."""
        return self.model.name

    async def do(self, task: Task[OutputT]) -> Reply[OutputT]:
        """Take the task down."""
        self.calls[task.id] += 1
        self.estimates[task.id] += self.model.estimate(task)
        return await self.stand_in.do(task) if self.stand_in else Reply("skipped")

    def taken(self, share: float) -> dict[str, Calls]:
        """What was taken down since this was asked last, so many times."""
        taken = {task: _scaled(calls, self.estimates[task], share) for task, calls in self.calls.items()}
        self.calls.clear()
        self.estimates.clear()
        return taken

    def describe(self) -> Mapping[str, Any]:
        """That of the model."""
        return self.model.describe()

    def estimate(self, task: Task[Any]) -> Estimate:
        """That of the model."""
        return self.model.estimate(task)

    async def close(self) -> None:
        """Close the stand-in; the model is closed where it was opened."""
        if self.stand_in:
            await self.stand_in.close()


def forecast(
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
    retry: bool = False,
) -> Forecast:
    """What `runner.run` with the same arguments would ask of a language model; `out` is only looked at.

    Raises what `run` raises before the first question.
    """
    model = model or Model()
    model = replace(model, options=replace(model.options, dry=True))
    selection, questions = Selection(split, seed, sample, shard).of(dataset)
    with asyncio.Runner() as loop, opened(system, dataset, selection, oracle, model, loop, kg) as setup:
        manifest = manifest_of(setup, selection, model)
        missing = _missing(questions, out, manifest, retry)
        if setup.resources.llm is None:
            return Forecast(manifest.title, len(missing), 0, {}, Calls(0, 0, 0, 0.0), ())
        tried = _some(missing, seed)
        dry = DryModel(setup.resources.llm, _stand_in(setup.resources, model.options))
        setup = replace(setup, resources=replace(setup.resources, llm=dry, dry=True))
        try:
            prepare(system, setup.resources)
            once = dry.taken(1.0)  # however many questions there are
            loop.run(_try(setup, tried))
        finally:
            loop.run(dry.close())
    each = dry.taken(len(missing) / len(tried) if tried else 0.0)
    tasks = {
        task: _total(part[task] for part in (once, each) if task in part) for task in sorted({*once, *each})
    }
    later = WITH_STAND_IN if dry.stand_in else WITHOUT_STAND_IN
    return Forecast(
        manifest.title, len(missing), len(tried), tasks, _total(tasks.values()), (later, *UNKNOWN)
    )


def _missing(
    questions: Sequence[QuestionView], out: Path, manifest: RunManifest, retry: bool
) -> list[QuestionView]:
    """The questions a run into `out` would ask.  Raises PredictionError if it belongs to another run."""
    if not begun(out):
        return list(questions)
    refuse_changes(out / MANIFEST, manifest)
    found = read_run(out).predictions if (out / ITEMS).exists() else ()
    done = {prediction.id for prediction in found if not (retry and prediction.status in RETRYABLE)}
    return [question for question in questions if question.id not in done]


def _some(questions: Sequence[QuestionView], seed: int) -> list[QuestionView]:
    """A sample to try."""
    ids = sampled([question.id for question in questions], TRIED, seed)
    return [question for question in questions if question.id in ids]


def _stand_in(resources: Resources, options: Options) -> LLM | None:
    """The lexical back-end, if it can be had for this graph."""
    try:
        return open_llm("lexical", replace(resources, llm=None), Options(options.language, seed=options.seed))
    except LLMError:
        return None


async def _try(setup: Setup, questions: Sequence[QuestionView]) -> None:
    with progress(f"{setup.system.name}, trying {len(questions):,} questions", total=len(questions)) as bar:
        for question in questions:
            await asyncio.sleep(0)  # an interrupt is heard here
            await ask(setup, question)
            bar.advance()


def _scaled(calls: int, estimate: Estimate, share: float) -> Calls:
    """Of what was tried, what all of it takes."""
    return Calls(
        calls=ceil(calls * share),
        tokens_in=ceil(estimate.tokens_in * share),
        tokens_out=ceil(estimate.tokens_out * share),
        cost=None if estimate.cost is None else estimate.cost * share,
    )


def _total(tasks: Iterable[Calls]) -> Calls:
    every = list(tasks)
    costs = [task.cost for task in every if task.cost is not None]
    return Calls(
        calls=sum(task.calls for task in every),
        tokens_in=sum(task.tokens_in for task in every),
        tokens_out=sum(task.tokens_out for task in every),
        cost=sum(costs) if len(costs) == len(every) else None,
    )
