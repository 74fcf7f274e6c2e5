"""Short cuts of these tests: a task, a back-end on a loopback server, a clock that only moves when one sleeps."""

from __future__ import annotations

import asyncio
import heapq
from pathlib import Path
from typing import Any

from clwqa_bench.llm.limits import Clock
from clwqa_bench.llm.openai import OpenAI
from clwqa_bench.llm.presets import endpoint
from clwqa_bench.llm.protocol import Limits, Options, Reply
from clwqa_bench.llm.tasks import ExtractAnswers, Task
from tests.llm.server import Server

KEY = "sk-loopback-0123456789"
TASK = ExtractAnswers(question="《静夜思》的作者是谁？", text="作者是李白。")
OTHER = ExtractAnswers(question="《春望》的作者是谁？", text="杜甫。")


class FakeClock:
    """Time passes only while everybody sleeps; `slept` lists how long each sleep was."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []
        self._due: list[float] = []

    def clock(self) -> Clock:
        return Clock(now=lambda: self.time, wall=lambda: self.time, sleep=self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        due = self.time + seconds
        heapq.heappush(self._due, due)
        while True:
            for _ in range(5):  # whoever is not asleep goes first
                await asyncio.sleep(0)
            if self._due[0] == due:
                break
        heapq.heappop(self._due)
        self.time = max(self.time, due)


def backend(
    server: Server,
    clock: FakeClock | None = None,
    cache: Path | None = None,
    limits: Limits | None = None,
    repeat: int = 0,
    **settings: object,
) -> OpenAI:
    """The back-end for a loopback server; retries take no real time."""
    texts = {"base_url": server.url, "format": "json_object", **{k: str(v) for k, v in settings.items()}}
    options = Options(settings=texts, cache=cache, limits=limits or Limits(), repeat=repeat)
    return OpenAI("test-model", endpoint("test-model", texts), options, (clock or FakeClock()).clock())


def do(llm: OpenAI, *tasks: Task[Any]) -> list[Reply[Any]]:
    """Do tasks at the same time, and close."""

    async def all_of_them() -> list[Reply[Any]]:
        try:
            return await asyncio.gather(*(llm.do(task) for task in tasks or (TASK,)))
        finally:
            await llm.close()

    return asyncio.run(all_of_them())


def do_in_turn(llm: OpenAI, *tasks: Task[Any]) -> list[Reply[Any]]:
    """Do tasks one after the other, and close."""

    async def one_by_one() -> list[Reply[Any]]:
        try:
            return [await llm.do(task) for task in tasks]
        finally:
            await llm.close()

    return asyncio.run(one_by_one())
