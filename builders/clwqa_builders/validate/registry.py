"""All rules, in the order they run; the first two guard the reading of everything after them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from clwqa_bench.errors import ValidationFailed
from clwqa_builders.validate.model import Rule
from clwqa_builders.validate.rules import (
    categories,
    duplicates,
    files,
    gold,
    graph,
    marginals,
    pairs,
    passages,
    paths,
    shape,
    splits,
    wording,
)

RULES: tuple[Rule, ...] = (
    files.files_match_manifest,
    shape.schema,
    shape.unique_ids,
    shape.licence_present,
    gold.non_empty_gold,
    gold.gold_size,
    gold.gold_equals_path,
    gold.query_text,
    gold.gold_equals_sparql,
    paths.evidence_in_graph,
    paths.hops_match_path,
    paths.anchors_unique,
    paths.anchor_mentioned,
    categories.category_known,
    wording.answer_in_question,
    wording.template_residue,
    wording.untidy_mention,
    wording.script,
    wording.traditional,
    wording.length_outlier,
    passages.passage_elsewhere,
    duplicates.exact_duplicate,
    duplicates.near_duplicate,
    duplicates.conflicting_gold,
    splits.group_leakage,
    splits.fact_leakage,
    marginals.marginals,
    marginals.split_shares,
    marginals.template_share,
    marginals.word_share,
    graph.kg_integrity,
    graph.kg_isolated,
    pairs.pairs_count,
    pairs.pairs_unique,
    pairs.pairs_question,
    pairs.pairs_label,
    pairs.pairs_adjudicated,
    pairs.pairs_node,
    pairs.pairs_leakage,
    pairs.pairs_balance,
)


def select(names: Sequence[str] | None) -> tuple[Rule, ...]:
    """The named rules in running order, all of them for None. Raises ValidationFailed for an unknown name."""
    if names is None:
        return RULES
    known = [rule.id for rule in RULES]
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            fix = f"did you mean {near[0]!r}" if near else "see `clwqa-bench validate --list`"
            raise ValidationFailed(f"there is no rule {name!r}", fix=fix)
    return tuple(rule for rule in RULES if rule.id in names)
