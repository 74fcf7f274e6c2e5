"""How `--llm lexical` plans: sequences of relations from what a question names to what it asks for.

A language model knows that a book's author is asked for over "part of" and "author".  The rules have the ontology's
type graph, which says what may follow what, and the linker's model of which way fits a wording.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from weakref import WeakKeyDictionary

from clwqa_baselines.fitting import Reached, Way, may_be
from clwqa_bench.kg.protocol import Sense
from clwqa_bench.linking import Linker
from clwqa_bench.llm.rules import Rules
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import Record

LONGEST = {1: 4, 2: 3}
"""Steps of a route, by the ways in which relations are offered: forwards alone, or backwards as well."""
BEST = 3
REMEMBERED = 256  # questions; several tasks ask about one

Route = tuple[str, ...]
"""Labels of relations."""


class Offered(Record):
    """A relation as the model is offered it; prompts show the label alone."""

    label: str
    relation: str
    sense: Sense


def routes(question: str, offered: tuple[Offered, ...], rules: Rules) -> tuple[Route, ...]:
    """The best routes from any of the things named, best first."""
    linker = rules.linker()
    memory = _memories.setdefault(linker, Memory(linker.ontology))
    key = question, offered
    if key not in memory.routes:
        if len(memory.routes) >= REMEMBERED:
            memory.routes.clear()
        memory.routes[key] = _routes(question, offered, linker, memory)
    return memory.routes[key]


def _routes(question: str, offered: tuple[Offered, ...], linker: Linker, memory: Memory) -> tuple[Route, ...]:
    linked = linker.link(question)
    labels: dict[tuple[str, str], str] = {(one.relation, one.sense): one.label for one in offered}
    starts = dict.fromkeys(anchor.element for anchor in linked.anchors)
    ways = [way for start in starts for way in memory.ways(start, linked.target_element, tuple(labels))]
    scored = sorted(zip(linker.scores(question, ways), ways, strict=True), key=lambda one: (-one[0], one[1]))
    found = dict.fromkeys(tuple(labels[step[:2]] for step in way) for _, way in scored)
    return tuple(found)[:BEST]


class Memory:
    """What is worked out once: ways between elements, routes of questions lately asked about."""

    def __init__(self, ontology: Ontology) -> None:
        self.routes: dict[object, tuple[Route, ...]] = {}
        self.ways = lru_cache(4096)(self._ways)
        self._ontology = ontology

    def _ways(self, start: str, target: str, allowed: tuple[tuple[str, str], ...]) -> tuple[Way, ...]:
        """Ways of the type graph that end at the target, over relations that are offered, none twice."""
        longest = LONGEST[len({sense for _, sense in allowed}) or 1]
        level: list[Way] = [()]
        found: list[Way] = []
        known = frozenset(allowed)
        for _ in range(longest):
            longer: list[Way] = []
            for way in level:
                for edge in self._ontology.type_neighbours(way[-1][2] if way else start):
                    step = edge.relation, edge.direction, edge.type
                    if step[:2] in known and step[:2] not in {done[:2] for done in way}:
                        longer.append((*way, step))
            found += [way for way in longer if may_be(way[-1][2], target, self._ontology)]
            level = longer
        return tuple(found)


_memories: WeakKeyDictionary[Linker, Memory] = WeakKeyDictionary()


def standing(
    question: str, found: Iterable[Reached], offered: tuple[Offered, ...], rules: Rules
) -> tuple[list[str], list[str]]:
    """Names at the end of a route, of the element asked for, and names from which a route goes on that have not been
    looked at yet."""
    planned, linker = routes(question, offered, rules), rules.linker()
    target = linker.link(question).target_element
    labels: dict[tuple[str, str], str] = {(one.relation, one.sense): one.label for one in offered}
    inner = {route[:size] for route in planned for size in range(1, len(route))}
    walked = [(one, tuple(labels.get(step[:2], "") for step in one.way)) for one in found]
    left = {(one.root, route[:-1]) for one, route in walked}
    arrived = dict.fromkeys(
        one.name
        for one, route in walked
        if route in planned and may_be(one.way[-1][2], target, linker.ontology)
    )
    ahead = dict.fromkeys(
        one.name for one, route in walked if route in inner and (one.root, route) not in left
    )
    return list(arrived), list(ahead)
