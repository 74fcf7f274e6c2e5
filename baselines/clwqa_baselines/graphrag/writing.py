"""Writing the reports, from the finest communities up, each kept as soon as it is there.

A run that is stopped, however, goes on where it was: every report is a line of a log, and a line that was not
finished is written again.  What the model refuses, or what cannot be read, is no report (as in the public code) and
is not asked for again; after an error or a time-out the next run asks again.  If the budget ends, so does the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from filelock import FileLock

from clwqa_baselines.graphrag.communities import Communities
from clwqa_baselines.graphrag.config import GraphRagConfig
from clwqa_baselines.graphrag.reports import Level, Material, Reports, Written
from clwqa_baselines.graphrag.tables import Tables
from clwqa_baselines.graphrag.tasks import ReportRow, WriteReport
from clwqa_bench.console import Progress, progress, warn
from clwqa_bench.errors import ClwqaError
from clwqa_bench.llm.lexical import Lexical
from clwqa_bench.llm.limits import count_tokens
from clwqa_bench.llm.protocol import LLM
from clwqa_bench.llm.tasks import prompts_digest
from clwqa_bench.systems import Resources

EXTRACT_VERSION = 1
"""Raised by any change after which the rule would write another report."""
LOG, DONE = "log.jsonl", "done"
AT_ONCE = 16  # reports asked for
FINAL = ("refused", "unparsed")  # what comes of asking again


class UnfinishedIndex(ClwqaError):
    """Reports that could not all be written."""


def writer(resources: Resources, config: GraphRagConfig) -> LLM | None:
    """The model that writes the reports; None if a rule does."""
    by_rule = config.reports == "extractive" or isinstance(resources.llm, Lexical)
    return None if by_rule else resources.llm


def identity(llm: LLM | None) -> dict[str, Any]:
    """What reports depend on besides what they are made from."""
    if llm is None:
        return {"rule": EXTRACT_VERSION}
    prompts = {language: prompts_digest(language, (WriteReport,)) for language in ("zh", "en")}
    return {"llm": llm.name, **llm.describe(), "task": WriteReport.version, "prompts": prompts}


def write_reports(
    folder: Path,
    tables: Tables,
    communities: Communities,
    config: GraphRagConfig,
    resources: Resources,
    llm: LLM | None,
) -> None:
    """Make the reports of an index, or what is missing of them.

    In a dry run the model is asked, so that the calls are counted, and nothing is kept.
    Raises UnfinishedIndex if the budget does not allow all of them; what is written is kept.
    """
    if (folder / DONE).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):
        if (folder / DONE).exists():
            return
        log = Log.open(folder / LOG)
        dry = llm is not None and resources.dry
        writing = Writing(replace(log, path=None) if dry else log, tables, communities, config, llm)
        left = len(communities) - len(log.reports)
        with progress(f"graphrag, {left:,} community reports", total=left) as bar:
            resources.wait(writing.all(bar))
        if dry:
            return
        Reports.save(filter(None, log.reports.values()), folder)
        if len(log.reports) < len(communities):
            missing = len(communities) - len(log.reports)
            warn(f"{missing:,} community reports are missing after errors; the next run asks for them again")
            return
        (folder / DONE).touch()
        (folder / LOG).unlink(missing_ok=True)


@dataclass
class Log:
    """The reports written so far, by community; None for one that there will be no report on.

    Without a path they are remembered and not kept.
    """

    path: Path | None
    reports: dict[int, Written | None]

    @staticmethod
    def open(path: Path) -> Log:
        """What the log holds; a last line that was not finished is cut off."""
        content = path.read_bytes() if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            with path.open("r+b") as file:
                file.truncate(len(whole))
        reports: dict[int, Written | None] = {}
        for line in whole.splitlines():
            row = orjson.loads(line)
            reports[row["community"]] = (
                Written(**row | {"facts": tuple(row["facts"])}) if "title" in row else None
            )
        return Log(path, reports)

    def keep(self, community: int, report: Written | None) -> None:
        """Add a line; it outlives the process from here on."""
        self.reports[community] = report
        if self.path is not None:
            row = {"community": community} if report is None else report
            with self.path.open("ab") as file:
                file.write(orjson.dumps(row) + b"\n")


@dataclass(frozen=True)
class Writing:
    """The reports on all communities; `llm` is None if a rule writes them."""

    log: Log
    tables: Tables
    communities: Communities
    config: GraphRagConfig
    llm: LLM | None

    async def all(self, bar: Progress) -> None:
        """Write what is not in the log, level by level."""
        for number in sorted(set(self.communities.level.tolist()), reverse=True):
            level = Level(number, self.tables, self.communities, self.config)
            below = (self.communities.level == number + 1).nonzero()[0].tolist()
            sizes = {c: count_tokens([report.content]) for c in below if (report := self.log.reports.get(c))}
            every = (self.communities.level == number).nonzero()[0].tolist()
            missing = [community for community in every if community not in self.log.reports]
            await self._level(missing, partial(level.material, sizes=sizes), bar)

    async def _level(
        self, communities: Sequence[int], material: Callable[[int], Material], bar: Progress
    ) -> None:
        room = asyncio.Semaphore(AT_ONCE)

        async def write(community: int) -> None:
            async with room:
                await self._write(community, material(community))
            bar.advance()

        try:
            async with asyncio.TaskGroup() as group:
                for community in communities:
                    async with room:  # no more tasks than there is room for
                        pass
                    group.create_task(write(community))
                    await asyncio.sleep(0)  # an interrupt is heard here
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None

    async def _write(self, community: int, material: Material) -> None:
        task = self._task(material)
        if self.llm is None:
            report = task.extract()
        else:
            reply = await self.llm.do(task)
            if reply.status == "skipped":
                raise self._unfinished(reply.error)
            if reply.value is None:
                if reply.status in FINAL:
                    self.log.keep(community, None)
                return
            report = reply.value
        known = {fact.number for row in task.reports for fact in row.facts}.union(material.edges)
        self.log.keep(community, Written.of(community, report, known))

    def _task(self, material: Material) -> WriteReport:
        return WriteReport(
            entities=tuple(map(self.tables.entity, material.entities)),
            relations=tuple(map(self.tables.fact, material.edges)),
            reports=tuple(map(self._row, material.reports)),
            words=self.config.report_words,
        )

    def _row(self, community: int) -> ReportRow:
        report = self.log.reports[community]
        assert report is not None, "only reports that there are stand for their members"
        return ReportRow(
            number=community,
            title=report.title,
            content=report.content,
            rating=report.rating,
            facts=tuple(map(self.tables.fact, report.facts)),
        )

    def _unfinished(self, reason: str | None) -> UnfinishedIndex:
        return UnfinishedIndex(
            f"{len(self.log.reports):,} of {len(self.communities):,} community reports are written, then "
            f"{reason or 'the budget was used up'}",
            fix="allow more and run again, what is written is kept; or let a rule write them: --set reports=extractive",
        )
