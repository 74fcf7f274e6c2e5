"""Where CEAF is from and what to expect of it."""

from __future__ import annotations

from clwqa_bench.systems import Card

CARD = Card(
    citation="CEAF-CLWQA, the framework of the paper this benchmark is made after (sec. 4; relaxation: sec. 5.5.4)",
    calls="2; 1 with `answers_from=paths`, or with the gold of stage 1 or of the evidence",
    index="none with `ranker=none` and `similarity`; else the linker, and with `neural` and `cascade` a trained node "
    "scorer (`clwqa-bench train scorer`)",
    weaknesses=(
        "A question is lost if stage 1 names a wrong element: nothing later can leave the type paths.",
        "`d_max=3` cannot follow the 7.2 % of questions with four steps and more, unless the graph has a shorter way.",
        "`top_k=3` cuts answers of more than three entities.",
        "With `combine=union`, a question about what two anchors share is answered from one of them.",
    ),
    deviations=(
        "Written from the paper: no code of it is public, nor were its hyperparameters and its supplement available.",
        "The default ranker is `cheap`, for runs without a model: the paper's is the node scorer, `neural`.",
        "Mentions become nodes by name, near name or quoted passage: the paper does not say how.",
        "The mean score of a path leaves the anchor out: the paper does not say which nodes are its evidence nodes.",
        "An element may come back once on a path, and no path passes through a content category.",
        "At most `cap` paths of one type path and anchor are kept, and the trace counts what is cut.",
        "The third stop rule of relaxation is read literally: a fruitless step of the target is the last.",
        "Prompts are our own, and so is the template that words a path as evidence.",
    ),
)
