"""PoG (Plan-on-Graph): the model explores as widely as it wants, with sub-objectives, a memory and second thoughts.

What a failing call does (after the back-end's own retries) is that of the original with `on_failure=abort`:

* any call with an error or a timeout, relations or a verdict refused or unparsed: the question takes that status.

Else, and for every call with `on_failure=go_on`:

* sub-objectives: the question is its own; relations: none of that entity; a group: it is dropped;
* memory: stays as it was; a verdict: counts as no; reflection: nothing is added back.

The last call (half stop or the model alone) is needed in any case, and a budget of the run that is used up ends the
question at any call.
"""

from __future__ import annotations

import orjson

from clwqa_baselines.exploring.explorer import Explorer
from clwqa_baselines.exploring.search import Search
from clwqa_baselines.pog.card import CARD
from clwqa_baselines.pog.config import PogConfig
from clwqa_baselines.pog.search import PogSearch
from clwqa_baselines.pog.tasks import (
    AddEntities,
    Concluded,
    Decompose,
    HalfStop,
    JudgeReverse,
    PickRelations,
    PruneEntities,
    Reason,
    UpdateMemory,
    Verdict,
)
from clwqa_baselines.shared.vectors import open_similarity
from clwqa_bench.llm.tasks import ClosedBookAnswer
from clwqa_bench.systems import Context, Resources


class PoG(Explorer):
    """Exploration with guidance, memory and reflection."""

    name = "pog"
    native_format = "json"
    tasks = (
        Decompose,
        PickRelations,
        PruneEntities,
        UpdateMemory,
        Reason,
        JudgeReverse,
        AddEntities,
        HalfStop,
    )
    card = CARD
    Config = PogConfig
    config: PogConfig

    def prepare(self, resources: Resources) -> None:
        super().prepare(resources)
        self._similarity = open_similarity(self.config.nearest)

    def search(self, question: str, ctx: Context) -> PogSearch:
        return PogSearch(question, ctx, ctx.kg, self._known, self.config, self._similarity)

    def half_stop(self, search: Search) -> HalfStop:
        return HalfStop(question=search.question, triples=search.lines(), leads=search.leads())

    def written(self, said: Verdict | Concluded | ClosedBookAnswer) -> str:
        """``{"A": {"Sufficient": "Yes", "Answer": [...]}, "R": "..."}``; `Known` from the model alone."""
        known = {"Known": "Yes" if said.answers else "No"} if isinstance(said, ClosedBookAnswer) else {}
        verdict = {"Sufficient": "Yes"} if isinstance(said, Verdict) else known
        reason = said.reasoning if isinstance(said, ClosedBookAnswer) else said.reason
        return orjson.dumps({"A": {**verdict, "Answer": said.answers}, "R": reason}).decode()
