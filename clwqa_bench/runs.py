"""Reading what is scored: a run folder or a file of predictions, and the gold of a dataset split.

A run folder holds `run.json` (who answered what, see RunManifest) and `items.jsonl` (one Prediction per line,
appended as answers come in).  A file of predictions alone is scored too; it then has no manifest to check.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from clwqa_bench.dataset import Dataset, verify_file
from clwqa_bench.errors import PredictionError
from clwqa_bench.grid import Gold, GoldQuestion, Grid, align
from clwqa_bench.predictions import DatasetRef, Named, Prediction, RunManifest
from clwqa_bench.records import Question, Split, hop_band

MANIFEST, ITEMS, RETRIES = "run.json", "items.jsonl", "retries.jsonl"
MAX_LINE = 16 << 20  # bytes of one prediction; evidence of a question is far below, a runaway file far above
BOM = b"\xef\xbb\xbf"
DECISIVE = (b"status", b"ranked", b"answers")  # fields of which a second one would change a score


@dataclass(frozen=True)
class Run:
    """Predictions as read.

    `lines[i]` is the line of `predictions[i]`; `torn` the line that was cut off, if any; `asked_again` counts questions
    that had failed before and were asked once more (`run --retry`).
    """

    path: Path
    manifest: RunManifest | None
    items: Path
    predictions: tuple[Prediction, ...]
    lines: tuple[int, ...]
    torn: int | None = None
    asked_again: int = 0

    @property
    def notes(self) -> dict[str, int]:
        """Counts that belong beside the run's scores, as notes of a ScoreTable."""
        return {"torn_line": self.torn or 0, "asked_again": self.asked_again}

    @property
    def title(self) -> str:
        """How tables name the run."""
        return self.manifest.title if self.manifest else self.path.name.removesuffix(".jsonl")

    def on(self, gold: Gold, verdicts: Mapping[tuple[str, str], bool] | None = None) -> Grid:
        """The run's predictions on the grid of what it was asked: the split, or its sample of it.

        `verdicts` are a judge's rulings if there are any.
        Raises PredictionError when the run was asked other questions than these.
        """
        if not self.predictions:
            raise PredictionError(
                "there is not a single prediction in it",
                fix="run the system, or end every line with a newline (not with a carriage return alone)",
                file=self.items,
            )
        if self.manifest is not None:
            _same_questions(self.manifest.dataset, gold.ref, self.path / MANIFEST)
            gold = self._asked(self.manifest, gold)
        return align(gold, self.predictions, verdicts, where=lambda i: (self.items, self.lines[i]))

    def _asked(self, manifest: RunManifest, gold: Gold) -> Gold:
        """The part of the split that the run was asked."""
        if manifest.shard is not None:
            raise PredictionError(
                f"this is shard {manifest.shard} of a run",
                fix="put all shards together with `clwqa-bench merge SHARD... --out DIR` and score that",
                file=self.path / MANIFEST,
                field="shard",
            )
        if manifest.sample is not None and manifest.sample > len(gold.ids):
            raise PredictionError(
                f"a sample of {manifest.sample:,} from a split of {len(gold.ids):,}",
                fix="run.json must not be edited; make the run again",
                file=self.path / MANIFEST,
                field="sample",
            )
        return gold.only(sampled(gold.ids, manifest.sample, manifest.seed))


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
            if not whole and line.startswith(b"{") and error.errors()[0]["type"] == "json_invalid":
                torn = number
                continue
            fix = "see the page on predictions for the fields of a line"
            raise _unreadable(error, line, items, number, fix) from None
        _refuse_repeated_keys(line, items, number)
        lines.append(number)
    again = _ids_of(path / RETRIES) if path.is_dir() else frozenset()
    return Run(path, manifest, items, tuple(predictions), tuple(lines), torn, len(again))


class _Asked(BaseModel):
    """Of a prediction that was put aside, the question; the rest of it is not read."""

    id: Named


def _ids_of(path: Path) -> frozenset[str]:
    """The ids in a file of predictions; none if there is no such file.

    Raises PredictionError naming file, line and field of what is not a prediction.
    """
    if not path.exists():
        return frozenset()
    found = set()
    for number, line, whole in numbered_lines(path):
        if whole:
            try:
                found.add(_Asked.model_validate_json(line, strict=True).id)
            except ValidationError as error:
                fix = "put the file aside: it says only which questions were asked again"
                raise _unreadable(error, line, path, number, fix) from None
    return frozenset(found)


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
        text = path.read_bytes().removeprefix(BOM)
    except FileNotFoundError:
        raise PredictionError(
            "this folder is not a run: run.json is missing",
            fix="name the folder `clwqa-bench run` made, or the predictions file itself",
            file=path.parent,
        ) from None
    try:
        return RunManifest.model_validate_json(text, strict=True)
    except ValidationError as error:
        fix = "run.json must not be edited; make the run again"
        raise _unreadable(error, text, path, None, fix) from None


def gold_of(dataset: Dataset, split: Split, *, graph: bool = True) -> Gold:
    """The gold of a split; checks the sha256 of the file it reads.

    With `graph` the dataset's graph comes along, checked too: it tells surfaces that several entities bear.
    """
    name = f"qa/{split}.jsonl"  # the mirror: parsed straight into records, in half the time of the columns
    if name not in dataset.manifest.files:
        splits = [n[3:-6] for n in dataset.manifest.files if n.startswith("qa/") and n.endswith(".jsonl")]
        raise PredictionError(
            f"the dataset has no split {split!r}", fix=f"use one of {', '.join(splits)}", file=dataset.root
        )
    verify_file(dataset.root, name, dataset.manifest.files[name])
    with (dataset.root / name).open("rb") as lines:
        questions = tuple(_gold_question(Question.model_validate_json(line)) for line in lines)
    return Gold(dataset_ref(dataset, split), questions, dataset.kg(verify=True) if graph else None)


def dataset_ref(dataset: Dataset, split: str) -> DatasetRef:
    """The questions of a split as a run's manifest names them."""
    manifest = dataset.manifest
    return DatasetRef(
        name=manifest.name,
        version=manifest.version,
        content=manifest.content.get("qa", ""),
        graph=manifest.content.get("kg", ""),
        split=split,
    )


def sampled(ids: Iterable[str], sample: int | None, seed: int) -> frozenset[str]:
    """The ids of a sample; all of them if `sample` is None or not smaller.

    A pure function of ids, size and seed, so all systems are asked the same; a larger sample contains a smaller.
    """
    ordered = sorted(ids, key=lambda id: hashlib.sha256(f"{seed}:{id}".encode()).digest())
    return frozenset(ordered[:sample])


def _gold_question(question: Question) -> GoldQuestion:
    return GoldQuestion(
        id=question.id,
        text=question.question,
        answers=question.answers,
        group=question.group_id,
        strata=_strata(question),
        target_element=question.target_element,
        anchors=question.anchors,
        standard_paths=question.standard_paths,
        evidence=question.evidence,
        ordered=question.operation == "ranking",
    )


def _strata(question: Question) -> tuple[str, ...]:
    kinds = {answer.kind for answer in question.answers}
    return (
        *([f"operation={question.operation}"] if question.operation else []),
        f"hops={hop_band(question.hops)}",
        f"category={question.category}",
        f"upper={question.upper_category}",
        f"answers={'one' if len(question.answers) == 1 else 'many'}",
        f"kind={next(kind for kind in ('passage', 'literal', 'entity') if kind in kinds)}",
        f"method={question.generator.method}",
        *(f"view={view}" for view in question.views),
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


def _unreadable(
    error: ValidationError, text: bytes, path: Path, number: int | None, fix: str
) -> PredictionError:
    """Say what is wrong with a line (or a whole file), with the likely cause where there is one."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as broken:
        guess = "it is not UTF-8"
        with contextlib.suppress(UnicodeDecodeError):
            text.decode("gb18030")
            guess = "it looks like GB18030 (GBK)"
        what, fix, field = f"{guess}: byte {broken.start + 1} of the line", "save the file as UTF-8", None
    else:
        what, field = _first(error)
        if number is not None and error.errors()[0]["type"] == "json_invalid":
            fix = "write one whole JSON object per line"
    return PredictionError(what, fix=fix, file=path, line=number, field=field)


def _refuse_repeated_keys(line: bytes, path: Path, number: int) -> None:
    """JSON lets a key stand twice and readers take the last; which answers were meant is not for us to guess."""
    if all(line.count(b'"%s":' % key) < 2 for key in DECISIVE):  # nearly always; only then is it parsed again
        return
    pairs: list[tuple[str, object]] = json.loads(line, object_pairs_hook=lambda pairs: pairs)
    names = [name for name, _ in pairs]
    if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise PredictionError(
            "the field stands there twice", fix="keep one", file=path, line=number, field=repeated[0]
        )


def _first(error: ValidationError) -> tuple[str, str | None]:
    """The first problem pydantic found: what it is and in which field."""
    first = error.errors(include_url=False)[0]
    return first["msg"].removeprefix("Value error, "), ".".join(map(str, first["loc"])) or None
