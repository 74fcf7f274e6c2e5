"""The baselines with their switches thrown one by one, which no paper does: what each of them is worth here.

GraphRAG's `global` and `dynamic` ask about every report, so this is for a sample (`--sample 200`) and not among the
experiments that `all` stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from clwqa_baselines.experiments.definitions import F1, HITS, LEXICAL
from clwqa_baselines.experiments.design import Bars, Experiment, Variant, indicator, used

THROWN: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "MindMap": ("mindmap", ("topics=linked", "neighbours=10", "paths=10", "inverse_edges=true", "verbalise=false")),
    "ToG": (
        "tog",
        ("prune_tools=bm25", "inverse=code", "no_backtrack=pooled", "direction_marks=true", "at_depth=half_stop"),
    ),
    "PoG": ("pog", ("pool=code", "reflections=0", "no_backtrack=pooled", "at_depth=half_stop")),
    "BYOKG-RAG": (
        "byokg-rag",
        ("iterations=1", "direct_query_linking=true", "inverse_edges=true", "retriever=scoring"),
    ),
    "GraphRAG": (
        "graphrag",
        (
            "entry=topics",
            "use_lcc=true",
            "text_units=none",
            "mode=report-retrieval",
            "mode=report-retrieval report_edges=all",
            "mode=global",
            "mode=dynamic",
        ),
    ),
    "text RAG": ("rag", ("retriever=tfidf", "top_k=15", "passages=nodes")),
    "top-k triples": (
        "topk-triples",
        ("retriever=bm25", "choose=random", "scope=global", "scope=global retriever=bm25 top_k=15"),
    ),
}  # fmt: skip
"""By label: the system, and settings that are not the default; several at once are divided by spaces."""

GOLD: Final = {
    "MindMap": "anchors",
    "ToG": "anchors",
    "PoG": "anchors",
    "BYOKG-RAG": "anchors",
    "top-k triples": "evidence",
}
"""By label: what is taken from the gold in one more row; such a row is no result of a system."""


def _variants() -> Iterator[Variant]:
    for label, (system, thrown) in THROWN.items():
        yield Variant(label, system)
        for settings in thrown:
            yield Variant(f"{label}, {settings}", system, dict(part.split("=") for part in settings.split()))
        if label in GOLD:
            yield Variant(f"{label}, gold {GOLD[label]}", system, oracle=(GOLD[label],))


SWITCHES: Final = Experiment(
    name="switches",
    title="Baselines and their switches",
    paper="not in the paper",
    variants=tuple(_variants()),
    columns=(
        HITS,
        F1,
        indicator("coverage", "supporting path retrieved"),
        used("calls", "calls"),
        used("seconds", "ms", "ms"),
    ),
    plot=Bars(("Hits@1", "calls")),
    notes=(
        "A row has the settings it names in place of the system's defaults. Rows with gold are no results of a system.",
    ),
    lexical=(LEXICAL,),
)
