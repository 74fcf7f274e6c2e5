"""What OpenAI's strict mode asks of a schema."""

from __future__ import annotations

from typing import Any

KNOWN = {
    "type", "enum", "properties", "required", "additionalProperties", "items",
    "minItems", "maxItems", "minimum", "maximum",
}  # fmt: skip


def check_strict(schema: dict[str, Any]) -> None:
    """Every part has a type, objects are closed with every key required, and there are no references."""
    assert set(schema) <= KNOWN
    if schema["type"] == "object":
        assert schema["required"] == list(schema["properties"])
        assert schema["additionalProperties"] is False
        for part in schema["properties"].values():
            check_strict(part)
    if schema["type"] == "array":
        check_strict(schema["items"])
