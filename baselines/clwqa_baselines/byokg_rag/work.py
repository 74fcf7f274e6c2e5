"""One question in work: what was found for it so far, and how its calls are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from clwqa_baselines.byokg_rag.context import Lines
from clwqa_baselines.shared.replies import FLAGS, Ended
from clwqa_bench.llm.tasks import OutputT, Task
from clwqa_bench.predictions import Flag
from clwqa_bench.records import QuestionView
from clwqa_bench.systems import Context

READABLE = ("refused", "unparsed")
"""Replies that hold none of what was asked for; any other failure ends the question."""


@dataclass
class Work:
    """One question in work.  `feedback` is what the Cypher linker's queries gave, apart from other lines."""

    question: QuestionView
    ctx: Context
    lines: Lines
    feedback: Lines
    explored: dict[str, None] = field(default_factory=dict)
    drafts: tuple[str, ...] = ()
    flags: list[Flag] = field(default_factory=list)

    async def ask(self, task: Task[OutputT]) -> OutputT | None:
        """A call of linking or retrieval; None for a reply without what was asked for.  Raises Ended,
        and OutOfBounds as `Context.ask` does."""
        reply = await self.ctx.ask(task)
        if reply.value is None and reply.status not in READABLE:
            raise Ended(reply)
        self.flags += FLAGS.get(reply.status, ())
        return reply.value

    def fields(self) -> dict[str, Any]:
        """What a prediction says besides its answers."""
        if self.lines.cut:
            self.flags.append("truncated")
        if self.lines.overlong:
            self.flags.append("context_overflow")
        return {
            "topics": tuple(self.explored),
            "evidence": self.lines.evidence(),
            "flags": tuple(dict.fromkeys(self.flags)),
        }
