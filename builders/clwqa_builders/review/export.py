"""From a dataset to a review: what can be drawn, the draw, and the items in words."""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from clwqa_bench.records import Method, Question, ScoringPair, Split
from clwqa_builders.generate.folder import IDENTITY, read_identity
from clwqa_builders.generate.folder import QUESTIONS as GENERATED
from clwqa_builders.generate.ids import read_ids
from clwqa_builders.output.schema import QUESTIONS
from clwqa_builders.output.writers import table_of
from clwqa_builders.review.folder import Review, begin, damaged, encode
from clwqa_builders.review.forms import Kind
from clwqa_builders.review.items import Reader, pair_cell, question_cell
from clwqa_builders.review.records import Item, Plan, ReviewError, refuse_person
from clwqa_builders.review.sample import assign, draw
from clwqa_builders.validate.tables import DatasetTables

SHEET = Path("scoring_pairs", "adjudication.tsv")
CONTENT: Mapping[Kind, tuple[str, ...]] = {"questions": ("qa", "kg"), "pairs": ("qa", "kg", "scoring_pairs")}
"""The parts of a dataset that a review is about."""


@dataclass(frozen=True)
class Request:
    """What is to be read, and by whom.

    `number` or `rate` say how many; `ids` name a file with one id per line instead. `generated` is a folder of
    `clwqa-bench generate`, whose questions are taken; `disputed` takes the pairs that rules of several bands claim.
    """

    kind: Kind
    people: Sequence[str]
    number: int | None = None
    rate: float | None = None
    ids: Path | None = None
    split: Split | None = None
    method: Method | None = None
    generated: Path | None = None
    disputed: bool = False
    overlap: float = 0.2
    seed: int = 0

    def in_words(self) -> str:
        """How the sample is taken, for the plan."""
        how = "ids given" if self.ids else f"{self.rate:.1%}" if self.rate else f"{self.number}"
        of = [
            self.split,
            self.method,
            "generated" if self.generated else "",
            "disputed" if self.disputed else "",
        ]
        return f"{how} of {' '.join(filter(None, of)) or 'all'} {self.kind}, {self.overlap:.0%} read by everybody"


def export(tables: DatasetTables, request: Request, out: Path) -> Review:
    """Draw the items and write plan and items into `out`; the sheets are another matter.

    Raises ReviewError when nothing fits the request, DatasetError when an id is unknown or listed twice.
    """
    _refuse_people(request.people)
    note = _note(tables, request)
    cells, items = (_questions if request.kind == "questions" else _pairs)(tables, request)
    content, digest = encode(items)
    if len(items) < len(request.people):
        what = f"{len(items)} items for {len(request.people)} readers"
        raise ReviewError(what, fix="draw more items, or name fewer readers")
    plan = Plan(
        kind=request.kind,
        dataset=note,
        seed=request.seed,
        drawn=request.in_words(),
        cells=dict(sorted(cells.items())),
        assigned=assign([item.id for item in items], request.people, request.overlap, request.seed),
        items=digest,
    )
    return begin(out, plan, content)


def _note(tables: DatasetTables, request: Request) -> dict[str, str]:
    """What the review is about: the dataset's parts, or its graph and the questions generated on it."""
    manifest, parts = tables.manifest, CONTENT[request.kind]
    note = {"name": manifest.name, "version": manifest.version}
    if request.generated:
        parts = ("kg",)
        _refuse_other_graph(request.generated, manifest.content["kg"])
        note["generated"] = hashlib.sha256(_read(request.generated / GENERATED)).hexdigest()
    return note | {part: manifest.content[part] for part in parts}


def _refuse_other_graph(generation: Path, graph: str) -> None:
    if read_identity(generation).dataset.get("kg") != graph:
        fix = "name the dataset they were generated from with --dataset"
        raise ReviewError(
            "the questions were generated on another graph", fix=fix, file=generation / IDENTITY
        )


def _questions(tables: DatasetTables, request: Request) -> tuple[Counter[str], list[Item]]:
    table = _generated(request.generated / GENERATED) if request.generated else tables.questions
    table = _only(table, request)
    methods = pc.struct_field(table["generator"], "method").to_pylist()
    columns = zip(methods, table["category"].to_pylist(), table["hops"].to_pylist(), strict=True)
    cells, rows = _choose(table["id"].to_pylist(), starmap(question_cell, columns), request)
    reader = Reader(tables.store, tables.ontology)
    return cells, [reader.question(question) for question in _records(table.take(rows))]


def _pairs(tables: DatasetTables, request: Request) -> tuple[Counter[str], list[Item]]:
    claims = _claims(tables.root / SHEET)
    table = _only(tables.pairs, request)
    if request.disputed:
        table = table.filter(pc.is_in(table["id"], pa.array(claims, pa.string())))
    columns = zip(table["band"].to_pylist(), table["element"].to_pylist(), strict=True)
    cells, rows = _choose(table["id"].to_pylist(), starmap(pair_cell, columns), request)
    chosen = [ScoringPair.model_validate(row) for row in table.take(rows).to_pylist()]
    wanted = pc.is_in(tables.questions["id"], pa.array([pair.question_id for pair in chosen]))
    asked = {question.id: question for question in _records(tables.questions.filter(wanted))}
    reader = Reader(tables.store, tables.ontology)
    return cells, [reader.pair(pair, asked[pair.question_id], claims.get(pair.id, "")) for pair in chosen]


def _records(table: pa.Table) -> list[Question]:
    return [Question.model_validate(row) for row in table.to_pylist()]


def _only(table: pa.Table, request: Request) -> pa.Table:
    """The rows of the split and making asked for."""
    if request.split:
        table = table.filter(pc.equal(table["split"], request.split))
    if request.method:
        table = table.filter(pc.equal(pc.struct_field(table["generator"], "method"), request.method))
    return table


def _choose(ids: Sequence[str], cells: Iterable[str], request: Request) -> tuple[Counter[str], list[int]]:
    """How many there are in each stratum, and the rows drawn."""
    cell_of = dict(zip(ids, cells, strict=True))
    row_of = {id: row for row, id in enumerate(ids)}
    if not ids:
        raise ReviewError("nothing fits the request", fix="ask for another split or method, or for all")
    if request.ids:
        chosen = read_ids(request.ids, cell_of, "what can be reviewed")
        if not chosen:
            raise ReviewError("the file lists no id", fix="write one id per line", file=request.ids)
        return Counter(cell_of[id] for id in chosen), [row_of[id] for id in chosen]
    size = request.number or max(1, round((request.rate or 0.0) * len(ids)))
    return Counter(cell_of.values()), [row_of[id] for id in draw(cell_of, size, request.seed)]


def _claims(path: Path) -> dict[str, str]:
    """By pair: all rules that claim it, where they are of several bands."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["pair_id"]: row["claims"] for row in rows}


def _generated(path: Path) -> pa.Table:
    """The questions of a generation.  Raises ReviewError naming the line of one that is damaged."""
    content = _read(path)
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            Question.model_validate_json(line)
        except ValidationError as error:
            raise damaged(error, path, number) from None
    return table_of(content.splitlines(), QUESTIONS)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        fix = "name a folder that `clwqa-bench generate` has written"
        raise ReviewError("no such file", fix=fix, file=path) from None


def _refuse_people(people: Iterable[str]) -> None:
    names = list(people)
    for name in names:
        refuse_person(name)
    if not names or len({name.casefold() for name in names}) < len(names):
        raise ReviewError("every reader needs a name of their own", fix="give --annotator NAME once for each")
