"""The operations: what is done with the solutions of a pattern, in Python, in Cypher and in SPARQL.

A pattern gives a table with a row for each solution.  An operation looks at one variable of it, the *goal*, and may
order or add up the goal's entities by a *number*: how many entities of another variable stand with them, or a year
of one.  It ends in entities, in a list of entities, in a number, or in yes or no:

    members              all of them                      total      how many
    highest, lowest      the one with the extreme number  average    mean of their numbers
    falling, rising      all of them, in order            span       years from the first beginning to the last end
    shared               those all the given ones have    difference how far the numbers of two given ones are apart
    more, fewer          whether the first given one has the higher (lower) number

What is not well defined on the rows is None and is not asked: a tie for the extreme or between two in a list, a year
that is not known, a mean that is no tenth, years from before the turn of the era to after it (there is no year 0, so
a plain difference is one too many).  So the queries need not say what happens then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from clwqa_bench.kg.iri import ATTRIBUTE, ONTOLOGY, iri
from clwqa_bench.literals import literal_id
from clwqa_builders.questions.compile import cypher_string

Row = Mapping[str, str]
"""A solution: entity ids by variable."""
Year = Callable[[str, str], int | None]
"""``year(entity, "begin")``: the year of an entity's attribute, None if it has none."""
Value = tuple[str, ...] | float | bool | None
Kind = Literal["entities", "list", "number", "truth"]
MEASURES = ("count", "begin", "years")


@dataclass(frozen=True, slots=True)
class Number:
    """What a goal is ordered by: `count` of the entities a variable takes, or, of the variable's only entity, the
    year it began (`begin`) or how many `years` it lasted."""

    measure: str
    variable: str

    def of(self, entities: set[str], year: Year) -> float | None:
        """The number for the entities that stand with one goal."""
        if self.measure == "count":
            return len(entities)
        known = {self._year(entity, year) for entity in entities}
        return known.pop() if len(known) == 1 else None

    def _year(self, entity: str, year: Year) -> int | None:
        begin, end = year(entity, "begin"), year(entity, "end")
        return begin if self.measure == "begin" else years_between(begin, end)

    def cypher(self) -> str:
        if self.measure == "count":
            return f"count(DISTINCT {self.variable})"
        begin = cypher_year(self.variable, "begin")
        return (
            f"min({begin})"
            if self.measure == "begin"
            else f"min({cypher_year(self.variable, 'end')} - {begin})"
        )

    def sparql(self) -> str:
        if self.measure == "count":
            return f"COUNT(DISTINCT ?{self.variable})"
        begin = sparql_year(self.variable, "begin")
        return (
            f"MIN({begin})"
            if self.measure == "begin"
            else f"MIN({sparql_year(self.variable, 'end')} - {begin})"
        )


def years_between(begin: int | None, end: int | None) -> int | None:
    """How many years lie between two years; None if one is unknown, or if the era turns between them.

    >>> years_between(-140, -135), years_between(-1, 1), years_between(5, None)
    (5, None, None)
    """
    if begin is None or end is None or begin < 0 < end:
        return None
    return end - begin


def cypher_year(variable: str, key: str) -> str:
    """Attributes are texts "key=value" in property graphs."""
    found = f"[a IN {variable}.attributes WHERE a STARTS WITH '{key}='][0]"
    return f"toInteger(substring({found}, {len(key) + 1}))"


def sparql_year(variable: str, key: str) -> str:
    return f"xsd:integer(?{variable}_{key})"


def unknown(_entity: str, _key: str) -> None:
    """No year is known of anything."""


@dataclass(frozen=True)
class Asked:
    """One operation on one table: the goal, its number, and the entities given to be compared, in their order.

    ``given_as`` is their variable; ``year`` knows the years of the graph's entities.
    """

    goal: str
    number: Number | None = None
    given: tuple[str, ...] = ()
    given_as: str = ""
    year: Year = unknown

    def numbers(self, rows: Sequence[Row]) -> dict[str, float] | None:
        """The number of every goal; None if one has none."""
        assert self.number is not None
        beside: defaultdict[str, set[str]] = defaultdict(set)
        for row in rows:
            beside[row[self.goal]].add(row[self.number.variable])
        found = {goal: self.number.of(entities, self.year) for goal, entities in sorted(beside.items())}
        known = {goal: number for goal, number in found.items() if number is not None}
        return known if len(known) == len(found) else None

    def ordered(self, rows: Sequence[Row]) -> list[str] | None:
        """The goals by rising number; None if two have the same."""
        numbers = self.numbers(rows)
        if numbers is None or len(set(numbers.values())) < len(numbers):
            return None
        return sorted(numbers, key=numbers.__getitem__)


# --- in Python ---------------------------------------------------------------------------------------------


def _members(asked: Asked, rows: Sequence[Row]) -> Value:
    return tuple(sorted({row[asked.goal] for row in rows}))


def _total(asked: Asked, rows: Sequence[Row]) -> Value:
    return len({row[asked.goal] for row in rows})


def _highest(asked: Asked, rows: Sequence[Row]) -> Value:
    return _only(asked.numbers(rows), max)


def _lowest(asked: Asked, rows: Sequence[Row]) -> Value:
    return _only(asked.numbers(rows), min)


def _only(numbers: Mapping[str, float] | None, extreme: Callable[..., float]) -> Value:
    if not numbers:
        return None
    best = extreme(numbers.values())
    found = tuple(goal for goal, number in numbers.items() if number == best)
    return found if len(found) == 1 else None


def _rising(asked: Asked, rows: Sequence[Row]) -> Value:
    ordered = asked.ordered(rows)
    return tuple(ordered) if ordered else None


def _falling(asked: Asked, rows: Sequence[Row]) -> Value:
    ordered = asked.ordered(rows)
    return tuple(ordered[::-1]) if ordered else None


def _average(asked: Asked, rows: Sequence[Row]) -> Value:
    numbers = asked.numbers(rows)
    if not numbers or sum(numbers.values()) * 10 % len(numbers):
        return None
    return sum(numbers.values()) / len(numbers)


def _span(asked: Asked, rows: Sequence[Row]) -> Value:
    goals = {row[asked.goal] for row in rows}
    begins, ends = ([y for g in goals if (y := asked.year(g, key)) is not None] for key in ("begin", "end"))
    return years_between(min(begins), max(ends)) if len(begins) == len(ends) == len(goals) > 0 else None


def _difference(asked: Asked, rows: Sequence[Row]) -> Value:
    numbers = asked.numbers(rows)
    if not numbers or len(numbers) < len(asked.given):
        return None
    least, most = min(numbers.values()), max(numbers.values())
    return most - least if least < most and not least < 0 < most else None


def _shared(asked: Asked, rows: Sequence[Row]) -> Value:
    with_: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        with_[row[asked.goal]].add(row[asked.given_as])
    return tuple(sorted(goal for goal, found in with_.items() if len(found) == len(asked.given)))


def _more(asked: Asked, rows: Sequence[Row]) -> Value:
    ordered = asked.ordered(rows)
    return ordered[-1] == asked.given[0] if ordered else None


def _fewer(asked: Asked, rows: Sequence[Row]) -> Value:
    ordered = asked.ordered(rows)
    return ordered[0] == asked.given[0] if ordered else None


# --- as queries --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operation:
    """What it gives, how it is computed, and both queries around the part that finds the solutions."""

    kind: Kind
    compute: Callable[[Asked, Sequence[Row]], Value]
    cypher: str
    sparql: str

    def gold(self, asked: Asked, rows: Sequence[Row]) -> tuple[str, ...]:
        """Ids of the gold answers, a list in its order; none if the question is not well defined on these rows."""
        value = self.compute(asked, rows)
        if value is None:
            return ()
        return value if isinstance(value, tuple) else (literal_id(value),)

    def to_cypher(self, asked: Asked, match: str) -> str:
        number = asked.number.cypher() if asked.number else ""
        first = cypher_string(asked.given[0]) if asked.given else ""
        return self.cypher.format(
            match=match, goal=asked.goal, number=number, given=asked.given_as, of=len(asked.given), first=first,
            begin=cypher_year(asked.goal, "begin"), end=cypher_year(asked.goal, "end"),
        )  # fmt: skip

    def to_sparql(self, asked: Asked, where: str) -> str:
        number = asked.number.sparql() if asked.number else ""
        first = f"<{iri(asked.given[0])}>" if asked.given else ""
        select = self.sparql.format(
            where=where, goal=f"?{asked.goal}", number=number, given=f"?{asked.given_as}", of=len(asked.given),
            first=first, begin=sparql_year(asked.goal, "begin"), end=sparql_year(asked.goal, "end"),
        )  # fmt: skip
        prefixes = {"c": ONTOLOGY, "attr": ATTRIBUTE, "xsd": "http://www.w3.org/2001/XMLSchema#"}
        used = (f"PREFIX {name}: <{space}>\n" for name, space in prefixes.items() if f"{name}:" in select)
        return "".join(used) + select


_CYPHER_BY = "{match}\nWITH {goal}, {number} AS n\n"
_CYPHER_LIST = _CYPHER_BY + "RETURN {goal}.id AS id ORDER BY n"
_CYPHER_TRUTH = _CYPHER_BY + "ORDER BY n {way} LIMIT 1\nRETURN {goal}.id = {first} AS value"
_SPARQL_LIST = "SELECT ({goal} AS ?id) WHERE {{\n{where}\n}} GROUP BY {goal} ORDER BY "
_SPARQL_NUMBERS = "{{ SELECT {goal} ({number} AS ?n) WHERE {{\n{where}\n}} GROUP BY {goal}"
_SPARQL_TRUTH = "SELECT ({goal} = {first} AS ?value) WHERE " + _SPARQL_NUMBERS + " ORDER BY {way} LIMIT 1 }}"

OPERATIONS: Mapping[str, Operation] = {
    "members": Operation(
        "entities",
        _members,
        "{match}\nRETURN DISTINCT {goal}.id AS id ORDER BY id",
        "SELECT DISTINCT ({goal} AS ?id) WHERE {{\n{where}\n}} ORDER BY ?id",
    ),
    "shared": Operation(
        "entities",
        _shared,
        "{match}\nWITH {goal}, count(DISTINCT {given}) AS n WHERE n = {of}\nRETURN {goal}.id AS id ORDER BY id",
        "SELECT ({goal} AS ?id) WHERE {{\n{where}\n}} GROUP BY {goal} HAVING (COUNT(DISTINCT {given}) = {of})"
        " ORDER BY ?id",
    ),
    "highest": Operation(
        "entities", _highest, _CYPHER_LIST + " DESC LIMIT 1", _SPARQL_LIST + "DESC({number}) LIMIT 1"
    ),
    "lowest": Operation(
        "entities", _lowest, _CYPHER_LIST + " LIMIT 1", _SPARQL_LIST + "ASC({number}) LIMIT 1"
    ),
    "falling": Operation("list", _falling, _CYPHER_LIST + " DESC", _SPARQL_LIST + "DESC({number})"),
    "rising": Operation("list", _rising, _CYPHER_LIST, _SPARQL_LIST + "ASC({number})"),
    "total": Operation(
        "number",
        _total,
        "{match}\nRETURN count(DISTINCT {goal}) AS value",
        "SELECT (COUNT(DISTINCT {goal}) AS ?value) WHERE {{\n{where}\n}}",
    ),
    "average": Operation(
        "number",
        _average,
        _CYPHER_BY + "RETURN avg(n) AS value",
        "SELECT (AVG(?n) AS ?value) WHERE " + _SPARQL_NUMBERS + " }}",
    ),
    "difference": Operation(
        "number",
        _difference,
        _CYPHER_BY + "RETURN max(n) - min(n) AS value",
        "SELECT (MAX(?n) - MIN(?n) AS ?value) WHERE " + _SPARQL_NUMBERS + " }}",
    ),
    "span": Operation(
        "number",
        _span,
        "{match}\nRETURN max({end}) - min({begin}) AS value",
        "SELECT (MAX({end}) - MIN({begin}) AS ?value) WHERE {{\n{where}\n}}",
    ),
    "more": Operation(
        "truth", _more, _CYPHER_TRUTH.replace("{way}", "DESC"), _SPARQL_TRUTH.replace("{way}", "DESC(?n)")
    ),
    "fewer": Operation(
        "truth", _fewer, _CYPHER_TRUTH.replace("{way}", "ASC"), _SPARQL_TRUTH.replace("{way}", "ASC(?n)")
    ),
}
