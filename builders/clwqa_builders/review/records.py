"""What a review is made of: the plan, the items people read, and what they said of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Literal

import orjson
from pydantic import Field, StringConstraints

from clwqa_bench.errors import ClwqaError
from clwqa_bench.records import Record
from clwqa_builders.review.forms import Kind

Role = Literal["annotator", "adjudicator"]
PERSON = re.compile(r"\w(?:[\w .·-]{0,38}\w)?")
"""A name that can be that of a file: letters of any script, digits, and marks within."""
Person = Annotated[str, StringConstraints(pattern=f"^{PERSON.pattern}$")]


class ReviewError(ClwqaError):
    """A review that cannot be made or read as asked."""


class Item(Record):
    """A question, or a question with a node, as readers see it.

    `strata` are names by dimension, for rates; `expected` is the band that the rubric gives a pair and `claims` the
    rules behind it, neither shown to annotators. `cell` is the stratum the sample was drawn from.
    """

    id: str = Field(min_length=1)
    question: str
    answers: tuple[str, ...]
    paths: tuple[str, ...]
    passages: tuple[str, ...] = ()
    node: str = ""
    strata: Mapping[str, str] = {}
    cell: str = ""
    expected: str | None = None
    claims: str = ""

    @property
    def shown(self) -> str:
        """A digest of what readers see."""
        told = (self.id, self.question, self.answers, self.paths, self.passages, self.node)
        return hashlib.sha256(orjson.dumps(told)).hexdigest()[:16]


class Plan(Record):
    """What is reviewed and by whom; anything different here makes another review.

    `dataset` is its name, version and content digests; `cells` the number of things each stratum of the sample was
    drawn from; `assigned` the ids each person reads, in their order; `items` the sha256 of the items file.
    """

    schema_version: Literal[1] = 1
    kind: Kind
    dataset: Mapping[str, str]
    seed: int
    drawn: str = Field(description="How the sample was taken, in words.")
    cells: Mapping[str, int]
    assigned: Mapping[Person, tuple[str, ...]]
    items: str

    @property
    def id(self) -> str:
        """A name for the review; it begins with a letter, so that no spreadsheet program takes it for a number."""
        return f"r{hashlib.sha256(self.model_dump_json().encode('utf-8')).hexdigest()[:11]}"

    @property
    def edition(self) -> str:
        """The dataset in a few words that change with its content."""
        content = "".join(f"{key}={value}" for key, value in sorted(self.dataset.items()))
        digest = hashlib.sha256(content.encode("utf-8")).hexdigest()[:12]
        return f"{self.dataset['name']} {self.dataset['version']} #{digest}"


class Ruling(Record):
    """What one person says of one item: verdicts by criterion, as far as they are given."""

    annotator: Person
    role: Role = "annotator"
    item: str
    verdicts: Mapping[str, str] = {}
    comment: str = ""


class Line(Ruling):
    """A ruling on its way from a reader: a line of the verdict file that the page saves."""

    review: str
    dataset: str
    shown: str


class Stored(Ruling):
    """A ruling as the review keeps it, with the file it came in."""

    file: str
    line: int
    sha256: str


def refuse_person(name: str) -> None:
    """Raise ReviewError unless a file can have this name."""
    if not PERSON.fullmatch(name):
        fix = "use letters of any script, digits, and blanks or hyphens within, at most 40 characters"
        raise ReviewError(f"{name!r} cannot be a reader's name", fix=fix)
