"""Let a model judge the answers that no rule credits.

`run` asks a language model. To ask one of your own, `export` writes what to ask and `import` reads what came back.
`clwqa-bench score --judge` counts the verdicts, apart from the headline numbers.

Example: clwqa-bench judge run runs/mine --llm openai:glm-4-flash --out judged/mine
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Column, Table

from clwqa_bench import judge, judging
from clwqa_bench.commands.common import (
    DATASET,
    DatasetOption,
    JsonOption,
    RunArgument,
    SplitOption,
    key_values,
    open_runs,
)
from clwqa_bench.commands.run import (
    DryRunOption,
    LlmSettingsOption,
    MaxCallsOption,
    MaxCostOption,
    MaxTokensOption,
    NoCacheOption,
)
from clwqa_bench.console import emit, say, warn
from clwqa_bench.llm.cache import default_path
from clwqa_bench.llm.protocol import Limits, Options
from clwqa_bench.llm.tasks import Language
from clwqa_bench.runner import Model

app = typer.Typer(no_args_is_help=True, help=__doc__)

OutOption = Annotated[Path, typer.Option("--out", "-o", help="The file to write, JSON lines.")]
VerdictsArgument = Annotated[Path, typer.Argument(metavar="VERDICTS", help="What `run` or `import` wrote.")]
OrdersOption = Annotated[
    bool,
    typer.Option(
        "--both-orders/--one-order",
        help="Ask each answer twice, gold first and answer first: a judge that changes its mind has none.",
    ),
]
LanguageOption = Annotated[Language, typer.Option(help="Language of the prompts.")]


@app.command("run")
def ask(
    run: RunArgument,
    llm: Annotated[str, typer.Option(metavar="SPEC", help="The judge, such as openai:PRESET_OR_MODEL.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A folder of its own: a new one, or one to go on with.")
    ],
    dataset: DatasetOption = DATASET,
    split: SplitOption = None,
    both_orders: OrdersOption = True,
    language: LanguageOption = "zh",
    llm_settings: LlmSettingsOption = None,
    max_calls: MaxCallsOption = None,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    no_cache: NoCacheOption = False,
    concurrency: Annotated[int, typer.Option(min=1, help="Tasks in work at a time.")] = 8,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Ask a language model about the answers that no rule credits, and write its verdicts.

    The same command goes on where a judging was stopped. Exit code 1 if a task ended as error, timeout or skipped;
    these are asked again. What was `unparsed` or `refused` is not, and is no verdict.

    Example: clwqa-bench judge run runs/mine --llm openai:glm-4-flash --max-cost 1 --out judged/mine
    """
    options = Options(
        language=language,
        settings=key_values(llm_settings or (), "--llm-set"),
        limits=Limits(max_calls, max_tokens, max_cost),
        cache=None if no_cache else default_path(),
        dry=dry_run,
    )
    model = Model(llm, options)
    tasks = _tasks(run, dataset, split, both_orders, language)
    if dry_run:
        emit(asdict(judging.expect(tasks, out, model)), json, _draw)
        return
    try:
        found = judging.judge(tasks, out, model, concurrency)
    except KeyboardInterrupt:
        say(f"interrupted; the same command goes on from what is in {out}")
        raise
    counts = {"answers": found.answers, "unjudged": found.unjudged}
    emit(asdict(found) | counts, json, lambda _: _draw({"answers": found.answers, **found.statuses}))
    _conclude(found)


def _tasks(
    run: Path, dataset: Path, split: str | None, both_orders: bool, language: Language
) -> list[judge.JudgeTask]:
    [(_, _, grid)] = open_runs([run], dataset, split)
    return list(judge.make_tasks(grid, judge.ORDERS if both_orders else judge.ORDERS[:1], language))


def _conclude(found: judging.Judged) -> None:
    """Say what there is no verdict on, and leave with code 1 if asking again may change that."""
    if found.unjudged:
        warn(f"{found.unjudged} of {found.answers} answers have no verdict")
    if found.llm:
        say(f"{found.model}: {found.llm}")
    if found.failed:
        if found.error:
            warn(f"the model failed, first with {found.error}")
        listed = ", ".join(f"{number:,} {status}" for status, number in found.failed.items())
        say(f"{listed}: the same command asks them again")
        raise typer.Exit(1)


@app.command()
def export(
    run: RunArgument,
    out: OutOption,
    dataset: DatasetOption = DATASET,
    split: SplitOption = None,
    both_orders: OrdersOption = True,
    language: LanguageOption = "zh",
    json: JsonOption = False,
) -> None:
    """Write the prompts for the answers that no rule credits.

    Send each line's `prompt` to a model and write {"id": ..., "reply": ...} with its whole output, line by line.

    Example: clwqa-bench judge export runs/mine --dataset data/clwqa-100k --out tasks.jsonl
    """
    tasks = _tasks(run, dataset, split, both_orders, language)
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
