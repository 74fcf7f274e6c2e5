"""The folder of a site: pages, scripts and data, written beside the old ones and put in their place at once.

    index.html                    all boards
    site.css, *.js                look and behaviour, the same for all boards
    BOARD/index.html, board.js    a board, and everything its tables show
    BOARD/questions.js            asked for by the comparison and by the pages of entries
    BOARD/entries/ENTRY.js        asked for when an entry is opened or compared

Data are scripts that call `receive`, because a page read from a disk may load scripts but fetch nothing.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from clwqa_bench.onefile import inert_json, shared
from clwqa_bench.ontology import Ontology
from clwqa_bench.report.names import count, interval, metric_name, percent
from clwqa_leaderboard.board import ADD, BOARD, Stored, read_board, read_entries
from clwqa_leaderboard.entry import Board, Entry
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.site.values import (
    MAIN,
    Layout,
    board_values,
    entry_values,
    question_values,
)

HERE = Path(__file__).parent
PAGE = "page.js"  # what the pages of reports and reviews have too
SCRIPTS = (PAGE, "values.js", "tables.js", "paired.js", "compare.js", "entry.js", "board.js")
"""In the order in which they are read: classic scripts, since a page on a disk may not load modules."""
DATA = "data.js"
MARK = "clwqa-board-site"  # in the index of every site: only such a folder is ever replaced
SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=,@-]*", re.ASCII)

SECURITY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; base-uri 'none'; form-action 'none'"
)
"""Scripts and style of the site's own files; `file:` because a page read from a disk has no self."""


@dataclass(frozen=True)
class Opened:
    """A board with its entries."""

    board: Board
    stored: tuple[Stored, ...]

    @classmethod
    def read(cls, folder: Path) -> Opened:
        """Raises SubmissionError unless the folder is a board and every entry is one of it, where its id says."""
        board, stored = read_board(folder), tuple(read_entries(folder))
        for key, path in ((board.key, folder), *((one.entry.id, one.folder) for one in stored)):
            if key != path.resolve().name or not SAFE.fullmatch(key):
                raise SubmissionError(
                    f"the folder of {key} has another name",
                    fix=ADD,
                    file=path,
                )
        for one in stored:
            if not _fits(one, board):
                raise SubmissionError("not an entry of this board", fix=ADD, file=one.folder)
        return cls(board, stored)

    @property
    def entries(self) -> list[Entry]:
        return [one.entry for one in self.stored]

    @property
    def ranked(self) -> list[Entry]:
        """Entries that are ranked, the best first."""
        found = [entry for entry in self.entries if entry.standing == "ranked"]
        return sorted(found, key=lambda entry: -_value(entry))


def _fits(stored: Stored, board: Board) -> bool:
    """Whether an entry is of this board, and tells as many outcomes as questions were asked."""
    entry, told = stored.entry, stored.outcomes
    asked = board.questions if entry.standing == "ranked" else entry.questions
    lengths = {len(told.marks), *(() if board.withheld else (len(told.right), len(told.items)))}
    return entry.board == board.key and {entry.questions} == lengths == {asked}


def find_boards(submissions: Path) -> list[Path]:
    """The folders of all boards below a folder; those without a board's record are none."""
    if not submissions.is_dir():
        raise SubmissionError(
            "there is no such folder", fix="name the folder of all boards", file=submissions
        )
    return sorted(path.parent for path in submissions.glob(f"*/{BOARD}"))


def write_site(boards: Sequence[Opened], out: Path, bundles: str = "") -> int:
    """Write the site of some boards into a folder, which is replaced as a whole; returns its size in bytes.

    Raises SubmissionError if the folder holds anything that is not such a site.
    """
    check_target(out)
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as partial:
        made = Path(partial) / "new"
        made.mkdir()
        _write_common(made, boards)
        for opened in boards:
            _write_board(made / opened.board.key, opened, bundles)
        size = sum(path.stat().st_size for path in made.rglob("*") if path.is_file())
        if out.exists():
            out.rename(Path(partial) / "old")
        made.rename(out)
    return size


def check_target(out: Path) -> None:
    """Raises SubmissionError unless the folder is new, empty, or a site made here."""
    if not out.exists() and not out.is_symlink():
        return
    index = out / "index.html"
    ours = index.is_file() and MARK in index.read_text(encoding="utf-8", errors="replace")
    if out.is_symlink() or not out.is_dir() or not (ours or not any(out.iterdir())):
        raise SubmissionError(
            "this is not a site that `render` made, and is left alone", fix="name a new folder", file=out
        )


# ---------------------------------------------------------------------- what is written


def _write_common(site: Path, boards: Sequence[Opened]) -> None:
    _write(site / PAGE, shared(PAGE))
    for name in SCRIPTS[1:]:
        shutil.copyfile(HERE / name, site / name)
    _write(site / "site.css", shared("report.css") + (HERE / "site.css").read_text(encoding="utf-8"))
    rows = [
        {"board": one.board, "entries": count(len(one.stored)), "best": one.ranked[0] if one.ranked else None}
        for one in boards
    ]
    only = boards[0].board.key if len(boards) == 1 else ""
    _write(site / "index.html", _page("index.html.j2", boards=rows, only=only, mark=MARK, value=_main_value))


def _write_board(folder: Path, opened: Opened, bundles: str) -> None:
    board, entries, layout = opened.board, opened.entries, Layout.of(opened.entries)
    (folder / "entries").mkdir(parents=True)
    values = board_values(board, opened.stored, bundles, Ontology.load())
    _write_data(folder / DATA, values)
    _write_data(folder / "questions.js", question_values(board, entries, layout))
    for stored in opened.stored:
        _write_data(folder / "entries" / f"{stored.entry.id}.js", entry_values(stored, layout))
    page = _page(
        "board.html.j2",
        board=board,
        ranked=opened.ranked,
        scripts=SCRIPTS,
        data=DATA,
        value=_main_value,
        questions=count(board.questions),
    )
    _write(folder / "index.html", page)


def _write_data(path: Path, values: Any) -> None:
    _write(path, f"receive({inert_json(values)});\n")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")


def _value(entry: Entry) -> float:
    number = entry.number(MAIN)
    return number.value if number else 0.0


def _main_value(entry: Entry) -> str:
    """The main metric with its interval, as text."""
    number = entry.number(MAIN)
    return f"{percent(number.value)} {interval(number.low, number.high)}".strip() if number else ""


def _page(template: str, **values: Any) -> str:
    page: str = (
        _environment().get_template(template).render(security=SECURITY, metric=metric_name(MAIN), **values)
    )
    return page


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(HERE, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
