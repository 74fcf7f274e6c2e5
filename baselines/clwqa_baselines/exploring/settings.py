"""The settings that all explorers have."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, FiniteFloat

from clwqa_bench.systems import Settings


class ExplorerSettings(Settings):
    """What every explorer can be told.  In brackets: where the default is from."""

    remove_unnecessary_rel: bool = Field(
        default=True, description="Never offer the relations of `unnecessary_relations` (code default)."
    )
    unnecessary_relations: str = Field(
        default="",
        description="Administrative relations by label or name, separated by commas; none in a curated graph (ours).",
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
    temperature_exploration: FiniteFloat | None = Field(
        default=None,
        ge=0,
        description="Of calls that choose relations and entities, instead of the run's own (ours; code: 0.4 in ToG, "
        "0.3 in PoG).",
    )
    temperature_reasoning: FiniteFloat | None = Field(
        default=None,
        ge=0,
        description="Of all other calls, instead of the run's own (ours; code: 0 in ToG, 0.3 in PoG).",
    )
