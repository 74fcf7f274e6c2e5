"""A thin run as it is read: predictions in references, which the graph of the gold turns into predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from clwqa_bench.grid import Gold, Grid
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.predictions import Evidence, Prediction, TraceEvent
from clwqa_bench.records import Record
from clwqa_bench.runs import ITEMS, MANIFEST, RETRIES, Run, numbered_lines, read_manifest
from clwqa_leaderboard.bundle import LIMITS, PACK, THIN
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.parsing import parsed
from clwqa_leaderboard.references import Row, references_of


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
                found.append(references.read(row))
            except ValidationError as error:
                what = error.errors()[0]["msg"].removeprefix("Value error, ")
                raise SubmissionError(what, fix=PACK, file=self.items, line=number) from None
            except ValueError as error:
                raise SubmissionError(str(error), fix=PACK, file=self.items, line=number) from None
            signs += _signs(found[-1])
            if signs > LIMITS[ITEMS]:  # few references can quote much
                raise SubmissionError(
                    f"the references up to here stand for {signs:,} signs of text, a board takes {LIMITS[ITEMS]:,}",
                    fix=PACK,
                    file=self.items,
                    line=number,
                )
        return tuple(found)


def _signs(prediction: Prediction) -> int:
    """The length of all its texts."""
    texts = [answer.text for answer in prediction.answers]
    held: list[Evidence | TraceEvent] = [prediction.evidence, *prediction.trace]
    for pieces in held:
        texts += [path.text for path in pieces.paths]
        texts += [text.text for text in pieces.texts]
    return sum(map(len, texts))


def read_thin(folder: Path) -> ThinRun:
    """Read the folder of a thin run.  Raises SubmissionError naming file, line and field of what is not one."""
    path, retries = folder / THIN, folder / RETRIES
    rows = {number: parsed(Row, line, path, number) for number, line, _ in numbered_lines(path)}
    again = numbered_lines(retries) if retries.exists() else ()
    ids = {parsed(AskedAgain, line, retries, number).id for number, line, _ in again}
    manifest = read_manifest(folder / MANIFEST)
    return ThinRun(folder, manifest, path, (), tuple(rows), None, len(ids), tuple(rows.values()))
