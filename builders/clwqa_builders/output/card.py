"""The dataset card (README.md), rendered from computed statistics; it states nothing that was not counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clwqa_bench.records import BAND_LABELS, SPLITS
from clwqa_builders.output.schema import CANARY, PAIRS, QUESTIONS, features
from clwqa_builders.output.statistics import HOP_BANDS, Statistics
from clwqa_builders.output.templates import environment

if TYPE_CHECKING:
    from clwqa_builders.output.manifest import Release

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def render(release: Release, stats: Statistics) -> str:
    """The card as Markdown with the YAML block that `datasets` reads its configurations from."""
    return (
        environment()
        .get_template(release.card)
        .render(
            release=release,
            stats=stats,
            splits=SPLITS,
            bands=HOP_BANDS,
            canary=CANARY,
            features=features(QUESTIONS),
            pair_features=features(PAIRS),
            pair_bands=BAND_LABELS,
            reports=(),  # nobody has read what is only being written
            size=next((name for bound, name in SIZES if stats.questions < bound), "n>1M"),
        )
    )
