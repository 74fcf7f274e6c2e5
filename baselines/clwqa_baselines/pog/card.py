"""What there is to know about PoG before running it."""

from __future__ import annotations

from typing import Final

from clwqa_bench.systems import Card

CARD: Final = Card(
    citation=(
        "Chen et al.: Plan-on-Graph: Self-Correcting Adaptive Planning of Large Language Model on Knowledge Graphs, "
        "NeurIPS 2024"
    ),
    calls=(
        "2 + the sum over at most `depth` depths of (entities expanded + groups of several entities + 4): no bound "
        "but that of --question-calls; 7.8 measured on average without a model, 6.5 to 13.8 and up to 390 in published "
        "runs"
    ),
    weaknesses=(
        "the cost of a question has a long tail: one hub can take hundreds of calls",
        "the more triples of a depth, the longer the prompts; a context may overflow",
        "any call that fails costs the question (on_failure=go_on: only the last one does)",
        "after the last depth the evidence is forgotten and the model answers alone",
    ),
    deviations=(
        "prompts are our own, replies JSON closed to what was offered",
        (
            "reflection may add back every entity seen, as the paper says (pool=code: those expanded already and the "
            "ends of large groups); the pool shown is cut to `pool_cap`"
        ),
        "arrival relation and direction are kept with each entity (no_backtrack=pooled: as published)",
        "entities are kept by id, and the second of one name is shown as name#2: published, one replaces the other",
        "memory is kept with the question, not in files that questions of one beginning share",
        "a question that fails is a prediction without answers: published, it is missing from the denominator",
        "topics are linked from the question, or gold with --oracle anchors; the published system is given them",
        "the nearest of a large group are told by words (nearest=dense: by an encoder, as published)",
        "all calls have the temperature of the run (published: temperature_exploration=0.3, temperature_reasoning=0.3)",
    ),
)
