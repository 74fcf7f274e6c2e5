"""The exploration for one question: what was gathered so far, and how a search tells of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal, Protocol

from clwqa_baselines.exploring.calls import Calls
from clwqa_baselines.exploring.settings import ExplorerSettings
from clwqa_baselines.exploring.steps import Steps, last_steps
from clwqa_baselines.exploring.words import Known, Words
from clwqa_baselines.rules.ways import Offer, Reached
from clwqa_bench.kg.protocol import GraphStore, Path
from clwqa_bench.llm.tasks import Texts
from clwqa_bench.predictions import TraceEvent
from clwqa_bench.records import TripleRef
from clwqa_bench.systems import Context


class Said(Protocol):
    """What a final reply says; besides, it gives a reason."""

    @property
    def answers(self) -> Texts: ...


Ending = Said | Literal["half_stop", "parametric"]
"""How a search ends: with an answer, with too little to go on from, or with nothing to build on."""


@dataclass
class Search(ABC):
    """`chains` are the ways kept at each depth, best first: what the model is shown of each is its last triple."""

    question: str
    ctx: Context
    graph: GraphStore
    known: Known
    config: ExplorerSettings
    chains: list[tuple[Path, ...]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.words = Words(self.known, self.config)
        self.calls = Calls(self.ctx, self.config)
        self._steps = Steps(self.graph, self.config)

    @abstractmethod
    async def run(self, frontier: Sequence[Path]) -> Ending:
        """Explore from the topics.  Raises OutOfBounds and Ended as `Calls.ask` does."""

    def triples(self) -> tuple[TripleRef, ...]:
        """The triples of all chains in the order shown, each once."""
        return last_steps(chain.from_iterable(self.chains))

    def leads(self) -> tuple[Reached, ...]:
        """The ends of all ways kept."""
        return tuple(map(self.words.lead, chain.from_iterable(self.chains)))

    def lines(self) -> tuple[str, ...]:
        """The triples in words."""
        return tuple(map(self.words.triple, self.triples()))

    def offers(self, path: Path) -> tuple[Offer, ...]:
        """The relations that can be walked from the end of a way."""
        return self._steps.offers(path, self.chains[-1] if self.chains else (), self.words)

    def trace_relations(self, frontier: Sequence[Path], depth: int, detail: dict[str, Any]) -> None:
        """Put down which relations were offered and kept, by the node they are offered at."""
        nodes = tuple(path.nodes[-1] for path in frontier)
        event = TraceEvent(stage="expand", op="relations", depth=depth, entities=nodes, detail=detail)
        self.ctx.trace.add(event)
