"""A question with gold over the graph of `culture`, anchored at a work so that gold is told from what is linked."""

from __future__ import annotations

from clwqa_bench.records import Anchor, Answer, Generator, PathStep, Question, StandardPath

GOLD = Question(
    id="q", question="“守株待兔”出自的书是谁写的？", hops=1, category="c", upper_category="c", category_basis="content",
    group_id="g", template_id="t", family="f", target_element="Person", cypher="", sparql="", evidence=(),
    sources=("s",), split="test", answers=(Answer(entity_id="韩非", label="韩非", kind="entity"),),
    anchors=(Anchor(entity_id="韩非子", mention="守株待兔", elements=("Work",)),),
    standard_paths=(
        StandardPath(
            entities=("韩非子", "韩非"), steps=(PathStep(relation="by", direction="out", type="Person"),)
        ),
    ),
    generator=Generator(method="template", template_id="t"),
)  # fmt: skip
