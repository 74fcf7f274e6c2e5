"""Result files of other projects: PoG, ToG, RoG, GCR, MetaQA's text lines and plain JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from clwqa_bench.errors import PredictionError
from clwqa_bench.foreign.gold import ForeignGold, ForeignQuestion, reference, text_answers
from clwqa_bench.foreign.native import Output, pog
from clwqa_bench.foreign.reading import Item, decode, kind, read_bytes, records
from clwqa_bench.predictions import DatasetRef

IDS = ("id", "ID", "qid", "QuestionId")
COT = ("cot_result", "io_result")


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One row of a result file: for whom (an id, or a question's text), and what the system wrote.

    RoG and GCR carry their gold in the row: `golds`, and for GCR `gold_paths`.
    """

    item: Item
    id: str | None
    question: str | None
    output: Output
    golds: tuple[str, ...] | None = None
    gold_paths: tuple[str, ...] = ()
    ranked: bool = False


@dataclass(frozen=True)
class Results:
    """The rows of a result file in order; `torn` is the line that was cut off, if the last one was.

    `ref` is the file itself as a dataset, for formats that carry their gold.
    """

    path: Path
    format: str
    ref: DatasetRef
    rows: tuple[ResultRow, ...]
    torn: int | None = None

    @property
    def renamed(self) -> str | None:
        """The field of a CoT file that stands for `results`, which ToG's script would not find."""
        return next((key for row in self.rows for key in COT if key in row.item.value), None)

    @property
    def braces(self) -> int:
        """How many outputs hold braces in which PoG's script finds no answer, as ToG's do."""
        return sum(pog(row.output).texts is None for row in self.rows)

    def own_gold(self) -> ForeignGold:
        """The gold the rows carry, so that a question without a row cannot be seen.

        Raises PredictionError if the rows carry none, or two of them have one id.
        """
        questions: dict[str, ForeignQuestion] = {}
        for row in self.rows:
            if row.golds is None or row.id is None:
                raise PredictionError(
                    f"a {self.format} file carries no gold",
                    fix="name a gold file with --gold",
                    file=self.path,
                )
            if row.id in questions:
                raise row.item.error(f"a second row for {row.id}", "keep one row per question", "id")
            answers = text_answers(row.golds)
            questions[row.id] = ForeignQuestion(row.id, row.question or "", answers, row.golds)
        return ForeignGold(self.ref, self.path, tuple(questions.values()))


def read_results(path: str | Path, format: str) -> Results:
    """Read a result file as the other project wrote it.

    Raises PredictionError naming file, line and field; for a file of another format it says what it looks like.
    """
    path = Path(path)
    if format not in RESULT_FORMATS:
        raise PredictionError(
            f"there is no result format {format!r}", fix=f"use one of {', '.join(RESULT_FORMATS)}", file=path
        )
    data = read_bytes(path)
    text = decode(data, path)
    ref = reference(f"gold in {path.name}", data)
    if format == "metaqa":
        return Results(path, format, ref, _lines(text, path))
    found = records(text, path)
    row = RESULT_FORMATS[format]
    read = Results(path, format, ref, tuple(map(row, found.items)), found.torn)
    if format == "tog":
        _refuse_pog(read.rows)
    return read


def _chains(item: Item) -> ResultRow:
    """PoG and ToG: no id, so the text of the question has to do; a row that has one is joined by it."""
    key = next((key for key in COT if key in item.value and "results" not in item.value), "results")
    output = item.text(key)
    id = next((item.name(key) for key in IDS if key in item.value), None)
    return ResultRow(item, id, item.text("question"), output)


def _refuse_pog(rows: Sequence[ResultRow]) -> None:
    """ToG's reader takes whatever stands in braces, so PoG's JSON would be scored, and wrongly, without a word."""
    wrapped = [row for row in rows if (found := pog(row.output)).native == "json" and found.texts is not None]
    if len(wrapped) > len(rows) / 2:
        raise wrapped[0].item.error(
            f'{len(wrapped)} of {len(rows)} outputs are JSON with an "Answer", which ToG does not write',
            "this looks like a result file of PoG: use --format pog",
            "results",
        )


def _lists(item: Item) -> ResultRow:
    """RoG and GCR: an id, a text or a list of texts, and the gold."""
    return ResultRow(
        item=item,
        id=item.name("id"),
        question=item.text("question") if "question" in item.value else None,
        output=_text_or_texts(item, "prediction"),
        golds=item.texts("ground_truth"),
        gold_paths=_paths(item),
    )


def _plain(item: Item) -> ResultRow:
    """Our own simple form: id, prediction, and `ranked` if the order of the list is the system's."""
    ranked = item.value.get("ranked", False)
    if not isinstance(ranked, bool):
        raise item.error(f"{kind(ranked)} where true or false is due", "write true or leave it out", "ranked")
    return ResultRow(item, item.name("id"), None, _text_or_texts(item, "prediction"), ranked=ranked)


def _lines(text: str, path: Path) -> tuple[ResultRow, ...]:
    """MetaQA: the number of the question's line, a tab, answers between bars."""
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        item = Item({}, path, number)
        id, tab, answers = line.partition("\t")
        if not tab:
            raise item.error(
                "there is no tab between id and answers",
                "write the number of the question's line in the gold file, a tab, `answer|answer`",
            )
        rows.append(ResultRow(item, id.strip(), None, tuple(answers.split("|"))))
    if not rows:
        raise PredictionError("the file is empty", fix="name a file that has some rows", file=path)
    return tuple(rows)


RESULT_FORMATS: Mapping[str, Callable[[Item], ResultRow]] = MappingProxyType(
    {"pog": _chains, "tog": _chains, "rog": _lists, "gcr": _lists, "metaqa": _plain, "jsonl": _plain}
)
"""Name -> reader of one JSON object; MetaQA's lines are no JSON and are read whole."""


def _text_or_texts(item: Item, key: str) -> Output:
    value = item.get(key)
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return item.texts(key)
    raise item.error(f"{kind(value)} where a text or a list of texts is due", "write [] for no answer", key)


def _paths(item: Item, key: str = "ground_truth_paths") -> tuple[str, ...]:
    """GCR's gold paths as it writes them: head -> relation -> tail -> relation -> tail."""
    paths = []
    for place, path in enumerate(item.array(key) if item.value.get(key) is not None else ()):
        if isinstance(path, str):
            paths.append(path)
        elif path == []:
            continue
        elif isinstance(path, list) and all(isinstance(triple, list) and len(triple) == 3 for triple in path):
            paths.append(" -> ".join([str(path[0][0]), *(str(part) for _, *step in path for part in step)]))
        else:
            raise item.error("no path", "write a text, or a list of triples", f"{key}[{place}]")
    return tuple(paths)
