"""Prediction records: what they hold, what they refuse, and that the published schemas are theirs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from clwqa_bench.predictions import STATUSES, Prediction, RunManifest, StageUsage, json_schemas

REPOSITORY = Path(__file__).resolve().parents[2]

FULL: dict[str, Any] = {
    "id": "q1",
    "status": "ok",
    "ranked": True,
    "answers": [{"text": "韩非子", "entity_id": "book:韩非子", "rank": 1, "score": 0.9, "support": ["p1"]}],
    "evidence": {
        "paths": [{"id": "p1", "triples": [{"head": "word:守株待兔", "relation": "hasSource", "tail": "book:x"}]}],
        "texts": [{"id": "t1", "text": "兔走触株", "kind": "passage"}],
    },
    "citations": [{"marker": "[1]", "evidence_id": "p1"}, {"marker": "[9]", "evidence_id": "9", "ok": False}],
    "raw_answer": "出自《韩非子》[1]。",
    "native_format": "prose",
    "usage": {"answer": {"calls": 1, "attempts": 2, "tokens_in": 300, "tokens_out": 12, "seconds": 0.8}},
    "trace": [{"stage": "link", "entities": ["word:守株待兔"], "elements": [{"element": "Idiom", "entity_id": "x"}]}],
    "flags": ["relaxed"],
    "topics": ["word:守株待兔"],
}  # fmt: skip


def test_a_line_survives_being_written_and_read() -> None:
    prediction = Prediction.model_validate(FULL)
    line = prediction.model_dump_json(exclude_defaults=True)
    assert "韩非子" in line
    assert Prediction.model_validate_json(line, strict=True) == prediction


def test_a_prediction_cannot_be_changed() -> None:
    prediction = Prediction.model_validate(FULL)
    with pytest.raises(ValidationError, match="frozen"):
        prediction.status = "empty"  # type: ignore[misc]


@pytest.mark.parametrize("status", STATUSES)
def test_answers_belong_to_ok_and_to_no_other_status(status: str) -> None:
    right = FULL["answers"] if status == "ok" else []
    assert Prediction.model_validate({"id": "q", "status": status, "answers": right}).status == status
    wrong = [] if status == "ok" else FULL["answers"]
    with pytest.raises(ValidationError, match=f"status '{status}' with"):
        Prediction.model_validate({"id": "q", "status": status, "answers": wrong})


def test_usage_is_never_negative() -> None:
    with pytest.raises(ValidationError):
        StageUsage(seconds=-1)


def test_a_run_is_named_by_system_variant_and_backbone() -> None:
    ref = {"name": "clwqa-100k", "version": "0.1.0", "content": "abc", "split": "test"}
    run = RunManifest.model_validate(
        {"system": "ceaf", "variant": "relax", "dataset": ref, "code_version": "0"}
    )
    assert run.title == "ceaf-relax [none/lexical]"


def test_the_schemas_in_the_docs_are_those_of_the_records() -> None:
    spec = importlib.util.spec_from_file_location("schemas", REPOSITORY / "docs" / "schemas.py")
    assert spec is not None
    assert spec.loader is not None
    schemas = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(schemas)
    for name, text in schemas.texts().items():
        shown = (schemas.FOLDER / name).read_text(encoding="utf-8")
        assert shown == text, f"docs/schema/{name} is old: run `python docs/schemas.py`"


def test_the_schema_says_what_the_reader_checks() -> None:
    schema = json_schemas()["prediction"]
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == {"id", "status"}
    assert schema["properties"]["status"]["enum"] == list(STATUSES)
    assert json.dumps(schema)
