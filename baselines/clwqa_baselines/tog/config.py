"""The settings of ToG, by the names of the published code where it has one."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clwqa_baselines.exploring.settings import ExplorerSettings


class TogConfig(ExplorerSettings):
    """Where a default is from stands in brackets; `code` is the maintained successor of the first release."""

    width: int = Field(
        default=3, ge=1, description="Relations kept per entity, and candidates kept per depth (paper, code)."
    )
    depth: int = Field(default=3, ge=1, description="Steps from the topics at most (paper, code).")
    num_retain_entity: int = Field(
        default=5,
        ge=1,
        description="Candidates drawn from the neighbours over one relation if there are many (code).",
    )
    sample_from: int = Field(
        default=20, ge=1, description="How many neighbours are many; drawn for prune_tools=llm alone (code)."
    )
    prune_tools: Literal["llm", "bm25", "sentencebert"] = Field(
        default="llm",
        description="What scores relations and entities: the model, or their words (code); `sentencebert` is the "
        "installed sentence encoder.",
    )
    inverse: Literal["fixed", "code"] = Field(
        default="fixed",
        description="`code`: relations walked inwards lead nowhere, since the published query has its arguments "
        "swapped (ours: fixed).",
    )
    at_depth: Literal["parametric", "half_stop"] = Field(
        default="parametric",
        description="When the last depth was not sufficient: forget the evidence and ask the model alone (code), or "
        "answer from it (ours).",
    )
