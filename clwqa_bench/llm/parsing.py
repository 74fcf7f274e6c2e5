"""Reading a completion: one JSON object that fits the task, a refusal, or a reason why it is neither.

Tolerant where nothing is guessed: prose or a code fence around the object, a model's thoughts before it, trailing
commas.  Two different objects, a cut-off one or a repeated key are not resolved in favour of either.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Generic, NoReturn

from pydantic import ValidationError

from clwqa_bench.llm.protocol import ValueT
from clwqa_bench.llm.tasks import OutputT, Task

MAX_TEXT = 64_000
"""Characters of a completion that are looked at and kept; no task asks for a reply near that long."""

REFUSALS = (
    "抱歉，我不能", "抱歉，我无法", "对不起，我不能", "对不起，我无法", "很抱歉，我", "我无法回答", "我不能回答",
    "我无法提供", "我不能提供", "作为一个人工智能", "作为一个ai", "作为ai", "作为人工智能",
    "i'm sorry, but i can", "i’m sorry, but i can", "i am sorry, but i can", "sorry, but i can", "sorry, i can",
    "i cannot", "i can't", "i can’t", "i won't", "i’m unable", "i'm unable", "i am unable", "as an ai",
)  # fmt: skip
"""How models begin when they decline, in lower case.  Consulted only if there is no JSON."""

BOM = "\ufeff"
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_STRING_OR_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Read(Generic[ValueT]):
    """What a completion says: a value, or why there is none."""

    value: ValueT | None = None
    refused: bool = False
    error: str = ""


def read(task: Task[OutputT], text: str) -> Read[OutputT]:
    """Read a completion as the output of a task."""
    if len(text) > MAX_TEXT:
        return Read(error=f"the reply is longer than {MAX_TEXT:,} characters")
    if not text.strip():
        return Read(error="the reply is empty")
    try:
        found = json_object(text, alone=task.alone)
        return Read(value=task.Output.model_validate(found))  # type: ignore[arg-type]  # Output is OutputT
    except ValidationError as error:
        return Read(error=_first_errors(error))
    except ValueError as error:
        return Read(refused=is_refusal(text), error=str(error))


def is_refusal(text: str) -> bool:
    """Whether a text has no JSON in it and begins as models do when they decline."""
    return "{" not in text and _THOUGHTS.sub("", text).strip().casefold().startswith(REFUSALS)


def json_object(text: str, *, alone: bool = False) -> dict[str, Any]:
    """The one JSON object in a text; if `alone`, with nothing else but thoughts before it.

    Raises ValueError saying why there is not exactly one.
    """
    text = _THOUGHTS.sub("", text)
    found: list[dict[str, Any]] = []
    problem = "there is no JSON object in it"
    pieces = _braced(text)
    if alone and pieces and pieces != [text.lstrip(BOM).strip()]:
        raise ValueError("there is more than the JSON object in it")
    for piece in pieces:
        try:
            value = _loads(piece)
        except ValueError as error:
            problem = str(error)
        else:
            if value not in found:
                found.append(value)
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(f"there are {len(found)} different JSON objects in it")
    raise ValueError(problem)


def _braced(text: str) -> list[str]:
    """The outermost {...} of a text, braces inside JSON strings not counted.  Raises ValueError if one stays open."""
    pieces = []
    depth = start = 0
    in_string = escaped = False
    for at, char in enumerate(text):
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            in_string = depth > 0
        elif char == "{":
            start = start if depth else at
            depth += 1
        elif char == "}" and depth:
            depth -= 1
            if not depth:
                pieces.append(text[start : at + 1])
    if depth:
        raise ValueError("the JSON object is cut off")
    return pieces


def _loads(piece: str) -> dict[str, Any]:
    without_trailing_commas = _STRING_OR_COMMA.sub(lambda match: match[1] or "", piece)
    try:
        return json.loads(without_trailing_commas, object_pairs_hook=_unrepeated, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("the JSON object is nested too deeply") from None


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key of the JSON object is repeated")
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _first_errors(error: ValidationError) -> str:
    """At most three faults, each with its place, short enough to send back."""
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or 'the object'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_input=False)[:3]
    )
