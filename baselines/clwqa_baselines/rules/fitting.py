"""Which of the things that ways lead to answers a question."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from clwqa_baselines.rules.ways import Reached, may_be
from clwqa_bench.linking import Linker, Signature
from clwqa_bench.llm.rules import Rules

NOWHERE: Final = -math.inf
STEP_COST = 1.0
"""By how much, as a logarithm, a way has to be likelier than one that is a step shorter (validation split)."""


class Fit(NamedTuple):
    """What fits a question best, each name once, and how well; NOWHERE if nothing does."""

    score: float
    reached: tuple[Reached, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What it is called."""
        return tuple(one.name for one in self.reached)


def fitting(question: str, found: Iterable[Reached], rules: Rules) -> Fit:
    """The best fit of the element that is asked for.

    Ways that begin at what the question names count before any others.  What most of the things it names lead to is
    the answer, since several are named to ask what they share; of that, all that the best ways lead to.  What is named
    itself is no answer.
    """
    linker = rules.linker()
    linked = linker.link(question)
    named = {node: anchor.mention for anchor in linked.anchors for node in anchor.entities}
    ends = [
        one
        for one in found
        if one.way
        and one.node not in named
        and may_be(one.way[-1][2], linked.target_element, linker.ontology)
    ]
    ends = [one for one in ends if one.root in named] or ends
    ways = tuple(dict.fromkeys(one.way for one in ends))
    scores = dict(zip(ways, way_scores(question, ways, linker), strict=True))
    led: dict[str, dict[str | None, Reached]] = {}  # by name, from each thing named over its best way
    for one in ends:
        by = led.setdefault(one.name, {})
        mention = named.get(one.root)
        if mention not in by or scores[one.way] > scores[by[mention].way]:
            by[mention] = one
    rank = {name: (len(by), sum(scores[one.way] for one in by.values())) for name, by in led.items()}
    best = max(rank.values(), default=None)
    chosen = [max(led[name].values(), key=lambda one: scores[one.way]) for name in led if rank[name] == best]
    return Fit(max((scores[one.way] for one in chosen), default=NOWHERE), tuple(chosen))


def way_scores(question: str, ways: Sequence[Signature], linker: Linker) -> list[float]:
    """How well ways fit a question: logarithms of likelihoods but for a constant of the question."""
    scores = linker.scores(question, ways) if ways else []
    return [score - STEP_COST * len(way) for score, way in zip(scores, ways, strict=True)]
