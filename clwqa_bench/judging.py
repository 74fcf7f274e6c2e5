"""A language model as the judge: what `judge export` and `judge import` leave to you, done through `clwqa_bench.llm`.

A folder holds the files one would have made by hand (`tasks.jsonl`, `replies.jsonl`, `verdicts.jsonl`) and
`judge.json`, which says who judges what.  Every reply is written down as it comes, so it can be stopped anywhere, also
by `kill -9`; the same call asks what is missing.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import ValidationError

from clwqa_bench.console import progress
from clwqa_bench.errors import PredictionError
from clwqa_bench.judge import (
    PROMPT_VERSION,
    RULINGS,
    JudgeReply,
    JudgeTask,
    Status,
    count_statuses,
    decide,
    line_of,
    read_replies,
    write_lines,
)
from clwqa_bench.llm import open_llm
from clwqa_bench.llm.protocol import LLM, NOTHING, Estimate, LLMError, ReplyStatus
from clwqa_bench.llm.tasks import JudgeAnswer, prompts_digest
from clwqa_bench.records import Record
from clwqa_bench.run_folder import alone, append_line, cut_torn_line, differences, write_whole
from clwqa_bench.runner import Model, show

IDENTITY, TASKS, REPLIES, VERDICTS = "judge.json", "tasks.jsonl", "replies.jsonl", "verdicts.jsonl"

KEPT: Final[frozenset[ReplyStatus]] = frozenset({"ok", "unparsed", "refused"})
"""What the model has said.  A fault or a used-up budget says nothing of it and is asked again by the next call."""


class Identity(Record):
    """Who judges what; whatever differs here makes another judging.  `tasks` is the sha256 of the tasks file."""

    model: str
    prompt_version: int
    prompt_digest: str
    llm: Mapping[str, Any]
    tasks: str


@dataclass(frozen=True, slots=True)
class Judged:
    """How a judging stands: `asked` replies came in this call; `failed` counts what the next call asks again."""

    verdicts: Path
    model: str
    tasks: int
    asked: int
    statuses: Mapping[Status, int]
    failed: Mapping[str, int]
    error: str | None = None  # the first one met by this call
    llm: str = ""  # what the language model did in this call

    @property
    def answers(self) -> int:
        """Answers that were put to the judge."""
        return sum(self.statuses.values())

    @property
    def unjudged(self) -> int:
        """Answers without a verdict, whatever the reason."""
        return self.answers - sum(self.statuses[ruling] for ruling in RULINGS)


@dataclass(frozen=True, slots=True)
class Expected:
    """What asking the `missing` of `tasks` would take at most, in tokens and US dollars."""

    tasks: int
    missing: int
    tokens_in: int
    tokens_out: int
    cost: float | None


@dataclass(slots=True)
class _Replies:
    """The replies of a folder, old and new; new ones are appended to `stream` as they come."""

    stream: FileIO
    found: dict[str, JudgeReply]
    asked: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    error: str | None = None


def judge(tasks: Sequence[JudgeTask], out: Path, model: Model, concurrency: int = 8) -> Judged:
    """Ask a model all tasks that `out` has no reply to, so many at a time, and write the verdicts.

    Raises LLMError when the model cannot be used or is none, PredictionError when the tasks were made with another
    prompt than the model is shown, when the folder belongs to another judge or other answers, or when another process
    is writing there.  What was answered before is kept.
    """
    _refuse_rules(model)
    _refuse_other_prompts(tasks, model)
    with asyncio.Runner() as loop:
        llm = open_llm(model.spec, None, model.options)
        try:
            with _opened(out, tasks, llm) as replies:
                missing = [task for task in tasks if task.id not in replies.found]
                if missing:
                    loop.run(_ask(llm, missing, replies, concurrency, model))
                verdicts = decide(tasks, replies.found, llm.name)
                write_lines(verdicts, out / VERDICTS)
        finally:
            loop.run(llm.close())
    return Judged(
        verdicts=out / VERDICTS,
        model=llm.name,
        tasks=len(tasks),
        asked=replies.asked,
        statuses=count_statuses(verdicts),
        failed=dict(sorted(replies.failed.items())),
        error=replies.error,
        llm=model.options.activity.line(),
    )


def expect(tasks: Sequence[JudgeTask], out: Path, model: Model) -> Expected:
    """What `judge` with the same arguments would take, if nothing were cached; `out` is only looked at.

    Open the model with `dry` options: then nothing is asked and no key is needed.
    """
    _refuse_rules(model)
    _refuse_other_prompts(tasks, model)
    with asyncio.Runner() as loop:
        llm = open_llm(model.spec, None, model.options)
        try:
            if (out / IDENTITY).exists():
                _refuse_changes(out / IDENTITY, _identity(tasks, llm))
            done = read_replies(out / REPLIES, _ids(tasks)) if (out / REPLIES).exists() else {}
            missing = [task.question_asked() for task in tasks if task.id not in done]
            total: Estimate = sum(map(llm.estimate, missing), NOTHING)
        finally:
            loop.run(llm.close())
    return Expected(len(tasks), len(missing), total.tokens_in, total.tokens_out, total.cost)


def _refuse_rules(model: Model) -> None:
    if model.spec.partition(":")[0] == "lexical":
        raise LLMError(
            "a judge needs a language model, and the lexical back-end is none",
            fix="name one, such as --llm openai:PRESET_OR_MODEL",
        )


def _refuse_other_prompts(tasks: Sequence[JudgeTask], model: Model) -> None:
    """A verdict names the prompt of its task, so the model has to be shown that prompt."""
    shown = prompts_digest(model.options.language, (JudgeAnswer,))
    if other := next((task for task in tasks if task.prompt_digest != shown), None):
        raise PredictionError(
            f"task {other.id} was made with another prompt ({other.prompt_digest or 'unknown'}, not {shown})",
            fix="make the tasks with this version of the program, in the language the model is asked in",
            field="prompt_digest",
        )


# ---------------------------------------------------------------------- asking


async def _ask(
    llm: LLM, missing: Sequence[JudgeTask], replies: _Replies, concurrency: int, model: Model
) -> None:
    waiting = iter(missing)
    with progress(f"{llm.name} judges, {len(missing):,} tasks", total=len(missing)) as bar:

        async def work() -> None:
            for task in waiting:  # all workers take from the one queue
                await _put(llm, task, replies)
                bar.advance()

        showing = asyncio.create_task(show(model.options.activity, bar))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(concurrency, len(missing))):
                    group.create_task(work())
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
        finally:
            showing.cancel()


async def _put(llm: LLM, task: JudgeTask, replies: _Replies) -> None:
    """Put one task to the model and write down what it says, if it says anything."""
    await asyncio.sleep(0)  # an interrupt is heard here, also among replies from the cache
    reply = await llm.do(task.question_asked())
    if reply.status not in KEPT:
        replies.failed[reply.status] += 1
        replies.error = replies.error or reply.error
        return
    text = reply.value.model_dump_json() if reply.value else reply.raw
    kept = JudgeReply(id=task.id, reply=text, refused=reply.status == "refused")
    append_line(replies.stream, line_of(kept))
    replies.found[task.id] = kept
    replies.asked += 1


# ---------------------------------------------------------------------- the folder


@contextmanager
def _opened(out: Path, tasks: Sequence[JudgeTask], llm: LLM) -> Iterator[_Replies]:
    """Take the folder: a new one, or that of the same judge and the same answers."""
    out.mkdir(parents=True, exist_ok=True)
    with alone(out):
        identity = _identity(tasks, llm)
        if (out / IDENTITY).exists():
            _refuse_changes(out / IDENTITY, identity)
        elif strangers := sorted(path.name for path in out.iterdir() if not path.name.startswith(".")):
            raise PredictionError(
                f"the folder holds {strangers[0]!r} and is none of a judge",
                fix="name a new or empty folder",
                file=out,
            )
        else:
            write_whole(out / IDENTITY, orjson.dumps(identity.model_dump(), option=orjson.OPT_INDENT_2))
        write_lines(tasks, out / TASKS)
        cut_torn_line(out / REPLIES)
        with (out / REPLIES).open("ab", buffering=0) as stream:
            try:
                yield _Replies(stream, read_replies(out / REPLIES, _ids(tasks)))
            finally:
                os.fsync(stream.fileno())


def _identity(tasks: Sequence[JudgeTask], llm: LLM) -> Identity:
    digest = hashlib.sha256()
    for task in tasks:
        digest.update(line_of(task))
    return Identity(
        model=llm.name,
        prompt_version=PROMPT_VERSION,
        prompt_digest=tasks[0].prompt_digest if tasks else "",  # all have the same
        llm=llm.describe(),
        tasks=digest.hexdigest(),
    )


def _refuse_changes(path: Path, now: Identity) -> None:
    """Raise PredictionError, naming what differs, unless the folder belongs to this judge and these answers."""
    try:
        before = Identity.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise PredictionError(
            error.errors(include_url=False)[0]["msg"], fix="name a new or empty folder", file=path
        ) from None
    if changed := differences(before, now):
        fields = ", ".join(changed)
        what = (
            "holds verdicts on other answers"
            if "tasks" in changed
            else f"belongs to another judge ({fields})"
        )
        raise PredictionError(
            f"this folder {what}",
            fix="use another --out; what this judge was asked before comes from the cache",
            file=path,
            field=fields,
        )


def _ids(tasks: Sequence[JudgeTask]) -> frozenset[str]:
    return frozenset(task.id for task in tasks)
