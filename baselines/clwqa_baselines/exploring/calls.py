"""The calls of one question: at which temperature, and what failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from clwqa_baselines.exploring.settings import ExplorerSettings
from clwqa_baselines.shared.replies import FLAGS, asked
from clwqa_bench.llm.protocol import Reply
from clwqa_bench.llm.tasks import OutputT, Task
from clwqa_bench.predictions import Flag, Stage
from clwqa_bench.systems import Context

EXPLORING: Final[frozenset[Stage]] = frozenset({"expand", "prune"})
"""Stages whose calls choose where to go on; all others reason about what was found."""


@dataclass
class Calls:
    """The calls of one question.  `flags` say what failed among those that the system could do without."""

    ctx: Context
    config: ExplorerSettings
    flags: dict[Flag, None] = field(default_factory=dict)

    async def ask(
        self, task: Task[OutputT], stage: Stage | None = None, *, last: bool = False
    ) -> Reply[OutputT]:
        """Raises OutOfBounds unless it is the `last` call, Ended if the run's budget is used up."""
        reply = await asked(self._at_its_temperature(task), self.ctx, stage, last=last)
        self.flags |= dict.fromkeys(FLAGS.get(reply.status, ()))
        return reply

    def _at_its_temperature(self, task: Task[OutputT]) -> Task[OutputT]:
        """The task as it is sent: each kind of call has a temperature of its own, if one is set."""
        exploring = task.stage in EXPLORING
        set_ = self.config.temperature_exploration if exploring else self.config.temperature_reasoning
        return task if set_ is None else task.model_copy(update={"temperature": set_})
