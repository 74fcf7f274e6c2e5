"""Learn from the train split what systems use later.

Sub-commands of other packages are entry points of the group `clwqa_bench.trainers`.

Example: clwqa-bench train linker
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table
from typer.core import TyperCommand, TyperGroup

from clwqa_bench import console
from clwqa_bench.commands.common import DATASET, DatasetOption, JsonOption
from clwqa_bench.dataset import Dataset
from clwqa_bench.records import Split
from clwqa_bench.registry import TRAINERS


class Trainers(TyperGroup):
    """The commands of this module, and those that packages add; of the latter only the one called is imported."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names."""
        return sorted({*super().list_commands(ctx), *TRAINERS.names()})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command of ours, or a stand-in that is good for listing."""
        if (ours := super().get_command(ctx, cmd_name)) or cmd_name not in TRAINERS.names():
            return ours
        summary = TRAINERS.summary(cmd_name)
        return TyperCommand(
            name=cmd_name, help=f"(broken: {summary.problem})" if summary.problem else summary.text
        )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that was asked for."""
        from clwqa_bench.cli import as_command

        name, *rest = args
        if super().get_command(ctx, name) or name not in TRAINERS.names():
            return super().resolve_command(ctx, args)
        return name, as_command(name, TRAINERS.load(name)), rest


app = typer.Typer(cls=Trainers, no_args_is_help=True, help=__doc__)


@app.callback()
def train() -> None:
    """Learn from the train split what systems use later."""


@app.command()
def linker(
    dataset: DatasetOption = DATASET,
    split: Annotated[
        Split, typer.Option(help="Where to measure. Choices are made on validation, never on test.")
    ] = "validation",
    held_out: Annotated[
        bool,
        typer.Option("--held-out", help="Measure on whole templates of the train split kept from learning."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Also write the linker into this folder.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Fit the linker and print how well it finds anchors, elements and path shapes.

    Runs fit it themselves when they need it and keep it in the user's cache; this command shows what it can do.

    Example: clwqa-bench train linker --held-out
    """
    from clwqa_bench.linking import Linker
    from clwqa_bench.linking.evaluation import by_view, held_out_templates

    data = Dataset.open(dataset)
    graph = data.kg()
    questions = list(data.questions("train"))
    start = time.process_time()
    fitted = Linker.fit(questions, graph, graph.ontology)
    seconds = time.process_time() - start
    if out is not None:
        fitted.save(out)
    figures = by_view(fitted, list(data.questions(split)), graph.ontology)
    named = {f"{split}, {view}" if view != "all" else split: value for view, value in figures.items()}
    if held_out:
        named["held-out templates"] = held_out_templates(questions, graph, graph.ontology)
    found = {
        "fit_seconds": round(seconds, 2),
        "figures": {name: asdict(value) for name, value in named.items()},
    }
    console.emit(found, json, _draw)


def _draw(found: Mapping[str, Any]) -> RenderableType:
    table = Table(
        "per cent", *found["figures"], caption=f"fitted in {found['fit_seconds']:.1f} s of CPU time"
    )
    from clwqa_bench.linking.evaluation import Figures

    for name in (field.name for field in fields(Figures)):
        values = [figures[name] for figures in found["figures"].values()]
        shown = (f"{value:,}" if name == "questions" else f"{100 * value:.1f}" for value in values)
        table.add_row(name.replace("_", " "), *shown)
    return table
