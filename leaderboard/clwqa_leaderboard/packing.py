"""From a run folder to the files of a bundle."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import orjson

from clwqa_bench.errors import PredictionError
from clwqa_bench.grid import Gold
from clwqa_bench.run_folder import manifest_bytes
from clwqa_bench.runs import ITEMS, MANIFEST, RETRIES, Run, numbered_lines, read_run
from clwqa_leaderboard.bundle import SCORES, SIGNATURE, SUMS, TRACES, sums, write_bundle
from clwqa_leaderboard.disclosure import DISCLOSURE, Disclosure
from clwqa_leaderboard.scores import claims_of, of_the_board, values
from clwqa_leaderboard.signing import sign
from clwqa_leaderboard.submission import check_names, entry_id


def pack(
    folder: Path,
    disclosure: Disclosure,
    out: Path | None = None,
    *,
    gold: Gold | None = None,
    questions: Collection[str] = (),
    traces: bool = True,
    key: Path | None = None,
) -> Path:
    """Make a bundle of a run and return its path, by default SYSTEM@DIGEST.zip in the current folder.

    The same run and form give the same bytes, in whatever order the questions were answered.  With `gold` the bundle
    says what it scores; where the gold is withheld it does not, and `questions` are the ids that may be in it.
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
    check_names(run.manifest, folder / MANIFEST)
    items, traced = _divided(run.items)
    files = {
        MANIFEST: manifest_bytes(run.manifest),
        DISCLOSURE: disclosure.as_json(),
        ITEMS: items,
        TRACES: traced if traces else b"",
    }
    if (folder / RETRIES).exists():
        files[RETRIES], _ = _divided(folder / RETRIES)
    if gold is None:
        _refuse_strangers(run, questions)
    else:
        files[SCORES] = _scores(run, gold)
    files = {name: content for name, content in files.items() if content or name == ITEMS}
    files[SUMS] = sums(files)
    if key is not None:
        files[SIGNATURE] = sign(files[SUMS], key)
    if out is None:
        out = Path(f"{entry_id(run.manifest, hashlib.sha256(files[SUMS]).hexdigest())}.zip")
    write_bundle(out, files)
    return out


def _scores(run: Run, gold: Gold) -> bytes:
    assert run.manifest is not None
    return claims_of(values(run.on(of_the_board(gold))))


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
