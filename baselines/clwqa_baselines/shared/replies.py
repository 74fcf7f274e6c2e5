"""What becomes of a question when the model fails on a call that the system cannot do without."""

from __future__ import annotations

from typing import Any, Final

from clwqa_bench.llm.protocol import Reply, ReplyStatus
from clwqa_bench.llm.tasks import OutputT, Task
from clwqa_bench.predictions import Flag, Prediction, Stage
from clwqa_bench.systems import Context, OutOfBounds

FLAGS: Final[dict[ReplyStatus, tuple[Flag, ...]]] = {
    "unparsed": ("parse_error",),
    "error": ("llm_error",),
    "timeout": ("llm_error",),
}


def failed(id: str, reply: Reply[Any], **fields: Any) -> Prediction:
    """A prediction with the status of the reply, its text and what went wrong; `fields` are kept as they are."""
    status = "error" if reply.status == "ok" else reply.status
    flags = (*fields.pop("flags", ()), *FLAGS.get(status, ()))
    return Prediction(
        id=id, status=status, raw_answer=reply.raw or None, error=reply.error, flags=flags, **fields
    )


class Ended(Exception):
    """A call ended the question: the budget of the run is used up, or the system cannot do without the reply."""

    def __init__(self, reply: Reply[Any]) -> None:
        super().__init__(reply.error or reply.status)
        self.reply = reply


async def asked(
    task: Task[OutputT], ctx: Context, stage: Stage | None = None, *, last: bool = False
) -> Reply[OutputT]:
    """The reply to a task, whatever became of it.  Raises Ended if nothing may be asked any more in this run, and
    OutOfBounds as `Context.ask` does."""
    reply = await ctx.ask(task, stage, last=last)
    if reply.status == "skipped":
        raise Ended(reply)
    return reply


async def spared(task: Task[OutputT], ctx: Context, stage: Stage | None = None) -> Reply[OutputT] | None:
    """The reply to a task that can be done without, whatever became of it; None if the question may take no more."""
    try:
        return await ctx.ask(task, stage)
    except OutOfBounds:
        return None
