"""Every choice the paper makes or leaves open, by name (docs/systems/ceaf.md says where each is from)."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from clwqa_baselines.ceaf.scorer.folder import ScorerFolder
from clwqa_bench.errors import ClwqaError
from clwqa_bench.systems import Settings

RANKERS: Final = {
    "cascade": "clwqa_baselines.ceaf.scorer.ranking:open_cascade",
    "cheap": "clwqa_baselines.ceaf.ranking:cheap",
    "neural": "clwqa_baselines.ceaf.scorer.ranking:open_ranker",
    "none": "clwqa_baselines.ceaf.ranking:unranked",
    "similarity": "clwqa_baselines.ceaf.ranking:similarity",
}
"""Where each ranker is opened: a `ranking.RankerOpener`."""
TRAINED: Final = frozenset({"cascade", "neural"})
"""Rankers that ask a trained node scorer."""


class RankerError(ClwqaError):
    """A ranker that is unknown or cannot be used."""


def _known(ranker: str) -> str:
    if ranker not in RANKERS:
        near = get_close_matches(ranker, RANKERS, n=1)
        fix = f"did you mean {near[0]!r}" if near else f"use one of {', '.join(RANKERS)}"
        raise RankerError(f"there is no ranker {ranker!r}", fix=fix, field="ranker")
    return ranker


class CeafConfig(Settings):
    """The settings of CEAF.  Defaults are the paper's where it states a value.

    Raises RankerError for a ranker that is unknown or lacks its scorer, ScorerError for a scorer that cannot be read.
    """

    # stage 1, element-based linking
    use_elements: bool = Field(
        default=True, description="Constrain linking and retrieval by elements; off is the paper's ablation."
    )
    mention_cap: int = Field(default=5, ge=1, description="Most nodes kept for one mention, if they tie.")
    similarity: float = Field(
        default=0.6, ge=0, le=1, description="Least likeness of a mention to a name if none is equal."
    )
    # stage 2, path retrieval
    d_max: int = Field(default=3, ge=1, description="Longest path, in edges.")
    allow_repeat: int = Field(default=1, ge=0, description="How often a path may come back to an element.")
    through_categories: bool = Field(
        default=False, description="Let paths pass through a content category, not only start or end there."
    )
    cap: int = Field(default=5_000, ge=1, description="Most paths kept for one type path and anchor.")
    combine: Literal["union", "intersection"] = Field(
        default="union", description="With several anchors: all paths, or those to what every anchor reaches."
    )
    relax: bool = Field(default=False, description="Back off to parent elements if there are too few paths.")
    stop_on_no_new: Literal["any", "anchor_only"] = Field(
        default="any", description="Which relaxation step without a new path is the last one."
    )
    # stage 3, evidence ranking
    ranker: Annotated[str, AfterValidator(_known)] = Field(
        default="cheap", description="What scores paths: cheap, neural, cascade, similarity or none."
    )
    scorer: ScorerFolder = Field(default="", description="Folder of the trained node scorer.")
    cascade: int = Field(
        default=1, ge=1, description="Shapes of paths that the ranker 'cascade' shows to the scorer."
    )
    include_anchor: bool = Field(
        default=False, description="Let the anchor count in the mean over the nodes of a path."
    )
    top_k: int = Field(default=3, ge=1, description="Paths kept as evidence; also the budget of relaxation.")
    group_by_signature: bool = Field(
        default=False, description="Keep all paths of the top_k ways instead of top_k single paths."
    )
    # stage 4, answer generation
    answers_from: Literal["model", "paths"] = Field(
        default="model",
        description="Let the model answer, or take the end nodes of the paths in their order.",
    )
    passage_chars: int = Field(default=300, ge=1, description="Most characters of a passage in a snippet.")

    @model_validator(mode="after")
    def _has_its_scorer(self) -> Self:
        if self.ranker in TRAINED and not self.scorer:
            raise RankerError(
                f"the ranker {self.ranker!r} needs a trained node scorer",
                fix="name one by --set scorer=FOLDER; `clwqa-bench train scorer` makes it",
                field="scorer",
            )
        return self
