"""Stage 3: which of the candidate paths are evidence (seed paper sec. 4.3).

A ranker scores paths, whatever it looks at; `select` keeps the best.  Rankers are opened by name, so that one from
elsewhere plugs in by a line in `RANKERS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import repeat
from typing import Final, Protocol, cast

from clwqa_baselines.ceaf.config import RANKERS, TRAINED, CeafConfig, RankerError
from clwqa_baselines.ceaf.retrieval import canonical
from clwqa_bench.kg.protocol import GraphStore, Path
from clwqa_bench.kg.verbalise import path_text
from clwqa_bench.linking import Linker, open_linker, signature_of
from clwqa_bench.ontology import Ontology
from clwqa_bench.systems import Resources
from clwqa_bench.text import comparison_key

GRAM = 2  # characters

BESIDE: Final = TRAINED
"""Rankers that compute for long; they do so in one thread, beside that of the questions."""


class Ranker(Protocol):
    """Scores candidate paths for a question: one finite number each, higher is better, or None for no ranking."""

    def rank(self, question: str, candidates: Sequence[Path]) -> Sequence[float] | None: ...


class NodeScorer(Protocol):
    """Scores nodes (ids) for a question, one number in [0, 1] each; batching and caching are its own business."""

    def scores(self, question: str, nodes: Sequence[str]) -> Sequence[float]: ...


RankerOpener = Callable[[CeafConfig, Resources], Ranker]


def open_ranker(config: CeafConfig, resources: Resources) -> Ranker:
    """The ranker a configuration names.  Raises RankerError if it is not installed."""
    module, _, function = RANKERS[config.ranker].partition(":")
    try:
        opener = cast(RankerOpener, getattr(import_module(module), function))
    except ModuleNotFoundError as error:
        raise RankerError(
            f"the ranker {config.ranker!r} is not installed (no module {error.name!r})",
            fix="use --set ranker=cheap",
            field="ranker",
        ) from None
    return opener(config, resources)


# ---------------------------------------------------------------------- what is kept


@dataclass(frozen=True, slots=True)
class Scored:
    """A path with its score, if it was given one."""

    path: Path
    score: float | None


def select(
    paths: Sequence[Path], scores: Sequence[float] | None, top_k: int, *, group_by_signature: bool = False
) -> tuple[Scored, ...]:
    """The `top_k` best paths; equal ones shorter first, then by ids.

    With `group_by_signature` the paths that leave one anchor over the same relations count as one, and all of them
    are kept, next to each other; so an answer of many entities is not cut to K.
    """
    scored = map(Scored, paths, repeat(None) if scores is None else scores)
    ranked = sorted(scored, key=lambda scored: (-(scored.score or 0.0), canonical(scored.path)))
    if not group_by_signature:
        return tuple(ranked[:top_k])
    groups: dict[object, list[Scored]] = {}
    for item in ranked:
        way = item.path.nodes[0], item.path.relations, item.path.senses
        groups.setdefault(way, []).append(item)
    return tuple(item for group in list(groups.values())[:top_k] for item in group)


# ---------------------------------------------------------------------- rankers


@dataclass(frozen=True, slots=True)
class MeanOfNodes:
    """The paper's path score: the arithmetic mean of the scores of the nodes, the anchor only if `include_anchor`."""

    scorer: NodeScorer
    include_anchor: bool = False

    def rank(self, question: str, candidates: Sequence[Path]) -> Sequence[float]:
        first = 0 if self.include_anchor else 1
        nodes = tuple(dict.fromkeys(node for path in candidates for node in path.nodes[first:]))
        score = dict(zip(nodes, self.scorer.scores(question, nodes), strict=True))
        return [
            sum(score[node] for node in path.nodes[first:]) / len(path.nodes[first:]) for path in candidates
        ]


@dataclass(frozen=True, slots=True)
class Cheap:
    """How well the shape of a path fits the question, by the linear model of the linker; no node is looked at."""

    linker: Linker
    graph: GraphStore

    def rank(self, question: str, candidates: Sequence[Path]) -> Sequence[float]:
        nodes = {node for path in candidates for node in path.nodes}
        kind = {node: self.graph.types(node)[0] for node in nodes}
        signatures = [signature_of(path, kind) for path in candidates]
        distinct = tuple(dict.fromkeys(signatures))
        score = dict(zip(distinct, self.linker.scores(question, distinct), strict=True))
        return [score[signature] for signature in signatures]


@dataclass(frozen=True, slots=True)
class Similarity:
    """Plain text similarity of question and verbalised path (the paper's ablation): cosine of character bigrams."""

    graph: GraphStore
    ontology: Ontology

    def rank(self, question: str, candidates: Sequence[Path]) -> Sequence[float]:
        asked = _grams(question)
        return [_cosine(asked, _grams(self._text(path))) for path in candidates]

    def _text(self, path: Path) -> str:
        return path_text(path, lambda node: _name(self.graph, node), self.ontology)


class Unranked:
    """No ranking (the paper's ablation): paths stay in canonical order."""

    def rank(self, question: str, candidates: Sequence[Path]) -> None:
        return None


def cheap(_: CeafConfig, resources: Resources) -> Ranker:
    """A `RankerOpener`."""
    return Cheap(open_linker(resources), resources.kg)


def similarity(_: CeafConfig, resources: Resources) -> Ranker:
    """A `RankerOpener`."""
    return Similarity(resources.kg, resources.ontology)


def unranked(_: CeafConfig, __: Resources) -> Ranker:
    """A `RankerOpener`."""
    return Unranked()


def _name(graph: GraphStore, node: str) -> str:
    entity = graph.entity(node)
    return entity.text or entity.label


def _grams(text: str) -> Counter[str]:
    key = comparison_key(text)
    return Counter(key[at : at + GRAM] for at in range(max(1, len(key) - GRAM + 1)))


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    shared = sum(count * other[gram] for gram, count in one.items())
    norms = sum(count**2 for count in one.values()) * sum(count**2 for count in other.values())
    return float(shared / norms**0.5) if norms else 0.0
