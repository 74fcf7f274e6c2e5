"""What a rule is and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from clwqa_builders.validate.tables import DatasetTables

Severity = Literal["error", "warning", "info"]


class Fault(NamedTuple):
    """What a check yields: the question (or "" for the dataset as a whole), the field, and what is wrong."""

    question: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault together with the rule that saw it."""

    rule: str
    question: str
    field: str
    message: str


Check = Callable[["DatasetTables"], Iterator[Fault]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A named check. An error makes `validate` fail; a warning asks for a look; an info is only counted."""

    id: str
    severity: Severity
    description: str
    check: Check


def rule(id: str, severity: Severity, description: str) -> Callable[[Check], Rule]:
    """Turn a function into a Rule; the list of rules is `registry.RULES`, nothing registers itself."""
    return lambda check: Rule(id, severity, description, check)
