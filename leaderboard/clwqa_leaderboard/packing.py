"""From a run folder to the files of a bundle."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from clwqa_bench.errors import PredictionError
from clwqa_bench.grid import Gold, Grid
from clwqa_bench.run_folder import manifest_bytes
from clwqa_bench.runs import ITEMS, MANIFEST, RETRIES, Run, numbered_lines, read_run
from clwqa_leaderboard.bundle import SCORES, SIGNATURE, SUMS, TRACES, sums, write_bundle
from clwqa_leaderboard.disclosure import DISCLOSURE, Disclosure
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.probes import with_gold
from clwqa_leaderboard.scores import claims_of, of_the_board, values
from clwqa_leaderboard.signing import sign
from clwqa_leaderboard.submission import check_names, entry_id
from clwqa_leaderboard.thin_packing import thin_files


def pack(
    folder: Path,
    disclosure: Disclosure,
    out: Path | None = None,
    *,
    gold: Gold | None = None,
    questions: Collection[str] = (),
    traces: bool = True,
    thin: bool = False,
    key: Path | None = None,
) -> Path:
    """Make a bundle of a run and return its path, by default SYSTEM@DIGEST.zip in the current folder.

    The same run and form give the same bytes, in whatever order the questions were answered.  With `gold` the bundle
    says what it scores; where the gold is withheld it does not, and `questions` are the ids that may be in it.
    A `thin` one refers to the graph instead of quoting it, and is written only if it has the numbers of the whole run.
    Raises PredictionError for a run that is not whole, SubmissionError for what no board takes.
    """
    run = read_run(folder)
    if run.manifest is None or run.torn is not None:
        raise PredictionError(
            "not a run folder"
            if run.manifest is None
            else "the last line is cut off: the run is not complete",
            fix="give its `run` command again, which goes on with what is missing, and name the folder",
            file=run.items,
            line=run.torn,
        )
    manifest = run.manifest
    check_names(manifest, folder / MANIFEST)
    if not manifest.oracle and (given := with_gold(run.predictions)):
        raise SubmissionError(
            f"the trace of {given[0]} says that a stage was taken from the gold, and the run does not",
            fix="pack the run with the run.json it was made with; it can stand as a reference line",
            file=folder / MANIFEST,
            field="oracle",
        )
    files = {MANIFEST: manifest_bytes(manifest), DISCLOSURE: disclosure.as_json()}
    if thin and not traces:
        bare = tuple(prediction.model_copy(update={"trace": ()}) for prediction in run.predictions)
        run = replace(run, predictions=bare)
    grid = None if gold is None else run.on(of_the_board(gold))
    if grid is None:
        _refuse_strangers(run, questions)
    else:
        files[SCORES] = claims_of(values(grid))
    files |= _thin(run, grid) if thin else _whole(run, traces=traces)
    files[SUMS] = sums(files)
    if key is not None:
        files[SIGNATURE] = sign(files[SUMS], key)
    if out is None:
        out = Path(f"{entry_id(manifest, hashlib.sha256(files[SUMS]).hexdigest())}.zip")
    write_bundle(out, files)
    return out


def _whole(run: Run, *, traces: bool) -> dict[str, bytes]:
    """The predictions as they are, the traces beside them."""
    items, traced = _divided(run.items)
    retries, _ = _divided(run.path / RETRIES) if (run.path / RETRIES).exists() else (b"", b"")
    beside = {TRACES: traced if traces else b"", RETRIES: retries}
    return {ITEMS: items, **{name: content for name, content in beside.items() if content}}


def _thin(run: Run, grid: Grid | None) -> dict[str, bytes]:
    """What the board's numbers are computed from.  Raises SubmissionError if it were not all of it."""
    if grid is None:
        raise SubmissionError(
            "the gold is withheld, so nobody can tell here what a thin bundle has to keep",
            fix="leave --thin out",
            file=run.path,
        )
    return thin_files(run, grid)


def _refuse_strangers(run: Run, questions: Collection[str]) -> None:
    """Raises PredictionError for a prediction of a question that was not asked."""
    for prediction, line in zip(run.predictions, run.lines, strict=True):
        if questions and prediction.id not in questions:
            raise PredictionError(
                f"{prediction.id} is not among the {len(questions):,} questions of the split",
                fix="run the system on the dataset and split of the board",
                file=run.items,
                line=line,
                field="id",
            )


def _divided(path: Path) -> tuple[bytes, bytes]:
    """The lines of a file of predictions by id, without their traces; and the traces."""
    items: list[tuple[str, bytes]] = []
    traces: list[tuple[str, bytes]] = []
    for _, line, whole in numbered_lines(path):
        if whole:
            row = orjson.loads(line)
            if trace := row.pop("trace", None):
                traces.append((row["id"], _line({"id": row["id"], "trace": trace})))
            items.append((row["id"], _line(row)))
    return _in_order(items), _in_order(traces)


def _line(row: dict[str, Any]) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _in_order(lines: Iterable[tuple[str, bytes]]) -> bytes:
    return b"".join(line for _, line in sorted(lines, key=lambda line: line[0]))
