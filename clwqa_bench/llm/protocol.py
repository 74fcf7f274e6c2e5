"""What a language model is to a system: something that does a typed task and says what it cost.

A failure of a model is a reply with a status, never an exception, so that one question cannot end a run.  What no
question can survive (no key, a wrong address) is a ClwqaError.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from clwqa_bench.errors import ClwqaError
from clwqa_bench.llm.tasks import Language, Output, OutputT, Task
from clwqa_bench.predictions import StageUsage

ReplyStatus = Literal["ok", "refused", "unparsed", "error", "timeout", "skipped"]
"""`skipped`: the budget of the run was used up and nothing was asked."""

ValueT = TypeVar("ValueT", bound=Output, covariant=True)


class LLMError(ClwqaError):
    """A language model that cannot be used at all: unknown, not installed, no key, a wrong address."""


@dataclass(frozen=True, slots=True)
class Reply(Generic[ValueT]):
    """The reply to one task.  `value` is there for status `ok` only; `raw` is the model's last text, unmodified.

    `usage` counts one call.  A reply from the cache (`cached`) shows the tokens it took when it was made, no
    attempts and no cost.
    """

    status: ReplyStatus
    value: ValueT | None = None
    raw: str = ""
    usage: StageUsage = field(default_factory=lambda: StageUsage(calls=1))
    error: str | None = None
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a task would cost: tokens of the prompt, at most so many of the reply, US dollars (None: no known price)."""

    tokens_in: int
    tokens_out: int
    cost: float | None = 0.0

    def __add__(self, other: Estimate) -> Estimate:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Estimate(self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out, cost)


NOTHING = Estimate(0, 0)


class LLM(Protocol):
    """A back-end.  `do` may be called by many questions at once."""

    @property
    def name(self) -> str:
        """As in `RunManifest.backbone`: "none/lexical", "openai/glm-4-flash"."""

    async def do(self, task: Task[OutputT]) -> Reply[OutputT]:
        """Do one task, at its own temperature if it has one.  Raises LLMError if no other could be done either."""

    def describe(self) -> Mapping[str, Any]:
        """Everything replies depend on (model, endpoint, parameters, prompt language): part of a run's identity."""

    def estimate(self, task: Task[Any]) -> Estimate:
        """What the task would cost if nothing is cached; nothing is asked."""

    async def close(self) -> None:
        """Let go of connections, files and memory."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use at most; None is no bound.  Replies from the cache use nothing."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None


@dataclass(slots=True)
class Activity:
    """What a back-end is doing, for a runner to show.  `retries` counts requests sent again, by reason."""

    requests: int = 0
    in_flight: int = 0
    waiting: int = 0
    cached: int = 0
    repairs: int = 0
    skipped: int = 0
    retries: Counter[str] = field(default_factory=Counter)

    def line(self) -> str:
        """One line, such as "120 requests, 4 in flight, 2 waiting, 7 retries (429: 6, timeout: 1)"."""
        counts = {
            "requests": self.requests,
            "in flight": self.in_flight,
            "waiting": self.waiting,
            "from the cache": self.cached,
            "repairs": self.repairs,
            "skipped": self.skipped,
        }
        parts = [f"{count:,} {name}" for name, count in counts.items() if count]
        if self.retries:
            reasons = ", ".join(f"{reason}: {count:,}" for reason, count in sorted(self.retries.items()))
            parts.append(f"{self.retries.total():,} retries ({reasons})")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Options:
    """How a back-end is opened.  `settings` are its own, as text (`--llm-set KEY=VALUE`).

    `repeat` numbers runs that ask the same again on purpose; `cache` is the SQLite file, None for no cache; `dry`
    opens a back-end for `estimate` and `describe` alone, which needs no key and no model file.
    """

    language: Language = "zh"
    settings: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = Limits()
    repeat: int = 0
    seed: int = 0
    cache: Path | None = None
    dry: bool = False
    activity: Activity = field(default_factory=Activity)


if TYPE_CHECKING:
    from clwqa_bench.systems import Resources


class Backend(Protocol):
    """How a back-end is opened: `name` is what follows the colon of a spec ("" if there is none)."""

    def __call__(self, name: str, resources: Resources | None, options: Options) -> LLM: ...
