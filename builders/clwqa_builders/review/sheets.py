"""What readers fill in: a table for a spreadsheet program, as CSV and as XLSX, and the guide beside it.

Every row says which review, dataset and person it belongs to, so that a sheet may be sorted, cut or copied.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clwqa_bench.run_folder import write_whole
from clwqa_builders.pairs.rubric import Rubric
from clwqa_builders.review import workbook
from clwqa_builders.review.folder import Review
from clwqa_builders.review.forms import Form, rubric_rows
from clwqa_builders.review.records import Item, Role, Ruling

IDENTITY = ("review", "dataset", "annotator", "role", "item")
COMMENT = "comment"
FORMULA = ("=", "+", "-", "@", "\t", "\r")
NAMES: Mapping[str, str] = {
    "review": "审阅编号",
    "dataset": "数据集",
    "annotator": "审阅人",
    "role": "角色",
    "item": "编号",
    "question": "问题",
    "answers": "答案",
    "node": "节点",
    "paths": "证据路径",
    "passages": "文段",
    "said": "各人判断",
    "comment": "备注",
}


@dataclass(frozen=True)
class Sheet:
    """What one person reads; `said` are the rulings of others by item, for the one who settles them."""

    review: Review
    person: str
    role: Role
    items: Sequence[Item]
    said: Mapping[str, Sequence[Ruling]]

    @property
    def form(self) -> Form:
        return self.review.form

    @property
    def columns(self) -> tuple[str, ...]:
        """The names that begin the titles of the columns."""
        return (*IDENTITY, *self.shown, *(criterion.id for criterion in self.form.criteria), COMMENT)

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns with what is read."""
        node = ("node",) if self.form.kind == "pairs" else ()
        said = ("said",) if self.role == "adjudicator" else ()
        return ("question", *node, "answers", "paths", "passages", *said)

    @property
    def stem(self) -> str:
        """The name of its files: what an adjudicator settles differs from time to time."""
        if self.role == "annotator":
            return self.person
        ids = "".join(item.id for item in self.items)
        return f"{self.person}-{hashlib.sha256(ids.encode('utf-8')).hexdigest()[:6]}"

    def titles(self) -> list[str]:
        """Column titles in both languages; a reader goes by the first word."""
        names = {**NAMES, **{criterion.id: criterion.zh for criterion in self.form.criteria}}
        return [f"{column} {names[column]}" for column in self.columns]

    def rows(self) -> list[list[str]]:
        """The cells, those to be filled in empty."""
        identity = (self.review.plan.id, self.review.plan.edition, self.person, self.role)
        empty = [""] * (len(self.form.criteria) + 1)
        return [[*identity, item.id, *self._told(item), *empty] for item in self.items]

    def table(self) -> workbook.Table:
        """The sheet as a workbook shows it."""
        return workbook.Table(
            columns=self.columns,
            titles=self.titles(),
            rows=self.rows(),
            hidden=("review", "dataset", "role"),
            frozen=len(IDENTITY) + 1,
            chosen=[criterion.id for criterion in self.form.criteria],
            choices=[choice.zh for choice in self.form.choices],
        )

    def _told(self, item: Item) -> list[str]:
        texts = shown_texts(item)
        texts["said"] = "\n".join(self.told_by_others(item))
        return [texts[column] for column in self.shown]

    def told_by_others(self, item: Item) -> list[str]:
        """What was said of an item, a line for each person, and for a pair what the rules say."""
        lines = [in_words(ruling, self.form) for ruling in self.said.get(item.id, ())]
        return [*lines, f"rubric: {item.claims}"] if lines and item.claims else lines


def annotator_sheets(review: Review) -> list[Sheet]:
    """The sheet of every annotator."""
    return [
        Sheet(review, person, "annotator", [review.items[id] for id in ids], {})
        for person, ids in review.plan.assigned.items()
    ]


def shown_texts(item: Item) -> dict[str, str]:
    """What the cells of an item hold, by column."""
    return {
        "question": item.question,
        "node": item.node,
        "answers": "；".join(item.answers),
        "paths": "\n".join(item.paths),
        "passages": "\n".join(item.passages),
    }


def in_words(ruling: Ruling, form: Form) -> str:
    """A ruling on one line."""
    names = {choice.code: choice.zh for choice in form.choices}
    told = "，".join(
        f"{criterion.zh} {names[ruling.verdicts[criterion.id]]}"
        for criterion in form.criteria
        if criterion.id in ruling.verdicts
    )
    return f"{ruling.annotator}：{told}{f'（{ruling.comment}）' if ruling.comment else ''}"


def guarded(text: str) -> str:
    """Text that no spreadsheet program takes for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def csv_bytes(sheet: Sheet) -> bytes:
    """CSV as spreadsheet programs open it: UTF-8 with a byte order mark, lines ended CRLF."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(sheet.titles())
    writer.writerows([guarded(cell) for cell in row] for row in sheet.rows())
    return out.getvalue().encode("utf-8-sig")


def guide(form: Form, rubric: Rubric | None) -> str:
    """What the readers are asked, as Markdown in both languages; for pairs with the rubric."""
    lines = ["# 审阅说明 / Guide", "", "| 键 key | 写入表格 write | 判断 | verdict |", "|---|---|---|---|"]
    lines += [f"| {choice.key} | {choice.code} | {choice.zh} | {choice.en} |" for choice in form.choices]
    for criterion in form.criteria:
        lines += [
            "",
            f"## {criterion.id}: {criterion.zh} / {criterion.en}",
            "",
            criterion.ask_zh,
            "",
            criterion.ask_en,
        ]
    if rubric:
        lines += [
            "",
            "## 评级表 / Rubric",
            "",
            "| band | rule | 说明 | what it claims |",
            "|---|---|---|---|",
        ]
        lines += [f"| {band} | `{rule}` | {zh} | {en} |" for band, rule, zh, en in rubric_rows(rubric)]
    return "\n".join([*lines, ""])


def write(folder: Path, sheets: Iterable[Sheet], page: Mapping[str, str]) -> list[Path]:
    """Write each sheet as CSV, page and, with openpyxl, XLSX; `page` is the HTML by person.

    A file that is there already is left alone: somebody may have filled it in.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for sheet in sheets:
        contents = {"csv": csv_bytes(sheet), "html": page[sheet.person].encode("utf-8")}
        if workbook.available():
            contents["xlsx"] = workbook.write(sheet.table())
        for ending, content in contents.items():
            path = folder / f"{sheet.stem}.{ending}"
            if not path.exists():
                write_whole(path, content)
                written.append(path)
    return written
