"""Records from strangers: read strictly and within bounds, refused with file, line and field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from clwqa_bench.records import Record
from clwqa_bench.runs import ITEMS, RETRIES, numbered_lines
from clwqa_leaderboard.bundle import PACK, THIN, TRACES
from clwqa_leaderboard.errors import SubmissionError

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Bounds:
    """What a file of a bundle may hold: bytes and values of one line, and values of all lines."""

    size: int
    line: int
    file: int


LINES = 100_000  # of any file: a split has 10,021 questions
BOUNDS: Mapping[str, Bounds] = {
    ITEMS: Bounds(
        256 << 10, 20_000, 4_000_000
    ),  # GraphRAG: 66 kB, 2,204; 1.9 million in the 64 MB of a bundle
    RETRIES: Bounds(256 << 10, 20_000, 4_000_000),
    TRACES: Bounds(4 << 20, 200_000, 12_000_000),  # CEAF: 360 kB, 20,654; 7.8 million
    THIN: Bounds(256 << 10, 50_000, 3_000_000),  # CEAF: 10 kB, 4,876; 1.5 million
}
"""About ten times the longest line of any system of this project.  Of a whole file it is twice the largest: a value of
two bytes can take half a kilobyte as a record, so that twice is what a small machine has the memory and time for."""
BEFORE_VALUES = (b"{", b"[", b",")  # one of these stands before every value; in a text they are counted too
LESS: Mapping[str, str] = {TRACES: "leave the traces out (`pack --no-traces`)"}
EVIDENCE = "keep as evidence what the model was shown, not what was looked at"


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


def bounded_lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """The lines of a file of a bundle, as `numbered_lines` gives them.

    Raises SubmissionError for a line, or a file, that holds more than its bounds, before a record is made of it.
    """
    bounds, lines, values = BOUNDS[path.name], 0, 0
    for number, line, whole in numbered_lines(path):
        held = sum(map(line.count, BEFORE_VALUES))
        lines, values, what = lines + 1, values + held, None
        if len(line) > bounds.size:
            what = f"the line has {len(line) / 1024:,.0f} kB, a board takes {bounds.size >> 10:,}"
        elif held > bounds.line:
            what = f"the line holds {held:,} values, a board takes {bounds.line:,}"
        elif values > bounds.file:
            what = f"the lines up to here hold {values:,} values, a board takes {bounds.file:,}"
        elif lines > LINES:
            what = f"there are more than {LINES:,} lines"
        if what:
            raise SubmissionError(what, fix=LESS.get(path.name, EVIDENCE), file=path, line=number)
        yield number, line, whole


def at_most(most: int, found: int, of: str, path: Path, number: int, field: str, fix: str) -> None:
    """Raises SubmissionError for a list that is longer than `most`."""
    if found > most:
        raise SubmissionError(
            f"{found:,} {of}, a board takes {most:,}", fix=fix, file=path, line=number, field=field
        )
