"""Run the experiments of the seed paper's section 5, and ours, and make their tables and plots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from clwqa_baselines.ceaf.scorer.folder import read_description
from clwqa_baselines.experiments.catalogue import CATALOGUE
from clwqa_baselines.experiments.composition import NAME as COMPOSITION
from clwqa_baselines.experiments.composition import PAPER, TITLE
from clwqa_baselines.experiments.definitions import EXPERIMENTS
from clwqa_baselines.experiments.plan import ExperimentError, Plan, Setting, SharedGraph, plan
from clwqa_baselines.experiments.render import render
from clwqa_baselines.experiments.session import Session
from clwqa_baselines.experiments.tables import Table
from clwqa_bench import console
from clwqa_bench.commands import run as running
from clwqa_bench.commands.common import DATASET, DatasetOption, JsonOption, key_values
from clwqa_bench.forecast import Calls, Forecast
from clwqa_bench.llm.cache import default_path
from clwqa_bench.llm.protocol import Limits, Options
from clwqa_bench.records import Split
from clwqa_bench.runner import Pace, Selection

ROWS = "Which rows"


NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME...", help="Experiments, or `all` of the paper; none lists them."),
]
OutOption = Annotated[Path, typer.Option("--out", "-o", help="Where runs, tables and plots are kept.")]
SplitOption = Annotated[Split, typer.Option(help="The split to ask.", rich_help_panel=running.QUESTIONS)]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of the sample and of the systems.")]
LlmsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SPEC",
        help="As in `clwqa-bench run`, by default lexical; may be repeated: every row for every model.",
        rich_help_panel=running.MODEL,
    ),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROW", help="Only rows of this system or label; may be repeated.", rich_help_panel=ROWS
    ),
]
SystemOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SYSTEM",
        help="Also this installed system, where systems are compared; may be repeated.",
        rich_help_panel=ROWS,
    ),
]
ScorerOption = Annotated[
    Path | None,
    typer.Option(help="A trained node scorer: adds the rows that rank with it.", rich_help_panel=ROWS),
]
ScorerNoElementsOption = Annotated[
    Path | None,
    typer.Option(help="One trained without element embedding, for the ablation.", rich_help_panel=ROWS),
]
NoRunOption = Annotated[
    bool,
    typer.Option(
        "--no-run",
        help="Ask nothing; make the tables of what was run before.",
        rich_help_panel=running.WAY,
    ),
]


def experiment(
    names: NamesArgument = None,
    out: OutOption = Path("experiments"),
    dataset: DatasetOption = DATASET,
    split: SplitOption = "test",
    sample: running.SampleOption = None,
    seed: SeedOption = 0,
    llm: LlmsOption = None,
    llm_settings: running.LlmSettingsOption = None,
    language: running.LanguageOption = None,
    max_calls: running.MaxCallsOption = None,
    max_tokens: running.MaxTokensOption = None,
    max_cost: running.MaxCostOption = None,
    no_cache: running.NoCacheOption = False,
    concurrency: running.ConcurrencyOption = 8,
    timeout: running.TimeoutOption = None,
    retry: running.RetryOption = False,
    only: OnlyOption = None,
    system: SystemOption = None,
    scorer: ScorerOption = None,
    scorer_no_elements: ScorerNoElementsOption = None,
    no_run: NoRunOption = False,
    dry_run: running.DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Run experiments of the seed paper's section 5 and make their tables and plots.

    Experiments share runs, and the same command goes on where it was stopped. Exit code 1 if a run is not finished.

    Example: clwqa-bench experiment main hops --sample 200
    """
    if not names:
        console.emit(_described(), json, _draw_list)
        return
    chosen = _chosen(names, system)
    opened = SharedGraph.open(dataset)
    options = Options(
        language=language or opened.prompts,
        settings=key_values(llm_settings or (), "--llm-set"),
        limits=Limits(max_calls, max_tokens, max_cost),
        seed=seed,
        cache=None if no_cache else default_path(),
    )
    setting = Setting(
        dataset=opened,
        selection=Selection(split, seed, sample),
        runs=out / "runs",
        llms=tuple(llm or ("lexical",)),
        options=options,
        given=_scorers(scorer, scorer_no_elements),
    )
    plans = {
        name: plan(CATALOGUE[name], setting, only=only or (), added=system or ())
        for name in chosen
        if name != COMPOSITION
    }
    session = Session(setting, out, Pace(concurrency, timeout, retry))
    if dry_run:
        found = session.forecasts(plans.values())
        console.emit([asdict(one) for one in found], json, lambda _: _draw_forecasts(found))
        return
    try:
        tables = _perform(session, chosen, plans, ask=not no_run)
    except KeyboardInterrupt:
        console.say(f"interrupted; the same command goes on from what is in {out}")
        raise
    console.emit([table.model_dump(mode="json") for table in tables], json, lambda _: _draw(tables))
    _conclude(tables)


def _conclude(tables: Iterable[Table]) -> None:
    """Leave with code 1 if a run is not finished."""
    if any(table.partial for table in tables):
        console.say("not all runs are finished: the same command goes on, with --retry also where it failed")
        raise typer.Exit(1)


def _scorers(scorer: Path | None, scorer_no_elements: Path | None) -> dict[str, str]:
    """The blanks of variants that the node scorers given fill.

    Raises ExperimentError for one that was trained the other way, ScorerError if there is none.
    """
    given = {}
    for name, folder, elements in (
        ("scorer", scorer, True),
        ("scorer_no_elements", scorer_no_elements, False),
    ):
        if folder is None:
            continue
        option = name.replace("_", "-")
        if read_description(folder).settings.elements is not elements:
            way = "with" if elements else "without"
            raise ExperimentError(
                f"--{option} is for a node scorer trained {way} element embedding, and this one was not",
                fix=f"train one: clwqa-bench train scorer {'' if elements else '--no-elements '}--out FOLDER",
                file=folder,
                field=option,
            )
        given[name] = str(folder)
    return given


def _perform(session: Session, names: Sequence[str], plans: Mapping[str, Plan], *, ask: bool) -> list[Table]:
    """Make and write one table after another; with `ask`, the runs they need first, until the budget is used up."""
    tables = []
    for name in names:
        if name == COMPOSITION:
            table = session.composition()
        else:
            ask = ask and session.run([plans[name]])
            table = session.table(plans[name])
        console.say(f"{name}: {', '.join(map(str, session.write(table)))}")
        tables.append(table)
    return tables


def _chosen(names: Sequence[str], added: Sequence[str] | None) -> list[str]:
    """The experiments that are asked for, each once.

    Raises ExperimentError for an unknown name, and if systems are added where none are compared.
    """
    known = (COMPOSITION, *CATALOGUE)
    for name in names:
        if name not in (*known, "all"):
            near = get_close_matches(name, known, n=1)
            raise ExperimentError(
                f"there is no experiment {name!r}",
                fix=f"did you mean {near[0]!r}" if near else f"use one of {', '.join(known)}, or all",
            )
    every = (COMPOSITION, *EXPERIMENTS) if "all" in names else ()
    chosen = list(dict.fromkeys((*every, *(name for name in names if name != "all"))))
    if added and not any(CATALOGUE[name].open for name in chosen if name != COMPOSITION):
        raise ExperimentError("no experiment here compares systems", fix="leave --system out", field="system")
    return chosen


# ---------------------------------------------------------------------- for people


def _described() -> list[dict[str, Any]]:
    rows = [{"name": COMPOSITION, "paper": PAPER, "title": TITLE, "rows": 0}]
    return rows + [
        {"name": e.name, "paper": e.paper, "title": e.title, "rows": len(e.variants)}
        for e in CATALOGUE.values()
    ]


def _draw_list(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    table = Grid("name", "of the paper", "what", "runs", box=None)
    for row in rows:
        table.add_row(row["name"], row["paper"], row["title"], str(row["rows"] or ""))
    return table


def _draw(tables: Iterable[Table]) -> RenderableType:
    return Group(*(part for table in tables for part in (render(table), Text())))


def _draw_forecasts(found: Sequence[Forecast]) -> RenderableType:
    table = Grid("run", box=None)
    for name in ("questions", "calls", "tokens in", "tokens out, at most", "US dollars, at most"):
        table.add_column(name, justify="right")
    for one in found:
        table.add_row(Text(one.title), f"{one.questions:,}", *_amounts([one.total]))
    table.add_section()
    table.add_row(
        "all runs", f"{sum(one.questions for one in found):,}", *_amounts([one.total for one in found])
    )
    notes = "\n".join(f"- {note}" for note in dict.fromkeys(n for one in found for n in one.unknown))
    heading = Text(f"{len(found):,} runs; nothing was asked", "bold")
    return Group(heading, table, *([Text(f"not known in advance:\n{notes}")] if notes else []))


def _amounts(totals: Sequence[Calls]) -> Iterator[str]:
    for name in ("calls", "tokens_in", "tokens_out"):
        yield f"{sum(getattr(total, name) for total in totals):,}"
    known = [total.cost for total in totals if total.cost is not None]
    yield f"{sum(known):,.4f}" if len(known) == len(totals) else "unknown"
