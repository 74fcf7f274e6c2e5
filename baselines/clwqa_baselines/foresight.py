"""What a way is expected to lead to, told without a language model: for the rules of tasks.

A reader who knows the ontology sees where a relation may lead before walking it.  Here that is every way of a few
steps in the type graph that ends at the element asked for, scored by the linker for how well its shape fits the
question.  Nothing of the graph is looked at but the way walked so far.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from weakref import WeakKeyDictionary

from clwqa_baselines.beam import Lead, Offer
from clwqa_bench.linking import Linker, Signature
from clwqa_bench.ontology import Ontology

HORIZON = 3
"""Steps looked ahead: a fourth one costs ten times as much and was right less often (validation split)."""
STEP_COST = 1.0
"""By how much, as a logarithm, a way has to be likelier than one that is a step shorter (validation split)."""
NOWHERE = -math.inf


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
        completions, target = _type_graph(self.linker).completions, self.target
        whole: list[Signature] = []
        owner: list[int] = []
        for number, group in enumerate(groups):
            for way, steps in group:
                if not way:
                    continue
                for rest in completions(way[-1][2], target, min(steps, HORIZON - 1)):
                    if onward and not rest:
                        continue
                    whole.append(way + rest)
                    owner.append(number)
        best = [NOWHERE] * len(groups)
        scores = self.linker.scores(self.question, whole) if whole else ()
        for number, way, score in zip(owner, whole, scores, strict=True):
            best[number] = max(best[number], score - STEP_COST * len(way))
        return best

    def arrived(self, leads: Sequence[Lead]) -> tuple[list[str], float]:
        """The names of the ends that fit best of all at the target, and the score of the best way to them; none if no
        way has arrived.

        Of several topics, what most of them lead to comes first: the question asks what they share.
        """
        topics = {lead.topic for lead in leads}
        fresh = [lead for lead in leads if lead.way and lead.entity_id not in topics]
        led: dict[str, set[str]] = defaultdict(set)
        best: dict[str, float] = defaultdict(lambda: NOWHERE)
        for lead, score in zip(fresh, self.scores([lead.way for lead in fresh]), strict=True):
            if score > NOWHERE:
                led[lead.name].add(lead.topic)
                best[lead.name] = max(best[lead.name], score)
        rank = {name: (len(led[name]), best[name]) for name in led}
        first = max(rank.values(), default=(0, NOWHERE))
        return [name for name in rank if rank[name] == first], first[1]


class TypeGraph:
    """The ways between the elements of an ontology; each is worked out once."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self.completions = lru_cache(4096)(self._search)

    def _search(self, element: str, target: str, steps: int) -> tuple[Signature, ...]:
        """Ways from an element to the target, one below or one above it, in at most so many steps."""
        ontology = self._ontology
        found: list[Signature] = (
            [()] if ontology.is_a(element, target) or ontology.is_a(target, element) else []
        )
        if steps > 0:
            for edge in ontology.type_neighbours(element):
                step = (edge.relation, edge.direction, edge.type)
                found += [(step, *rest) for rest in self.completions(edge.type, target, steps - 1)]
        return tuple(found)


def _type_graph(linker: Linker) -> TypeGraph:
    graph = _type_graphs.get(linker)
    if graph is None:
        graph = _type_graphs[linker] = TypeGraph(linker.ontology)
    return graph


_type_graphs: WeakKeyDictionary[Linker, TypeGraph] = WeakKeyDictionary()


def shares(values: Sequence[float]) -> list[float]:
    """Likelihoods that sum to one, from their logarithms; all equal if all are NOWHERE."""
    best = max(values, default=NOWHERE)
    if best == NOWHERE:
        return [1 / len(values)] * len(values) if values else []
    weights = [math.exp(value - best) for value in values]
    return [weight / sum(weights) for weight in weights]
