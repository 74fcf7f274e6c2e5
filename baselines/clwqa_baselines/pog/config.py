"""The settings of PoG, by the names of the published code where it has one."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clwqa_baselines.exploring.settings import ExplorerSettings
from clwqa_baselines.shared.vectors import Retriever


class PogConfig(ExplorerSettings):
    """Where a default is from stands in brackets.  There is no width: the model picks as many as it wants."""

    depth: int = Field(default=4, ge=1, description="Steps from the topics at most (code).")
    reflections: int = Field(
        default=5, ge=0, description="Times that entities are added back at most (code)."
    )
    pool: Literal["paper", "code"] = Field(
        default="paper",
        description="What can be added back: every entity seen (paper), or those expanded already and the ends of "
        "groups above `group_cap` (code).",
    )
    pool_cap: int = Field(
        default=70, ge=1, description="Most entities of the pool shown, the nearest to the question (ours)."
    )
    group_cap: int = Field(
        default=70, ge=1, description="Most entities of one group shown, the nearest to the question (code)."
    )
    unnamed_cap: int = Field(
        default=10, ge=1, description="Entities drawn of a group that has no names at all (code)."
    )
    nearest: Retriever = Field(
        default="tfidf",
        description="What tells the nearest: dense (code: a sentence encoder), or words (ours).",
    )
    on_failure: Literal["abort", "go_on"] = Field(
        default="abort",
        description="A call that fails, or relations or a verdict that cannot be read: give up the question (code), or "
        "go on without (ours).",
    )
    at_depth: Literal["parametric", "half_stop"] = Field(
        default="parametric",
        description="When the last depth was not sufficient: forget the evidence and ask the model alone (code), or "
        "answer from it (ours).",
    )
