"""Ranking of triples by how well their text fits the question: for pruning, and the retriever that asks no model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from clwqa_baselines.byokg_rag.config import ByokgConfig
from clwqa_baselines.byokg_rag.graph import Fact, Tools
from clwqa_baselines.shared.vectors import Similarity, open_similarity

FALLBACK: Final = "tfidf"  # what scores triples if no reranker is set; the code always has one there


@dataclass(frozen=True)
class Ranker:
    """`similarity` is that of the reranker, `prunes` whether one is set."""

    config: ByokgConfig
    similarity: Similarity
    prunes: bool

    @staticmethod
    def open(config: ByokgConfig) -> Ranker:
        """The ranker of a configuration; an encoder is loaded only if one is asked for."""
        kind = FALLBACK if config.reranker == "none" else config.reranker
        return Ranker(config, open_similarity(kind), config.reranker != "none")

    def best(self, question: str, facts: Sequence[Fact], most: int) -> list[Fact]:
        """The facts that fit best, best first; equal ones in their order."""
        scores = self.similarity(question, [fact.text for fact in facts]) if facts else []
        order = sorted(range(len(facts)), key=lambda place: -scores[place])
        return [facts[place] for place in order[:most]]

    def pruned(self, question: str, facts: Sequence[Fact]) -> Sequence[Fact]:
        """What is kept of the merged triples of a round: all, unless they are too many and there is a reranker."""
        most = self.config.max_num_triplets
        if len(facts) <= most:
            return facts
        if self.prunes:
            return self.best(question, facts, most)
        return facts[:most] if self.config.enforce_limits else facts

    def score(self, question: str, nodes: Iterable[str], tools: Tools) -> list[Fact]:
        """Merged triples around some entities, the best of them (GraphScoringRetriever)."""
        config = self.config
        found = list(tools.around(nodes, config.hops))
        if self.prunes:
            labels = list(dict.fromkeys(_label(fact, tools) for fact in found))
            scores = dict(zip(labels, self.similarity(question, labels) if labels else [], strict=True))
            kept = set(sorted(labels, key=lambda label: -scores[label])[: config.scored_relations])
            found = [fact for fact in found if _label(fact, tools) in kept]
            found = self.best(question, found, config.scored_triplets)
        return self.best(question, found, config.scored_top)


def _label(fact: Fact, tools: Tools) -> str:
    return tools.label(fact.walks[0])
