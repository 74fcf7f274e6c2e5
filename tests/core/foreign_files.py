"""Small files in other projects' formats, written on the spot."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write(path: Path, *objects: object) -> Path:
    """One object per line."""
    path.write_text("".join(f"{json.dumps(o, ensure_ascii=False)}\n" for o in objects), encoding="utf-8")
    return path


def document(path: Path, value: object) -> Path:
    """One JSON document over several lines."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def plain_gold(path: Path, questions: Iterable[tuple[str, str, list[str]]]) -> Path:
    """Gold of (id, text, answers)."""
    return write(path, *({"id": id, "question": text, "answers": answers} for id, text, answers in questions))


def pog_row(question: str, answer: object, **more: Any) -> dict[str, Any]:
    """A row as PoG writes it; `answer` goes into its JSON."""
    results = json.dumps(
        {"A": {"Sufficient": "Yes", "Answer": answer}, "R": "见所给三元组"}, ensure_ascii=False
    )
    return raw_row(question, results, **more)


def raw_row(question: str, results: object, **more: Any) -> dict[str, Any]:
    """A row of PoG or ToG with the given output."""
    return {"question": question, "results": results, "reasoning_chains": [], **more}


def rog_row(id: str, prediction: object, golds: list[str], **more: Any) -> dict[str, Any]:
    """A row as RoG and GCR write it."""
    return {
        "id": id,
        "question": f"问{id}",
        "prediction": prediction,
        "ground_truth": golds,
        "input": "…",
        **more,
    }
