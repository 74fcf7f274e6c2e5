"""Solving patterns, twice: joins over whole edge columns, and backtracking through the graph-store protocol.

The first enumerates all instances of a template; the second answers one question and knows nothing of the
first, so that validation can hold one against the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np

from clwqa_bench.errors import BuildError
from clwqa_bench.kg.protocol import Direction, Entity, Names, Sense
from clwqa_bench.records import PathStep, StandardPath, TripleRef
from clwqa_builders.questions.columns import BoolArray, GraphColumns, IntArray, Pairs, Side
from clwqa_builders.questions.pattern import Edge, Pattern

Table = dict[str, IntArray]
"""One row per solution; a column per variable with entity indices."""

MAX_ROWS = 60_000_000
"""More rows than this in one join mean a pattern through a hub (all words of a book, twice)."""


class Store(Protocol):
    """The part of the graph-store protocol (clwqa_bench.kg.protocol) that answering needs."""

    def neighbours(
        self, node: str, /, relation: Names = None, direction: Direction = "both"
    ) -> Sequence[str]: ...

    def types(self, node: str, /) -> tuple[str, ...]: ...

    def entity(self, node: str, /) -> Entity: ...


# --- all solutions, by joins -------------------------------------------------------------------------


def bindings(pattern: Pattern, columns: GraphColumns, *, seed: Table | None = None) -> Table:
    """All solutions of the pattern, one row each, in no particular order.

    ``seed`` fixes some variables beforehand: a table of distinct rows over them.  Raises BuildError when a
    join passes MAX_ROWS.
    """
    table = dict(seed) if seed else _first_edge(pattern, columns)
    for name in table:
        table = _keep(table, columns.is_a(pattern.admitted[name])[table[name]])
    todo = list(pattern.edges)
    while todo:
        open_edges = [e for e in todo if e.head in table or e.tail in table]
        edge = min(open_edges, key=lambda e: _fan_out(table, e, columns))
        todo.remove(edge)
        table = _join(table, edge, pattern, columns)
    return table


def _first_edge(pattern: Pattern, columns: GraphColumns) -> Table:
    edge = min(pattern.edges, key=lambda e: len(_pairs(columns, e, e.head)[0]))
    return {edge.head: np.unique(_pairs(columns, edge, edge.head)[0])}


def _pairs(columns: GraphColumns, edge: Edge, start: str) -> Pairs:
    side: Side = "both" if edge.symmetric else "head" if start == edge.head else "tail"
    return columns.pairs(edge.relations, side)


def _start(table: Table, edge: Edge) -> str:
    return edge.head if edge.head in table else edge.tail


def _spans(table: Table, edge: Edge, columns: GraphColumns) -> tuple[IntArray, IntArray]:
    """For each row, where its matches begin in the sorted pairs, and how many there are."""
    start = _start(table, edge)
    here, _ = _pairs(columns, edge, start)
    first = np.searchsorted(here, table[start], side="left")
    return first, np.searchsorted(here, table[start], side="right") - first


def _fan_out(table: Table, edge: Edge, columns: GraphColumns) -> int:
    """Rows after joining the edge; an edge between two known variables only filters and goes first."""
    if edge.head in table and edge.tail in table:
        return -1
    return int(_spans(table, edge, columns)[1].sum())


def _join(table: Table, edge: Edge, pattern: Pattern, columns: GraphColumns) -> Table:
    start = _start(table, edge)
    new = edge.other(start)
    first, count = _spans(table, edge, columns)
    here, there = _pairs(columns, edge, start)
    if new in table:
        width = len(columns)
        return _keep(table, np.isin(table[start] * width + table[new], here * width + there))
    total = int(count.sum())
    if total > MAX_ROWS:
        raise BuildError(
            f"joining {edge} would make {total:,} rows",
            fix="anchor the pattern closer to this step",
            field="pattern",
        )
    row = np.repeat(np.arange(len(first)), count)
    offset = np.arange(total) - np.repeat(np.cumsum(count) - count, count)
    found = there[first[row] + offset]
    keep = columns.is_a(pattern.admitted[new])[found]
    for one, other in pattern.rivals:
        if new in (one, other) and (known := other if new == one else one) in table:
            keep &= found != table[known][row]
    row = row[keep]
    return {**{name: column[row] for name, column in table.items()}, new: found[keep]}


def _keep(table: Table, rows: BoolArray) -> Table:
    return table if rows.all() else {name: column[rows] for name, column in table.items()}


# --- one question, through the store -----------------------------------------------------------------


@dataclass
class _Search:
    """Backtracking over one question; neighbour lists are remembered for its duration."""

    pattern: Pattern
    store: Store
    lists: dict[tuple[str, Edge, bool], tuple[str, ...]] = field(default_factory=dict)

    def solutions(self, bound: dict[str, str], todo: tuple[Edge, ...]) -> Iterator[dict[str, str]]:
        if not todo:
            yield bound
            return
        # The step with the fewest candidates first: a category's thousands of words are then never walked.
        edge = min(
            (e for e in todo if e.head in bound or e.tail in bound), key=lambda e: self.width(bound, e)
        )
        rest = tuple(e for e in todo if e is not edge)
        if edge.head in bound and edge.tail in bound:
            if bound[edge.tail] in self.neighbours(bound[edge.head], edge, forward=True):
                yield from self.solutions(bound, rest)
            return
        start = edge.head if edge.head in bound else edge.tail
        new, taken = edge.other(start), set(bound.values())
        for node in self.neighbours(bound[start], edge, forward=start == edge.head):
            if node not in taken and self.admits(new, node):
                yield from self.solutions({**bound, new: node}, rest)

    def width(self, bound: Mapping[str, str], edge: Edge) -> int:
        """How many candidates a step offers; a step between two known entities is a mere test."""
        if edge.head in bound and edge.tail in bound:
            return -1
        start = edge.head if edge.head in bound else edge.tail
        return len(self.neighbours(bound[start], edge, forward=start == edge.head))

    def neighbours(self, node: str, edge: Edge, *, forward: bool) -> tuple[str, ...]:
        key = (node, edge, forward)
        if key not in self.lists:
            direction: Direction = "both" if edge.symmetric else "out" if forward else "in"
            self.lists[key] = tuple(self.store.neighbours(node, edge.relations, direction))
        return self.lists[key]

    def admits(self, variable: str, node: str) -> bool:
        return not self.pattern.admitted[variable].isdisjoint(self.store.types(node))


def solutions(pattern: Pattern, store: Store, anchors: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """All solutions with these anchor entities, variable -> entity id."""
    search = _Search(pattern, store)
    distinct = len(set(anchors.values())) == len(anchors)
    if distinct and all(search.admits(variable, node) for variable, node in anchors.items()):
        yield from search.solutions(dict(anchors), pattern.edges)


def answers(pattern: Pattern, store: Store, anchors: Mapping[str, str], answer: str) -> set[str]:
    """Entity ids the answer variable takes; the complete gold set of the question."""
    return {solution[answer] for solution in solutions(pattern, store, anchors)}


def standard_paths(
    pattern: Pattern, store: Store, anchors: Mapping[str, str], answer: str
) -> tuple[tuple[StandardPath, ...], tuple[TripleRef, ...]]:
    """The ways anchor -> answer of every solution, and all triples used; both sorted, without repeats.

    A path's steps name the relation that holds and the most specific type reached, as the store gives them.
    """
    paths: set[StandardPath] = set()
    triples: set[TripleRef] = set()
    walks = {anchor: pattern.walk(anchor, answer) for anchor in anchors}
    for solution in solutions(pattern, store, anchors):
        held = {edge: _triple(store, solution, edge) for edge in pattern.edges}
        triples.update(held.values())
        paths.update(_path(store, solution, held, walk, anchor) for anchor, walk in walks.items())
    return in_order(paths, triples)


def in_order(
    paths: Iterable[StandardPath], triples: Iterable[TripleRef]
) -> tuple[tuple[StandardPath, ...], tuple[TripleRef, ...]]:
    """Paths and triples as a record lists them."""
    return (
        tuple(sorted(paths, key=lambda p: (p.entities, [(s.relation, s.direction) for s in p.steps]))),
        tuple(sorted(triples, key=lambda t: (t.head, t.relation, t.tail))),
    )


def _triple(store: Store, solution: Mapping[str, str], edge: Edge) -> TripleRef:
    """The stored triple behind a matched edge; of several relations that hold, the first written."""
    head, tail = solution[edge.head], solution[edge.tail]
    if len(edge.relations) == 1 and not edge.symmetric:  # the solution says that it holds
        return TripleRef(head=head, relation=edge.relations[0], tail=tail)
    for relation in edge.relations:
        if tail in store.neighbours(head, relation, "out"):
            return TripleRef(head=head, relation=relation, tail=tail)
        if edge.symmetric and head in store.neighbours(tail, relation, "out"):
            return TripleRef(head=tail, relation=relation, tail=head)
    raise ValueError(f"{edge} does not hold between {head} and {tail}")


def _path(
    store: Store,
    solution: Mapping[str, str],
    held: Mapping[Edge, TripleRef],
    walk: Sequence[Edge],
    anchor: str,
) -> StandardPath:
    here, steps, entities = anchor, [], [solution[anchor]]
    for edge in walk:
        triple = held[edge]
        direction: Sense = "out" if triple.head == solution[here] else "in"
        here = edge.other(here)
        reached = solution[here]
        steps.append(_step(triple.relation, direction, store.types(reached)[0]))
        entities.append(reached)
    return StandardPath(steps=tuple(steps), entities=tuple(entities))


@lru_cache(maxsize=4096)
def _step(relation: str, direction: Sense, type_: str) -> PathStep:
    """The few distinct steps, each made once."""
    return PathStep(relation=relation, direction=direction, type=type_)
