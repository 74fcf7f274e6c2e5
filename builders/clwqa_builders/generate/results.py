"""From records to accepted questions: a pure function of the records and the dataset, so that a replay is exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from clwqa_bench.errors import BuildError
from clwqa_bench.kg.protocol import Triple
from clwqa_bench.llm.parsing import json_object, read
from clwqa_bench.records import Generator, Question, hop_band
from clwqa_bench.run_folder import write_whole
from clwqa_builders.generate import rules
from clwqa_builders.generate.asked import Asked, Groups
from clwqa_builders.generate.complete import Completer
from clwqa_builders.generate.derive import Deriver
from clwqa_builders.generate.evidence import Evidence
from clwqa_builders.generate.folder import ITEMS, QUESTIONS, REPORT, CallRecord, Identity
from clwqa_builders.generate.names import Names
from clwqa_builders.generate.reasons import REASONS, Rejected
from clwqa_builders.generate.task import WrittenQuestion
from clwqa_builders.questions.columns import GraphColumns
from clwqa_builders.questions.mention import Mentions
from clwqa_builders.validate.tables import DatasetTables


@dataclass(frozen=True)
class Item:
    """A written question, or a reply that is none (`number` 0), and what became of it."""

    record: str
    number: int
    text: str
    question: Question | None = None
    reason: str = ""
    detail: str = ""

    def as_dict(self) -> dict[str, Any]:
        """A line of items.jsonl."""
        return {
            "record": self.record,
            "number": self.number,
            "question": self.text,
            "accepted": self.question.id if self.question else None,
            "reason": self.reason or None,
            "detail": self.detail or None,
        }


@dataclass(frozen=True)
class Ground:
    """What generated questions are held against: a dataset with its graph, opened once."""

    tables: DatasetTables

    @cached_property
    def columns(self) -> GraphColumns:
        return GraphColumns.of_tables(self.tables.entities, self.tables.triples)

    @cached_property
    def names(self) -> Names:
        return Names(self.columns, Mentions(self.columns, self.tables.ontology))

    @cached_property
    def groups(self) -> Groups:
        return Groups.of(self.tables, self.columns)

    @cached_property
    def provenance(self) -> dict[tuple[str, str, str], str]:
        """Where each triple comes from."""
        columns = (
            self.tables.triples[name].to_pylist() for name in ("head", "relation", "tail", "provenance")
        )
        return {(head, relation, tail): note for head, relation, tail, note in zip(*columns, strict=True)}


def judge_all(records: Iterable[CallRecord], identity: Identity, ground: Ground) -> list[Item]:
    """What becomes of every written question, by record id: the order in which replies came makes no difference."""
    store = ground.tables.store
    deriver = Deriver(store, ground.names, ground.tables.manifest.limits.answers)
    generator = Generator(method="llm", model=identity.model, prompt_id=identity.prompt)
    completer = Completer(store, ground.groups, generator, ground.provenance)
    drafts: list[Item] = []
    for record in sorted(records, key=lambda record: record.id):
        evidence = Evidence(record.nodes, tuple(Triple(*triple) for triple in record.triples))
        drafts += _drafts(record, evidence, deriver, completer)
    wrong = rules.findings(ground.tables, _once(item.question for item in drafts if item.question))
    asked = Asked.of(ground.tables)
    return [_settled(item, wrong, asked) for item in drafts]


def _drafts(record: CallRecord, evidence: Evidence, deriver: Deriver, completer: Completer) -> list[Item]:
    """The questions of one reply as far as they can be judged alone."""
    if record.status == "refused":
        return [Item(record.id, 0, "", reason="refused")]
    found = read(record.task, record.reply)
    if found.value is None:
        reason = "wrong-schema" if _is_json(record.reply) else "unparsed"
        return [Item(record.id, 0, "", reason=reason, detail=found.error)]
    if not found.value.questions:
        return [Item(record.id, 0, "", reason="no-question")]
    items = []
    for number, written in enumerate(found.value.questions, start=1):
        items.append(_draft(record.id, number, written, evidence, deriver, completer))
    return items


def _draft(
    record: str,
    number: int,
    written: WrittenQuestion,
    evidence: Evidence,
    deriver: Deriver,
    completer: Completer,
) -> Item:
    text = written.question
    try:
        return Item(record, number, text, completer.question(text, deriver.derive(written, evidence)))
    except Rejected as rejected:
        return Item(record, number, text, reason=rejected.reason, detail=rejected.detail)


def _settled(item: Item, wrong: dict[str, tuple[str, str]], asked: Asked) -> Item:
    """The last word on a draft: the rules of the dataset, then what is asked already."""
    if item.question is None:
        return item
    if found := wrong.get(item.question.id):
        return Item(item.record, item.number, item.text, None, *found)
    try:
        asked.add(item.question)
    except Rejected as rejected:
        return Item(item.record, item.number, item.text, None, rejected.reason, rejected.detail)
    return item


def _once(questions: Iterable[Question]) -> list[Question]:
    """Questions without repetitions: what a model writes twice is the business of `Asked`."""
    return list({question.id: question for question in questions}.values())


def _is_json(reply: str) -> bool:
    try:
        json_object(reply)
    except ValueError:
        return False
    return True


def refuse_other_graph(records: Sequence[CallRecord], ground: Ground, path: Path) -> None:
    """Raise BuildError, naming the line of `path`, unless all evidence is in the graph."""
    for line, record in enumerate(records, start=1):
        stray = next((node for node in record.nodes if node not in ground.columns.index_of), None)
        triple = next((t for t in record.triples if t not in ground.provenance), None)
        if stray or triple:
            what = f"{stray or ' -'.join(triple or ())} is not in the graph"
            fix = "name the dataset it was made from; a record must not be edited"
            raise BuildError(what, fix=fix, file=path, line=line, field="nodes" if stray else "triples")


# ---------------------------------------------------------------------- files


def report(records: Sequence[CallRecord], items: Sequence[Item]) -> dict[str, Any]:
    """Counts: acceptance is a share of the items, a reply without questions being one of them."""
    accepted = [item.question for item in items if item.question]
    reasons = Counter(item.reason for item in items if item.reason)
    fruitful = {item.record for item in items if item.question}
    return {
        "calls": len(records),
        "tokens_in": sum(record.tokens_in for record in records),
        "tokens_out": sum(record.tokens_out for record in records),
        "items": len(items),
        "accepted": len(accepted),
        "acceptance": round(len(accepted) / len(items), 4) if items else None,
        "calls_with_accepted": len(fruitful),
        "rejected": {reason: reasons[reason] for reason in REASONS if reasons[reason]},
        "hops": dict(sorted(Counter(hop_band(question.hops) for question in accepted).items())),
        "categories": dict(sorted(Counter(question.category for question in accepted).items())),
        "splits": dict(sorted(Counter(question.split for question in accepted).items())),
    }


def write(folder: Path, items: Sequence[Item], counts: dict[str, Any]) -> None:
    """Write `questions.jsonl`, `items.jsonl` and `report.json`, each whole or not at all."""
    accepted = sorted((item.question for item in items if item.question), key=lambda question: question.id)
    write_whole(folder / QUESTIONS, b"".join(q.model_dump_json().encode() + b"\n" for q in accepted))
    write_whole(folder / ITEMS, b"".join(orjson.dumps(item.as_dict()) + b"\n" for item in items))
    write_whole(folder / REPORT, orjson.dumps(counts, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
