"""Reading what is scored: a run folder or a file of predictions, and the gold of a dataset split.

A run folder holds `run.json` (who answered what, see RunManifest) and `items.jsonl` (one Prediction per line,
appended as answers come in).  A file of predictions alone is scored too; it then has no manifest to check.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pydantic import ValidationError

from clwqa_bench.dataset import Dataset, verify_file
from clwqa_bench.errors import ClwqaError, PredictionError
from clwqa_bench.grid import Gold, GoldQuestion, Grid, align
from clwqa_bench.predictions import DatasetRef, Prediction, RunManifest
from clwqa_bench.records import Anchor, Answer, Split, StandardPath, TripleRef, hop_band

MANIFEST, ITEMS = "run.json", "items.jsonl"
MAX_LINE = 16 << 20  # bytes of one prediction; evidence of a question is far below, a runaway file far above
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Run:
    """Predictions as read: `lines[i]` is the line of `predictions[i]`; `torn` the line that was cut off, if any."""

    path: Path
    manifest: RunManifest | None
    items: Path
    predictions: tuple[Prediction, ...]
    lines: tuple[int, ...]
    torn: int | None = None

    @property
    def title(self) -> str:
        """How tables name the run."""
        return self.manifest.title if self.manifest else self.path.name.removesuffix(".jsonl")

    def on(self, gold: Gold, verdicts: Mapping[tuple[str, str], bool] | None = None) -> Grid:
        """The run's predictions on the grid of what it was asked: the split, or its sample of it.

        `verdicts` are a judge's rulings if there are any.
        Raises PredictionError when the run was asked other questions than these.
        """
        if self.manifest is not None:
            _same_questions(self.manifest.dataset, gold.ref, self.path / MANIFEST)
            gold = gold.only(sampled(gold.ids, self.manifest.sample, self.manifest.seed))
        return align(gold, self.predictions, verdicts, where=lambda i: (self.items, self.lines[i]))


def read_run(path: str | Path) -> Run:
    """Read a run folder or a predictions file (JSON lines, UTF-8, with or without a byte order mark).

    A last line that does not end, as a killed run leaves it, is left out and named in `torn`.
    Raises PredictionError naming file, line and field for everything else that is not a prediction.
    """
    path = Path(path)
    manifest = read_manifest(path / MANIFEST) if path.is_dir() else None
    items = path / ITEMS if path.is_dir() else path
    predictions, lines, torn = [], [], None
    for number, line, whole in numbered_lines(items):
        try:
            predictions.append(Prediction.model_validate_json(line, strict=True))
        except ValidationError as error:
            if not whole and error.errors()[0]["type"] == "json_invalid":
                torn = number
                continue
            raise _not_a_prediction(error, line, items, number) from None
        lines.append(number)
    return Run(path, manifest, items, tuple(predictions), tuple(lines), torn)


def numbered_lines(path: Path, limit: int = MAX_LINE) -> Iterator[tuple[int, bytes, bool]]:
    """(number from 1, text, whether it ends in a newline) of every line that is not blank.

    Raises PredictionError for a line longer than `limit` bytes, without reading it whole.
    """
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        raise PredictionError(
            "no predictions here", fix="name a run folder or a file of JSON lines", file=path
        ) from None
    with stream:
        for number, line in enumerate(iter(lambda: stream.readline(limit + 1), b""), start=1):
            if len(line) > limit:
                raise PredictionError(
                    f"the line is longer than {limit >> 20} MB",
                    fix="write one prediction per line, each ended by a newline",
                    file=path,
                    line=number,
                )
            text = line.removeprefix(BOM) if number == 1 else line
            if text.strip():
                yield number, text, text.endswith(b"\n")


def read_manifest(path: Path) -> RunManifest:
    """Read `run.json`.  Raises PredictionError naming the field that is missing or wrong."""
    try:
        return RunManifest.model_validate_json(path.read_bytes(), strict=True)
    except FileNotFoundError:
        raise PredictionError(
            "this folder is not a run: run.json is missing",
            fix="name the folder `clwqa-bench run` made, or the predictions file itself",
            file=path.parent,
        ) from None
    except ValidationError as error:
        what, field = _first(error)
        raise PredictionError(
            what, fix="run.json must not be edited; make the run again", file=path, field=field
        ) from None


def gold_of(dataset: Dataset, split: Split, *, graph: bool = True) -> Gold:
    """The gold of a split, read column by column; checks the sha256 of the file it reads.

    With `graph` the dataset's graph comes along, which tells surfaces that several entities bear.
    """
    name = f"qa/{split}.parquet"
    if name not in dataset.manifest.files:
        splits = [n[3:-8] for n in dataset.manifest.files if n.startswith("qa/") and n.endswith(".parquet")]
        raise PredictionError(
            f"the dataset has no split {split!r}", fix=f"use one of {', '.join(splits)}", file=dataset.root
        )
    verify_file(dataset.root, name, dataset.manifest.files[name])
    with pq.ParquetFile(dataset.root / name) as file:
        rows = file.read(list(_COLUMNS), use_threads=False).to_pylist()
    questions = tuple(map(_gold_question, rows))
    return Gold(dataset_ref(dataset, split), questions, dataset.kg() if graph else None)


def dataset_ref(dataset: Dataset, split: str) -> DatasetRef:
    """The questions of a split as a run's manifest names them."""
    manifest = dataset.manifest
    return DatasetRef(
        name=manifest.name, version=manifest.version, content=manifest.content.get("qa", ""), split=split
    )


def sampled(ids: Iterable[str], sample: int | None, seed: int) -> frozenset[str]:
    """The ids of a sample; all of them if `sample` is None or not smaller.

    A pure function of ids, size and seed, so all systems are asked the same; a larger sample contains a smaller.
    """
    ordered = sorted(ids, key=lambda id: hashlib.sha256(f"{seed}:{id}".encode()).digest())
    return frozenset(ordered[:sample])


_COLUMNS = (
    "id", "question", "answers", "hops", "category", "upper_category", "group_id", "anchors", "target_element",
    "standard_paths", "evidence", "generator", "views",
)  # fmt: skip


def _gold_question(row: dict[str, Any]) -> GoldQuestion:
    answers = tuple(map(Answer.model_validate, row["answers"]))
    return GoldQuestion(
        id=row["id"],
        text=row["question"],
        answers=answers,
        group=row["group_id"],
        strata=_strata(row, answers),
        target_element=row["target_element"],
        anchors=tuple(map(Anchor.model_validate, row["anchors"])),
        standard_paths=tuple(map(StandardPath.model_validate, row["standard_paths"])),
        evidence=tuple(map(TripleRef.model_validate, row["evidence"])),
    )


def _strata(row: dict[str, Any], answers: tuple[Answer, ...]) -> tuple[str, ...]:
    return (
        f"hops={hop_band(row['hops'])}",
        f"category={row['category']}",
        f"upper={row['upper_category']}",
        f"answers={'one' if len(answers) == 1 else 'many'}",
        f"kind={'passage' if any(a.kind == 'passage' for a in answers) else 'entity'}",
        f"method={row['generator']['method']}",
        *(f"view={view}" for view in row["views"]),
    )


def _same_questions(asked: DatasetRef, gold: DatasetRef, path: Path) -> None:
    for field in DatasetRef.model_fields:
        was, now = getattr(asked, field), getattr(gold, field)
        if was != now:
            raise PredictionError(
                f"the run was asked {asked.name} {asked.version}, split {asked.split}; "
                f"this is {gold.name} {gold.version}, split {gold.split} ({field} {was!r} is not {now!r})",
                fix="score against the dataset and split of the run, or run the system on this one",
                file=path,
                field=f"dataset.{field}",
            )


def _not_a_prediction(error: ValidationError, line: bytes, path: Path, number: int) -> ClwqaError:
    """Say what is wrong with a line, with the likely cause where there is one."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as broken:
        guess = "it is not UTF-8"
        with contextlib.suppress(UnicodeDecodeError):
            line.decode("gb18030")
            guess = "it looks like GB18030 (GBK)"
        what, fix, field = f"{guess}: byte {broken.start + 1} of the line", "save the file as UTF-8", None
    else:
        what, field = _first(error)
        fix = "see docs/predictions.md for the fields of a prediction"
        if error.errors()[0]["type"] == "json_invalid":
            fix = "write one whole JSON object per line"
    return PredictionError(what, fix=fix, file=path, line=number, field=field)


def _first(error: ValidationError) -> tuple[str, str | None]:
    """The first problem pydantic found: what it is and in which field."""
    first = error.errors(include_url=False)[0]
    return first["msg"].removeprefix("Value error, "), ".".join(map(str, first["loc"])) or None
