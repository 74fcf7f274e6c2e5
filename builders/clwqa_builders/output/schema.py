"""Explicit Arrow schemas of the published tables.

Lists are never null (an absent list is empty), ids are strings, and the column order here is the key order of the
JSONL mirror, so both encodings of a row agree field by field.
"""

from __future__ import annotations

import pyarrow as pa

from clwqa_bench.records import SCHEMA_VERSION

TEXT = pa.string()


def required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


def list_of(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", kind, nullable=False))


STRINGS = list_of(TEXT)

ANSWER = pa.struct(
    [
        required("entity_id", TEXT),
        required("label", TEXT),
        required("aliases", STRINGS),
        required("kind", TEXT),
    ]
)
ANCHOR = pa.struct([required("entity_id", TEXT), required("mention", TEXT), required("elements", STRINGS)])
STEP = pa.struct([required("relation", TEXT), required("direction", TEXT), required("type", TEXT)])
PATH = pa.struct([required("steps", list_of(STEP)), required("entities", STRINGS)])
TRIPLE = pa.struct([required("head", TEXT), required("relation", TEXT), required("tail", TEXT)])
GENERATOR = pa.struct(
    [
        required("method", TEXT),
        pa.field("template_id", TEXT),
        pa.field("model", TEXT),
        pa.field("prompt_id", TEXT),
    ]
)
ATTRIBUTE = pa.struct([required("key", TEXT), required("value", TEXT)])

QUESTIONS = pa.schema(
    [
        required("id", TEXT),
        required("question", TEXT),
        required("answers", list_of(ANSWER)),
        required("hops", pa.int32()),
        required("category", TEXT),
        required("upper_category", TEXT),
        required("category_basis", TEXT),
        required("group_id", TEXT),
        pa.field("template_id", TEXT),
        required("family", TEXT),
        required("anchors", list_of(ANCHOR)),
        required("target_element", TEXT),
        required("standard_paths", list_of(PATH)),
        required("cypher", TEXT),
        required("sparql", TEXT),
        required("evidence", list_of(TRIPLE)),
        required("sources", STRINGS),
        required("generator", GENERATOR),
        required("split", TEXT),
        required("views", STRINGS),
    ]
)

ENTITIES = pa.schema(
    [
        required("id", TEXT),
        required("label", TEXT),
        required("type", TEXT),
        required("aliases", STRINGS),
        required("text", TEXT),
        required("attributes", list_of(ATTRIBUTE)),
        required("provenance", TEXT),
    ]
)

TRIPLES = pa.schema(
    [required("head", TEXT), required("relation", TEXT), required("tail", TEXT), required("provenance", TEXT)]
)

PAIRS = pa.schema(
    [
        *(
            required(name, TEXT)
            for name in ("id", "question_id", "question", "entity_id", "node_text", "element")
        ),
        required("band", TEXT),
        required("label", pa.float64()),
        required("rule", TEXT),
        required("split", TEXT),
    ]
)
"""One question-node scoring pair."""

CANARY = (
    "clwqa-bench canary 6f1c0c0e-54d1-4f0b-9c1e-6b7d3a9e2f48: benchmark data, keep out of training corpora"
)
"""Printed in the card, the manifest and the Parquet metadata, so that leaked copies can be found in a corpus."""


def with_metadata(schema: pa.Schema) -> pa.Schema:
    """The schema with the version and the canary, as written to every Parquet file."""
    return schema.with_metadata({"clwqa.schema_version": str(SCHEMA_VERSION), "clwqa.canary": CANARY})


def features(schema: pa.Schema, indent: int = 2) -> str:
    """The schema as the `features` YAML of a dataset card, so that Parquet and JSONL load with the same types."""
    return "\n".join(_feature(field, " " * indent) for field in schema)


def _feature(field: pa.Field, pad: str) -> str:
    kind = field.type
    head = f"{pad}- name: {field.name}\n{pad}  "
    if pa.types.is_list(kind):
        if pa.types.is_struct(kind.value_type):
            members = "\n".join(_feature(member, f"{pad}  ") for member in kind.value_type.fields)
            return f"{head}list:\n{members}"
        return f"{head}list: {kind.value_type}"
    if pa.types.is_struct(kind):
        members = "\n".join(_feature(member, f"{pad}  ") for member in kind.fields)
        return f"{head}struct:\n{members}"
    return f"{head}dtype: {kind}"
