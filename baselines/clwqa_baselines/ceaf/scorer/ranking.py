"""Ranking with a trained node scorer: all candidates, or those of the shapes that a cheap ranker likes best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clwqa_baselines.ceaf.config import CeafConfig
from clwqa_baselines.ceaf.ranking import MeanOfNodes, Ranker, cheap
from clwqa_baselines.ceaf.scorer.cache import ScoreCache, key
from clwqa_baselines.ceaf.scorer.data import Pair
from clwqa_baselines.ceaf.scorer.errors import ScorerError
from clwqa_baselines.ceaf.scorer.folder import AGAIN, DESCRIPTION, open_scorer
from clwqa_bench.kg import protocol as kg
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.kg.verbalise import node_text
from clwqa_bench.ontology import Ontology
from clwqa_bench.systems import Resources

if TYPE_CHECKING:
    from clwqa_baselines.ceaf.scorer.model import Trained


@dataclass(frozen=True)
class Scorer:
    """A `NodeScorer`: each pair of words is scored once, whatever runs and nodes it occurs in."""

    trained: Trained
    graph: GraphStore
    ontology: Ontology
    cache: ScoreCache

    def scores(self, question: str, nodes: Sequence[str]) -> list[float]:
        """One number in [0, 1] for each node."""
        pairs, keys = dict[bytes, Pair](), list[bytes]()
        for node in nodes:
            entity = self.graph.entity(node)
            text = node_text(entity, self.ontology)
            keys.append(key(question, text, entity.type))
            pairs[keys[-1]] = Pair(question, text, self.ontology.types.index(entity.type))
        known = self.cache.known(list(pairs))
        missing = [name for name in pairs if name not in known]
        new = dict(zip(missing, self.trained.scores([pairs[name] for name in missing]), strict=True))
        self.cache.keep(new)
        known |= new
        return [known[name] for name in keys]


@dataclass(frozen=True)
class Cascade:
    """What a cheap ranker likes best in the order of a costly one, then the rest in the order of the cheap one.

    `keep` counts scores of the cheap ranker: it gives all paths of one shape the same.
    """

    cheap: Ranker
    costly: Ranker
    keep: int

    def rank(self, question: str, candidates: Sequence[kg.Path]) -> list[float]:
        liked = self.cheap.rank(question, candidates) or [0.0] * len(candidates)
        levels = {score: -place for place, score in enumerate(sorted(set(liked), reverse=True))}
        kept = [path for path, score in zip(candidates, liked, strict=True) if levels[score] > -self.keep]
        fine = dict(zip(kept, self.costly.rank(question, kept) or (), strict=True))
        return [fine.get(path, float(levels[score])) for path, score in zip(candidates, liked, strict=True)]


def open_ranker(config: CeafConfig, resources: Resources) -> Ranker:
    """A `RankerOpener`: the mean of node scores, for all candidates."""
    return MeanOfNodes(scorer_of(config.scorer, resources), config.include_anchor)


def open_cascade(config: CeafConfig, resources: Resources) -> Ranker:
    """A `RankerOpener`: the mean of node scores, for the shapes the cheap ranker likes best."""
    return Cascade(cheap(config, resources), open_ranker(config, resources), config.cascade)


def scorer_of(folder: str, resources: Resources) -> Scorer:
    """The trained scorer in a folder, for a graph.

    Raises ScorerError if there is none, if it cannot be used, or if it was trained on other data.
    """
    said, trained = open_scorer(Path(folder))
    file = Path(folder) / DESCRIPTION
    if said.elements != resources.ontology.types:
        raise ScorerError("it was trained with another ontology", fix=AGAIN, file=file, field="elements")
    if said.dataset.content != resources.cache.name:  # both name graph and questions, see `dataset_cache`
        of = f"{said.dataset.name} {said.dataset.version}, which is another build"
        raise ScorerError(f"it was trained on another dataset ({of})", fix=AGAIN, file=file, field="dataset")
    return Scorer(trained, resources.kg, resources.ontology, ScoreCache(kept_scores(resources, said.digest)))


def kept_scores(resources: Resources, digest: str) -> Path:
    """Where the scores of a scorer are kept."""
    return resources.derived("node-scores", digest).with_suffix(".sqlite")
