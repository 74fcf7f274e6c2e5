"""Every choice of MindMap by name, with where its default is from (docs/systems/mindmap.md says more)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clwqa_bench.systems import Settings


class MindMapConfig(Settings):
    """The settings of MindMap."""

    # entities of the question
    topics: Literal["extracted", "linked"] = Field(
        default="extracted",
        description="Let the model name the entities (paper sec. 3.1), or take those of the linker all systems share.",
    )
    index: Literal["names", "bm25", "tfidf", "dense"] = Field(
        default="names",
        description="What finds the entity of a mention. The code embeds names; `dense` does so and needs a model.",
    )
    threshold: float = Field(
        default=0,
        ge=0,
        description="Least similarity of a mention to an entity; 0 is none (code default; its Chinese variant: 0.5).",
    )
    no_mention: Literal["stop", "answer"] = Field(
        default="stop",
        description="A question without an entity: leave it out (code), or ask without evidence (HubLink's port).",
    )
    # path evidence
    path_length: int = Field(default=5, ge=1, description="Longest path between two entities (code default).")
    shortest_paths: int = Field(
        default=5, ge=1, description="Shortest paths kept for a pair (code default; its Chinese variant: 4)."
    )
    most_paths: int = Field(
        default=1_000,
        ge=1,
        description="Shortest paths of a pair, and ways to combine those of several pairs, that are looked at (ours).",
    )
    paths: int = Field(default=5, ge=1, description="Paths told to the model (code default).")
    repeat_joint: bool = Field(
        default=True, description="Write the entity at which two paths are joined twice, as the code does."
    )
    inverse_edges: bool = Field(
        default=False, description="Walk relations backwards too; the code follows them forwards alone."
    )
    # neighbour evidence
    neighbours: int = Field(
        default=5, ge=1, description="Rows of neighbours told to the model (code default)."
    )
    few_rows: Literal["all", "none"] = Field(
        default="all",
        description="Rows told if there are no more than `neighbours`. In the code their variable is never set then.",
    )
    tails: int = Field(default=1_000, ge=1, description="Most entities in one row of neighbours (ours).")
    # answer
    verbalise: bool = Field(
        default=True, description="Let the model put evidence into sentences first (paper sec. 3.2)."
    )
    probe: bool = Field(
        default=False,
        description="Ask how sure a text is and ask for it again at 0.6 or less, as the code does (up to 11 calls).",
    )
