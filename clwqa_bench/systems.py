"""What a system under test is: a class that answers questions over a graph, and what it is given to do so.

A system sees the text of a question and the graph.  Gold answers, strata, templates and provenance of what it is
asked stay on the other side; only the train split is open to it, to learn from before the first question.

Systems are entry points of the group `clwqa_bench.systems`; the module docstring of one is its summary.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import ClassVar

import numpy as np
from pydantic import ValidationError

from clwqa_bench import __version__
from clwqa_bench.errors import ClwqaError
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.ontology import Ontology
from clwqa_bench.predictions import Prediction, StageUsage, TraceEvent
from clwqa_bench.records import Question, QuestionView, Record
from clwqa_bench.registry import SYSTEMS, PluginError


class SettingError(ClwqaError):
    """A setting that the system does not have, or a value it cannot take."""


class Settings(Record):
    """The settings of a system: subclass it with typed fields, each with a default.  Part of a run's identity."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What a system gets once, before the first question: the graph, the types and relations it is made of, and
    the train split with its gold, read when `train()` is called."""

    kg: GraphStore
    ontology: Ontology
    train: Callable[[], Iterator[Question]]
    seed: int = 0


@dataclass(slots=True)
class Trace:
    """Takes down what a system does for one question, and how long each stage took.

    Call `add` at the end of a step: the time since the last call counts to the event's stage.
    """

    events: list[TraceEvent] = field(default_factory=list)
    _seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.perf_counter)

    def add(self, event: TraceEvent) -> None:
        """Record a step that has just ended."""
        self.events.append(event)
        self._charge(event.stage)

    def usage(self) -> dict[str, StageUsage]:
        """Wall time by stage; what is left since the last event counts to `answer`."""
        self._charge("answer")
        return {stage: StageUsage(seconds=round(spent, 6)) for stage, spent in self._seconds.items()}

    def _charge(self, stage: str) -> None:
        now = time.perf_counter()
        self._seconds[stage] = self._seconds.get(stage, 0.0) + now - self._since
        self._since = now


@dataclass(frozen=True, slots=True)
class Context:
    """What a system gets with a question.

    `rng` depends on the run's seed and the question's id alone, so neither order nor resuming changes an answer.
    `gold` is None unless the system declares in `oracle` that it stands for the truth.
    """

    kg: GraphStore
    rng: np.random.Generator
    trace: Trace = field(default_factory=Trace)
    gold: Question | None = None


class System(ABC):
    """Base of all systems.  `name` is that of the entry point.

    `version` is that of the code that answers; a run begun with one version is not continued with another.
    `oracle` lists the stages that are replaced by gold; such a run is marked and never enters a board.
    """

    name: ClassVar[str]
    version: ClassVar[str] = __version__
    oracle: ClassVar[tuple[str, ...]] = ()

    Config: ClassVar[type[Settings]] = Settings  # a nested class with the fields, if there are any
    config: Settings

    def __init__(self, config: Settings | None = None) -> None:
        self.config = self.Config() if config is None else self.Config.model_validate(config)

    @property
    def variant(self) -> str:
        """Tells runs of one system apart in tables; by default nothing does."""
        return ""

    def prepare(self, resources: Resources) -> None:  # noqa: B027 - most systems need nothing
        """Build indexes, learn from the train split; called once, before the first question."""

    @abstractmethod
    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        """Answer one question.  Trace and usage are filled in from `ctx.trace` if the prediction has none.

        Whatever is raised becomes a prediction of status `error`, and the run goes on.
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
