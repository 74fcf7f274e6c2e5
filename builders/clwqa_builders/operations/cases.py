"""Every question an operation template can ask of a graph, well defined and fair, in a seeded random order."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.ontology import Ontology
from clwqa_builders.operations.algebra import Asked, Row, Year
from clwqa_builders.operations.templates import OperationTemplate, TemplateSpec, year_of
from clwqa_builders.questions.columns import BoolArray, GraphColumns, IntArray, Ragged
from clwqa_builders.questions.instances import Enumerator, Solutions
from clwqa_builders.questions.select import PASSAGE_TYPES, fact_groups, priorities, tellers
from clwqa_builders.questions.solve import Table, bindings
from clwqa_builders.questions.templates import SEVERAL, WORKS

_NUMERAL = re.compile("[零〇一二三四五六七八九十百千上中下楔]")
SURE_YEARS = (
    2  # what lasted from one year to another may be nearly a year shorter or longer than their difference
)
MAX_ROWS = 80  # solutions behind one question: more than that nobody looks through


def number_of_chapter(name: str) -> str:
    """The numeral of a chapter that is told by its number, which stands outside the title; else nothing.

    >>> [number_of_chapter(name) for name in ("《红楼梦》第七回", "《醒世恒言》卷三十七", "《论语·学而》")]
    ['七', '三十七', '']
    """
    return "".join(_NUMERAL.findall(name.rpartition("》")[2]))


def _shared(template: OperationTemplate) -> list[str]:
    """The variables that ``without`` shares with the pattern."""
    if template.without is None:
        return []
    return [name for name in template.without.variables if name in template.pattern.variables]


def _sets(
    members: Sequence[int], size: int, peer_of: Mapping[int, int], number_of: Mapping[int, int | None]
) -> Iterator[list[int]]:
    """Full sets of peers with different numbers, each member in one set: the first that takes it."""
    open_: list[list[int]] = []
    peer = -1
    for member in members:
        if peer != (peer := peer_of[member]):
            open_ = []
        number = number_of[member]
        fits = (own for own in open_ if number is None or all(number != number_of[m] for m in own))
        if (own := next(fits, None)) is None:
            open_.append(own := [])
        own.append(member)
        if len(own) == size:
            open_.remove(own)
            yield own


@dataclass(frozen=True)
class Case:
    """A question that can be asked: its anchors with their names, its gold, its category, and the facts it tells.

    ``facts`` are the fact groups it touches, as numbers of entities.
    """

    template: OperationTemplate
    anchors: tuple[int, ...]
    mentions: tuple[str, ...]
    gold: tuple[str, ...]
    category: int
    basis: int
    facts: frozenset[int]


@dataclass(frozen=True)
class _Groups:
    """The solutions of a template by question: row i of the table belongs to question ``of[i]``, -1 to none."""

    table: Table
    kept: BoolArray
    """Which rows `without` leaves."""
    anchors: IntArray
    """(questions, anchors)"""
    rows: Ragged
    """Row numbers of each question."""


@dataclass
class Cases:
    """Makes cases of one graph."""

    columns: GraphColumns
    store: MemoryGraph
    ontology: Ontology
    seed: int
    enumerator: Enumerator = field(init=False)
    fact_of: IntArray = field(init=False)
    _exclusions: dict[str, Mapping[tuple[int, ...], set[int]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.enumerator = Enumerator(self.columns, self.ontology)
        self.fact_of = fact_groups(self.columns)

    def of(self, template: OperationTemplate) -> Iterator[Case]:
        """The cases of a template; each is made when asked for."""
        groups = self._groups(template)
        if not len(groups.anchors):
            return
        categories, bases = self._categories(template, groups)
        ids = [tuple(self.columns.ids[a] for a in anchors) for anchors in groups.anchors.tolist()]
        for number in np.argsort(priorities(self.seed, template.id, ids), kind="stable").tolist():
            if categories[number] >= 0 and (
                case := self._case(template, groups, number, int(categories[number]), int(bases[number]))
            ):
                yield case

    # -- which solutions belong together ------------------------------------------------------------------------

    def _groups(self, template: OperationTemplate) -> _Groups:
        table = bindings(template.pattern, self.columns)
        kept = self._kept(template, table)
        if template.spec.given:
            table, anchors, of = self._cohorts(template, table, kept)
            kept = self._kept(template, table)
        else:
            found = Solutions.of(table, template.anchors)
            anchors, of = np.stack(list(found.anchors.values()), axis=1), found.tuple_of
        return _Groups(table, kept, anchors, Ragged.group(of, np.arange(len(of)), len(anchors)))

    def _kept(self, template: OperationTemplate, table: Table) -> BoolArray:
        """Rows that do not also satisfy ``without``."""
        out = self._excluded(template)
        rows = zip(*(table[name].tolist() for name in _shared(template)), strict=True)
        return np.array(
            [row not in out for row in rows] if out else np.ones(len(next(iter(table.values())))), bool
        )

    def _excluded(self, template: OperationTemplate) -> Mapping[tuple[int, ...], set[int]]:
        """What satisfies ``without``, by the values of the variables it shares, and the words and passages on it."""
        if template.without is None:
            return {}
        if template.id not in self._exclusions:
            table = bindings(template.without, self.columns)
            shared = zip(*(table[name].tolist() for name in _shared(template)), strict=True)
            found: defaultdict[tuple[int, ...], set[int]] = defaultdict(set)
            for key, row in zip(shared, zip(*(c.tolist() for c in table.values()), strict=True), strict=True):
                found[key].update(e for e in row if self._tells[e])
            self._exclusions[template.id] = found
        return self._exclusions[template.id]

    def _cohorts(
        self, template: OperationTemplate, table: Table, kept: BoolArray
    ) -> tuple[Table, IntArray, IntArray]:
        """Sets of like entities to compare, each entity in one: the rows about them, the sets, the set of each row."""
        given = template.spec.given
        assert given is not None
        member = table[given.of]
        peers = table[given.peers] if given.peers else np.zeros_like(member)
        counted = table[template.number.variable if template.number else template.end]
        beside = np.unique(np.stack([member[kept], counted[kept]]), axis=1)
        count = np.bincount(beside[0], minlength=len(self.columns))
        named = {
            m for m in np.unique(member).tolist() if count[m] >= given.least and self._named(template, m)
        }
        peer_of = {m: p for m, p in zip(member.tolist(), peers.tolist(), strict=True) if m in named}
        random = priorities(self.seed, f"{template.id}/peers", [(self.columns.ids[m],) for m in peer_of])
        order = [m for _, _, m in sorted(zip(peer_of.values(), random.tolist(), peer_of, strict=True))]
        number_of = {m: self._number(template, count, m, c) for m, c in beside.T.tolist() if m in named}
        full = list(_sets(order, given.number, peer_of, number_of))
        named_first = priorities(self.seed, f"{template.id}/order", [(self.columns.ids[m],) for m in peer_of])
        place = dict(zip(peer_of, named_first.tolist(), strict=True))
        full = [sorted(own, key=place.__getitem__) for own in full]  # who comes first must say nothing
        of_member = np.full(len(self.columns), -1, dtype=np.int64)
        for i, cohort in enumerate(full):
            of_member[cohort] = i
        inside = of_member[member] >= 0
        rows = {name: column[inside] for name, column in table.items()}
        return rows, np.array(full, dtype=np.int64).reshape(-1, given.number), of_member[rows[given.of]]

    def _number(self, template: OperationTemplate, count: IntArray, member: int, beside: int) -> int | None:
        """What an entity will be compared by; None if by nothing."""
        if template.number is None:
            return None
        if template.number.measure == "count":
            return int(count[member])
        year: int | None = self._year(self.columns.ids[beside], "begin")
        return year

    def _named(self, template: OperationTemplate, entity: int) -> bool:
        """Whether an entity has a clear and short name, and as many neighbours as the template demands."""
        name, spec = self.enumerator.mentions.name(entity), template.spec
        assert spec.given is not None
        return (
            name is not None
            and self._may_stand(name, spec)
            and not self.enumerator.mentions.doubtful[entity]
            and all(self._degree(r)[entity] == 1 for v, r in spec.only.items() if v == spec.given.of)
            and all(self._degree(r)[entity] >= SEVERAL for v, r in spec.several.items() if v == spec.given.of)
        )

    @cached_property
    def _degree(self) -> Callable[[str], IntArray]:
        return cache(self.enumerator.degree)

    def _categories(self, template: OperationTemplate, groups: _Groups) -> tuple[IntArray, NDArray[np.int8]]:
        """Category and basis of every question."""
        of = np.repeat(np.arange(len(groups.rows)), groups.rows.lengths)
        table = {name: column[groups.rows.values] for name, column in groups.table.items()}
        anchors = {str(i): column for i, column in enumerate(groups.anchors.T)}
        return self.enumerator.categories(template.rules, Solutions(table, anchors, of))

    # -- one question -------------------------------------------------------------------------------------------

    def _case(
        self, template: OperationTemplate, groups: _Groups, number: int, category: int, basis: int
    ) -> Case | None:
        spec, rows = template.spec, groups.rows[number]
        if len(rows) > MAX_ROWS:
            return None
        anchors = tuple(groups.anchors[number].tolist())
        entities = {name: column[rows] for name, column in groups.table.items()}
        goals = set(entities[spec.goal].tolist())
        if not spec.size[0] <= len(goals) <= spec.size[1] or not self._is_sound(template, entities, goals):
            return None
        mentions = self._mentions(template, anchors)
        if mentions is None:
            return None
        kept = self._rows(groups, rows[groups.kept[rows]])
        if len(kept) == len(rows) and template.without:
            return None  # nothing is left out: the negation says nothing
        bound = template.bind([self.columns.ids[a] for a in anchors])
        assert bound is not None
        asked = template.asked(bound, self._year)
        gold = template.operation.gold(asked, kept)
        if (
            not gold
            or not self._is_fit(template, asked, gold, kept)
            or not self._is_fair(anchors, mentions, gold, entities)
        ):
            return None
        return Case(
            template, anchors, mentions, gold, category, basis, self._facts(template, anchors, entities)
        )

    def _rows(self, groups: _Groups, rows: IntArray) -> list[Row]:
        ids, columns = self.columns.ids, {n: c[rows].tolist() for n, c in groups.table.items()}
        return [
            dict(zip(columns, map(ids.__getitem__, row), strict=True))
            for row in zip(*columns.values(), strict=True)
        ]

    def _is_sound(self, template: OperationTemplate, entities: Table, goals: set[int]) -> bool:
        """Whether nothing behind the question is in doubt, and no goal is there twice under two names."""
        spec, mentions = template.spec, self.enumerator.mentions
        if any(mentions.doubtful[column].any() for column in entities.values()):
            return False
        if any((self._degree(r)[entities[v]] != 1).any() for v, r in spec.only.items()):
            return False
        if any((self._degree(r)[entities[v]] < SEVERAL).any() for v, r in spec.several.items()):
            return False
        given = set(entities[spec.given.of].tolist()) if spec.given else set()
        return not self._repeats(sorted(goals)) and not self._repeats(sorted(given))

    def _repeats(self, goals: Sequence[int]) -> bool:
        """Whether two of several works may be one: titles too much alike, or a title and the number of a chapter."""
        names = [self.enumerator.mentions.bare(goal) for goal in goals if goal in self._works]
        numbers = [number for name in names if (number := number_of_chapter(name))]
        if numbers:
            return len(set(numbers)) < len(names)
        return self.enumerator.repeats(goals, goals if names else ())

    @cached_property
    def _works(self) -> frozenset[int]:
        types = self.ontology.with_descendants(WORKS)
        return frozenset(np.flatnonzero(self.columns.is_a(types)).tolist())

    def _mentions(self, template: OperationTemplate, anchors: Sequence[int]) -> tuple[str, ...] | None:
        names = [self.enumerator.mentions.name(anchor) for anchor in anchors]
        texts = tuple(name for name in names if name and self._may_stand(name, template.spec))
        return texts if len(texts) == len(names) == len(set(texts)) else None

    @staticmethod
    def _may_stand(name: str, spec: TemplateSpec) -> bool:
        return len(name) <= spec.max_chars and not set(name) & set(spec.avoid)

    def _is_fit(
        self, template: OperationTemplate, asked: Asked, gold: Sequence[str], rows: Sequence[Row]
    ) -> bool:
        """Whether the answer is neither trivial nor endless, and what is compared is comparable."""
        spec, operation = template.spec, template.operation
        if operation.kind == "number":
            return spec.value[0] <= float(gold[0].partition(":")[2]) <= spec.value[1]
        if operation.kind == "entities" and not spec.answers[0] <= len(gold) <= spec.answers[1]:
            return False
        if template.number and template.number.measure == "count":
            numbers = asked.numbers(rows) or {}
            return spec.value[0] <= max(numbers.values()) <= spec.value[1]
        if template.number and template.number.measure == "years":
            most, next_ = sorted((asked.numbers(rows) or {}).values(), reverse=True)[:2]
            return most - next_ >= SURE_YEARS
        return not spec.apart or self._are_apart(template, rows)

    def _are_apart(self, template: OperationTemplate, rows: Sequence[Row]) -> bool:
        """Whether of the spans of years compared each ends before the next begins."""
        assert template.number is not None
        spans = sorted(
            {row[template.number.variable] for row in rows}, key=lambda p: self._year(p, "begin") or 0
        )
        for one, other in zip(spans, spans[1:], strict=False):
            end, begin = self._year(one, "end"), self._year(other, "begin")
            if end is None or begin is None or end > begin:
                return False
        return True

    def _is_fair(
        self, anchors: Sequence[int], mentions: Sequence[str], gold: Sequence[str], entities: Table
    ) -> bool:
        """Whether every answer is one by itself, and neither an answer nor a person on the way to it stands in the
        question, but those it lets choose from.  The book of a chapter may be named: which of its chapters is asked.
        """
        known, index, types = set(anchors), self.columns.index_of, self.columns.types
        answers = [index[id] for id in gold if id in index and index[id] not in known]
        persons = {e for column in entities.values() for e in column.tolist() if types[e] == "Person"}
        hidden = [a for a in answers if types[a] != "Chapter"] + sorted(persons - known)
        names = self.enumerator.mentions
        return (
            all(map(names.is_telling, answers))
            and all(names.is_sound(a) for a in answers if types[a] in PASSAGE_TYPES)
            and not self.enumerator.tells(mentions, hidden)
        )

    def _facts(self, template: OperationTemplate, anchors: Sequence[int], entities: Table) -> frozenset[int]:
        """Fact groups of the anchors, and of the words and passages behind the answer, also of what is left out: as
        in the main dataset, what is known of a work or a person on the way is not counted as a fact of its own.
        """
        told = {e for column in entities.values() for e in column[self._tells[column]].tolist()}
        out = self._excluded(template)
        for key in zip(*(entities[name].tolist() for name in _shared(template)), strict=True):
            told |= out.get(key, set())
        return frozenset(self.fact_of[sorted(told.union(anchors))].tolist())

    @cached_property
    def _tells(self) -> BoolArray:
        return tellers(self.columns) | self.columns.is_a(PASSAGE_TYPES)

    @cached_property
    def _year(self) -> Year:
        return lru_cache(maxsize=1 << 16)(partial(year_of, self.store))
