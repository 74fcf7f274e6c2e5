"""Withheld gold: a public dataset without the gold of one split, and a file that only the maintainer has.

The public manifest commits to the gold by an HMAC with a secret salt: the gold cannot be exchanged later, and nobody
can find it by hashing guesses (answers are names from a small dictionary).  The commitment stands in the manifest as
the content digest of the questions, so a run on the public dataset names exactly the gold it is scored with.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from clwqa_bench.dataset import Dataset, FileEntry, Manifest
from clwqa_bench.digests import file_sha256
from clwqa_bench.grid import Gold
from clwqa_bench.records import Question, Record, Split
from clwqa_bench.runs import gold_of
from clwqa_bench.withholding import KEPT, may_hold, public_id
from clwqa_leaderboard.errors import SubmissionError

MARK = "withheld"  # in the public manifest's config, where `Dataset.withholds` looks
NO_SEED = -1  # a manifest must name a number
NOTE = """
> **The gold of the {split} split is withheld.** Its {count:,} questions are here without answers, anchors, paths or
> categories. The commitment to the gold is {commitment} (HMAC-SHA256 with a secret salt).
"""
CORRECTIONS = (
    (
        r'\.questions\("{split}"\):\n    print\(.*\)',
        '.view("{split}"):\n    print(question.id, question.text)',
    ),
    (r"(with a JSONL mirror of the same rows)", r"\1 (the {split} split has none)"),
    (r"(`croissant\.json`)", r"\1 (made when this is published)"),
    (r"\(sources, seed, sha256", "(sources, sha256"),
    (r" \(`templates\.toml`\)", ""),
    (r" \(`review/\w+\.json` lists them\)", ""),
)
"""What a card says of the complete dataset, and what holds for a folder without the gold of a split."""


class GoldHeader(Record):
    """First line of a gold file."""

    schema_version: Literal[1] = 1
    split: Split
    content: str = Field(description="Digest of all questions, as in the complete dataset's manifest.")
    salt: str = Field(pattern=r"^[0-9a-f]{64}$")


@dataclass(frozen=True, slots=True)
class Withheld:
    """What `withhold` made."""

    public: Path
    gold: Path
    split: Split
    questions: int
    commitment: str


def withhold(dataset: Dataset, public: Path, gold: Path, split: Split = "test", salt: str = "") -> Withheld:
    """Write a copy of the dataset without the gold of a split, and the gold with its salt to a file beside it.

    Its questions get ids, and the answers in the gold file an order, that nothing but the salt explains: ids tell
    nothing of how a question was made, and a copy of the gold is known by its order.
    Raises SubmissionError if something is there already, gold is withheld already or scoring pairs tell the gold,
    DatasetError if the dataset is damaged.
    """
    for path in (public, gold):
        if path.exists():
            raise SubmissionError("there is something already", fix="name a new path", file=path)
    if gold.resolve().is_relative_to(public.resolve()):
        raise SubmissionError("the gold would lie in the public folder", fix="keep it elsewhere", file=gold)
    salt = salt or secrets.token_hex(32)
    dataset = Dataset.open(dataset.root)  # every file is checked: what is committed to cannot be mended
    _refuse_second(dataset)
    _refuse_pairs(dataset, split)
    header = GoldHeader(split=split, content=dataset.manifest.content.get("qa", ""), salt=salt)
    lines = _gold_lines(dataset, split, salt)
    commitment = _commitment(header, lines)
    gold.parent.mkdir(parents=True, exist_ok=True)
    public.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=public.parent, prefix=f".{public.name}.") as partial:
        made = Path(partial) / "public"
        _copy(dataset, made, split, salt)
        _describe(dataset.manifest, made, split, len(lines), commitment)
        with os.fdopen(os.open(gold, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.writelines([header.model_dump_json().encode() + b"\n", *lines])
            stream.flush()
            os.fsync(stream.fileno())
        made.rename(public)
    return Withheld(public, gold, split, len(lines), commitment)


def board_gold(dataset: Dataset, split: Split, gold: Path | None = None) -> Gold:
    """The gold of a split: the dataset's own, or that of a gold file if it is withheld.

    Raises SubmissionError if the gold is withheld and no file is named, or if it is not the gold committed to.
    """
    if not dataset.withholds(split):
        if gold is not None:
            raise SubmissionError(
                "the dataset has this gold itself", fix="leave --gold out", file=dataset.root
            )
        return gold_of(dataset, split)
    if gold is None:
        raise SubmissionError(
            f"the gold of the {split} split is withheld, only the maintainers can score it",
            fix="name the gold file with --gold, or hand the bundle in",
            file=dataset.root,
        )
    name, content = f"qa/{split}.jsonl", b"".join(_committed(dataset, split, gold))
    with tempfile.TemporaryDirectory() as folder:  # what the dataset would be with this file in it
        path = Path(folder) / name
        path.parent.mkdir()
        path.write_bytes(content)
        entry = FileEntry(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
        manifest = dataset.manifest.model_copy(update={"files": {name: entry}})
        complete = gold_of(Dataset(Path(folder), manifest), split, graph=False)
    return replace(complete, graph=dataset.kg(verify=True))


def _refuse_second(dataset: Dataset) -> None:
    """Raises SubmissionError if gold is withheld already: a manifest commits to the gold of one split."""
    if MARK in dataset.manifest.config:
        raise SubmissionError(
            "gold of this dataset is withheld already", fix="name the complete dataset", file=dataset.root
        )


def _refuse_pairs(dataset: Dataset, split: Split) -> None:
    """Raises SubmissionError for scoring pairs of the split's questions: their labels say which nodes are answers."""
    questions = {view.id for view in dataset.view(split)}
    if told := questions.intersection(pair.question_id for pair in dataset.pairs()):
        raise SubmissionError(
            f"scoring pairs tell the gold of {len(told):,} questions of the {split} split",
            fix="withhold a split that no scoring pairs are about",
            file=dataset.root,
            field="--split",
        )


def _committed(dataset: Dataset, split: Split, gold: Path) -> list[bytes]:
    """The questions of a gold file, one a line.  Raises SubmissionError unless they are those committed to."""
    try:
        first, *lines = gold.read_bytes().splitlines(keepends=True)
        header = GoldHeader.model_validate_json(first)
    except ValueError:  # also pydantic's
        raise SubmissionError(
            "not a gold file", fix="name the file that `withhold` wrote", file=gold
        ) from None
    committed = dataset.manifest.content.get("qa", "")
    if header.split != split or not hmac.compare_digest(_commitment(header, lines), committed):
        raise SubmissionError(
            f"this is not the gold that {dataset.manifest.name} {dataset.manifest.version} committed to ({split})",
            fix="name the gold file that was written together with this dataset",
            file=gold,
        )
    return lines


def _commitment(header: GoldHeader, lines: Iterable[bytes]) -> str:
    code = hmac.new(
        bytes.fromhex(header.salt), f"{header.split}\n{header.content}\n".encode(), hashlib.sha256
    )
    for line in lines:
        code.update(line)
    return code.hexdigest()


def _mac(salt: str, *parts: str) -> bytes:
    return hmac.new(bytes.fromhex(salt), "\n".join(parts).encode(), hashlib.sha256).digest()


def _public_id(salt: str, split: Split, id: str) -> str:
    """The id that a question is published under: its own may be a hash of what it was made from, gold included."""
    return public_id(split, _mac(salt, "id", id).hex()[:16])


def _gold_lines(dataset: Dataset, split: Split, salt: str) -> list[bytes]:
    """The questions under their public ids, sorted, one a line."""

    def public(question: Question) -> Question:
        def rank(place: int) -> bytes:
            return _mac(salt, "order", question.id, question.answers[place].entity_id)

        places = list(range(len(question.answers)))
        if question.operation != "ranking":  # there the order is part of the answer
            places.sort(key=rank)
        answers = tuple(question.answers[place] for place in places)
        return question.model_copy(update={"id": _public_id(salt, split, question.id), "answers": answers})

    questions = sorted(map(public, dataset.questions(split)), key=lambda question: question.id)
    return [question.model_dump_json().encode() + b"\n" for question in questions]


def _copy(dataset: Dataset, made: Path, split: Split, salt: str) -> None:
    """The listed files that may hold no gold; the split's questions keep `KEPT` and have blanks elsewhere."""
    for name in dataset.manifest.files:
        if not may_hold(name, split):
            continue
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        if name == f"qa/{split}.parquet":
            table = pq.read_table(dataset.root / name)
            ids = pa.array([_public_id(salt, split, id) for id in table["id"].to_pylist()])
            public = _blank(table.set_column(0, table.schema.field("id"), ids).sort_by("id"))
            pq.write_table(public, made / name, compression="zstd")
        else:
            shutil.copyfile(dataset.root / name, made / name)


def _blank(table: pa.Table) -> pa.Table:
    """The same columns, empty but for those kept: "" and [] and 0, so that all splits load as one dataset."""
    columns = [
        table[field.name]
        if field.name in KEPT
        else pa.array([_nothing(field.type)] * len(table), type=field.type)
        for field in table.schema
    ]
    return pa.table(columns, schema=table.schema.remove_metadata())


def _nothing(kind: pa.DataType) -> Any:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return []
    if pa.types.is_struct(kind):
        return {kind.field(place).name: _nothing(kind.field(place).type) for place in range(kind.num_fields)}
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return ""
    return False if pa.types.is_boolean(kind) else 0


def _describe(manifest: Manifest, made: Path, split: Split, count: int, commitment: str) -> None:
    """The card says what is withheld; the manifest commits to it, and tells neither seed nor digests of the gold."""
    card = made / "README.md"
    if card.exists():
        text = _corrected(card.read_text(encoding="utf-8"), split)
        if digest := manifest.content.get("qa"):  # a card made for the Hub has it
            text = text.replace(digest, commitment)
        place = text.find("\n---\n", 4) + 5 if text.startswith("---\n") else 0
        note = NOTE.format(split=split, count=count, commitment=commitment)
        card.write_text(text[:place] + note + text[place:], encoding="utf-8")
    files = {
        path.relative_to(made).as_posix(): FileEntry(sha256=file_sha256(path), bytes=path.stat().st_size)
        for path in sorted(made.rglob("*"))
        if path.is_file()
    }
    public = manifest.model_copy(
        update={
            "seed": NO_SEED,
            "config": {
                **manifest.config,
                MARK: {
                    "split": split,
                    "questions": count,
                    "commitment": "HMAC-SHA256",
                    "seed": "withheld",
                },
            },
            "content": {**manifest.content, "qa": commitment},
            "files": files,
        }
    )
    listed = orjson.dumps(public.model_dump(mode="json"), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
    (made / "manifest.json").write_bytes(listed + b"\n")


def _corrected(card: str, split: Split) -> str:
    """The card without what does not hold for the public folder."""
    for said, holds in CORRECTIONS:
        card = re.sub(said.replace("{split}", split), holds.replace("{split}", split), card)
    return card
