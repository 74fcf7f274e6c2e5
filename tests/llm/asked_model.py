"""Tasks for a local model, and asking it: what the tests of the local back-end share."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from clwqa_bench.llm.local.backend import LocalModel, open_local
from clwqa_bench.llm.protocol import Options, Reply
from clwqa_bench.llm.tasks import (
    AnswerClosedBook,
    AnswerFromEvidence,
    ElementNote,
    ExtractAnswers,
    ExtractConstraints,
    Snippet,
    Task,
)

LABELS = ("成语", "书籍", "人物")
TASKS: list[Task[Any]] = [
    ExtractConstraints(
        question="“画蛇添足”出自哪部书？",
        elements=tuple(ElementNote(label=label, description="某类") for label in LABELS),
    ),
    AnswerFromEvidence(question="谁写的？", snippets=(Snippet(number=1, text="甲 -作者-> 乙", answer="乙"),)),
    AnswerClosedBook(question="谁写的？", reasoned=True),
    ExtractAnswers(question="谁写的？", text="是乙写的。"),
]


def opened(folder: Path, options: Options | None = None, **settings: object) -> LocalModel:
    texts = {key: str(value) for key, value in settings.items()}
    return open_local(str(folder), None, replace(options or Options(), settings=texts))


def do(llm: LocalModel, *tasks: Task[Any]) -> list[Reply[Any]]:
    async def all_of_them() -> list[Reply[Any]]:
        try:
            return await asyncio.gather(*(llm.do(task) for task in tasks))
        finally:
            await llm.close()

    return asyncio.run(all_of_them())
