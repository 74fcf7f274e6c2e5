"""The settings that all explorers have."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clwqa_bench.systems import Settings


class ExplorerSettings(Settings):
    """What every explorer can be told.  In brackets: where the default is from."""

    remove_unnecessary_rel: bool = Field(
        default=True, description="Never offer the relations of `unnecessary_relations` (code default)."
    )
    unnecessary_relations: str = Field(
        default="",
        description="Administrative relations, separated by commas; none in a curated graph (ours).",
    )
    no_backtrack: Literal["entity", "pooled", "off"] = Field(
        default="entity",
        description="Do not walk back what led to the entity; `pooled`: nor what led to any of its step, "
        "as the code does; `off`: walk back freely (ours).",
    )
    direction_marks: bool = Field(
        default=False,
        description="Offer a relation that an entity has both ways twice, marked; off: outwards alone (code).",
    )
    separator: str = Field(default=", ", description="Stands between head, relation and tail (code default).")
    passage_chars: int = Field(
        default=300, ge=1, description="Most characters of a passage as a name (ours)."
    )
    max_calls: int = Field(
        default=0,
        ge=0,
        description="Stop exploring and answer when one call is left of so many; 0: no bound (code).",
    )
