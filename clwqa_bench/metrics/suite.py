"""The metrics of this release, in groups.

`SUITE_VERSION` is raised by any change that can move a number on any predictions: a definition, a default, the
comparison key, a matching policy, the rules of the grid.  Scores of two suite versions are never compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

from clwqa_bench.errors import MetricError
from clwqa_bench.grid import Gold
from clwqa_bench.legacy import MEASURES as LEGACY_FIELDS
from clwqa_bench.matching import POLICIES
from clwqa_bench.metrics.base import Metric, half_width
from clwqa_bench.metrics.legacy import FIELDS

SUITE_VERSION = "1"


def _parse(*names: str) -> tuple[Metric, ...]:
    return tuple(map(Metric.parse, names))


HEADLINE = _parse("Hits@1", "P", "R", "F1", "F1(agg=of-means)", "EM")
ANSWERS = _parse(
    "Hits@1", "Hits@5", "E[Hits]@1", "P", "R", "F1", "F1(agg=of-means)", "P(agg=micro)", "R(agg=micro)",
    "F1(agg=micro)", "EM", "MRR@10", "MAP@10", "Recall@10", "Hits(match=id)@1", "F1(match=id)", "Coverage",
    "ParametricShare",
)  # fmt: skip
LISTS = _parse("ListEM", "PairOrder")
"""Measures of the questions whose gold is a list; other datasets have none."""
TEXT = _parse("charF1", "ROUGE-L", "BLEU", "BLEU(agg=corpus)")
EVIDENCE = _parse(
    "EvidenceP", "EvidenceR", "EvidenceF1", "EvidenceF1(agg=of-means)", "EvidenceF1(agg=micro)",
    "EvidenceP(of=cited)", "EvidenceR(of=cited)", "EvidenceF1(of=cited)", "EvidencenDCG@10",
    "HallucinatedEdges", "HallucinatedEdges(of=cited)", "PathConnectedness", "CitationConsistency",
    "AnswerWithoutSupport", "CorrectButUnsupported",
)  # fmt: skip
LEGACY = _parse(
    *(
        f"{name}(match={policy})"
        for policy, fields in LEGACY_FIELDS.items()
        if policy in POLICIES
        for name, field in FIELDS.items()
        if field in fields
    )
)
DEFAULT = tuple(dict.fromkeys((*HEADLINE, *ANSWERS, *TEXT, *EVIDENCE)))
"""Everything but the sources' own evaluators."""

GROUPS: Mapping[str, tuple[Metric, ...]] = MappingProxyType(
    {
        "default": DEFAULT,
        "headline": HEADLINE,
        "answers": ANSWERS,
        "lists": LISTS,
        "text": TEXT,
        "evidence": EVIDENCE,
        "legacy": LEGACY,
        "all": (*DEFAULT, *LEGACY),
    }
)


def select(names: Iterable[str] = ("default",)) -> tuple[Metric, ...]:
    """The metrics of the groups and names given, each once, in that order.

    Raises MetricError for a name that is neither a group nor a metric.
    """
    return tuple(dict.fromkeys(metric for name in names for metric in GROUPS.get(name) or (_metric(name),)))


def chosen(names: Iterable[str] | None, gold: Gold) -> tuple[Metric, ...]:
    """The metrics asked for; by default those that say something of this gold.  Raises MetricError as `select`."""
    if names:
        return select(names)
    return (*DEFAULT, *LISTS) if any(question.ordered for question in gold.questions) else DEFAULT


def _metric(name: str) -> Metric:
    try:
        return Metric.parse(name)
    except MetricError as error:
        if near := get_close_matches(half_width(name).casefold(), GROUPS, n=1, cutoff=0.8):
            raise MetricError(error.what, fix=f"did you mean the group {near[0]!r}") from error
        raise
