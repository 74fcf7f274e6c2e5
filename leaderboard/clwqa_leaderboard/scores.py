"""The numbers a board keeps, and how they are held against those that a bundle brings along."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import orjson

from clwqa_bench.grid import Gold, Grid
from clwqa_bench.metrics import SUITE_VERSION, select
from clwqa_bench.predictions import RunManifest
from clwqa_bench.scoring import WHOLE, Scored, ScoreTable, score
from clwqa_leaderboard.submission import Claims

METRICS = select(
    [
        "Hits@1", "P", "R", "F1", "F1(agg=of-means)", "EM",
        "Hits@5", "MRR@10", "E[Hits]@1", "charF1",
        "EvidenceP", "EvidenceR", "EvidenceF1", "HallucinatedEdges", "AnswerWithoutSupport",
        "CorrectButUnsupported", "CitationConsistency",
    ]
)  # fmt: skip
"""The headline, what ranks are worth, and the evidence.  Other metrics are a `score` of the bundle's run away."""
STRATA = ("hops", "category", "operation")
"""The families of strata a board has figures for."""
FEW = 200  # resamples where no interval is wanted
TOLERANCE = 1e-9  # between two machines that add the same numbers up


def of_the_board(gold: Gold) -> Gold:
    """The gold with the strata of a board only, so that no interval is drawn for others."""
    return replace(
        gold,
        questions=tuple(
            replace(q, strata=tuple(s for s in q.strata if s.partition("=")[0] in STRATA))
            for q in gold.questions
        ),
    )


def scored(grid: Grid, manifest: RunManifest, notes: Mapping[str, int]) -> Scored:
    """Every number of the board, on all questions and on its strata."""
    return score(grid, METRICS, title=manifest.title, manifest=manifest, notes=notes)


def values(grid: Grid) -> dict[str, float]:
    """The value of every metric on all questions, without intervals."""
    table = score(grid, METRICS, strata=False, resamples=FEW).table
    return {cell.metric: cell.value for cell in table.cells}


def claims_of(values: Mapping[str, float]) -> bytes:
    """What a bundle says of itself."""
    claims = Claims(suite=SUITE_VERSION, values=values)
    return orjson.dumps(claims.model_dump(), option=orjson.OPT_INDENT_2) + b"\n"


def contradictions(claims: Claims, table: ScoreTable) -> Iterator[str]:
    """How stored scores differ from the table computed; nothing if they do not."""
    if claims.suite != table.suite:
        yield f"they are of metric suite {claims.suite!r}, this is {table.suite!r}"
        return
    computed = {cell.metric: cell.value for cell in table.cells if cell.stratum == WHOLE}
    for metric, claimed in claims.values.items():
        if metric not in computed:
            yield f"{metric} is no number of this board"
        elif not alike(claimed, computed[metric]):
            yield f"{metric} is {computed[metric]:.6f}, not {claimed:.6f}"


def differences(one: Any, other: Any, field: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two records differ, as JSON values: (field, the one, the other) of each place."""
    if isinstance(one, float) and isinstance(other, float) and alike(one, other):
        return
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from differences(one[key], other[key], f"{field}.{key}" if field else key)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        if one != other:
            for place, (a, b) in enumerate(zip(one, other, strict=True)):
                yield from differences(a, b, f"{field}.{place}")
    elif one != other:
        yield field, one, other


def alike(one: float, other: float) -> bool:
    """Whether two machines may have computed these from the same predictions."""
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
