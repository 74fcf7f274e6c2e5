"""Bands that people decided; they go before what the rules of the rubric say.

A table has a line for each pair. `clwqa-bench review report --bands FILE` writes one, a build reads the one beside this
module and those of `--adjudicated`. What readers saw stands in it, so that a decision about other words is noticed.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from pydantic import Field, ValidationError

from clwqa_bench.errors import BuildError
from clwqa_bench.records import BAND_LABELS, Band, Record
from clwqa_builders.pairs.draw import Candidate
from clwqa_builders.pairs.rubric import Entry, Rule

TABLE = Path(__file__).with_name("adjudicated.tsv")
RULE = "adjudicated"
"""What a pair names as its rule when people decided otherwise than the rubric."""
RULES: Mapping[str, Rule] = MappingProxyType(
    {
        band: Rule(
            Entry(id=RULE, band=band, description="Decided by readers."), None, frozenset(), frozenset()
        )
        for band in BAND_LABELS
    }
)


class Decision(Record):
    """The band of one pair, who decided it in which review, and what they read (blanks as single spaces)."""

    pair_id: str = Field(min_length=1)
    band: Band
    decided_by: str
    review: str
    question: str = Field(min_length=1)
    node_text: str = Field(min_length=1)

    @property
    def row(self) -> tuple[str, ...]:
        """Its line of the table."""
        return tuple(getattr(self, name) for name in COLUMNS)


COLUMNS = tuple(Decision.model_fields)
Decisions = Mapping[str, Decision]
"""By pair."""


def read_decisions(files: Iterable[Path] = (TABLE,)) -> Decisions:
    """The decisions in tables.  Raises BuildError naming file and line of what does not fit or is there twice."""
    found: dict[str, Decision] = {}
    for file in files:
        for number, decision in _lines(file):
            if decision.pair_id in found:
                what = f"{decision.pair_id} is decided twice"
                fix = "keep the line that holds, in one of the files"
                raise BuildError(what, fix=fix, file=file, line=number, field="pair_id")
            found[decision.pair_id] = decision
    return found


def digest(decisions: Decisions) -> str:
    """Equal for equal decisions."""
    rows = ("\t".join(decisions[pair].row) for pair in sorted(decisions))
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def plain(text: str) -> str:
    """A text as a cell of a table holds it."""
    return " ".join(text.split())


def decided(candidate: Candidate, decision: Decision, text: str) -> Candidate:
    """A candidate (its node reads `text`) with the band that people gave it.

    Raises BuildError if they read something else.
    """
    if (decision.question, decision.node_text) != (plain(candidate.asked.text), plain(text)):
        raise BuildError(
            f"{decision.pair_id} was decided by {decision.decided_by} of review {decision.review} on other words",
            fix="let it be read again, or delete its line from the table of decisions",
        )
    if decision.band == candidate.band:
        return candidate
    return replace(candidate, rules=(RULES[decision.band], *candidate.rules))


def _lines(file: Path) -> Iterator[tuple[int, Decision]]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        fix = "name a file that `clwqa-bench review report --bands FILE` wrote"
        raise BuildError("the table of decisions is missing", fix=fix, file=file) from None
    except UnicodeDecodeError:
        raise BuildError("not UTF-8", fix="save the table as UTF-8", file=file) from None
    header, *rows = csv.reader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE) if text else ([],)
    if tuple(header) != COLUMNS:
        fix = f"begin it with the columns {', '.join(COLUMNS)}, separated by tabs"
        raise BuildError("not a table of decisions", fix=fix, file=file, line=1)
    for number, cells in enumerate(rows, start=2):
        if len(cells) != len(COLUMNS):
            what = f"{len(cells)} cells where the header has {len(COLUMNS)}"
            raise BuildError(what, fix="separate the cells with single tabs", file=file, line=number)
        try:
            yield number, Decision.model_validate(dict(zip(COLUMNS, cells, strict=True)))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, first["loc"]))
            fix = "restore the line, or let the pair be read again"
            raise BuildError(first["msg"], fix=fix, file=file, line=number, field=field) from None
