"""Making a thin run of a whole one, and the proof that a board computes the same numbers from both."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from clwqa_bench.errors import PredictionError
from clwqa_bench.grid import Gold, Grid
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.run_folder import manifest_bytes
from clwqa_bench.runs import MANIFEST, RETRIES, Run, numbered_lines
from clwqa_leaderboard.bundle import THIN
from clwqa_leaderboard.entry import figures
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.probes import Case, probe
from clwqa_leaderboard.references import Row, references_of
from clwqa_leaderboard.scores import differences, scored
from clwqa_leaderboard.thin import read_thin
from clwqa_leaderboard.thinning import thinned


def thin_files(run: Run, grid: Grid) -> dict[str, bytes]:
    """The files that stand in place of a run's predictions and traces; `grid` is the run on the gold of the board.

    Raises PredictionError if there is no graph to refer to, SubmissionError, naming the first number, if a board
    computed another one from these files than from the run.
    """
    files = {THIN: b"".join(row.as_line() for row in _rows(grid))}
    if (again := run.path / RETRIES).exists():
        ids = {orjson.loads(line)["id"] for _, line, whole in numbered_lines(again) if whole}
        files[RETRIES] = b"".join(
            orjson.dumps({"id": id}, option=orjson.OPT_APPEND_NEWLINE) for id in sorted(ids)
        )
    _prove(run, files, grid)
    return files


def _rows(grid: Grid) -> Iterator[Row]:
    """The predictions in references, sorted by id."""
    graph = _graph(grid.gold)
    references = references_of(graph)
    for whole, thin, question in zip(
        grid.predictions, thinned(grid, graph.ontology), grid.gold.questions, strict=True
    ):
        if whole is not None and thin is not None:
            about = [answer.entity_id for answer in question.answers]
            about += [text.entity_id for text in whole.evidence.texts if text.entity_id is not None]
            about += [end for triple in whole.evidence.shown() for end in (triple.head, triple.tail)]
            yield references.write(thin, about)


def _prove(run: Run, files: Mapping[str, bytes], grid: Grid) -> None:
    """Raises SubmissionError, naming the first number, unless a board computes the same from the run and the files."""
    with tempfile.TemporaryDirectory(prefix="clwqa-thin-") as name:
        assert run.manifest is not None
        for file, content in {MANIFEST: manifest_bytes(run.manifest), **files}.items():
            (Path(name) / file).write_bytes(content)
        thin = read_thin(Path(name))
    computed = _computed(run, grid), _computed(thin, thin.on(grid.gold))
    for field, whole, left in differences(*computed):
        raise SubmissionError(
            f"{field} would be {left!r} in a thin bundle, it is {whole!r}",
            fix="pack the run without --thin, and report this",
            file=run.items,
        )


def _computed(run: Run, grid: Grid) -> dict[str, Any]:
    """All that a board computes from a run, as JSON values."""
    assert run.manifest is not None
    result, case = scored(grid, run.manifest, run.notes), Case(run.manifest, grid)
    numbers, outcomes = figures(result, case.marks, grid, _graph(grid.gold).ontology, withheld=False)
    findings = [finding.model_dump(mode="json") for finding in probe(case, "ranked")]
    return {
        **numbers.model_dump(mode="json"),
        "outcomes": outcomes.model_dump(mode="json"),
        "findings": findings,
    }


def _graph(gold: Gold) -> GraphStore:
    if gold.graph is None:
        raise PredictionError("there is no graph to refer to", fix="read the gold with its graph")
    return gold.graph
