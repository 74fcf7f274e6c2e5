"""What is asked for one task and what it took, whatever the model behind: its request, its reply, and its keeping."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, cast

from pydantic import ValidationError

from clwqa_bench.llm.cache import ReplyCache, Request, Stored
from clwqa_bench.llm.presets import Format
from clwqa_bench.llm.protocol import NOTHING, Estimate, Reply, ReplyStatus
from clwqa_bench.llm.tasks import Message, OutputT, Task
from clwqa_bench.predictions import StageUsage


def request_of(
    task: Task[Any], messages: tuple[Message, ...], identity: Mapping[str, Any], repeat: int, format: Format
) -> Request:
    """The request a task makes at an endpoint of that identity (`Endpoint.identity`, or what a run.json says)."""
    return Request(
        task=task.id,
        version=task.version,
        messages=messages,
        endpoint=identity["endpoint"],
        model=identity["model"],
        revision=identity["revision"],
        parameters=parameters_of(task, identity),
        format=response_format(task, format),
        repeat=repeat,
    )


def parameters_of(task: Task[Any], identity: Mapping[str, Any]) -> dict[str, Any]:
    """The model's parameters for a task, as sent; a null among the user's own leaves one out, whatever the task says.

    A temperature of the task's own stands in place of the run's; without one, the parameters are the run's.
    """
    merged = {"max_tokens": identity["max_tokens"] or task.max_tokens, **identity["parameters"]}
    if task.temperature is not None and merged.get("temperature", 0) is not None:
        merged["temperature"] = task.temperature
    return {name: value for name, value in merged.items() if value is not None}


def response_format(task: Task[Any], format: Format) -> dict[str, Any] | None:
    """What the endpoint is told about the JSON it should write."""
    if format == "json_object":
        return {"type": "json_object"}
    if format == "json_schema":
        schema = {"name": task.id, "strict": True, "schema": task.output_schema()}
        return {"type": "json_schema", "json_schema": schema}
    return None


@dataclass(slots=True)
class Talk(Generic[OutputT]):
    """The conversation about one task: its prompt, what a repair adds to it, and what it has taken so far."""

    task: Task[OutputT]
    prompt: tuple[Message, ...]
    repair: tuple[Message, ...] = ()
    raw: str = ""
    attempts: int = 0
    used: Estimate = NOTHING
    began: float = field(default_factory=time.perf_counter)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is sent next."""
        return (*self.prompt, *self.repair)

    def usage(self, *, cached: int = 0) -> StageUsage:
        """As one call."""
        return StageUsage(
            calls=1,
            attempts=self.attempts,
            cached=cached,
            tokens_in=self.used.tokens_in,
            tokens_out=self.used.tokens_out,
            seconds=round(time.perf_counter() - self.began, 6),
            cost=self.used.cost or 0.0,
        )

    def failed(self, status: ReplyStatus, error: str) -> Reply[OutputT]:
        """A reply without a value."""
        return Reply(status, None, self.raw, self.usage(), error)

    def recalled(self, cache: ReplyCache | None, request: Request) -> Reply[OutputT] | None:
        """The reply that is kept for a request; None if there is none that still fits the task."""
        stored = cache.get(request) if cache else None
        if stored is None:
            return None
        try:
            value = cast(OutputT, self.task.Output.model_validate_json(stored.value))
        except ValidationError:  # the output has changed and the task's version has not
            return None
        self.used = Estimate(stored.tokens_in, stored.tokens_out)
        return Reply("ok", value, stored.raw, self.usage(cached=1), cached=True)

    def remember(self, cache: ReplyCache | None, request: Request, value: OutputT) -> None:
        """Keep a reply for the next time."""
        if cache:
            stored = Stored(value.model_dump_json(), self.raw, self.used.tokens_in, self.used.tokens_out)
            cache.put(request, self.task, stored)
