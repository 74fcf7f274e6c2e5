"""A language model that replies as a test says, the system that asks it, and a dataset of a few questions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from clwqa_bench.dataset import Dataset
from clwqa_bench.llm.protocol import Estimate, Options, Reply, ReplyStatus
from clwqa_bench.llm.tasks import AnswerClosedBook, ClosedBookAnswer, Task
from clwqa_bench.predictions import PredictedAnswer, Prediction, StageUsage, TraceEvent
from clwqa_bench.records import QuestionView
from clwqa_bench.systems import Context, Settings, System
from tests import tiny_dataset

QUESTIONS = 12
IDS = [f"t{number:02}" for number in range(QUESTIONS)]
USED = StageUsage(calls=1, attempts=2, tokens_in=100, tokens_out=20, seconds=3.0, cost=0.5)


def small_dataset(folder: Path) -> Dataset:
    """The tiny dataset with a test split of twelve questions, t00 to t11, each with a text of its own."""
    train, test = tiny_dataset.QUESTIONS[0], tiny_dataset.QUESTIONS[4]
    many = [test.model_copy(update={"id": id, "question": f"{id}：{test.question}"}) for id in IDS]
    tiny_dataset.write(folder, questions=[train, *many])
    return Dataset.open(folder)


def content(folder: Path, name: str = "items.jsonl") -> list[dict[str, Any]]:
    """The lines of a run by question, without the seconds."""
    lines = map(json.loads, (folder / name).read_text(encoding="utf-8").splitlines())
    return sorted(
        ({key: value for key, value in line.items() if key != "usage"} for line in lines),
        key=itemgetter("id"),
    )


def ok(text: str = "史记") -> Reply[ClosedBookAnswer]:
    return Reply("ok", ClosedBookAnswer(answers=(text,)), usage=USED)


def failed(status: ReplyStatus) -> Reply[ClosedBookAnswer]:
    return Reply(status, error=f"told to be {status}")


@dataclass
class Scripted:
    """Replies what `script` gives for the id a question's text begins with; an exception there is raised."""

    script: Mapping[str, Any] = field(default_factory=dict)
    model: str = "scripted-1"
    options: Options = field(default_factory=Options)
    before: Callable[[], Any] | None = None
    asked: list[str] = field(default_factory=list)
    closed: int = 0

    @property
    def name(self) -> str:
        return f"test/{self.model}"

    async def do(self, task: Task[Any]) -> Reply[Any]:
        id = str(task.model_dump()["question"])[:3]
        self.asked.append(id)
        self.options.activity.requests += 1
        if self.before:
            await self.before()
        reply = self.script.get(id, ok())
        if isinstance(reply, BaseException):
            raise reply
        return reply

    def describe(self) -> dict[str, Any]:
        return {"backend": "test", "model": self.model, "language": self.options.language}

    def estimate(self, task: Task[Any]) -> Estimate:
        return Estimate(100, task.max_tokens, 0.25)

    async def close(self) -> None:
        self.closed += 1


class Asker(System):
    """Asks closed-book, once or (`twice`) a second time; answers with what it is told, or `stubborn` with its own."""

    name = "asker"
    uses_llm = True
    oracles = ("anchors", "evidence")

    class Config(Settings):
        twice: bool = False
        stubborn: bool = False

    config: Config

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        ctx.trace.add(TraceEvent(stage="link"))
        task = AnswerClosedBook(question=question.text)
        reply = await ctx.ask(task)
        if reply.value and self.config.twice:
            reply = await ctx.ask(task, "reflect")
        texts = reply.value.answers if reply.value else ("?",) if self.config.stubborn else ()
        if not texts:
            status = "empty" if reply.status == "ok" else reply.status
            return Prediction(id=question.id, status=status, error=reply.error)
        answers = tuple(PredictedAnswer(text=text) for text in texts)
        return Prediction(id=question.id, status="ok", answers=answers)
