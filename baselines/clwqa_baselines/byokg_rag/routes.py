"""How `--llm lexical` plans: sequences of relations from what a question names to what it asks for.

A language model knows that a book's author is asked for over "part of" and "author".  The rules have the ontology's
type graph, which says what may follow what, and the linker's model of which way fits a wording.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from clwqa_baselines.rules.fitting import way_scores
from clwqa_baselines.rules.type_graph import type_graph
from clwqa_baselines.rules.ways import Offer, Reached, may_be
from clwqa_bench.linking import Signature
from clwqa_bench.llm.rules import Rules

LONGEST = {1: 4, 2: 3}
"""Steps of a route, by the ways in which relations are offered: forwards alone, or backwards as well."""
BEST = 3

Route = tuple[str, ...]
"""Labels of relations."""


def routes(question: str, offered: tuple[Offer, ...], rules: Rules) -> tuple[Route, ...]:
    """The best routes from any of the things named to what is asked for, best first."""
    labels = _labels(offered)
    ways = planned_ways(question, offered, rules)
    found = dict.fromkeys(tuple(labels[step[:2]] for step in way) for _, way in ways)
    return tuple(found)[:BEST]


def planned_ways(question: str, offered: tuple[Offer, ...], rules: Rules) -> list[tuple[str, Signature]]:
    """Every way over what is offered from an element that is named to the one asked for, with the former, best first;
    none takes a relation twice."""
    linker = rules.linker()
    linked = linker.link(question)
    longest = LONGEST[len({one.sense for one in offered}) or 1]
    graph, over = type_graph(linker), frozenset(_labels(offered))
    ways = [
        (start, way)
        for start in dict.fromkeys(anchor.element for anchor in linked.anchors)
        for way in graph.ways(start, linked.target_element, longest, over)
        if way and len({step[:2] for step in way}) == len(way)
    ]
    scores = way_scores(question, [way for _, way in ways], linker)
    order = sorted(range(len(ways)), key=lambda place: (-scores[place], ways[place][1]))
    return [ways[place] for place in order]


@lru_cache(16)
def _labels(offered: tuple[Offer, ...]) -> dict[tuple[str, str], str]:
    """The label of each move."""
    return {(one.relation, one.sense): one.label for one in offered}


def standing(
    question: str, found: Iterable[Reached], offered: tuple[Offer, ...], rules: Rules
) -> tuple[list[str], list[str]]:
    """Names at the end of a route, of the element asked for, and names from which a route goes on that have not been
    looked at yet."""
    planned, linker = routes(question, offered, rules), rules.linker()
    target = linker.link(question).target_element
    labels = _labels(offered)
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
