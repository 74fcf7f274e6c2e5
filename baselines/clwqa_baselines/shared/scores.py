"""Scores that a model is asked for: bounds it is told, and what becomes of a number beyond them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import FiniteFloat, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

_NUMBER = TypeAdapter(FiniteFloat)


@dataclass(frozen=True, slots=True)
class Scale:
    """The bounds of a score: ``Annotated[int, Scale(0, 5)]``.

    The schema states them.  What a model gives beyond them is cut to them, and rounded where the field is an `int`: one
    number must not cost a whole reply.  What is no number, or not a finite one, is refused.
    """

    low: int
    high: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(given: Any) -> float:
            number = min(max(_NUMBER.validate_python(given), self.low), self.high)
            return round(number) if source is int else number

        return core_schema.no_info_before_validator_function(read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(schema) | {"minimum": self.low, "maximum": self.high}
