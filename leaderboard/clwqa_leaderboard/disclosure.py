"""The disclosure form: the same questions to everyone, answered by the submitter and shown with the entry."""

from __future__ import annotations

import datetime
import textwrap
import tomllib
from pathlib import Path
from typing import Literal, get_args

import orjson
from pydantic import Field, ValidationError
from pydantic.fields import FieldInfo

from clwqa_bench.records import Record
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.words import Address, Line, Prose, Statement

DISCLOSURE = "disclosure.json"
FORM = "disclosure.toml"
LARGEST = 64 << 10  # bytes of a form
SEE_FORM = "`clwqa-bench leaderboard form` prints a form with every question"


class Disclosure(Record):
    """What only the submitter can say of a run.  What is unknown is said in words; it is not left out."""

    schema_version: Literal[1] = 1
    title: Line = Field(description="The system's name as readers see it; may be Chinese.")
    authors: Line = Field(description="People or organisation.")
    date: datetime.date = Field(description="When the run was made, as in 2026-01-31.")
    code: Literal["open", "closed"] = Field(description="Can others run the system?  open or closed.")
    model: Literal["none", "open", "closed"] = Field(
        description="The language model behind it: none, open (weights can be had) or closed."
    )
    description: Statement = Field(description="How the system answers, in a few sentences.")
    training: Statement = Field(
        description="What was trained or tuned for this run, and on which data; the train split counts too."
    )
    test_seen: Literal["no", "yes", "unknown"] = Field(
        description="Could a model, a prompt or a person have seen questions or gold of this split?"
    )
    knowledge: Statement = Field(
        description="Knowledge other than the dataset's graph: the model's own, web, books."
    )
    hardware: Statement = Field(description="On what it ran; an endpoint is named.")
    url: Address = Field(default="", description="Paper or code.")
    contact: Prose = Field(default="", description="How a maintainer can ask; it is published.")
    supersedes: Prose = Field(default="", description="Id of the entry that this one replaces.")

    def as_json(self) -> bytes:
        """The form as a bundle holds it."""
        return orjson.dumps(self.model_dump(mode="json"), option=orjson.OPT_INDENT_2) + b"\n"


def read_form(path: Path) -> Disclosure:
    """Read a form that was filled in (TOML).  Raises SubmissionError naming the field that is wrong or empty."""
    try:
        if path.stat().st_size > LARGEST:
            raise SubmissionError("the form is too long", fix=f"keep it below {LARGEST >> 10} kB", file=path)
        answers = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise SubmissionError(
            "there is no disclosure form",
            fix=f"`clwqa-bench leaderboard form > {FORM}`, fill it in, and name it with --disclosure",
            file=path,
        ) from None
    except UnicodeDecodeError as error:
        raise SubmissionError(
            f"not UTF-8: byte {error.start + 1}", fix="save the file as UTF-8", file=path
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise SubmissionError(f"not TOML: {error}", fix=SEE_FORM, file=path) from None
    answers = {
        key: str(value) if isinstance(value, datetime.date) else value for key, value in answers.items()
    }
    return parse_disclosure(orjson.dumps(answers), path)


def parse_disclosure(text: bytes, path: Path) -> Disclosure:
    """A form from JSON.  Raises SubmissionError naming the field that is wrong, missing or unknown."""
    try:
        return Disclosure.model_validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or None
        what = first["msg"].removeprefix("Value error, ")
        if first["type"] in ("string_too_short", "missing"):
            what = "the form leaves this open"
        raise SubmissionError(what, fix=SEE_FORM, file=path, field=field) from None


def blank_form() -> str:
    """A form to fill in, as TOML: every question as a comment above its answer."""
    return "\n".join(
        f"{textwrap.indent(_question(field), '# ')}\n{name} = {_answer(field)}\n"
        for name, field in Disclosure.model_fields.items()
    )


def _question(field: FieldInfo) -> str:
    optional = "" if field.is_required() or field.default == 1 else "  (may stay empty)"
    return f"{field.description or 'Version of this form.'}{optional}"


def _answer(field: FieldInfo) -> str:
    return str(get_args(field.annotation)[0]) if field.default == 1 else '""'
