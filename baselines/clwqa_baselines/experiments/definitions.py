"""The experiments of the paper's section 5, in its order.  To add one, write it down here.

Rows of systems that are not installed are left out of a table, which then says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from clwqa_baselines.experiments.design import (
    Bars,
    Column,
    Curves,
    Experiment,
    Profile,
    Variant,
    indicator,
    scored,
    used,
)

HITS, PRECISION, RECALL, F1 = (scored(name) for name in ("Hits@1", "P", "R", "F1(agg=of-means)"))
ANSWERS = (HITS, PRECISION, RECALL, F1, scored("F1"), scored("EM"))
BANDS = ("1", "2", "3", "4+")
UNSEEN = (
    scored("Hits@1", "Hits@1, unseen templates", "view=unseen-template"),
    scored("Hits@1", "Hits@1, unseen sources", "view=unseen-source"),
)
"""Test questions of templates that no training question has, and on works that none rests on; not in the paper."""

# ---------------------------------------------------------------------- systems (sec. 5.3)

CEAF = Variant("CEAF", "ceaf")
NEURAL = Variant("CEAF, node scorer", "ceaf", {"ranker": "neural", "scorer": "{scorer}"})

SYSTEMS = (
    Variant("Zero-Shot", "zero-shot"),
    Variant("CoT", "cot"),
    Variant("MindMap", "mindmap"),
    Variant("ToG", "tog"),
    Variant("PoG", "pog"),
    Variant("BYOKG-RAG", "byokg-rag"),
    Variant("GraphRAG", "graphrag"),
    CEAF,
)
OURS = (
    Variant("one-step lookup", "kg-lookup"),
    Variant("text RAG", "rag"),
    Variant("top-k triples", "topk-triples"),
)
"""Not in the paper."""

LEXICAL = (
    "llm=none/lexical is no model but rules, which know nothing by heart: Zero-Shot and CoT answer nothing; evidence "
    "is answered with the ends of the best paths."
)
RANKER = (
    "CEAF ranks with its cheap ranker (a linear model of a path's shape) unless a row says otherwise; the paper ranks "
    "with the node scorer."
)

# ---------------------------------------------------------------------- RQ1: overall (sec. 5.5.1)

MAIN = Experiment(
    name="main",
    title="Systems compared",
    paper="Table 2",
    variants=(*SYSTEMS, NEURAL, *OURS),
    columns=(*ANSWERS, *UNSEEN),
    plot=Bars(("Hits@1", "F1 of means")),
    notes=(RANKER,),
    lexical=(LEXICAL,),
    open=True,
)

HOPS = Experiment(
    name="hops",
    title="Systems by number of hops",
    paper="Table 3 (and Tables S7 to S9)",
    variants=(*SYSTEMS, NEURAL, *OURS),
    columns=(
        *(scored("Hits@1", f"Hits@1, {band} hop", f"hops={band}") for band in BANDS),
        *(scored("F1(agg=of-means)", f"F1, {band} hop", f"hops={band}") for band in BANDS),
    ),
    plot=Profile(tuple(f"Hits@1, {band} hop" for band in BANDS), "hops", "Hits@1"),
    notes=("F1 is that of the mean precision and the mean recall of the hop band.", RANKER),
    lexical=(LEXICAL,),
    open=True,
)

# ---------------------------------------------------------------------- RQ2: factors (sec. 5.5.2)

TOPK = Experiment(
    name="topk",
    title="Number of retained paths K",
    paper="Table 4",
    variants=tuple(Variant(f"K = {k}", "ceaf", {"top_k": str(k)}, series="CEAF", x=k) for k in range(1, 6)),
    columns=ANSWERS,
    plot=Curves("F1 of means", "K"),
    notes=(RANKER,),
    lexical=(LEXICAL,),
)

DEPTH = Experiment(
    name="depth",
    title="Maximum search depth",
    paper="Figure 5",
    variants=tuple(
        Variant(
            f"D_max = {d}{', no ranking' if ranking else ''}",
            "ceaf",
            {"d_max": str(d), **ranking},
            series="no ranking" if ranking else "CEAF",
            x=d,
        )
        for ranking in ({}, {"ranker": "none"})
        for d in range(1, 5)
    ),
    columns=(*ANSWERS, indicator("coverage", "supporting path retrieved")),
    plot=Curves("Hits@1", "D_max"),
    notes=(RANKER,),
    lexical=(LEXICAL,),
)

# ---------------------------------------------------------------------- ablation (sec. 5.5.3)

ABLATION = Experiment(
    name="ablation",
    title="CEAF without parts of it",
    paper="Table 5",
    variants=(
        CEAF,
        Variant("no element linking", "ceaf", {"use_elements": "false"}),
        Variant("no path ranking", "ceaf", {"ranker": "none"}),
        Variant("ranking by text similarity", "ceaf", {"ranker": "similarity"}),
        NEURAL,
        Variant(
            "node scorer, no element embedding",
            "ceaf",
            {"ranker": "neural", "scorer": "{scorer_no_elements}"},
        ),
        Variant("cheap ranker, then node scorer", "ceaf", {"ranker": "cascade", "scorer": "{scorer}"}),
        Variant(
            "node scorer, no element linking",
            "ceaf",
            {"ranker": "neural", "scorer": "{scorer}", "use_elements": "false"},
        ),
    ),
    columns=(
        *ANSWERS,
        indicator("coverage", "supporting path retrieved"),
        indicator("retention", "supporting path kept"),
    ),
    plot=Bars(("Hits@1", "F1 of means")),
    notes=(
        "A supporting path can be kept only where it was retrieved, which is not on the same questions in each row.",
        RANKER,
    ),
    lexical=(LEXICAL,),
)

# ---------------------------------------------------------------------- stages (sec. 5.5.4)

STAGEWISE = Experiment(
    name="stagewise",
    title="Stage indicators",
    paper="Table 6",
    variants=(*SYSTEMS, *OURS),
    columns=(
        indicator("anchor-f1", "(i) anchors, F1"),
        indicator("element-match", "(ii) element labels"),
        indicator("coverage", "(iii) supporting path retrieved"),
        indicator("retention", "(iv) supporting path kept"),
        indicator("complete", "(v) all answers retrieved"),
    ),
    plot=Profile(
        (
            "(i) anchors, F1",
            "(ii) element labels",
            "(iii) supporting path retrieved",
            "(iv) supporting path kept",
            "(v) all answers retrieved",
        ),
        "",
        "per cent",
    ),
    notes=(
        "(iv) is on questions whose supporting path was retrieved, (v) on questions with several answers.",
        "A system that has no such stage has no figure for it. In the paper CEAF alone.",
        RANKER,
    ),
    open=True,
)

ORACLE = Experiment(
    name="oracle",
    title="Gold in place of a stage, and relaxation",
    paper="Table 7",
    variants=(
        CEAF,
        Variant("gold anchors", "ceaf", oracle=("anchors",)),
        Variant("gold elements", "ceaf", oracle=("elements",)),
        Variant("gold stage 1", "ceaf", oracle=("stage1",)),
        Variant("gold evidence", "ceaf", oracle=("evidence",)),
        Variant("relaxation", "ceaf", {"relax": "true"}),
    ),
    columns=(*ANSWERS, indicator("coverage", "supporting path retrieved")),
    plot=Bars(("Hits@1", "R", "F1 of means")),
    notes=("Rows with gold are no results of a system. Gold evidence is not in the paper.", RANKER),
    lexical=(LEXICAL,),
)

# ---------------------------------------------------------------------- efficiency (sec. 5.5.5)

ONE_BY_ONE = (
    "Seconds are wall time as the runs were made: with several questions in work at once they include waiting for one "
    "another; runs made with --concurrency 1 measure them alone."
)

COST = Experiment(
    name="cost",
    title="What a question takes",
    paper="Table 8",
    variants=(*SYSTEMS, NEURAL, *OURS),
    columns=(
        used("calls", "calls"),
        used("tokens_in", "tokens in"),
        used("tokens_out", "tokens out"),
        used("cost", "US dollars", "usd"),
        used("cached", "from the cache", "percent"),
        used("seconds", "ms", "ms"),
        HITS,
    ),
    plot=Bars(("ms", "calls")),
    notes=(
        "Means of a question. A reply from the cache shows the tokens it once took, no cost, and hardly any time.",
        ONE_BY_ONE,
    ),
    lexical=("With llm=none/lexical a call is a task done by rules: no tokens, no money.",),
    open=True,
)

LATENCY = Experiment(
    name="latency",
    title="Where the time goes",
    paper="Table 9",
    variants=(CEAF, *(replace(system, whole=True) for system in (*SYSTEMS, *OURS) if system is not CEAF)),
    columns=(
        Column("mean, ms", "time/{part}/mean", "ms"),
        Column("p50, ms", "time/{part}/p50", "ms"),
        Column("p99, ms", "time/{part}/p99", "ms"),
        Column("share", "time/{part}/share"),
        Column("from the cache", "time/{part}/cached"),
    ),
    parts={
        "element-based linking": "link",
        "path retrieval and pruning": "retrieve",
        "evidence ranking": "rank",
        "answer generation": "answer",
        "whole question": "whole",
    },
    plot=Bars(("mean, ms", "p99, ms")),
    notes=(
        "p50 and p99 are single quantiles, without intervals.",
        "In the paper CEAF alone; of other systems the whole question.",
        ONE_BY_ONE,
        RANKER,
    ),
)

EXPERIMENTS: Final = {
    experiment.name: experiment
    for experiment in (MAIN, HOPS, TOPK, DEPTH, ABLATION, STAGEWISE, ORACLE, COST, LATENCY)
}
