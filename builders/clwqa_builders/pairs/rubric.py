"""The rubric: rules as data, checked against the ontology when they are read."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from clwqa_bench.errors import BuildError, ClwqaError
from clwqa_bench.kg.protocol import Step
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import BAND_LABELS, Band
from clwqa_builders.questions.pattern import parse_pattern

RUBRIC = Path(__file__).with_name("rubric.toml")

Start = Literal["answers", "anchors", "path", "asked", "all"]
Draw = Literal["lookalike-word", "lookalike", "lookalike-passage", "other-unit", "same-type", "elsewhere"]
Item = TypeVar("Item")


class Entry(BaseModel):
    """One ``[[rule]]`` of the file; the head of the file says what the fields mean."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    band: Band
    description: str
    start: Start | None = None
    walk: str | None = None
    take: str | None = None
    ends: Literal["answers", "path", "gold"] | None = None
    nodes: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    except_targets: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    except_families: tuple[str, ...] = ()
    draw: Draw | None = None


@dataclass(frozen=True)
class Walk:
    """A chain from a node of one of the types ``first``; the node after ``take`` steps is claimed."""

    first: frozenset[str]
    steps: tuple[Step, ...]
    take: int


@dataclass(frozen=True)
class Rule:
    """An entry with its names resolved: the walk in steps, types with their descendants."""

    entry: Entry
    walk: Walk | None
    nodes: frozenset[str]
    targets: frozenset[str]

    @property
    def id(self) -> str:
        return self.entry.id

    @property
    def band(self) -> Band:
        return self.entry.band

    def suits(self, target: str, family: str) -> bool:
        """Whether the rule speaks about questions of this family that ask for this type."""
        families, not_families = self.entry.families, self.entry.except_families
        return target in self.targets and (not families or family in families) and family not in not_families


@dataclass(frozen=True)
class Rubric:
    """All rules, highest band first: the order of precedence."""

    rules: tuple[Rule, ...]

    @property
    def claiming(self) -> tuple[Rule, ...]:
        """Rules that find nodes from the gold path."""
        return tuple(rule for rule in self.rules if rule.entry.draw is None)

    @property
    def drawing(self) -> tuple[Rule, ...]:
        """Rules that draw among the nodes nobody claims."""
        return tuple(rule for rule in self.rules if rule.entry.draw is not None)


def load_rubric(ontology: Ontology, path: Path = RUBRIC) -> Rubric:
    """Read the rules.  Raises BuildError, naming file and rule, for an entry that does not fit."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["rule"]
    rules = [_rule(raw, ontology, path) for raw in entries]
    order = sorted(rules, key=lambda rule: -BAND_LABELS[rule.band])
    if len({rule.id for rule in rules}) < len(rules) or order != rules:
        raise BuildError(
            "rule ids repeat, or bands do not descend", fix="order the rules L5 to L1", file=path
        )
    return Rubric(tuple(rules))


def _rule(raw: Mapping[str, object], ontology: Ontology, path: Path) -> Rule:
    try:
        entry = Entry.model_validate(raw)
        if (entry.start is None) == (entry.draw is None):
            raise BuildError("a rule either starts somewhere or draws", fix="give it `start` or `draw`")
        everything = frozenset(ontology.types)
        targets = ontology.with_descendants(entry.targets) if entry.targets else everything
        return Rule(
            entry,
            _walk(entry, ontology) if entry.walk else None,
            ontology.with_descendants(entry.nodes) if entry.nodes else everything,
            targets - ontology.with_descendants(entry.except_targets),
        )
    except ValidationError as error:
        first = error.errors()[0]
        field = f"{raw.get('id')}.{'.'.join(map(str, first['loc']))}"
        raise BuildError(first["msg"], fix="see the head of the file", file=path, field=field) from None
    except ClwqaError as error:
        raise BuildError(error.what, fix=error.fix, file=path, field=str(raw.get("id"))) from error


def _walk(entry: Entry, ontology: Ontology) -> Walk:
    """The chain of a pattern as steps of the graph store."""
    pattern = parse_pattern([entry.walk or ""], ontology)
    names = list(pattern.variables)
    if entry.take is not None and entry.take not in names:
        raise BuildError(f"`take` names no variable: {entry.take}", fix=f"use one of {', '.join(names)}")
    steps: list[Step] = []
    for edge, there in zip(pattern.edges, names[1:], strict=True):
        direction: Literal["out", "in", "both"] = (
            "both" if edge.symmetric else "out" if edge.tail == there else "in"
        )
        steps.append((edge.relations, direction, pattern.variables[there]))
    take = names.index(entry.take) if entry.take else len(steps)
    return Walk(pattern.admitted[names[0]], tuple(steps), take)
