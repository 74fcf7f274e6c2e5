"""What there is to know about ToG before running it."""

from __future__ import annotations

from typing import Final

from clwqa_bench.systems import Card

CARD: Final = Card(
    citation=(
        "Sun et al.: Think-on-Graph: Deep and Responsible Reasoning of Large Language Model on Knowledge Graph, "
        "ICLR 2024"
    ),
    calls=(
        "n topics: at most n + n*width + 1 at the first depth, width + width^2 + 1 at each further one, and 1 for the "
        "answer; 32 for one topic by default; 5.7 measured on average without a model"
    ),
    weaknesses=(
        "no answer lies deeper than `depth`; of many answers at most `width` are kept",
        "neighbours of a hub are drawn at random, so the answer may not be among them",
        "what was reached outwards over a relation never leads to others of that relation (no_backtrack=off lets it)",
        "after the last depth the evidence is forgotten and the model answers alone",
    ),
    deviations=(
        (
            "prompts are our own, replies JSON closed to what was offered: the published demonstration teaches a form "
            "that its own parser rejects"
        ),
        "relations walked inwards work (inverse=code: they lead nowhere, as published)",
        "arrival relation and direction are kept with each entity (no_backtrack=pooled: as published)",
        (
            "candidates keep name, id and score together, and a half stop is final: published slips that mix up "
            "answers or end the run"
        ),
        "topics are linked from the question, or gold with --oracle anchors; the published system is given them",
        "all calls have the temperature of the run (published: temperature_exploration=0.4, temperature_reasoning=0)",
        "final replies may take 1,024 tokens (published: 256), since passages are answers here",
    ),
)
