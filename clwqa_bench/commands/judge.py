"""Let a model of yours judge the answers that no rule credits.

No model is called: `export` writes what to ask, you ask it of any model, `import` reads what came back, and
`clwqa-bench score --judge` counts it, apart from the headline numbers.

Example: clwqa-bench judge export runs/mine --out tasks.jsonl
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Column, Table

from clwqa_bench import judge
from clwqa_bench.commands.common import (
    DATASET,
    DatasetOption,
    JsonOption,
    RunArgument,
    SplitOption,
    open_runs,
)
from clwqa_bench.console import emit, warn

app = typer.Typer(no_args_is_help=True, help=__doc__)

OutOption = Annotated[Path, typer.Option("--out", "-o", help="The file to write, JSON lines.")]
VerdictsArgument = Annotated[Path, typer.Argument(metavar="VERDICTS", help="What `import` wrote.")]


@app.command()
def export(
    run: RunArgument,
    out: OutOption,
    dataset: DatasetOption = DATASET,
    split: SplitOption = None,
    both_orders: Annotated[
        bool,
        typer.Option(
            "--both-orders/--one-order",
            help="Ask each answer twice, gold first and answer first: a judge that changes its mind has none.",
        ),
    ] = True,
    json: JsonOption = False,
) -> None:
    """Write the prompts for the answers that no rule credits.

    Send each line's `prompt` to a model and write {"id": ..., "reply": ...} with its whole output, line by line.

    Example: clwqa-bench judge export runs/mine --dataset data/clwqa-100k --out tasks.jsonl
    """
    [(_, _, grid)] = open_runs([run], dataset, split)
    tasks = list(judge.make_tasks(grid, judge.ORDERS if both_orders else judge.ORDERS[:1]))
    judge.write_lines(tasks, out)
    counts = {
        "questions": len({task.question_id for task in tasks}),
        "answers": len({(task.question_id, task.answer) for task in tasks}),
        "tasks": len(tasks),
    }
    emit(counts, json, _draw)


@app.command("import")
def import_(
    tasks: Annotated[Path, typer.Argument(metavar="TASKS", help="What `export` wrote.")],
    replies: Annotated[
        Path, typer.Argument(metavar="REPLIES", help='Lines of {"id": task, "reply": the model\'s output}.')
    ],
    model: Annotated[str, typer.Option(help="The model that replied, as reports should name it.")],
    out: OutOption,
    json: JsonOption = False,
) -> None:
    """Read a model's replies as verdicts.

    A reply that is not exactly the JSON asked for is `unparsed`, two orders that disagree are `inconsistent`, a
    task without a reply is `missing`: all three count as no verdict, never as a score.

    Example: clwqa-bench judge import tasks.jsonl replies.jsonl --model my-model --out verdicts.jsonl
    """
    asked = judge.read_tasks(tasks)
    verdicts = judge.decide(asked.values(), judge.read_replies(replies, asked), model)
    judge.write_lines(verdicts, out)
    counts = judge.count_statuses(verdicts)
    if lost := len(verdicts) - sum(counts[ruling] for ruling in judge.RULINGS):
        warn(f"{lost} of {len(verdicts)} answers have no verdict")
    emit(counts, json, _draw)


@app.command()
def agreement(
    verdicts: VerdictsArgument,
    labels: Annotated[
        Path,
        typer.Argument(
            metavar="LABELS",
            help='Lines of {"question_id": ..., "answer": ..., "label": "correct" or "wrong"}.',
        ),
    ],
    json: JsonOption = False,
) -> None:
    """Compare a judge with people: the share of equal verdicts, and Cohen's kappa.

    Example: clwqa-bench judge agreement verdicts.jsonl labels.jsonl
    """
    judged = judge.read_judged(verdicts)
    found = judge.agreement(judged, judge.read_labels(labels, judged).values())
    emit({"n": found.n, "accuracy": found.accuracy, "kappa": found.kappa, **asdict(found)}, json, _draw)


def _draw(values: Mapping[Any, Any]) -> RenderableType:
    table = Table.grid(Column(), Column(justify="right"), padding=(0, 2))
    for name, value in values.items():
        shown = "-" if value is None else f"{value:.3f}" if isinstance(value, float) else f"{value:,}"
        table.add_row(name.replace("_", " "), shown)
    return table
