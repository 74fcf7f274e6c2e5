"""Records from strangers: read strictly, refused with file, line and field."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from clwqa_bench.records import Record
from clwqa_leaderboard.bundle import PACK
from clwqa_leaderboard.errors import SubmissionError

R = TypeVar("R", bound=Record)


def parsed(kind: type[R], text: bytes, path: Path, number: int | None = None) -> R:
    """A record from JSON.  Raises SubmissionError naming the field that is wrong, missing or unknown."""
    try:
        return kind.model_validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or None
        raise SubmissionError(
            first["msg"].removeprefix("Value error, "), fix=PACK, file=path, line=number, field=field
        ) from None
