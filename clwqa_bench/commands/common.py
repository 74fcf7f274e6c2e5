"""What commands share: their options, settings as text, and runs placed on the grid of a dataset."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from clwqa_bench import console
from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import PredictionError
from clwqa_bench.grid import Grid
from clwqa_bench.records import SPLITS
from clwqa_bench.runs import Run, gold_of, read_run

RunArguments = Annotated[
    list[Path], typer.Argument(metavar="RUN...", help="Run folders, or files with one prediction per line.")
]
RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run folder, or a file with one prediction per line.")
]
DatasetOption = Annotated[Path, typer.Option("--dataset", "-d", help="The dataset folder that was asked.")]
SplitOption = Annotated[
    str | None, typer.Option(help="The split that was asked; by default what the run says, or test.")
]
MetricsOption = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", help="A metric such as 'F1(agg=micro)' or a group; may be repeated."),
]
ResamplesOption = Annotated[int, typer.Option(min=100, help="Resamples of the bootstrap.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

DATASET = Path("data/clwqa-100k")


class Opened(NamedTuple):
    """A run on its grid, with the title that tells it from the others opened."""

    title: str
    run: Run
    grid: Grid


def open_runs(
    paths: Sequence[Path],
    dataset: Path,
    split: str | None,
    verdicts: Mapping[tuple[str, str], bool] | None = None,
) -> list[Opened]:
    """Read runs and place them on one grid of questions; says on stderr what was left out of a run.

    Raises PredictionError when the runs were asked different splits or other questions than the dataset's.
    """
    resolved = [path.resolve() for path in paths]
    if twice := [path for path in paths if resolved.count(path.resolve()) > 1]:
        raise PredictionError(f"{twice[0]} is named twice", fix="name every run once")
    gc.disable()  # the records read stay to the end, when the process ends too: looking for cycles only takes time
    runs = [read_run(path) for path in paths]
    asked = split or _split_of(runs)
    if asked not in SPLITS:
        raise PredictionError(f"there is no split {asked!r}", fix=f"use one of {', '.join(SPLITS)}")
    gold = gold_of(Dataset.open(dataset, verify=False), asked)
    opened = []
    titles = distinct_titles([(run.title, run.path) for run in runs])
    for title, run in zip(titles, runs, strict=True):
        if run.torn is not None:
            console.warn(f"{run.items}:{run.torn}: the last line is cut off; its question counts as missing")
        opened.append(Opened(title, run, run.on(gold, verdicts)))
    return opened


def distinct_titles(runs: Sequence[tuple[str, Path]]) -> list[str]:
    """Titles that tell runs apart: where two have the same, the name of the folder is added, or its whole path."""
    titles = [title for title, _ in runs]
    for added in (lambda path: path.name, str):
        repeated = {title for title in titles if titles.count(title) > 1}
        titles = [
            f"{name} ({added(path)})" if title in repeated else title
            for title, (name, path) in zip(titles, runs, strict=True)
        ]
    return titles


def key_values(texts: Iterable[str], option: str) -> dict[str, str]:
    """What `KEY=VALUE` texts of an option say.  Raises BadParameter for another text, or a key given twice."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise typer.BadParameter(f"{text!r} is not KEY=VALUE", param_hint=option)
        if key in found:
            raise typer.BadParameter(f"{key} is set twice", param_hint=option)
        found[key] = value
    return found


def _split_of(runs: Sequence[Run]) -> str:
    asked = {run.manifest.dataset.split for run in runs if run.manifest}
    if len(asked) > 1:
        raise PredictionError(
            f"the runs were asked different splits: {', '.join(sorted(asked))}",
            fix="score runs of one split together",
        )
    return asked.pop() if asked else "test"
