"""An error says what is wrong, where, and how to put it right."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from clwqa_bench.errors import ClwqaError, GraphError, ValidationFailed


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ClwqaError("no such word", fix="check the spelling"), "no such word. Fix: check the spelling."),
        (
            GraphError("bad row", fix="remove it", file=Path("a.tsv"), line=3, field="tail"),
            "a.tsv:3: field tail: bad row. Fix: remove it.",
        ),
        (GraphError("bad row", fix="remove it", file="a.tsv"), "a.tsv: bad row. Fix: remove it."),
        (GraphError("bad row", fix="remove it", line=3), "line 3: bad row. Fix: remove it."),
        (GraphError("bad row", fix="remove it", field="id"), "field id: bad row. Fix: remove it."),
        (GraphError("it ends.", fix="like this."), "it ends. Fix: like this."),
    ],
)
def test_text(error: ClwqaError, text: str) -> None:
    assert str(error) == text


def test_json() -> None:
    error = GraphError("bad row", fix="remove it", file=Path("a.tsv"), line=3)
    assert error.as_dict() == {
        "error": "GraphError", "what": "bad row", "fix": "remove it", "file": "a.tsv", "line": 3, "field": None,
    }  # fmt: skip


def test_a_worker_process_can_hand_it_over() -> None:
    error = ValidationFailed("3 errors", fix="see above", file="qa.jsonl", line=1, field="answers")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is ValidationFailed
    assert str(copy) == str(error)
