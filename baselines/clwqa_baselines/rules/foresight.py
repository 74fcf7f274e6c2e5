"""What a way is expected to lead to, told without a language model: for the rules of tasks.

A reader who knows the ontology sees where a relation may lead before walking it.  Here that is every way of a few
steps in the type graph that ends at the element asked for, scored by the linker for how well its shape fits the
question.  Nothing of the graph is looked at but the way walked so far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from clwqa_baselines.rules.fitting import NOWHERE, way_scores
from clwqa_baselines.rules.type_graph import type_graph
from clwqa_baselines.rules.ways import Offer
from clwqa_bench.linking import Linker, Signature

HORIZON = 3
"""Steps looked ahead: a fourth one costs ten times as much and was right less often (validation split)."""


@dataclass(frozen=True)
class Foresight:
    """What to expect for one question."""

    linker: Linker
    question: str

    @property
    def target(self) -> str:
        """The element asked for."""
        return self.linker.link(self.question).target_element

    def promises(self, way: Signature, offers: Sequence[Offer], steps: int) -> list[float]:
        """Of each relation: the score of the best way over it that ends at the target within so many steps.

        The logarithm of a likelihood but for a constant of the question; NOWHERE if there is no such way.
        """
        ontology = self.linker.ontology
        nexts = [
            tuple(
                (*way, (offer.relation, offer.sense, type))
                for type in ontology.signature(offer.relation)[end]
            )
            for offer in offers
            for end in [1 if offer.sense == "out" else 0]
        ]
        return self._best([[(step, steps - 1) for step in one] for one in nexts])

    def prospects(self, ways: Sequence[Signature], steps: int) -> list[float]:
        """The same for ways that may have arrived: the best of stopping here and going on for so many steps."""
        return self._best([[(way, steps)] for way in ways])

    def scores(self, ways: Sequence[Signature]) -> list[float]:
        """How well ways fit as they are; NOWHERE for one that does not end at the target."""
        return self.prospects(ways, 0)

    def beyond(self, ways: Sequence[Signature], steps: int) -> float:
        """The best that any of some ways promises if it goes on; NOWHERE if none can."""
        return max(self._best([[(way, steps)] for way in ways], onward=True), default=NOWHERE)

    def _best(
        self, groups: Sequence[Sequence[tuple[Signature, int]]], *, onward: bool = False
    ) -> list[float]:
        """Of each group of ways, the best score of any of them followed to the target, `onward` by a step at least."""
        graph, target = type_graph(self.linker), self.target
        whole: list[Signature] = []
        owner: list[int] = []
        for number, group in enumerate(groups):
            for way, steps in group:
                if not way:
                    continue
                for rest in graph.ways(way[-1][2], target, min(steps, HORIZON - 1)):
                    if onward and not rest:
                        continue
                    whole.append(way + rest)
                    owner.append(number)
        best = [NOWHERE] * len(groups)
        for number, score in zip(owner, way_scores(self.question, whole, self.linker), strict=True):
            best[number] = max(best[number], score)
        return best


def shares(values: Sequence[float]) -> list[float]:
    """Likelihoods that sum to one, from their logarithms; all equal if all are NOWHERE."""
    best = max(values, default=NOWHERE)
    if best == NOWHERE:
        return [1 / len(values)] * len(values) if values else []
    weights = [math.exp(value - best) for value in values]
    return [weight / sum(weights) for weight in weights]
