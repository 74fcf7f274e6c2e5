"""What a system under test is: a class that answers questions over a graph, and what it is given to do so.

A system sees the text of a question and the graph.  Gold answers, strata, templates and provenance of what it is
asked stay on the other side; only the train split is open to it, to learn from before the first question.

Systems are entry points of the group `clwqa_bench.systems`; the module docstring of one is its summary.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import orjson
from pydantic import ValidationError

from clwqa_bench import __version__
from clwqa_bench.errors import ClwqaError
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.llm.protocol import LLM, LLMError, Reply
from clwqa_bench.llm.tasks import OutputT, Task
from clwqa_bench.ontology import Ontology
from clwqa_bench.predictions import Prediction, Stage, StageUsage, TraceEvent
from clwqa_bench.records import Question, QuestionView, Record
from clwqa_bench.registry import SYSTEMS, PluginError

TAKEN = frozenset({"llm", "kg", "question"})
"""Names that no setting has: where `config` of run.json says which language model and which graph store were asked, and
what one question might take."""


T = TypeVar("T")


class SettingError(ClwqaError):
    """A setting that the system does not have, or a value it cannot take."""


class Settings(Record):
    """The settings of a system: subclass it with typed fields, each with a default.  Part of a run's identity."""


class Card(Record):
    """Where a system comes from and what to expect of it.

    `calls` is the bound on language model calls per question as a formula of the settings, `index` what is built
    before the first question.  The source of a setting's default stands in the setting's description.
    """

    citation: str
    calls: str
    index: str = "none"
    weaknesses: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()  # from the original as published, each with its reason


class Wait(Protocol):
    """Runs a coroutine to its end: `asyncio.run`, or `run` of a loop that is there already."""

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T: ...


@dataclass(frozen=True, slots=True)
class Resources:
    """What a system gets once, before the first question: the graph, the types and relations it is made of, and
    the train split with its gold, read when `train()` is called.

    `llm` is the language model of the run, for a system that `uses_llm`; questions ask it with `Context.ask`.
    To ask it before the first question, `wait` for `llm.do(...)`: it belongs to the loop of the run.  If `dry`, calls
    are only counted and what comes back is a stand-in's; nothing made from that may be kept.
    `cache` is where things made from this graph and train split may be kept, see `derived`; it may not exist yet.
    """

    kg: GraphStore
    ontology: Ontology
    train: Callable[[], Iterator[Question]]
    seed: int = 0
    llm: LLM | None = None
    wait: Wait = asyncio.run
    dry: bool = False
    cache: Path = field(default_factory=lambda: dataset_cache(uuid.uuid4().hex))  # nothing is found again

    def derived(self, name: str, *made_from: object) -> Path:
        """Where to keep what is made from graph, train split and `made_from` (whatever JSON can hold: settings, a
        version); the same arguments name the same path.  Nothing is made there.

        Several runs may make it at once: write it elsewhere below `cache` and rename it.
        """
        key = orjson.dumps(made_from, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=str)
        return self.cache / f"{name}-{hashlib.sha256(key).hexdigest()[:16]}"


def dataset_cache(*digests: str) -> Path:
    """The folder of the user's cache for what is made from data with these digests."""
    from clwqa_bench.dataset import cache_folder

    return cache_folder() / "derived" / hashlib.sha256("\n".join(digests).encode()).hexdigest()[:32]


@dataclass(slots=True)
class Trace:
    """Takes down what a system does for one question, and what each stage took.

    Call `add` at the end of a step: the time since the last call (or reply) counts to the event's stage.
    """

    events: list[TraceEvent] = field(default_factory=list)
    replies: Counter[str] = field(default_factory=Counter)  # by status
    _used: dict[str, StageUsage] = field(default_factory=dict)
    _since: float = field(default_factory=time.perf_counter)

    def add(self, event: TraceEvent) -> None:
        """Record a step that has just ended."""
        self.events.append(event)
        self._charge(event.stage)

    def reply(self, stage: Stage, reply: Reply[OutputT]) -> None:
        """Record what a reply that has just come took; its time is the time that passed here."""
        self.replies[reply.status] += 1
        self._charge(stage, reply.usage)

    def usage(self) -> dict[str, StageUsage]:
        """What each stage took; the time since the last event counts to `answer`."""
        self._charge("answer")
        return {
            stage: used.model_copy(update={"seconds": round(used.seconds, 6)})
            for stage, used in self._used.items()
        }

    def _charge(self, stage: str, calls: StageUsage | None = None) -> None:
        now = time.perf_counter()
        took = (calls or StageUsage()).model_copy(update={"seconds": now - self._since})
        self._used[stage] = added(self._used[stage], took) if stage in self._used else took
        self._since = now


def added(one: StageUsage, other: StageUsage) -> StageUsage:
    """What two things took together."""
    return StageUsage(**{name: getattr(one, name) + getattr(other, name) for name in StageUsage.model_fields})


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one question may take of the language model; None is no bound.  Part of a run's identity.

    A reply from the cache counts as when it was made, so that a run made again ends its questions at the same calls;
    bounds of `seconds` alone depend on the machine.
    """

    calls: int | None = None
    tokens: int | None = None  # both ways
    seconds: float | None = None

    def given(self) -> dict[str, int | float]:
        """Those that there are, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class OutOfBounds(Exception):
    """A question may take no more; what was gathered so far is to be answered from."""


@dataclass(slots=True)
class Guard:
    """What one question has taken of its bounds; `hit` if a call was refused.

    One of the calls is kept back for the answer until it is asked for.
    """

    bounds: Bounds = Bounds()
    clock: Callable[[], float] = time.monotonic
    hit: bool = False
    calls: int = 0
    tokens: int = 0
    _answering: bool = False
    _began: float = 0.0

    def __post_init__(self) -> None:
        self._began = self.clock()

    def admit(self, *, last: bool) -> None:
        """Count a call that is about to be made.  Raises OutOfBounds for one that exceeds a bound and is not `last`."""
        if not last and self._reached():
            self.hit = True
            taken = f"{self.calls:,} calls, {self.tokens:,} tokens, {self.clock() - self._began:.1f} s"
            raise OutOfBounds(f"the question may take no more after {taken}")
        self.calls += 1
        self._answering |= last

    def _reached(self) -> bool:
        most, calls = self.bounds, self.calls + (1 if self._answering else 2)
        return (
            (most.calls is not None and calls > most.calls)
            or (most.tokens is not None and self.tokens >= most.tokens)
            or (most.seconds is not None and self.clock() - self._began >= most.seconds)
        )


@dataclass(frozen=True, slots=True)
class Context:
    """What a system gets with a question.

    `rng` depends on the run's seed and the question's id alone, so neither order nor resuming changes an answer.
    `oracle` lists the stages this run replaces by gold; unless there are any, `gold` is None.
    """

    kg: GraphStore
    rng: np.random.Generator
    trace: Trace = field(default_factory=Trace)
    gold: Question | None = None
    oracle: tuple[str, ...] = ()
    llm: LLM | None = None
    guard: Guard = field(default_factory=Guard)

    async def ask(
        self, task: Task[OutputT], stage: Stage | None = None, *, last: bool = False
    ) -> Reply[OutputT]:
        """Ask the language model of the run; what it takes counts to `stage` (by default the task's).

        A model that fails is a reply with a status other than `ok`, never an exception.  A question of which any
        reply is `skipped` (the budget is used up) becomes `skipped` whatever the system makes of it.
        Raises OutOfBounds, with nothing asked, if the question may take no more; but never for the call that is said
        to be the `last`, the one that answers.  Catch it to answer from what there is; a question whose system does
        not has no answer.  Either way its prediction is flagged `truncated`.
        Raises LLMError, which ends the run and is not to be caught, if no other question could be asked either.
        """
        if self.llm is None:
            raise LLMError(
                "this run has no language model", fix="let a system that asks one say `uses_llm = True`"
            )
        self.guard.admit(last=last)
        reply = await self.llm.do(task)
        self.guard.tokens += reply.usage.tokens_in + reply.usage.tokens_out
        self.trace.reply(stage or task.stage, reply)
        return reply


class System(ABC):
    """Base of all systems.  `name` is that of the entry point.

    `version` is that of the code that answers; a run begun with one version is not continued with another.
    `uses_llm` says that it asks a language model; without it none is opened.  `tasks` are those it asks besides the
    ones of `clwqa_bench.llm.tasks`.
    `card` is what `clwqa-bench systems info` tells of where it comes from and what to expect of it.
    `oracle` lists the stages that are always replaced by gold, `oracles` those that `--oracle` may name (which of them
    fit the settings, `check_oracle` says); a run with any of them is marked and never enters a board.
    """

    name: ClassVar[str]
    version: ClassVar[str] = __version__
    uses_llm: ClassVar[bool] = False
    tasks: ClassVar[tuple[type[Task[Any]], ...]] = ()
    card: ClassVar[Card | None] = None
    oracle: ClassVar[tuple[str, ...]] = ()
    oracles: ClassVar[tuple[str, ...]] = ()

    Config: ClassVar[type[Settings]] = Settings  # a nested class with the fields, if there are any
    config: Settings

    def __init__(self, config: Settings | None = None) -> None:
        self.config = self.Config() if config is None else self.Config.model_validate(config)

    @property
    def variant(self) -> str:
        """Tells runs of one system apart in tables; by default the settings that are not the default."""
        changed = self.config.model_dump(exclude_defaults=True)
        return ",".join(key if value is True else f"{key}={value}" for key, value in changed.items())

    def check_oracle(self, oracle: Sequence[str]) -> None:  # noqa: B027 - most take any of `oracles`
        """Refuse what cannot be taken from the gold with these settings; called before anything is prepared.

        Raises SettingError for a stage that would replace nothing.
        """

    def prepare(self, resources: Resources) -> None:  # noqa: B027 - most systems need nothing
        """Build indexes, learn from the train split; called once, before the first question."""

    @abstractmethod
    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        """Answer one question.  Trace and usage are filled in from `ctx.trace` if the prediction has none.

        Whatever is raised becomes a prediction of status `error`, and the run goes on; only LLMError ends it, and the
        ServerGoneError of a graph server.
        Many questions may be in work at once, so keep nothing of one on the system.
        """


def load_system(name: str, settings: Mapping[str, str] | None = None) -> System:
    """An installed system by name, with settings as text (as `--set KEY=VALUE` gives them).

    Raises PluginError for a name that is not installed or not a system, SettingError for a setting that does not fit.
    """
    kind = system_class(name)
    return kind(parse_settings(name, kind.Config, settings or {}))


def system_class(name: str) -> type[System]:
    """The class behind a name.  Raises PluginError if it is not there or not a system."""
    found = SYSTEMS.load(name)
    if not (isinstance(found, type) and issubclass(found, System)):
        raise PluginError(
            f"system {name!r} is not a System", fix="let its entry point name a subclass of System"
        )
    if getattr(found, "name", None) != name:
        raise PluginError(
            f"system {name!r} calls itself {getattr(found, 'name', None)!r}",
            fix="give the class and its entry point the same name",
        )
    if taken := TAKEN.intersection(found.Config.model_fields):
        raise PluginError(
            f"system {name!r} has a setting {min(taken)!r}", fix="give the setting another name"
        )
    return found


def parse_settings(system: str, kind: type[Settings], texts: Mapping[str, str]) -> Settings:
    """Settings from text, each converted to the type of its field.  Raises SettingError naming the setting."""
    for key in texts:
        if key not in kind.model_fields:
            near = get_close_matches(key, kind.model_fields, n=1)
            known = ", ".join(kind.model_fields) or "it has none"
            fix = f"did you mean {near[0]!r}" if near else f"use a setting of {system} ({known})"
            raise SettingError(f"{system} has no setting {key!r}", fix=fix, field=key)
    try:
        return kind.model_validate_strings(dict(texts))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise SettingError(
            f"{system} cannot take {first['input']!r}: {first['msg']}",
            fix=f"see `clwqa-bench systems info {system}`",
            field=key or None,
        ) from None
