"""Ask a system the questions of a split and write down its predictions; nothing is scored."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clwqa_bench import console, runner
from clwqa_bench.commands.common import DATASET, DatasetOption, JsonOption, key_values
from clwqa_bench.dataset import Dataset
from clwqa_bench.forecast import Forecast, forecast
from clwqa_bench.llm.cache import default_path
from clwqa_bench.llm.protocol import Limits, Options
from clwqa_bench.llm.tasks import Language
from clwqa_bench.records import Split
from clwqa_bench.run_folder import RETRYABLE
from clwqa_bench.runner import Model, Pace
from clwqa_bench.systems import Bounds, SettingError, System, load_system, system_class

QUESTIONS, MODEL, WAY = "Which questions", "Language model", "How they are asked"

SampleOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Ask only so many, drawn by --seed; the run is marked as a sample.",
        rich_help_panel=QUESTIONS,
    ),
]
ShardOption = Annotated[
    str | None,
    typer.Option(
        metavar="I/N",
        help="Ask only the I-th of N parts; see `clwqa-bench merge`.",
        rich_help_panel=QUESTIONS,
    ),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of the system; may be repeated."),
]
RelaxOption = Annotated[
    bool,
    typer.Option("--relax", help="The same as --set relax=true, for a system that can relax constraints."),
]
OracleOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="STAGE",
        help="Take the result of a stage from the gold (anchors, elements, ...); may be repeated.",
    ),
]
LlmOption = Annotated[
    str | None,
    typer.Option(
        metavar="SPEC",
        help="lexical (the default), openai:PRESET_OR_MODEL, local, or local:FILE_OR_NAME.",
        rich_help_panel=MODEL,
    ),
]
LlmSettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--llm-set",
        metavar="KEY=VALUE",
        help="A setting of the language model; may be repeated.",
        rich_help_panel=MODEL,
    ),
]
LanguageOption = Annotated[
    Language | None,
    typer.Option(help="Language of the prompts, by default the dataset's.", rich_help_panel=MODEL),
]
RepeatOption = Annotated[
    int | None,
    typer.Option(
        "--repeat",
        min=0,
        metavar="N",
        help="Number of a repetition: the cache keeps replies of each apart, so that one asks anew. Another run.",
        rich_help_panel=MODEL,
    ),
]
NoCacheOption = Annotated[
    bool,
    typer.Option("--no-cache", help="Neither look for kept replies nor keep any.", rich_help_panel=MODEL),
]
MaxCallsOption = Annotated[
    int | None, typer.Option(min=0, help="Most requests of this command.", rich_help_panel=MODEL)
]
MaxTokensOption = Annotated[
    int | None, typer.Option(min=0, help="Most tokens of this command, both ways.", rich_help_panel=MODEL)
]
MaxCostOption = Annotated[
    float | None, typer.Option(min=0, help="Most US dollars of this command.", rich_help_panel=MODEL)
]
QuestionCallsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Most calls of one question; then it is answered from what there is.",
        rich_help_panel=MODEL,
    ),
]
QuestionTokensOption = Annotated[
    int | None,
    typer.Option(
        min=1, help="Tokens of one question, both ways, after which it is answered.", rich_help_panel=MODEL
    ),
]
QuestionSecondsOption = Annotated[
    float | None,
    typer.Option(
        min=0.001, help="Seconds of one question after which it is answered.", rich_help_panel=MODEL
    ),
]
ConcurrencyOption = Annotated[
    int, typer.Option(min=1, help="Questions in work at a time.", rich_help_panel=WAY)
]
TimeoutOption = Annotated[
    float | None, typer.Option(min=0.001, help="Most seconds for one question.", rich_help_panel=WAY)
]
KgOption = Annotated[
    str | None,
    typer.Option(
        "--kg",
        metavar="ADDRESS",
        help="Ask the same graph in a store elsewhere: bolt://..., http://..., oxigraph:PATH, rdflib:PATH.",
        rich_help_panel=WAY,
    ),
]
RetryOption = Annotated[
    bool,
    typer.Option(
        "--retry",
        help="Ask questions of status error, timeout and skipped again; retries.jsonl keeps what they had.",
        rich_help_panel=WAY,
    ),
]
DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Ask nothing; say what it would take.", rich_help_panel=WAY),
]


def run(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="A name from `clwqa-bench systems list`.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The run folder: a new one, or one to go on with.")
    ],
    dataset: DatasetOption = DATASET,
    split: Annotated[Split, typer.Option(help="The split to ask.", rich_help_panel=QUESTIONS)] = "test",
    sample: SampleOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample and of the system.")] = 0,
    shard: ShardOption = None,
    settings: SettingsOption = None,
    relax: RelaxOption = False,
    oracle: OracleOption = None,
    llm: LlmOption = None,
    llm_settings: LlmSettingsOption = None,
    language: LanguageOption = None,
    max_calls: MaxCallsOption = None,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    question_calls: QuestionCallsOption = None,
    question_tokens: QuestionTokensOption = None,
    question_seconds: QuestionSecondsOption = None,
    repeat: RepeatOption = None,
    no_cache: NoCacheOption = False,
    kg: KgOption = None,
    concurrency: ConcurrencyOption = 8,
    timeout: TimeoutOption = None,
    retry: RetryOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Ask a system the questions of a split and write down its predictions; nothing is scored.

    The same command goes on where a run was stopped. Exit code 1 if a question ended as error, timeout or skipped.

    Example: clwqa-bench run ceaf --llm openai:glm-4-flash --sample 200 --max-cost 1 --out runs/ceaf-glm
    """
    given = key_values(settings or (), "--set")
    under_test = load_system(system, _relaxed(system, given) if relax else given)
    bounds = Bounds(question_calls, question_tokens, question_seconds)
    bounded = {f"--question-{name}": value for name, value in bounds.given().items()}
    _refuse_unused(
        under_test,
        {"--llm": llm, "--llm-set": llm_settings, "--language": language, "--repeat": repeat, **bounded},
    )
    opened = Dataset.open(dataset)
    options = Options(
        language=language or opened.prompts,
        settings=key_values(llm_settings or (), "--llm-set"),
        limits=Limits(max_calls, max_tokens, max_cost),
        seed=seed,
        repeat=repeat or 0,
        cache=None if no_cache else default_path(),
    )
    model = Model(llm or "lexical", options, bounds)
    stages = tuple(oracle or ())
    if dry_run:
        found = forecast(
            under_test, opened, split, out, seed=seed, sample=sample, shard=shard, oracle=stages, model=model,
            kg=kg, retry=retry,
        )  # fmt: skip
        console.emit(asdict(found), json, lambda _: _draw_forecast(found))
        return
    try:
        summary = runner.run(
            under_test, opened, split, out, seed=seed, sample=sample, shard=shard, oracle=stages, model=model,
            kg=kg, pace=Pace(concurrency, timeout, retry),
        )  # fmt: skip
    except KeyboardInterrupt:
        console.say(f"interrupted; the same command goes on from what is in {out}")
        raise
    console.emit(asdict(summary), json, lambda _: _draw(summary))
    _conclude(summary)


def _relaxed(system: str, settings: dict[str, str]) -> dict[str, str]:
    """Settings with `relax` on.

    Raises SettingError for a system that has no such setting, BadParameter if it is given as well.
    """
    if "relax" not in system_class(system).Config.model_fields:
        raise SettingError(f"{system} has no constraints to relax", fix="leave --relax out", field="--relax")
    if "relax" in settings:
        raise typer.BadParameter("relax is set twice", param_hint="--relax, --set")
    return settings | {"relax": "true"}


def _refuse_unused(system: System, given: dict[str, object]) -> None:
    """Raise SettingError if a language model is chosen, or bounded, for a system that asks none."""
    named = [option for option, value in given.items() if value is not None]
    if named and not system.uses_llm:
        raise SettingError(
            f"{system.name} asks no language model", fix=f"leave {', '.join(named)} out", field=named[0]
        )


def _conclude(summary: runner.Summary) -> None:
    """Say what went wrong, and leave with code 1 if anything did."""
    failed = {status: number for status, number in summary.statuses.items() if status in RETRYABLE}
    if not failed:
        return
    if summary.error:
        console.warn(f"the system failed, first with {summary.error}")
    listed = ", ".join(f"{number:,} {status}" for status, number in failed.items())
    console.say(f"{listed}: the same command with --retry asks them again")
    raise typer.Exit(1)


def _draw(summary: runner.Summary) -> Text:
    kind = "sampled questions" if summary.sample else "questions"
    part = f" (shard {summary.shard})" if summary.shard else ""
    again = f", {summary.retried:,} of them again" if summary.retried else ""
    statuses = ", ".join(f"{number:,} {status}" for status, number in summary.statuses.items())
    asked = f"{summary.asked:,} asked now in {summary.seconds:.1f} s{again}"
    head = f"{summary.title}: {summary.questions:,} {kind}{part}, {asked}"
    lines = [head, statuses, summary.llm, str(summary.folder)]
    return Text("\n".join(filter(None, lines)))


def _draw_forecast(found: Forecast) -> RenderableType:
    if not found.tasks:
        return Text(f"{found.title}: {found.questions:,} questions; no language model is asked")
    table = Table(box=None)
    table.add_column("task")
    for name in ("calls", "tokens in", "tokens out, at most", "US dollars, at most"):
        table.add_column(name, justify="right")
    for name, task in (*found.tasks.items(), ("total", found.total)):
        cost = "unknown" if task.cost is None else f"{task.cost:,.4f}"
        table.add_row(name, f"{task.calls:,}", f"{task.tokens_in:,}", f"{task.tokens_out:,}", cost)
    tried = "" if found.tried == found.questions else f", reckoned from {found.tried:,}"
    notes = "\n".join(f"- {note}" for note in found.unknown)
    return Group(
        Text(f"{found.title}: {found.questions:,} questions{tried}; nothing was asked", "bold"),
        table,
        Text(f"not known in advance:\n{notes}"),
    )
