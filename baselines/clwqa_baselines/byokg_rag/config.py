"""Every choice of BYOKG-RAG by name, with where its default is from (docs/systems/byokg-rag.md says more)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clwqa_bench.systems import Settings


class ByokgConfig(Settings):
    """The settings of BYOKG-RAG."""

    # rounds
    iterations: int = Field(
        default=2, ge=1, le=10, description="Rounds of linking and retrieval (code default)."
    )
    kg_linker: bool = Field(
        default=True, description="Ask for entities, paths and answers; off leaves the Cypher linker alone."
    )
    user_text: str = Field(default="", description="Words of yours that the prompts end with (code: none).")
    # entity linking
    index: Literal["names", "bm25", "tfidf", "dense"] = Field(
        default="names",
        description="What finds entities: likeness of names (code default: fuzzy strings), or an index of names.",
    )
    topk: int = Field(default=3, ge=1, description="Entities linked to one mention (code default).")
    shorter_by: int = Field(
        default=4, ge=0, description="A name that is shorter than the mention by more is passed over (code)."
    )
    direct_query_linking: bool = Field(
        default=False, description="Link the question as a whole as well (code default: off)."
    )
    # triples
    retriever: Literal["agentic", "scoring"] = Field(
        default="agentic", description="Let the model choose what to expand (code default), or score triples."
    )
    max_num_iterations: int = Field(
        default=3, ge=1, description="Rounds of expansion by the model (code default)."
    )
    enforce_limits: bool = Field(
        default=False,
        description="Keep to the three limits below. The code takes them and never looks at the first two.",
    )
    max_num_relations: int = Field(
        default=5, ge=1, description="Relations followed in a round, if limits are enforced (code)."
    )
    max_num_entities: int = Field(
        default=3, ge=1, description="Entities gone on with, if limits are enforced (code)."
    )
    max_num_triplets: int = Field(
        default=50,
        ge=1,
        description="Merged triples kept of a round, with a reranker or if limits are enforced (code).",
    )
    reranker: Literal["none", "bm25", "tfidf", "dense"] = Field(
        default="none",
        description="What ranks triples; the code has bge-reranker-base and its default engine passes none.",
    )
    hops: int = Field(default=2, ge=1, description="Steps around the entities that are scored (code).")
    scored_relations: int = Field(
        default=20, ge=1, description="Relations kept by a reranker before scoring (code)."
    )
    scored_triplets: int = Field(
        default=100, ge=1, description="Merged triples kept by a reranker before scoring (code)."
    )
    scored_top: int = Field(default=10, ge=1, description="Merged triples that scoring yields (code).")
    tails: int = Field(
        default=1_000, ge=1, description="Most entities read over one relation of an entity (ours)."
    )
    # paths
    inverse_edges: bool = Field(
        default=False,
        description="Offer every relation backwards as well, marked ^; the code has no way back.",
    )
    max_distance: int = Field(
        default=4, ge=1, description="Longest shortest path (ours; the code searches the whole component)."
    )
    max_paths: int = Field(default=1_000, ge=1, description="Most paths of one sequence of relations (ours).")
    # queries
    opencypher: bool = Field(
        default=True, description="Ask for a query along with the rest, where the store runs Cypher (code)."
    )
    cypher_linker: bool = Field(
        default=False, description="Let the model query the graph first, where the store runs Cypher (code)."
    )
    cypher_iterations: int = Field(
        default=2, ge=1, le=5, description="Rounds of the Cypher linker (code default)."
    )
    rows: int = Field(default=100, ge=1, description="Rows of a query's result that are shown (ours).")
    query_seconds: float = Field(
        default=10.0, gt=0, description="Seconds after which a query is given up (ours; the code waits)."
    )
    # answer
    max_input_tokens: int = Field(
        default=32_000, ge=1, description="Longest context, at 4 characters a token (code default)."
    )
    overlong: Literal["error", "cut"] = Field(
        default="error", description="What a longer context is: an error, as in the code, or cut at its end."
    )
