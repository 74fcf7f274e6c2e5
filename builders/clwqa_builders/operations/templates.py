"""Templates of the extension set: a pattern, an operation on its solutions, and the words that ask for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from pydantic import Field

from clwqa_bench.errors import TemplateError
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import Operation as Family
from clwqa_builders.operations.algebra import (
    MEASURES,
    OPERATIONS,
    Asked,
    Number,
    Operation,
    Row,
    Year,
    unknown,
)
from clwqa_builders.questions.compile import Anchors, cypher_match, sparql_where
from clwqa_builders.questions.pattern import Pattern, parse_pattern
from clwqa_builders.questions.solve import Store, solutions
from clwqa_builders.questions.templates import (
    MIN_PHRASINGS,
    CategoryRule,
    Entry,
    category_rule,
    check_phrasings,
    read_spec,
    read_templates,
)

TEMPLATE_DIR = Path(__file__).parent / "templates"


class Given(Entry):
    """Entities named in the question to be compared: `number` of those the variable `of` takes.

    They share what the variable `peers` takes; `least` is the smallest number (as in `by`) that one may have.
    """

    of: str
    number: int = Field(ge=2, le=5)
    peers: str | None = None
    least: int = 1


class TemplateSpec(Entry):
    """One template as written in a TOML file.

    Of the `pattern`'s solutions those are left out that also satisfy `without`.  The question names the `anchors`,
    or what is `given`.  The last variable of the pattern is what has to be reached: paths and hops end there.

    `goal` and `by` ("count:w", "begin:e", "years:e") are the operation's.  `size` bounds how many goals there are,
    `answers` the gold if it is entities, `value` the gold if it is a number, or else the highest number.
    `only` and `several` are those of the main templates.  No mention may have a character of `avoid`.  With `apart`
    the spans of years compared may not overlap.  `unit` is the measure word of a number.
    """

    id: str = Field(pattern=r"^[a-z]+(\.[a-z0-9_-]+)+$")
    family: Family
    operation: str
    pattern: tuple[str, ...]
    without: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    given: Given | None = None
    goal: str
    by: str | None = None
    target_element: str
    category: tuple[str, ...] = Field(min_length=1)
    size: tuple[int, int] = (1, 40)
    answers: tuple[int, int] = (1, 10)
    value: tuple[float, float] = (2, 9_999)
    max_chars: int = 60
    avoid: str = ""
    only: Mapping[str, str] = {}
    several: Mapping[str, str] = {}
    apart: bool = False
    unit: str = ""
    phrasings: tuple[str, ...] = Field(min_length=MIN_PHRASINGS)


@dataclass(frozen=True)
class OperationTemplate:
    """A checked template."""

    spec: TemplateSpec
    pattern: Pattern
    without: Pattern | None
    number: Number | None
    rules: tuple[CategoryRule, ...]

    @property
    def id(self) -> str:
        return self.spec.id

    @property
    def operation(self) -> Operation:
        return OPERATIONS[self.spec.operation]

    @cached_property
    def anchors(self) -> tuple[str, ...]:
        """The variable behind every entity a question names, in the order of its anchors."""
        given = self.spec.given
        return (*self.spec.anchors, *([given.of] * given.number if given else ()))

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """The names of the anchors in the phrasings."""
        given = self.spec.given
        numbered = (f"{given.of}{n}" for n in range(1, given.number + 1)) if given else ()
        return (*self.spec.anchors, *numbered)

    @property
    def end(self) -> str:
        """The variable that has to be reached."""
        return [*self.pattern.variables][-1]

    @property
    def hops(self) -> int:
        return self.pattern.hops(set(self.anchors), self.end)

    def bind(self, ids: Sequence[str]) -> dict[str, str | tuple[str, ...]] | None:
        """A question's anchors by variable, the given ones together; None if there are not as many."""
        if len(ids) != len(self.anchors):
            return None
        fixed = len(self.spec.anchors)
        bound: dict[str, str | tuple[str, ...]] = dict(zip(self.spec.anchors, ids, strict=False))
        return {**bound, self.spec.given.of: tuple(ids[fixed:])} if self.spec.given else bound

    def bindings(self, anchors: Anchors) -> Iterator[dict[str, str]]:
        """The anchors with one of the given entities at a time."""
        given = self.spec.given
        for id in anchors[given.of] if given else ("",):
            yield {name: id if given and name == given.of else str(one) for name, one in anchors.items()}

    def rows(self, store: Store, anchors: Anchors) -> list[Row]:
        """The solutions on a store, without those that are left out."""
        found = (row for bound in self.bindings(anchors) for row in solutions(self.pattern, store, bound))
        return [row for row in found if not self.is_left_out(row, store)]

    def is_left_out(self, row: Row, store: Store) -> bool:
        """Whether a solution also satisfies ``without``."""
        if self.without is None:
            return False
        known = {name: row[name] for name in self.without.variables if name in row}
        return next(solutions(self.without, store, known), None) is not None

    def asked(self, anchors: Anchors, year: Year = unknown) -> Asked:
        """The operation's arguments in a question with these anchors."""
        given = self.spec.given
        ids = anchors[given.of] if given else ()
        return Asked(self.spec.goal, self.number, tuple(ids), given.of if given else "", year)

    def gold(self, store: Store, anchors: Anchors) -> tuple[str, ...]:
        """The ids of the gold answers by executing everything on a store; none if it is not well defined."""
        return self.operation.gold(self.asked(anchors, partial(year_of, store)), self.rows(store, anchors))

    def cypher(self, anchors: Anchors) -> str:
        tests = [self._cypher_without(anchors)] if self.without else []
        return self.operation.to_cypher(self.asked(anchors), cypher_match(self.pattern, anchors, tests))

    def sparql(self, anchors: Anchors) -> str:
        lines = [sparql_where(self.pattern, anchors), *self._sparql_years()]
        if self.without:
            inner = sparql_where(self.without, self._own(anchors)).replace("\n ", "")
            lines.append(f"  FILTER NOT EXISTS {{{inner} }}")
        return self.operation.to_sparql(self.asked(anchors), "\n".join(lines))

    def _own(self, anchors: Anchors) -> Anchors:
        """The anchors that ``without`` names too."""
        assert self.without is not None
        return {name: id for name, id in anchors.items() if name in self.without.variables}

    def _cypher_without(self, anchors: Anchors) -> str:
        assert self.without is not None
        inner = cypher_match(self.without, self._own(anchors), known=self.pattern.variables)
        return f"NOT EXISTS {{ {inner.replace(chr(10), ' ')} }}"

    def _sparql_years(self) -> Iterator[str]:
        """Statements that bind the years an operation looks at."""
        keys: tuple[str, ...] = ("begin", "end") if self.spec.operation == "span" else ()
        name = self.spec.goal
        if self.number and self.number.measure != "count":
            keys = ("begin",) if self.number.measure == "begin" else ("begin", "end")
            name = self.number.variable
        yield from (f"  ?{name} attr:{key} ?{name}_{key} ." for key in keys)


def year_of(store: Store, entity: str, key: str) -> int | None:
    """The year an entity's attribute says, None if it has none."""
    found = dict(store.entity(entity).attributes).get(key)
    return int(found) if found is not None else None


def load_operations(ontology: Ontology, directory: Path = TEMPLATE_DIR) -> tuple[OperationTemplate, ...]:
    """All templates of a directory, sorted by id.  Raises TemplateError naming file, template and field."""
    return read_templates(sorted(directory.glob("*.toml")), lambda entry: parse_operation(entry, ontology))


def parse_operation(entry: Mapping[str, Any], ontology: Ontology) -> OperationTemplate:
    """Check one entry of a template file; raises TemplateError with the field, or OntologyError."""
    spec = read_spec(TemplateSpec, entry)
    pattern = parse_pattern(spec.pattern, ontology)
    without = parse_pattern(spec.without, ontology) if spec.without else None
    number = _number(spec.by)
    template = OperationTemplate(
        spec,
        pattern,
        without,
        number,
        tuple(category_rule(text, pattern, ontology) for text in spec.category),
    )
    _check(template, ontology)
    return template


def _number(text: str | None) -> Number | None:
    if text is None:
        return None
    measure, colon, variable = text.partition(":")
    if measure not in MEASURES or not colon:
        fix = f"write one of {', '.join(MEASURES)} with a variable, as in count:w"
        raise TemplateError(f"cannot read {text!r}", fix=fix, field="by")
    return Number(measure, variable)


def _check(template: OperationTemplate, ontology: Ontology) -> None:
    spec, variables = template.spec, template.pattern.variables
    if spec.operation not in OPERATIONS:
        fix = f"use one of {', '.join(OPERATIONS)}"
        raise TemplateError(f"there is no operation {spec.operation!r}", fix=fix, field="operation")
    if bool(spec.anchors) == bool(spec.given):
        raise TemplateError(
            "a question names anchors, or what is given", fix="write one of them", field="anchors"
        )
    named = {
        "anchors": template.anchors,
        "goal": (spec.goal,),
        "by": (template.number.variable,) if template.number else (),
        "given": (spec.given.peers,) if spec.given and spec.given.peers else (),
        "only": tuple(spec.only),
        "several": tuple(spec.several),
    }
    for field, names in named.items():
        if unknown := [name for name in names if name not in variables]:
            raise TemplateError(f"no variable {unknown[0]} in the pattern", fix="name one of it", field=field)
    needs_number = "{number}" in template.operation.cypher
    if needs_number != (spec.by is not None):
        what = (
            f"{spec.operation} {'needs' if needs_number else 'takes'} {'a' if needs_number else 'no'} number"
        )
        raise TemplateError(what, fix="write or remove `by`", field="by")
    if not spec.given and any(slot in template.operation.cypher for slot in ("{given}", "{first}")):
        raise TemplateError(f"{spec.operation} is about given entities", fix="write `given`", field="given")
    if template.without and not set(template.without.variables) & set(variables):
        what = "what is left out has nothing in common with the pattern"
        raise TemplateError(what, fix="name a variable of the pattern in it", field="without")
    if template.end in template.anchors:
        what = f"the pattern ends in {template.end}, which the question names"
        raise TemplateError(what, fix="write last the variable that has to be reached", field="pattern")
    if not set(variables[spec.goal]) <= ontology.with_descendants((spec.target_element,)):
        what = f"goals are {'|'.join(variables[spec.goal])}, not {spec.target_element}"
        raise TemplateError(what, fix="name a type that covers them all", field="target_element")
    check_phrasings(spec.phrasings, template.slots)
