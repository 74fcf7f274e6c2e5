"""A thin run as it is read: predictions in references, which the graph of the gold turns into predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from clwqa_bench.grid import Gold, Grid
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.predictions import Prediction
from clwqa_bench.records import Record
from clwqa_bench.runs import ITEMS, MANIFEST, RETRIES, Run, read_manifest
from clwqa_leaderboard.bundle import LIMITS, PACK, THIN
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.parsing import at_most, bounded_lines, parsed
from clwqa_leaderboard.references import Row, references_of
from clwqa_leaderboard.usage import refuse_absurd

ANSWERS = 100  # of one prediction; of more than half as many `alias-dump` speaks, once they are scored
STEPS = 3  # of one prediction: what was linked or planned, retrieved, ranked
COUNTED = 10**9  # pieces that a step may say there were
DECIDE = "let the system decide"


class AskedAgain(Record):
    """A question that had failed before; what it had then is not said."""

    id: str


@dataclass(frozen=True)
class ThinRun(Run):
    """A run whose predictions are still references; the graph of the gold says what they mean."""

    rows: tuple[Row, ...] = ()

    def on(self, gold: Gold, verdicts: Mapping[tuple[str, str], bool] | None = None) -> Grid:
        """As of any run.  Raises SubmissionError for references to another graph, or to what this one does not have."""
        assert self.manifest is not None
        if gold.graph is None or self.manifest.dataset.graph != gold.ref.graph:
            raise SubmissionError(
                f"a thin bundle refers to the graph it was made with, {self.manifest.dataset.graph[:12]!r}, "
                f"and this is {gold.ref.graph[:12]!r}",
                fix="name the dataset of the run",
                file=self.path / MANIFEST,
                field="dataset.graph",
            )
        predictions = self._read(gold.graph)
        return Run(
            self.path, self.manifest, self.items, predictions, self.lines, self.torn, self.asked_again
        ).on(gold, verdicts)

    def _read(self, graph: GraphStore) -> tuple[Prediction, ...]:
        references, found, signs = references_of(graph), [], 0
        for number, row in zip(self.lines, self.rows, strict=True):
            try:
                signs += references.signs(row)  # before they are made: few references can quote much
                if signs <= LIMITS[ITEMS]:
                    found.append(references.read(row))
            except ValidationError as error:
                what = error.errors()[0]["msg"].removeprefix("Value error, ")
                raise SubmissionError(what, fix=PACK, file=self.items, line=number) from None
            except ValueError as error:
                raise SubmissionError(str(error), fix=PACK, file=self.items, line=number) from None
            if signs > LIMITS[ITEMS]:
                raise SubmissionError(
                    f"the references up to here stand for {signs:,} signs of text, a board takes {LIMITS[ITEMS]:,}",
                    fix=PACK,
                    file=self.items,
                    line=number,
                )
        return tuple(found)


def read_thin(folder: Path) -> ThinRun:
    """Read the folder of a thin run.  Raises SubmissionError naming file, line and field of what is not one."""
    path, retries = folder / THIN, folder / RETRIES
    rows: dict[str, tuple[int, Row]] = {}
    for number, line, _ in bounded_lines(path):
        row = parsed(Row, line, path, number)
        _check_row(row, path, number)
        if row.id in rows:
            raise SubmissionError(
                f"a second prediction for {row.id}", fix=PACK, file=path, line=number, field="id"
            )
        rows[row.id] = number, row
    again = bounded_lines(retries) if retries.exists() else ()
    ids = {parsed(AskedAgain, line, retries, number).id for number, line, _ in again}
    manifest = read_manifest(folder / MANIFEST)
    numbers, read = zip(*rows.values(), strict=True) if rows else ((), ())
    return ThinRun(folder, manifest, path, (), numbers, None, len(ids), read)


def _check_row(row: Row, path: Path, number: int) -> None:
    """Raises SubmissionError for more than a system answers, or than `thinned` leaves of a trace."""
    at_most(ANSWERS, len(row.answers), "answers", path, number, "answers", DECIDE)
    at_most(STEPS, len(row.trace), "steps", path, number, "trace", PACK)
    for step in row.trace:
        at_most(COUNTED, step.total or 0, "pieces", path, number, "trace.total", PACK)
    refuse_absurd(row.usage, path, number)
