"""The settings of top-k triples, and what is said of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clwqa_baselines.shared.vectors import Retriever
from clwqa_bench.systems import Card, Settings


class TopKTriplesConfig(Settings):
    """Defaults are KAPING's for scope `linked`; `top_k=15 scope=global form=csv` are those of LatamQA."""

    scope: Literal["linked", "global"] = Field(
        default="linked",
        description="Choose among the triples of what the question names (KAPING), or among all (LatamQA).",
    )
    retriever: Retriever = Field(
        default="tfidf",
        description="Similarity: dense is published (MPNet, jina-v3; here multilingual-e5-small), the others need no "
        "model and are ours.",
    )
    top_k: int = Field(
        default=10, ge=1, description="Triples shown: 10 in KAPING (paper, code), 15 in LatamQA (code)."
    )
    form: Literal["triples", "csv", "sentences"] = Field(
        default="triples",
        description="How they are shown: (s, r, o) as KAPING does; rows of a table as the code of LatamQA does; in "
        "natural language as its paper says.",
    )
    choose: Literal["similar", "random"] = Field(
        default="similar", description="random: KAPING's control, any triples of the scope."
    )
    own_knowledge: bool = Field(
        default=True,
        description="Let the model answer from its own knowledge if no triple helps (KAPING, LatamQA); off keeps it to "
        "the triples.",
    )
    fact_chars: int = Field(
        default=500, ge=1, description="Most characters of a triple in the prompt (LatamQA code)."
    )


CARD = Card(
    citation="Baek, Aji, Saffari: Knowledge-Augmented Language Model Prompting for Zero-Shot Knowledge Graph Question "
    "Answering (KAPING), 2023; scope=global after the triple retrieval of KG-vs-RAG-QA (LatamQA)",
    calls="1",
    index="none for scope=linked; vectors of all triples for scope=global",
    weaknesses=(
        "one hop: what lies two steps from the entity named is out of reach of scope=linked",
        "no structure: near-duplicates of one fact crowd out others",
        "depends on linking (linked) or on the words of the question occurring in the triple (global)",
    ),
    deviations=(
        "the default similarity is TF-IDF over characters, since no encoder is needed; dense is a switch",
        "dense is multilingual-e5-small instead of MPNet (no Chinese) or jina-v3 (larger than a laptop allows)",
        "answers come as a JSON list with the numbers of the triples used, so that they can be ranked",
        "without any triple the question is asked closed-book and flagged; the papers' zero-shot prompt likewise",
        "the query modes of LatamQA that add the options of multiple choice do not apply",
    ),
)
