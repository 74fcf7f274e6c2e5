"""Every choice of the method and of its public code, by name (docs/systems/graphrag.md)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from clwqa_baselines.shared.vectors import Retriever
from clwqa_bench.systems import Settings


class GraphRagConfig(Settings):
    """The settings of GraphRAG.  "Code" is the public code's default."""

    mode: Literal["local", "report-retrieval", "dynamic", "global"] = Field(
        default="local",
        description="How to answer: from the surroundings of entities (1 call), from the reports most like the "
        "question (1 call), by map and reduce over reports found relevant from the top, or over all reports. "
        "Ours: the code has no default; of the two to be reported (local, dynamic) the one with bounded calls.",
    )
    # communities
    max_cluster_size: int = Field(default=10, ge=2, description="Larger communities are split again. Code.")
    resolution: float = Field(default=1.0, gt=0, description="Resolution of Leiden. Code.")
    randomness: float = Field(default=0.001, gt=0, description="Randomness of Leiden's refinement. Code.")
    iterations: int = Field(default=1, ge=1, description="Runs of Leiden, each from the last. Code.")
    community_seed: int = Field(default=0xDEADBEEF, ge=0, description="Seed of Leiden. Code.")
    use_lcc: bool = Field(
        default=False,
        description="Keep the largest component alone. Code: on; ours off, since the rest would be out of reach.",
    )
    match_names: Literal["both", "component"] = Field(
        default="both",
        description="component: names of the largest component are in capitals and match no others, so entities "
        "with small letters lose their communities (code, with use_lcc). both: nothing is lost (ours).",
    )
    # reports
    reports: Literal["model", "extractive"] = Field(
        default="extractive",
        description="Who writes the reports: the run's model, one call for each of some ten thousands (paper), or a "
        "rule (ours, so that nobody pays for them unasked).",
    )
    report_input: int = Field(default=8_000, ge=200, description="Most tokens a report is made from. Code.")
    report_words: int = Field(default=2_000, ge=50, description="Longest report asked for, in words. Code.")
    report_edges: Literal["first", "all"] = Field(
        default="first",
        description="Edges a report is made from: of each member its first outgoing, else first incoming one "
        "(code), or all inside the community.",
    )
    substitute: bool = Field(
        default=True,
        description="Where that is too long, put reports of sub-communities in the place of their members. "
        "Paper; the code cuts instead, since no report is there yet.",
    )
    # which reports are read
    community_level: int = Field(default=2, ge=0, description="The finest level that is read. Code.")
    levels: Literal["all", "one"] = Field(
        default="all",
        description="Read every level down to community_level (code), or of each entity its finest one (as meant).",
    )
    # local
    retriever: Retriever = Field(
        default="bm25", description="How texts are searched. Code: an embedding model (dense)."
    )
    entry: Literal["vectors", "topics"] = Field(
        default="vectors", description="Start from the entities most like the question (code), or its topics."
    )
    top_k_entities: int = Field(default=10, ge=1, description="Entities to start from. Code.")
    oversample: int = Field(default=2, ge=1, description="So many times as many are looked for. Code.")
    cut_entities: bool = Field(
        default=False, description="Keep top_k_entities of those found. Code: all are kept, so up to 20."
    )
    top_k_relationships: int = Field(
        default=10, ge=0, description="Edges to other entities, times the entities. Code."
    )
    context_tokens: int = Field(
        default=12_000, ge=200, description="Tokens of the tables that are shown. Code."
    )
    community_share: float = Field(default=0.15, ge=0, le=1, description="Share of reports in them. Code.")
    text_share: float = Field(default=0.5, ge=0, le=1, description="Share of source texts in them. Code.")
    text_units: Literal["passages", "none"] = Field(
        default="passages",
        description="Source texts of an entity: its own passage and those next to it, or none. Ours.",
    )
    # report-retrieval, global, dynamic
    batch_tokens: int = Field(default=12_000, ge=200, description="Tokens of reports shown at once. Code.")
    shuffle_seed: int = Field(default=86, ge=0, description="Seed that shuffles reports into batches. Code.")
    map_words: int = Field(default=1_000, ge=50, description="Longest partial answer, in words. Code.")
    reduce_words: int = Field(default=2_000, ge=50, description="Longest answer, in words. Code.")
    reduce_tokens: int = Field(default=12_000, ge=200, description="Tokens of points that are reduced. Code.")
    local_knowledge: bool = Field(
        default=True, description="Let local search add what the model knows itself. Code."
    )
    global_knowledge: bool = Field(default=False, description="The same for the other modes. Code.")
    threshold: int = Field(default=1, ge=0, le=5, description="Least rating of a relevant report. Code.")
    repeats: int = Field(default=1, ge=1, description="Ratings of one report; the commonest counts. Code.")
    keep_parent: bool = Field(
        default=False, description="Keep a report some of whose children are relevant. Code."
    )
    max_level: int = Field(
        default=2, ge=0, description="The finest level all of which is rated while nothing is relevant. Code."
    )
    max_rated: int | None = Field(
        default=None, ge=1, description="Most reports rated; then go on with what is found. Code: no bound."
    )
    # answer
    response_type: Literal["list", "prose"] = Field(
        default="list", description="Ask for one answer a line (ours), or for paragraphs (code)."
    )

    @model_validator(mode="after")
    def _fits(self) -> GraphRagConfig:
        shares = round(self.community_share + self.text_share, 6)
        if shares > 1:
            raise ValueError(f"community_share + text_share is {shares}, which is more than 1")
        return self
