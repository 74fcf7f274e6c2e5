"""The dataset card (README.md), rendered from computed statistics; it states nothing that was not counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

from clwqa_bench.records import BAND_LABELS, SPLITS
from clwqa_builders.output.schema import CANARY, PAIRS, QUESTIONS, features
from clwqa_builders.output.statistics import HOP_BANDS, Statistics

if TYPE_CHECKING:
    from clwqa_builders.output.manifest import Release

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def render(release: Release, stats: Statistics) -> str:
    """The card as Markdown with the YAML block that `datasets` reads its configurations from."""
    environment = Environment(
        loader=PackageLoader("clwqa_builders.output", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["share"] = _share
    environment.filters["cell"] = _cell
    return environment.get_template("card.md.j2").render(
        release=release,
        stats=stats,
        splits=SPLITS,
        bands=HOP_BANDS,
        canary=CANARY,
        features=features(QUESTIONS),
        pair_features=features(PAIRS),
        pair_bands=BAND_LABELS,
        size=next((name for bound, name in SIZES if stats.questions < bound), "n>1M"),
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _cell(text: str) -> str:
    """Text for a table cell: one line, no bar."""
    return " ".join(text.split()).replace("|", "\\|")
