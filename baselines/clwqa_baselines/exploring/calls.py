"""The calls of one question, counted."""

from __future__ import annotations

from dataclasses import dataclass, field

from clwqa_baselines.shared.replies import FLAGS, asked
from clwqa_bench.llm.protocol import Reply
from clwqa_bench.llm.tasks import OutputT, Task
from clwqa_bench.predictions import Flag, Stage
from clwqa_bench.systems import Context


class OutOfCalls(Exception):
    """One call is left of those a question may take, and it is needed for the answer."""


@dataclass
class Calls:
    """The calls of one question.  `flags` say what failed among those that the system could do without."""

    ctx: Context
    most: int
    made: int = 0
    flags: dict[Flag, None] = field(default_factory=dict)

    async def ask(
        self, task: Task[OutputT], stage: Stage | None = None, *, last: bool = False
    ) -> Reply[OutputT]:
        """Raises OutOfCalls unless it is the `last` call, Ended if the run's budget is used up."""
        if self.most and self.made >= self.most - 1 and not last:
            raise OutOfCalls
        self.made += 1
        reply = await asked(task, self.ctx, stage)
        self.flags |= dict.fromkeys(FLAGS.get(reply.status, ()))
        return reply
