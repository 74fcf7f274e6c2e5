"""The folder of a generation: who writes from what, and every reply as it came.

`generate.json` says what a reply depends on; `records.jsonl` has one line for each word asked about, appended as it
comes and enough to make the same questions again without a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import Field, ValidationError

from clwqa_bench.console import warn
from clwqa_bench.errors import BuildError
from clwqa_bench.records import Record
from clwqa_bench.run_folder import alone, append_line, cut_torn_line, differences, write_whole
from clwqa_builders.generate.task import GenerateQuestions

IDENTITY, RECORDS = "generate.json", "records.jsonl"
QUESTIONS, ITEMS, REPORT = "questions.jsonl", "items.jsonl", "report.json"
_JSON = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


class Identity(Record):
    """What replies depend on; whatever differs here makes another generation.

    `prompt` is the id, version and digest of the prompt; `dataset` the digests of its graph and questions.
    """

    schema_version: int = 1
    model: str
    prompt: str
    llm: Mapping[str, Any]
    dataset: Mapping[str, str]
    seed: int
    wanted: int
    limits: Mapping[str, int]


class CallRecord(Record):
    """What was asked about a word, and what came back: the model's text as it wrote it."""

    id: str = Field(min_length=1)
    word: str = Field(min_length=1)
    nodes: tuple[str, ...] = Field(min_length=1)
    triples: tuple[tuple[str, str, str], ...]
    task: GenerateQuestions
    status: Literal["ok", "unparsed", "refused"]
    reply: str
    tokens_in: int = 0
    tokens_out: int = 0


@contextmanager
def opened(folder: Path, identity: Identity) -> Iterator[tuple[FileIO, dict[str, CallRecord]]]:
    """Take a folder, a new one or that of the same generation: a stream to append to, and the records by word.

    Raises BuildError when it belongs to another generation or holds something else, PredictionError when another
    process is writing there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder):
        if (folder / IDENTITY).exists():
            refuse_changes(folder, identity)
        elif strangers := sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")):
            what = f"the folder holds {strangers[0]!r} and is none of a generation"
            raise BuildError(what, fix="name a new or empty folder", file=folder)
        else:
            write_whole(folder / IDENTITY, orjson.dumps(identity.model_dump(), option=_JSON))
        cut_torn_line(folder / RECORDS)
        records = {record.word: record for record in read_records(folder)}
        with (folder / RECORDS).open("ab", buffering=0) as stream:
            yield stream, records


def append(stream: FileIO, record: CallRecord) -> None:
    """Write a record at the end.  Raises OSError, with nothing written, when it cannot be."""
    append_line(stream, orjson.dumps(record.model_dump()) + b"\n")


def read_identity(folder: Path) -> Identity:
    """What `generate.json` says.  Raises BuildError when it is missing or damaged."""
    path = folder / IDENTITY
    try:
        return Identity.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        fix = "name a folder that `clwqa-bench generate` has written"
        raise BuildError(f"no generation here: {IDENTITY} is missing", fix=fix, file=folder) from None
    except ValidationError as error:
        raise _damaged(error, path) from None


def read_records(folder: Path) -> list[CallRecord]:
    """All records in the order they were written; a last line that is cut off is left out, with a warning.

    Raises BuildError naming the line for one that is damaged or repeated.
    """
    path, found = folder / RECORDS, dict[str, CallRecord]()
    content = path.read_bytes() if path.exists() else b""
    *lines, rest = content.split(b"\n")
    if rest:
        warn(f"{path}:{len(lines) + 1}: the last line is cut off; its word counts as not asked")
    for number, line in enumerate(lines, start=1):
        try:
            record = CallRecord.model_validate_json(line)
        except ValidationError as error:
            raise _damaged(error, path, number) from None
        if record.word in found:
            fix = "delete one of the two lines"
            raise BuildError(f"{record.word} is there twice", fix=fix, file=path, line=number, field="word")
        found[record.word] = record
    return list(found.values())


def refuse_changes(folder: Path, now: Identity) -> None:
    """Raise BuildError, naming what differs, unless the folder belongs to this generation."""
    if changed := differences(read_identity(folder), now):
        listed = ", ".join(f"{key} is {was!r} there and {new!r} now" for key, (was, new) in changed.items())
        raise BuildError(
            f"this folder belongs to another generation: {listed}",
            fix="use another --out, or the settings it was begun with",
            file=folder / IDENTITY,
            field=", ".join(changed),
        )


def refuse_other_dataset(folder: Path, dataset: Mapping[str, str]) -> None:
    """Raise BuildError unless the records were made from this dataset."""
    recorded = read_identity(folder).dataset
    if changed := [key for key in sorted({*recorded, *dataset}) if recorded.get(key) != dataset.get(key)]:
        raise BuildError(
            f"the records were made from another dataset: {', '.join(changed)} differ",
            fix="name the dataset they were made from with --dataset",
            file=folder / IDENTITY,
            field=", ".join(f"dataset.{key}" for key in changed),
        )


def _damaged(error: ValidationError, path: Path, line: int | None = None) -> BuildError:
    first = error.errors(include_url=False)[0]
    field = ".".join(map(str, first["loc"])) or None
    fix = "restore the file; a record must not be edited"
    return BuildError(first["msg"], fix=fix, file=path, line=line, field=field)
