"""Making an experiment: its runs one after another, then its table, page and plot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import orjson

from clwqa_baselines.experiments.catalogue import CATALOGUE
from clwqa_baselines.experiments.composition import NAME as DATASET
from clwqa_baselines.experiments.composition import PLOT, composition
from clwqa_baselines.experiments.design import Plot
from clwqa_baselines.experiments.measure import Measured, measured
from clwqa_baselines.experiments.plan import Plan, Planned, Setting
from clwqa_baselines.experiments.plots import PlotError, draw
from clwqa_baselines.experiments.render import markdown
from clwqa_baselines.experiments.tables import Table, tabulate
from clwqa_bench.console import say, warn
from clwqa_bench.forecast import Forecast, forecast
from clwqa_bench.grid import Gold
from clwqa_bench.llm.protocol import Limits
from clwqa_bench.run_folder import RETRYABLE, write_whole
from clwqa_bench.runner import Pace, Summary, run
from clwqa_bench.runs import ITEMS, gold_of, read_run
from clwqa_bench.systems import load_system


@dataclass
class Session:
    """Everything one command makes, below `out`: runs, their figures, and a table, page and plot by experiment."""

    setting: Setting
    out: Path
    pace: Pace = field(default_factory=Pace)

    def __post_init__(self) -> None:
        self._left = self.setting.options.limits
        self._done: set[Path] = set()

    # ------------------------------------------------------------------ runs

    def forecasts(self, plans: Iterable[Plan]) -> list[Forecast]:
        """What all runs together would ask of the language models; nothing is asked."""
        return [self._forecast(row) for row in distinct(plans)]

    def run(self, plans: Iterable[Plan]) -> bool:
        """Make the runs, or go on with them; False if the budget is used up.

        Raises what `runner.run` raises.  What was answered before is kept.
        """
        rows = [row for row in distinct(plans) if row.folder not in self._done]
        for number, row in enumerate(rows, start=1):
            say(f"run {number} of {len(rows)}: {row.manifest.title} -> {row.folder}")
            summary = self._run(row)
            self._done.add(row.folder)
            if summary.statuses.get("skipped") and self._limited:
                warn("the budget is used up; the same command with --retry goes on")
                return False
        return True

    def _run(self, row: Planned) -> Summary:
        before = settled(row.folder, retry=self.pace.retry) if self._limited else frozenset()
        options = replace(row.model.options, limits=self._left)
        summary = run(
            load_system(row.variant.system, row.variant.settings),
            self.setting.dataset,
            self.setting.selection.split,
            row.folder,
            seed=self.setting.selection.seed,
            sample=self.setting.selection.sample,
            oracle=row.variant.oracle,
            model=replace(row.model, options=options),
            pace=self.pace,
        )
        if self._limited:
            self._left = _less(self._left, row.folder, before)
        return summary

    def _forecast(self, row: Planned) -> Forecast:
        return forecast(
            load_system(row.variant.system, row.variant.settings),
            self.setting.dataset,
            self.setting.selection.split,
            row.folder,
            seed=self.setting.selection.seed,
            sample=self.setting.selection.sample,
            oracle=row.variant.oracle,
            model=row.model,
            retry=self.pace.retry,
        )

    @property
    def _limited(self) -> bool:
        return self._left != Limits()

    # ------------------------------------------------------------------ tables

    @cached_property
    def _gold(self) -> Gold:
        return gold_of(self.setting.dataset, self.setting.selection.split)

    @cached_property
    def _figures(self) -> dict[Path, Measured | None]:
        return {}

    def table(self, plan: Plan) -> Table:
        """The table of an experiment from the runs as they are."""
        ontology = self.setting.dataset.kg().ontology
        for row in plan.rows:
            if row.folder not in self._figures:
                kept = self.out / "figures"
                self._figures[row.folder] = measured(row.folder, self._gold, ontology, kept)
        return tabulate(plan, self._figures, self._gold.ref)

    def composition(self) -> Table:
        """The table of the dataset itself."""
        return composition(self.setting.dataset)

    def write(self, table: Table) -> list[Path]:
        """Write NAME.json, NAME.md and NAME.svg; the plot is left out, with a warning, where it cannot be drawn."""
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / f"{table.name}.json"
        write_whole(path, as_json(table))
        plot = path.with_suffix(".svg")
        try:
            if table.rows:
                draw(table, plot_of(table.name), plot)
        except PlotError as error:
            plot.unlink(missing_ok=True)
            warn(f"no plot: {error}")
        shown = plot.name if plot.exists() else ""
        page = f"# {table.title} ({table.paper})\n\n{markdown(table, plot=shown)}\n"
        write_whole(path.with_suffix(".md"), page.encode())
        return [file for file in (path, path.with_suffix(".md"), plot) if file.exists()]


def as_json(table: Table) -> bytes:
    """A table as its file holds it."""
    return orjson.dumps(table.model_dump(mode="json"), option=orjson.OPT_INDENT_2) + b"\n"


def plot_of(name: str) -> Plot:
    """How the table of an experiment is drawn."""
    return PLOT if name == DATASET else CATALOGUE[name].plot


def distinct(plans: Iterable[Plan]) -> list[Planned]:
    """The runs of all plans, each once, in their order."""
    return list({row.folder: row for plan in plans for row in plan.rows}.values())


# ---------------------------------------------------------------------- one budget for all runs of a command


def settled(folder: Path, *, retry: bool) -> frozenset[str]:
    """Questions that a run will not ask again, so that what they took was paid before."""
    if not (folder / ITEMS).exists():
        return frozenset()
    return frozenset(p.id for p in read_run(folder).predictions if not (retry and p.status in RETRYABLE))


def _less(left: Limits, folder: Path, before: frozenset[str]) -> Limits:
    """What is left after a run, from the usage of the questions it has answered now."""
    usage = [
        stage
        for prediction in read_run(folder).predictions
        if prediction.id not in before
        for stage in prediction.usage.values()
        if stage.calls > stage.cached
    ]
    calls = sum(stage.calls - stage.cached for stage in usage)
    tokens = sum(stage.tokens_in + stage.tokens_out for stage in usage)
    cost = sum(stage.cost for stage in usage)
    return Limits(
        calls=None if left.calls is None else max(0, left.calls - calls),
        tokens=None if left.tokens is None else max(0, left.tokens - tokens),
        cost=None if left.cost is None else max(0.0, left.cost - cost),
    )
