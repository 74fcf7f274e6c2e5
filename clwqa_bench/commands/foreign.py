"""The part of `score` that reads other projects' result files: `score RESULTS --format pog --gold FILE`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import RenderableType

from clwqa_bench.console import emit, warn
from clwqa_bench.foreign import SideBySide, side_by_side
from clwqa_bench.metrics import Metric
from clwqa_bench.scoring import LEVEL, RESAMPLES


def score_foreign(
    results: Path,
    format: str,
    gold: Path | None = None,
    gold_format: str | None = None,
    json: bool = False,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    metrics: Sequence[Metric] | None = None,
) -> None:
    """Print what the source's script prints for its file next to the strict score on all questions of the gold.

    `metrics` are the strict columns asked for, by default those that sources have a counterpart of.
    """
    both = side_by_side(results, format, gold, gold_format, metrics=metrics, resamples=resamples, level=level)
    if both.original and both.original.crash:
        warn(f"no number of {both.original.source}'s: {both.original.crash}")
    emit(both.as_dict(), json, lambda _: _draw(both))


def _draw(both: SideBySide) -> RenderableType:
    from clwqa_bench.foreign.terminal import render  # who asked for JSON draws nothing

    return render(both)
