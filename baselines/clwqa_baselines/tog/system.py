"""ToG (Think-on-Graph): the model scores relations and entities, the best few are kept, step by step from the topics.

What a failing call does (refused, unparsed, error or timeout, after the back-end's own retries):

* scoring relations: no relation of that entity is walked, as where the original parses nothing;
* scoring entities: all candidates get the same score, as where the original reads another number of scores;
* sufficiency: counts as no;
* the last call (half stop or the model alone): the question takes the status of the reply.

A budget of the run that is used up ends the question at any of them.
"""

from __future__ import annotations

from typing import Final

from clwqa_baselines.exploring.explorer import Explorer
from clwqa_baselines.exploring.search import Search
from clwqa_baselines.shared.vectors import Retriever, open_similarity
from clwqa_baselines.tog.card import CARD
from clwqa_baselines.tog.config import TogConfig
from clwqa_baselines.tog.search import TogSearch
from clwqa_baselines.tog.tasks import (
    Concluded,
    HalfStop,
    ScoreEntities,
    ScoreRelations,
    Sufficiency,
    Sufficient,
)
from clwqa_bench.llm.tasks import ClosedBookAnswer
from clwqa_bench.systems import Context, Resources

TOOLS: Final[dict[str, Retriever]] = {"bm25": "bm25", "sentencebert": "dense"}


class ToG(Explorer):
    """Beam search over the graph by a language model."""

    name = "tog"
    native_format = "braces"
    tasks = (ScoreRelations, ScoreEntities, Sufficient, HalfStop)
    card = CARD
    Config = TogConfig
    config: TogConfig

    def prepare(self, resources: Resources) -> None:
        super().prepare(resources)
        tool = TOOLS.get(self.config.prune_tools)
        self._similarity = open_similarity(tool) if tool else None

    def search(self, question: str, ctx: Context) -> TogSearch:
        return TogSearch(question, ctx, ctx.kg, self._known, self.config, self._similarity)

    def half_stop(self, search: Search) -> HalfStop:
        return HalfStop(question=search.question, triples=search.lines(), leads=search.leads())

    def written(self, said: Sufficiency | Concluded | ClosedBookAnswer) -> str:
        """``{Yes} reason {answer, answer}``; the verdict only where there was one."""
        verdict = "{Yes}" if isinstance(said, Sufficiency) else ""
        reason = said.reasoning if isinstance(said, ClosedBookAnswer) else said.reason
        answers = f"{{{', '.join(said.answers)}}}" if said.answers else ""
        return " ".join(filter(None, (verdict, reason, answers)))
