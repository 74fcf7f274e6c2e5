"""Ask a system the questions of a split and write down its predictions; nothing is scored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from clwqa_bench import console, runner
from clwqa_bench.commands.common import DATASET, DatasetOption, JsonOption
from clwqa_bench.dataset import Dataset
from clwqa_bench.records import Split
from clwqa_bench.systems import load_system


def run(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="A name from `clwqa-bench systems list`.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The run folder: a new one, or one to go on with.")
    ],
    dataset: DatasetOption = DATASET,
    split: Annotated[Split, typer.Option(help="Which questions to ask.")] = "test",
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Ask only so many, drawn by --seed; the run is marked as a sample."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample and of the system.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the system; may be repeated."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Ask a system the questions of a split and write down its predictions; nothing is scored.

    The same command goes on where a run was stopped. Exit code 1 if the system failed on a question.

    Example: clwqa-bench run kg-lookup --sample 200 --out runs/kg-lookup
    """
    under_test = load_system(system, _settings(settings or ()))
    try:
        summary = runner.run(under_test, Dataset.open(dataset), split, out, seed=seed, sample=sample)
    except KeyboardInterrupt:
        console.say(f"interrupted; the same command goes on from what is in {out}")
        raise
    console.emit(asdict(summary), json, lambda _: _draw(summary))
    if summary.statuses.get("error"):
        if summary.error:
            console.warn(f"the system failed, first with {summary.error}")
        raise typer.Exit(1)


def _settings(texts: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise typer.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="--set")
        if key in found:
            raise typer.BadParameter(f"{key} is set twice", param_hint="--set")
        found[key] = value
    return found


def _draw(summary: runner.Summary) -> Text:
    kind = "sampled questions" if summary.sample else "questions"
    statuses = ", ".join(f"{number:,} {status}" for status, number in summary.statuses.items())
    return Text(
        f"{summary.title}: {summary.questions:,} {kind}, {summary.asked:,} asked now in {summary.seconds:.1f} s\n"
        f"{statuses}\n{summary.folder}"
    )
