"""Generating questions: a word, its evidence out of the graph, a language model, and checks of what it writes.

Can be stopped anywhere, also by `kill -9`; the same call asks about the words that are missing.  `replay` makes the
same questions from what was recorded, without a model.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import Any, Final

from clwqa_bench.console import Progress, progress
from clwqa_bench.errors import BuildError
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.llm import open_llm
from clwqa_bench.llm.protocol import LLM, NOTHING, Activity, LLMError, Reply, ReplyStatus
from clwqa_bench.llm.tasks import Language, prompts_digest
from clwqa_bench.runner import Model, show
from clwqa_builders.generate.evidence import LIMITS, Evidence, Plan, edges_of, retrieve, task_of
from clwqa_builders.generate.folder import (
    RECORDS,
    CallRecord,
    Identity,
    append,
    opened,
    read_identity,
    read_records,
    refuse_changes,
    refuse_other_dataset,
)
from clwqa_builders.generate.results import Ground, judge_all, refuse_other_graph, report, write
from clwqa_builders.generate.task import GenerateQuestions, WrittenQuestions
from clwqa_builders.generate.words import FEWEST_FACTS, record_id, words
from clwqa_builders.output.manifest import require_main
from clwqa_builders.validate.tables import DatasetTables

KEPT: Final[frozenset[ReplyStatus]] = frozenset({"ok", "unparsed", "refused"})
"""What the model has said.  A fault or a used-up budget says nothing of it and is asked again by the next call."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to generate: about so many words in the order of the seed, at most `wanted` questions on each.

    `store` is a graph store to take the evidence from, instead of the dataset's own files.
    """

    words: int
    seed: int = 0
    wanted: int = 3
    store: GraphStore | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a generation stands: `asked` words were asked about now; `failed` counts what is asked again."""

    folder: Path
    model: str
    asked: int
    failed: Mapping[str, int]
    report: Mapping[str, Any]
    error: str | None = None  # the first one met by this call
    llm: str = ""  # what the language model did in this call


@dataclass(frozen=True, slots=True)
class Expected:
    """What asking about the `missing` of `words` would take at most, in tokens and US dollars."""

    words: int
    missing: int
    tokens_in: int
    tokens_out: int
    cost: float | None


@dataclass(slots=True)
class _Call:
    """What one call adds to a folder."""

    stream: FileIO
    records: dict[str, CallRecord]
    seed: int
    asked: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    error: str | None = None


def generate(
    tables: DatasetTables, request: Request, out: Path, model: Model, concurrency: int = 8
) -> Outcome:
    """Ask a model about all words that `out` has no record of, and write the questions that pass the checks.

    Raises LLMError when the model cannot be used or is none, DatasetError when the dataset is an extension set or of
    somebody's own graph, BuildError when the folder belongs to another generation, PredictionError when another process
    is writing there, GraphError when the store does not answer.
    """
    _refuse_rules(model)
    require_main(tables.manifest.config, tables.root)
    ground = Ground(tables)
    with asyncio.Runner() as loop:
        llm = open_llm(model.spec, None, model.options)
        try:
            identity = _identity(tables, request, llm, model.options.language)
            with opened(out, identity) as (stream, records):
                call = _Call(stream, records, request.seed)
                missing = _missing(ground, request, records)
                with progress(f"{llm.name} writes questions", request.words - len(records)) as bar:
                    loop.run(_ask(llm, missing, call, concurrency, model.options.activity, bar))
                os.fsync(stream.fileno())
                counts = _finish(out, list(records.values()), identity, ground)
        finally:
            loop.run(llm.close())
    return Outcome(
        folder=out,
        model=llm.name,
        asked=call.asked,
        failed=dict(sorted(call.failed.items())),
        report=counts,
        error=call.error,
        llm=model.options.activity.line(),
    )


def replay(tables: DatasetTables, source: Path, out: Path) -> Outcome:
    """Make the questions of a recorded generation again, without a model, into a folder of its own.

    Raises BuildError when there is none, when it was made from another dataset, or when a record is damaged.
    """
    identity, records = read_identity(source), read_records(source)
    refuse_other_dataset(source, _content(tables))
    ground = Ground(tables)
    refuse_other_graph(records, ground, source / RECORDS)
    if out.resolve() == source.resolve():
        raise BuildError("a replay goes into a folder of its own", fix="name another --out", file=out)
    with opened(out, identity) as (stream, present):
        for record in records:
            if record.word not in present:
                append(stream, record)
        counts = _finish(out, records, identity, ground)
    return Outcome(out, identity.model, 0, {}, counts)


def expect(tables: DatasetTables, request: Request, out: Path | None, model: Model) -> Expected:
    """What `generate` with the same arguments would take, if nothing were cached; `out` is only looked at, if named.

    Open the model with `dry` options: then nothing is asked and no key is needed.
    """
    _refuse_rules(model)
    require_main(tables.manifest.config, tables.root)
    with asyncio.Runner() as loop:
        llm = open_llm(model.spec, None, model.options)
        try:
            done = {}
            if out and out.exists() and any(out.iterdir()):
                refuse_changes(out, _identity(tables, request, llm, model.options.language))
                done = {record.word: record for record in read_records(out)}
            count, total = 0, NOTHING
            for _, task in _missing(Ground(tables), request, done):
                count, total = count + 1, total + llm.estimate(task)
        finally:
            loop.run(llm.close())
    return Expected(count + len(done), count, total.tokens_in, total.tokens_out, total.cost)


def _refuse_rules(model: Model) -> None:
    if model.spec.partition(":")[0] == "lexical":
        raise LLMError(
            "without a language model nobody writes: what rules can ask, the templates ask already",
            fix="name one, such as --llm openai:PRESET_OR_MODEL or --llm local",
        )


def _identity(tables: DatasetTables, request: Request, llm: LLM, language: Language) -> Identity:
    task = GenerateQuestions
    return Identity(
        model=llm.name,
        prompt=f"{task.id}.{language}/{task.version}/{prompts_digest(language, (task,))}",
        llm=llm.describe(),
        dataset=_content(tables),
        seed=request.seed,
        wanted=request.wanted,
        limits=LIMITS,
    )


def _content(tables: DatasetTables) -> dict[str, str]:
    return {name: tables.manifest.content[name] for name in ("kg", "qa") if name in tables.manifest.content}


def _finish(out: Path, records: list[CallRecord], identity: Identity, ground: Ground) -> dict[str, Any]:
    items = judge_all(records, identity, ground)
    counts = report(records, items)
    write(out, items, counts)
    return counts


# ---------------------------------------------------------------------- asking

Asking = tuple[Evidence, GenerateQuestions]


def _missing(ground: Ground, request: Request, done: Mapping[str, CallRecord]) -> Iterator[Asking]:
    """The words that are not asked about yet, each with its evidence, as they are wanted."""
    graph = ground.tables.store
    plan, edges = Plan(graph.ontology), edges_of(request.store or graph)

    def with_evidence() -> Iterator[Evidence | None]:
        for word in words(graph, request.seed):
            if word in done:
                yield None
            elif len((found := retrieve(word, plan, edges, graph.types)).triples) >= FEWEST_FACTS:
                yield found

    for evidence in islice(with_evidence(), request.words):
        if evidence:
            yield evidence, task_of(evidence, graph, ground.names.name, request.wanted)


async def _ask(
    llm: LLM, missing: Iterator[Asking], call: _Call, concurrency: int, activity: Activity, bar: Progress
) -> None:
    async def work() -> None:
        for evidence, task in missing:  # all workers take from the one queue
            await asyncio.sleep(0)  # an interrupt is heard here, also among replies from the cache
            _keep(evidence, task, await llm.do(task), call)
            bar.advance()

    showing = asyncio.create_task(show(activity, bar))
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(work())
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    finally:
        showing.cancel()


def _keep(evidence: Evidence, task: GenerateQuestions, reply: Reply[WrittenQuestions], call: _Call) -> None:
    """Write down what the model says about a word, if it says anything."""
    if reply.status not in KEPT:
        call.failed[reply.status] += 1
        call.error = call.error or reply.error
        return
    record = CallRecord(
        id=record_id(evidence.word, call.seed),
        word=evidence.word,
        nodes=evidence.nodes,
        triples=tuple((t.head, t.relation, t.tail) for t in evidence.triples),
        task=task,
        status=reply.status,  # type: ignore[arg-type]  # one of KEPT
        reply=reply.raw,
        tokens_in=reply.usage.tokens_in,
        tokens_out=reply.usage.tokens_out,
    )
    append(call.stream, record)
    call.records[record.word] = record
    call.asked += 1
