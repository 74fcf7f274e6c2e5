"""Every choice the paper makes or leaves open, by name (docs/systems/ceaf.md says where each is from)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clwqa_baselines.ceaf.scorer.folder import ScorerFolder
from clwqa_bench.systems import Settings


class CeafConfig(Settings):
    """The settings of CEAF.  Defaults are the paper's where it states a value."""

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
    ranker: str = Field(
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
