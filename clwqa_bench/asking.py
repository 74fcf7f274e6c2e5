"""Asking one question: what a system hears, what becomes of whatever it does, and the line that is written."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import orjson

from clwqa_bench.dataset import Dataset
from clwqa_bench.grid import GoldQuestion
from clwqa_bench.kg.remote import ServerGoneError
from clwqa_bench.llm.protocol import LLMError
from clwqa_bench.predictions import Prediction, TraceEvent
from clwqa_bench.records import Question, QuestionView, Split
from clwqa_bench.run_folder import Item
from clwqa_bench.runs import MAX_LINE
from clwqa_bench.systems import Bounds, Context, Guard, OutOfBounds, Resources, System, Trace

TRACE_HEAD = 200  # entries of a trace list that are kept, besides those on a gold path
ERROR_LENGTH = 500  # characters of an exception's message


@dataclass(frozen=True)
class SplitGold:
    """The gold of a split, read only if something asks for it.  No system gets at it unless it is an oracle."""

    dataset: Dataset
    split: Split

    @cached_property
    def withheld(self) -> bool:
        """Whether there is none: the dataset is a public folder that leaves it out."""
        return self.dataset.withholds(self.split)

    @cached_property
    def by_id(self) -> dict[str, Question]:
        """All questions with their gold."""
        return {question.id: question for question in self.dataset.questions(self.split)}


@dataclass(frozen=True, slots=True)
class Setup:
    """What stays the same from question to question; `oracle` lists the stages replaced by gold, and each question is
    held to `bounds`.
    """

    system: System
    resources: Resources
    gold: SplitGold
    oracle: tuple[str, ...] = ()
    bounds: Bounds = Bounds()

    def context(self, id: str) -> Context:
        """What the system gets with a question."""
        return Context(
            kg=self.resources.kg,
            rng=question_rng(self.resources.seed, id),
            gold=self.gold.by_id[id] if self.oracle else None,
            oracle=self.oracle,
            llm=self.resources.llm,
            guard=Guard(self.bounds),
        )


def question_rng(seed: int, id: str) -> np.random.Generator:
    """Random numbers for one question, whatever was asked before it."""
    return np.random.default_rng([seed, *hashlib.sha256(id.encode()).digest()[:16]])


async def ask(setup: Setup, question: QuestionView, timeout: float | None = None) -> Item:
    """Ask one question.  What the system raises, or returns that is not a prediction of it, is status `error`.

    After `timeout` seconds the question is `timeout`, at the next moment the system waits for something.
    One that may take no more is flagged `truncated`, and is `empty` if the system has no answer for that case.
    Raises LLMError or ServerGoneError if no other question could be asked either.
    """
    ctx = setup.context(question.id)
    try:
        found = await _answer(setup.system, question, ctx, timeout)
        if ctx.trace.replies["skipped"]:
            found = Prediction(id=question.id, status="skipped", error="the budget was used up")
        elif ctx.guard.hit and "truncated" not in found.flags:
            found = found.model_copy(update={"flags": (*found.flags, "truncated")})
        return _item(found, ctx.trace, setup.gold)
    except (TypeError, ValueError) as error:  # it cannot be written
        failed = _failed(question.id, error)
    try:
        return _item(failed, ctx.trace, setup.gold)
    except (TypeError, ValueError):  # and the trace is why
        return _item(failed, Trace(), setup.gold)


async def _answer(system: System, question: QuestionView, ctx: Context, timeout: float | None) -> Prediction:
    """What the system answers, or a prediction that says what went wrong."""
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            found = await system.answer(question, ctx)
        if not isinstance(found, Prediction):
            raise TypeError(f"answer() returned {type(found).__name__}, not a Prediction")
        if found.id != question.id:
            raise ValueError(f"answer() returned a prediction for {found.id!r}")
        return found
    except (LLMError, ServerGoneError):
        raise
    except OutOfBounds:
        return Prediction(id=question.id, status="empty")
    except asyncio.CancelledError as error:
        if (task := asyncio.current_task()) and task.cancelling():
            raise  # the run is being stopped
        return _failed(question.id, error)
    except Exception as error:  # noqa: BLE001 - a system is foreign code: it may raise anything
        if limit.expired() and isinstance(error, TimeoutError):
            return Prediction(id=question.id, status="timeout", error=f"no answer after {timeout:g} s")
        return _failed(question.id, error)


def _failed(id: str, error: BaseException) -> Prediction:
    text = f"{type(error).__name__}: {error}"[:ERROR_LENGTH].encode("utf-8", "backslashreplace").decode()
    return Prediction(id=id, status="error", error=text, flags=("exception",))


def _item(found: Prediction, trace: Trace, gold: SplitGold) -> Item:
    """Complete a prediction from the trace.  Raises TypeError or ValueError if it cannot be stored as JSON."""
    events = found.trace or tuple(trace.events)

    def keep() -> Keep:
        return {} if gold.withheld else on_gold(gold.by_id[found.id])

    whole = found.model_copy(
        update={
            "usage": found.usage or trace.usage(),
            "trace": tuple(shortened(event, keep) for event in events),
        }
    )
    fields = whole.model_dump(mode="json", exclude_defaults=True)
    line = orjson.dumps({"schema_version": whole.schema_version, **fields}) + b"\n"
    if len(line) > MAX_LINE:
        raise ValueError(f"the prediction takes {len(line):,} bytes, more than {MAX_LINE:,}")
    return Item(whole, line)


Keep = Mapping[str, Callable[[Any], bool]]
"""By list of a trace event, whether an entry stays beyond the head."""


def shortened(event: TraceEvent, keep: Callable[[], Keep], head: int = TRACE_HEAD) -> TraceEvent:
    """An event whose long lists keep their first `head` entries and what `keep()` says, which is asked for only then;
    `total` tells how many there were.  With what lies `on_gold` the stage indicators stay exact, and the system never
    learns what was kept.
    """
    names = ("entities", "elements", "paths", "triples", "texts", "dropped")
    long = {name: entries for name in names if len(entries := getattr(event, name)) > head}
    if not long:
        return event
    stays = keep()
    update: dict[str, Any] = {
        name: entries[:head] + tuple(filter(stays.get(name, lambda _: False), entries[head:]))
        for name, entries in long.items()
    }
    return event.model_copy(update={"total": event.total or max(map(len, long.values())), **update})


def on_gold(question: Question | GoldQuestion, also: Collection[str] = ()) -> Keep:
    """What lies on a gold path, or touches an answer; entities named in `also` are looked at like answers."""
    answers = {answer.entity_id for answer in question.answers}.union(also)
    nodes = answers.union(*(path.entities for path in question.standard_paths))
    evidence = set(question.evidence)
    return {
        "entities": lambda entity: entity in nodes,
        "triples": lambda triple: triple in evidence or triple.head in answers or triple.tail in answers,
        "paths": lambda path: any({t.head, t.tail} & answers for t in path.triples),
        "texts": lambda text: text.entity_id in nodes,
    }
