"""`clwqa-bench generate` and `clwqa-bench mix`."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from clwqa_bench.commands.common import DATASET, JsonOption, key_values
from clwqa_bench.commands.run import (
    DryRunOption,
    LlmSettingsOption,
    MaxCallsOption,
    MaxCostOption,
    MaxTokensOption,
    NoCacheOption,
)
from clwqa_bench.console import emit, say, warn
from clwqa_bench.dataset import Dataset
from clwqa_bench.kg.stores import graph_of
from clwqa_bench.llm.cache import default_path
from clwqa_bench.llm.protocol import Limits, Options
from clwqa_bench.llm.tasks import Language
from clwqa_bench.runner import Model
from clwqa_builders.generate.reasons import REASONS

WHAT, HOW = "What is generated", "How the model is asked"


def generate(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="A folder of its own: a new one, or one to go on with. Only a --dry-run needs none.",
        ),
    ] = None,
    dataset: Annotated[
        Path,
        typer.Option("--dataset", "-d", help="The dataset whose graph is asked about, and that is added to."),
    ] = DATASET,
    llm: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Who writes: openai:PRESET_OR_MODEL, or local.")
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Make the questions of a recorded generation again, without a model."
        ),
    ] = None,
    words: Annotated[int, typer.Option(min=1, help="About so many words.", rich_help_panel=WHAT)] = 100,
    wanted: Annotated[
        int,
        typer.Option("--questions", min=1, max=8, help="At most so many for a word.", rich_help_panel=WHAT),
    ] = 3,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the order of the words.", rich_help_panel=WHAT)
    ] = 0,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Take the evidence from another store of the same graph, such as bolt://HOST:7687.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    llm_settings: LlmSettingsOption = None,
    language: Annotated[
        Language,
        typer.Option(help="Language of the prompts; the questions are Chinese.", rich_help_panel=HOW),
    ] = "zh",
    max_calls: MaxCallsOption = None,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    no_cache: NoCacheOption = False,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Words in work at a time.", rich_help_panel=HOW)
    ] = 8,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Let a language model write questions from evidence out of the graph, and keep those that the graph bears out.

    The same command goes on where it was stopped; with more --words it adds to what is there. Exit code 1 if a word
    ended as error, timeout or skipped; these are asked about again.

    Example: clwqa-bench generate --llm openai:glm-4-flash --words 1000 --max-cost 1 --out generated/mine
    """
    from clwqa_builders.generate import (
        generate as making,
    )  # pyarrow, scipy and the rules only when they are needed
    from clwqa_builders.validate.tables import DatasetTables

    if (llm is None) == (replay is None):
        raise typer.BadParameter("name a model, or records to replay", param_hint="--llm, --replay")
    if out is None and not dry_run:
        raise typer.BadParameter("name the folder for the questions", param_hint="--out")
    tables = DatasetTables.open(dataset)
    if replay:
        asking = {
            "--store": store,
            "--llm-set": llm_settings,
            "--max-calls": max_calls,
            "--max-tokens": max_tokens,
            "--max-cost": max_cost,
            "--no-cache": no_cache or None,
            "--dry-run": dry_run or None,
        }
        if told := [name for name, given in asking.items() if given is not None]:
            raise typer.BadParameter("a replay asks no model: leave it out", param_hint=", ".join(told))
        assert out is not None  # it is no dry run
        _show(making.replay(tables, replay, out), json)
        return
    options = Options(
        language=language,
        settings=key_values(llm_settings or (), "--llm-set"),
        limits=Limits(max_calls, max_tokens, max_cost),
        cache=None if no_cache else default_path(),
        dry=dry_run,
    )
    model = Model(llm or "", options)
    with graph_of(Dataset(tables.root, tables.manifest), store) as graph:
        request = making.Request(words, seed, wanted, graph)
        if dry_run:
            emit(asdict(making.expect(tables, request, out, model)), json, _draw)
            return
        assert out is not None  # it is no dry run
        try:
            found = making.generate(tables, request, out, model, concurrency)
        except KeyboardInterrupt:
            say(f"interrupted; the same command goes on from what is in {out}")
            raise
    _show(found, json)
    if found.failed:
        _conclude(found)


def mix(
    generation: Annotated[
        Path, typer.Argument(metavar="GENERATION", help="A folder of `clwqa-bench generate`.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The new dataset folder.")],
    dataset: Annotated[
        Path, typer.Option("--dataset", "-d", help="The dataset it was generated from.")
    ] = DATASET,
    share: Annotated[
        float, typer.Option(min=0, max=1, help="Most generated questions, as a share of all.")
    ] = 0.1,
    without: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Leave out the questions with these ids: `review report --failed FILE`."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Make a dataset in which generated questions have taken the place of template questions.

    Split, hop band and category of each stay, so all counts do; what scoring pairs are about is not exchanged.

    Example: clwqa-bench mix generated/mine --share 0.1 --out data/clwqa-100k-mixed
    """
    from clwqa_builders.generate import mix as mixing  # pyarrow and the rules only when they are needed

    found = mixing.mix(dataset, generation, out, share, without=without, workers=os.cpu_count() or 1)
    counts = {name: number for name, number in asdict(found).items() if name != "folder"}
    emit(asdict(found), json, lambda _: _draw(counts))


def _show(found: Any, json: bool) -> None:
    emit(asdict(found), json, lambda _: _draw_outcome(found))


def _conclude(found: Any) -> None:
    """Say what is missing, and leave with code 1."""
    if found.error:
        warn(f"the model failed, first with {found.error}")
    listed = ", ".join(f"{number:,} {status}" for status, number in found.failed.items())
    say(f"{listed}: the same command asks them again")
    raise typer.Exit(1)


def _draw_outcome(found: Any) -> RenderableType:
    counts = found.report
    share = f" ({counts['acceptance']:.1%})" if counts["items"] else ""
    head = f"{found.model}: {counts['calls']:,} words, {found.asked:,} asked about now"
    table = Table(Column("why not"), Column("questions", justify="right"), Column("meaning"), box=None)
    for reason, number in sorted(counts["rejected"].items(), key=lambda item: -item[1]):
        table.add_row(reason, f"{number:,}", REASONS[reason])
    lines = [head, f"{counts['accepted']:,} of {counts['items']:,} questions accepted{share}", found.llm]
    lines += [
        f"{name}: {', '.join(f'{key} {number:,}' for key, number in counts[name].items())}"
        for name in ("hops", "categories", "splits")
        if counts[name]
    ]
    rejected = [table] if counts["rejected"] else []
    return Group(Text("\n".join(filter(None, lines))), *rejected, Text(str(found.folder)))


def _draw(values: dict[str, Any]) -> RenderableType:
    table = Table.grid(Column(), Column(justify="right"), padding=(0, 2))
    for name, value in values.items():
        shown = "unknown" if value is None else f"{value:,.4f}" if isinstance(value, float) else f"{value:,}"
        table.add_row(name.replace("_", " "), shown)
    return table
