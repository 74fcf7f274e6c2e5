"""Write the JSON Schemas of everything that is exchanged: ``python docs/schemas.py``.

They are made from the records, and a test compares them, so the published schemas cannot fall behind the code.
"""

from __future__ import annotations

from pathlib import Path

from clwqa_bench.console import to_json
from clwqa_bench.predictions import json_schemas
from clwqa_bench.records import json_schema

FOLDER = Path(__file__).resolve().parent / "schema"


def texts() -> dict[str, str]:
    """File name -> content of every schema."""
    schemas = {"question": json_schema(), **json_schemas()}
    return {f"{name}.schema.json": to_json(schema) + "\n" for name, schema in schemas.items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
