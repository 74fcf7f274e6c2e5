"""The settings of RAG over passages, and what is said of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from clwqa_baselines.shared.vectors import Retriever
from clwqa_bench.systems import Card, Settings


class RagConfig(Settings):
    """Defaults are those of the text baseline of KG-vs-RAG-QA (LatamQA) where they mean anything here."""

    passages: Literal["entries", "nodes"] = Field(
        default="entries",
        description="entries: a node with what it points to, as a dictionary prints it; nodes: the text of the node "
        "alone.  Ours: the graph comes without documents.",
    )
    explanations: bool = Field(
        default=True,
        description="Whether texts of explanations stand in passages; they answer questions of meaning.",
    )
    chunk: int = Field(
        default=512, ge=16, description="Longest passage: 512 in LatamQA (tokens there, characters here)."
    )
    overlap: int = Field(
        default=64,
        ge=0,
        description="What a passage repeats of the one before it: 64 in LatamQA (tokens there).",
    )
    retriever: Retriever = Field(
        default="bm25",
        description="bm25 as MindMap's text baseline; dense as LatamQA and HubLink (here multilingual-e5-small).",
    )
    top_k: int = Field(
        default=5,
        ge=1,
        description="Passages shown: 5 in LatamQA (paper), 15 in HubLink (code), 1 in MindMap (code).",
    )
    own_knowledge: bool = Field(
        default=True,
        description="Let the model answer from its own knowledge if no passage helps (LatamQA code); off keeps it to "
        "the passages.",
    )

    @model_validator(mode="after")
    def _moves_on(self) -> RagConfig:
        if self.overlap >= self.chunk:
            raise ValueError("overlap must be less than chunk")
        return self


CARD = Card(
    citation="Lewis et al.: Retrieval-Augmented Generation for Knowledge-Intensive NLP Tasks, 2020; settings after the "
    "text baseline of KG-vs-RAG-QA (LatamQA)",
    calls="1",
    index="inverted lists (bm25, tfidf) or vectors (dense) of all passages",
    weaknesses=(
        "several hops: what two entries say together is found only if both are like the question",
        "no control of what enters the prompt; passages of other words with the same characters crowd in",
        "many tokens for one fact",
    ),
    deviations=(
        "no documents come with the graph: passages are made from it, the same for every question and never from gold",
        "the default retriever is BM25, since no encoder is needed; dense is a switch",
        "windows count characters instead of an encoder's tokens",
        "answers come as a JSON list with the numbers of the passages used, so that they can be ranked",
        "all passages are searched, not those of the question's category: systems are not told the category",
    ),
)
