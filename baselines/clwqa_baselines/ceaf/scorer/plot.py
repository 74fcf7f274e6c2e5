"""Training curves as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clwqa_baselines.ceaf.scorer.errors import ScorerError
from clwqa_baselines.ceaf.scorer.statistics import Epoch


def draw_curves(epochs: Sequence[Epoch], best: int, title: str, file: Path) -> None:
    """Train and validation loss by epoch, with the epoch that was kept; the suffix of `file` says the format.

    Raises ScorerError without matplotlib.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ModuleNotFoundError:
        raise ScorerError(
            "training curves are drawn with matplotlib", fix="pip install 'clwqa-bench[plots]'"
        ) from None
    numbers = [epoch.number for epoch in epochs]
    with rc_context({"svg.hashsalt": "clwqa-bench", "svg.fonttype": "none"}):
        figure = Figure(figsize=(6, 3.6), layout="constrained")
        axes = figure.subplots()
        axes.plot(numbers, [epoch.train for epoch in epochs], "o-", label="train")
        axes.plot(numbers, [epoch.validation for epoch in epochs], "s--", label="validation")
        axes.axvline(best, color="0.6", linestyle=":", label=f"kept: epoch {best}")
        axes.set(title=title, xlabel="epoch", ylabel="mean squared error", ylim=(0, None))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend()
        metadata = {"Date": None} if file.suffix == ".svg" else None  # the same training, the same bytes
        figure.savefig(file, metadata=metadata, dpi=150)
