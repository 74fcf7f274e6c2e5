"""A finished table: exact numbers with where each is from, as `NAME.json` holds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from clwqa_baselines.experiments.design import Column, Experiment, Unit
from clwqa_baselines.experiments.measure import Measured
from clwqa_baselines.experiments.plan import LEXICAL, Plan, Planned
from clwqa_bench.errors import ClwqaError
from clwqa_bench.matching import HEADLINE
from clwqa_bench.metrics import SUITE_VERSION
from clwqa_bench.predictions import DatasetRef
from clwqa_bench.records import Record
from clwqa_bench.scoring import LEVEL, RESAMPLES, Cell

PARTIAL = ("error", "timeout", "skipped", "missing")
"""What becomes of a question without saying anything of the system: a run with any is a part of one."""


class TableError(ClwqaError):
    """A file that is not a table of an experiment."""


class Figure(Record):
    """A number on `n` questions; `low` and `high` bound its interval where there is one."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int


class Heading(Record):
    """What a column holds."""

    heading: str
    figure: str
    unit: Unit | Literal["count"]
    stratum: str = "all"


class Row(Record):
    """A run, or a part of its time.  `run` is its folder below `runs`, `digest` that of its predictions."""

    label: str
    backbone: str = ""
    run: str = ""
    digest: str = ""
    oracle: tuple[str, ...] = ()
    statuses: Mapping[str, int] = {}
    series: str = ""
    x: float | None = None
    cells: tuple[Figure | None, ...]

    @property
    def partial(self) -> dict[str, int]:
        """Questions, by status, that the run still has to be asked."""
        return {status: self.statuses[status] for status in PARTIAL if self.statuses.get(status)}


class Table(Record):
    """`questions` is how many each run was asked; `left_out` says why a row is not there."""

    schema_version: Literal[1] = 1
    name: str
    title: str
    paper: str = Field(description="What of the paper it makes again.")
    dataset: DatasetRef
    questions: int
    sample: int | None = None
    seed: int = 0
    suite: str = SUITE_VERSION
    policy: str = str(HEADLINE)
    level: float = LEVEL
    resamples: int = RESAMPLES
    columns: tuple[Heading, ...]
    rows: tuple[Row, ...]
    left_out: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()

    @property
    def partial(self) -> bool:
        """True if a run is not finished, or not begun."""
        return any(row.partial for row in self.rows) or NOT_RUN in self.left_out.values()

    def place(self, heading: str) -> int:
        """The position of a column.  Raises KeyError if there is none."""
        places = {column.heading: place for place, column in enumerate(self.columns)}
        return places[heading]


NOT_RUN = "not run yet"


def tabulate(plan: Plan, figures: Mapping[Path, Measured | None], ref: DatasetRef) -> Table:
    """The table of an experiment from the figures of its runs, by folder."""
    experiment = plan.experiment
    done = [(row, found) for row in plan.rows if (found := figures.get(row.folder)) is not None]
    waiting = [
        f"{row.variant.label} [{row.manifest.backbone}]" for row in plan.rows if not figures.get(row.folder)
    ]
    first = plan.rows[0].manifest
    lexical = any(row.model.spec == LEXICAL for row in plan.rows)
    return Table(
        name=experiment.name,
        title=experiment.title,
        paper=experiment.paper,
        dataset=ref,
        questions=max((found.questions for _, found in done), default=0),
        sample=first.sample,
        seed=first.seed,
        columns=tuple(
            Heading(heading=c.heading, figure=c.figure, unit=c.unit, stratum=c.stratum)
            for c in experiment.columns
        ),
        rows=tuple(row for planned, found in done for row in _rows(experiment, planned, found)),
        left_out={**plan.left_out, **dict.fromkeys(waiting, NOT_RUN)},
        notes=experiment.notes + (experiment.lexical if lexical else ()),
    )


def _rows(experiment: Experiment, planned: Planned, found: Measured) -> Iterator[Row]:
    """One row, or with `parts` one for each unless the variant is told of as a whole."""
    parts = {"": "whole"} if planned.variant.whole else experiment.parts
    for label, part in (parts or {"": ""}).items():
        yield Row(
            label=f"{planned.variant.label}: {label}" if label else planned.variant.label,
            backbone=planned.manifest.backbone,
            run=planned.folder.name,
            digest=found.digest,
            oracle=planned.manifest.oracle,
            statuses=dict(found.statuses),
            series=planned.variant.series,
            x=planned.variant.x,
            cells=tuple(_cells(experiment.columns, part, found)),
        )


def _cells(columns: Iterable[Column], part: str, found: Measured) -> Iterator[Figure | None]:
    for column in columns:
        cell = found.cell(column.figure.format(part=part) if part else column.figure, column.stratum)
        yield None if cell is None else figure(cell)


def figure(cell: Cell) -> Figure:
    """What a table keeps of a cell."""
    return Figure(value=cell.value, low=cell.low, high=cell.high, n=cell.n)


def read_table(path: Path) -> Table:
    """Read `NAME.json`.  Raises TableError naming the field that is missing or wrong."""
    try:
        return Table.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise TableError("no table here", fix="make it with `clwqa-bench experiment`", file=path) from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise TableError(
            first["msg"],
            fix="make it again with `clwqa-bench experiment`",
            file=path,
            field=".".join(map(str, first["loc"])) or None,
        ) from None
