"""Boards as folders: `submissions/BOARD/ENTRY/{bundle.zip, entry.json, outcomes.json}`, and `board.json` beside them.

A board is named after dataset, split, metric suite and the digests of questions and graph; whatever differs in these
is another board.  An entry appears whole or not at all and is never changed.
"""

from __future__ import annotations

import filecmp
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import orjson
from pydantic import ValidationError

from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import ClwqaError
from clwqa_bench.grid import Gold
from clwqa_bench.metrics import SUITE_VERSION
from clwqa_bench.ontology import Ontology
from clwqa_bench.predictions import DatasetRef
from clwqa_bench.records import Record, Split
from clwqa_bench.run_folder import write_whole
from clwqa_leaderboard.entry import Board, Entry, Outcomes, make_entry
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.probes import Marks, Standing
from clwqa_leaderboard.scores import differences
from clwqa_leaderboard.submission import Submission, opened
from clwqa_leaderboard.verification import Verified, verify
from clwqa_leaderboard.withheld import board_gold
from clwqa_leaderboard.words import printable

SUBMISSIONS = Path("leaderboard/submissions")
BOARD, BUNDLE, ENTRY, OUTCOMES = "board.json", "bundle.zip", "entry.json", "outcomes.json"
PARTS = frozenset({BUNDLE, ENTRY, OUTCOMES})
LARGEST = 4 << 20  # bytes of a JSON file of a board
ADD = "take the bundle, and let `clwqa-bench leaderboard add` make the entry"
R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Judge:
    """What submissions are held against: the dataset, its gold, and the board that both make."""

    gold: Gold
    ontology: Ontology
    board: Board

    @classmethod
    def of(cls, dataset: Dataset, split: Split, gold: Path | None = None) -> Judge:
        """With the dataset's own gold, or that of a gold file where it is withheld; raises as `board_gold` does."""
        found = board_gold(dataset, split, gold)
        return cls(found, dataset.kg().ontology, board_of(found, dataset.withholds(split)))


@dataclass(frozen=True)
class Stored:
    """An entry as it lies on a board."""

    folder: Path
    entry: Entry

    @property
    def outcomes(self) -> Outcomes:
        """Read whenever they are asked for: those of a thousand entries take most of a gigabyte.

        Raises SubmissionError if the file is not what it should be.
        """
        return _read(Outcomes, self.folder / OUTCOMES)

    @property
    def marks(self) -> Marks:
        return Marks(np.array(self.outcomes.marks, np.uint16), self.entry.answers)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something on a board that should not be there, or that cannot be checked."""

    place: str
    what: str
    fix: str

    def __post_init__(self) -> None:
        for field in ("place", "what"):
            object.__setattr__(self, field, printable(getattr(self, field)))


def board_key(ref: DatasetRef) -> str:
    """Folder name of the board of a data version and split under the metric suite of this program."""
    digest = hashlib.sha256(f"{ref.content}\n{ref.graph}".encode()).hexdigest()[:12]
    return f"{ref.name}-{ref.version}-{ref.split}-suite{SUITE_VERSION}-{digest}"


def board_of(gold: Gold, withheld: bool) -> Board:
    """The board of a split."""
    return Board(
        key=board_key(gold.ref),
        ref=gold.ref,
        suite=SUITE_VERSION,
        questions=len(gold.ids),
        withheld=withheld,
        golds=() if withheld else tuple(len(q.answers) for q in gold.questions),
        groups=() if withheld else tuple(gold.clusters.tolist()),
    )


# ---------------------------------------------------------------------- reading


def read_board(folder: Path) -> Board:
    """A board's own record.  Raises SubmissionError if it is not one."""
    return _read(Board, folder / BOARD)


def read_entries(folder: Path) -> Iterator[Stored]:
    """The entries of a board, one after the other, sorted by id; none if there is no such board.

    Raises SubmissionError for a folder that is not an entry, a link, or a record that is not what it should be.
    """
    if folder.is_dir():
        inside = (path for path in folder.iterdir() if path.name != BOARD and not path.name.startswith("."))
        yield from map(_stored, sorted(inside))


def _stored(folder: Path) -> Stored:
    if folder.is_symlink() or not folder.is_dir():
        raise SubmissionError("not the folder of an entry", fix=ADD, file=folder)
    for path in folder.iterdir():
        if path.is_symlink() or not path.is_file() or path.name not in PARTS:
            raise SubmissionError(
                f"an entry is {', '.join(sorted(PARTS))}, three regular files", fix=ADD, file=path
            )
    return Stored(folder, _read(Entry, folder / ENTRY))


def _read(kind: type[R], path: Path) -> R:
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST:
            raise SubmissionError("a link, or too large", fix=ADD, file=path)
        return kind.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise SubmissionError("the file is missing", fix=ADD, file=path) from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or None
        raise SubmissionError(first["msg"], fix=ADD, file=path, field=field) from None


# ---------------------------------------------------------------------- adding


def examine(
    submission: Submission, judge: Judge, submissions: Path, standing: Standing = "ranked"
) -> Verified:
    """Verify a submission against a board and what is on it; nothing is written."""
    return verify(submission, judge.gold, _marks(submissions / judge.board.key), standing)


def add(submission: Submission, judge: Judge, submissions: Path, standing: Standing = "ranked") -> Stored:
    """Verify a submission and put it on its board.

    Raises Rejected or another ClwqaError, with the board as it was, for whatever is wrong; OSError likewise.
    """
    board = submissions / judge.board.key
    target = board / submission.id
    if target.exists():
        raise SubmissionError(
            "this bundle is on the board already", fix="there is nothing to do", file=target
        )
    verified = examine(submission, judge, submissions, standing)
    verified.insist()
    entry, outcomes = make_entry(verified, judge.board, judge.ontology)
    submissions.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=submissions, prefix=".partial-") as partial:
        made = Path(partial) / "entry"
        made.mkdir()
        shutil.copyfile(submission.bundle.path, made / BUNDLE)
        write_whole(made / ENTRY, as_json(entry))
        write_whole(made / OUTCOMES, as_json(outcomes, indent=False))
        board.mkdir(exist_ok=True)
        if not (board / BOARD).exists():
            write_whole(board / BOARD, as_json(judge.board, indent=False))
        made.rename(target)
    return Stored(target, entry)


def as_json(record: Record, *, indent: bool = True) -> bytes:
    """A record as a board holds it; lists of thousands of numbers go without indentation."""
    option = orjson.OPT_SORT_KEYS | (orjson.OPT_INDENT_2 if indent else 0)
    return orjson.dumps(record.model_dump(mode="json"), option=option) + b"\n"


def _marks(board: Path) -> dict[str, Marks]:
    return {
        stored.entry.id: stored.marks
        for stored in read_entries(board)
        if stored.entry.standing != "reference"
    }


# ---------------------------------------------------------------------- checking


def check(submissions: Path, judge: Judge, base: Path | None = None) -> Iterator[tuple[str, Problem | None]]:
    """Make every entry of the judge's board again from its bundle and compare: (place, problem or None) of each.

    With `base`, a board known to be good, only what is new is made again, and whatever was changed or removed is a
    problem; so is a new entry of a board that cannot be checked with this dataset.
    """
    before, after = _files(base) if base else {}, _files(submissions)
    for name, path in before.items():
        there = after.pop(name, None)
        if there is None or there.is_symlink() or not filecmp.cmp(path, there, shallow=False):
            yield (
                name,
                Problem(name, "an accepted file was changed or removed", "undo it: bundles stay as they are"),
            )
    others = _marks(base / judge.board.key) if base else {}
    for name in dict.fromkeys("/".join(Path(name).parts[:2]) for name in after):
        board, _, inside = name.partition("/")
        if not inside:
            yield name, Problem(name, "not the folder of a board", "remove it")
        elif board == judge.board.key:
            yield name, _recheck(name, submissions / name, judge, others)
        elif base:
            yield name, Problem(name, f"not of the board {judge.board.key}", "check it with its own dataset")


def _recheck(name: str, path: Path, judge: Judge, others: dict[str, Marks]) -> Problem | None:
    try:
        _remake(path, judge, others)
    except ClwqaError as error:
        return Problem(error.file or name, error.what, error.fix)
    except OSError as error:
        return Problem(name, str(error), ADD)
    return None


def _remake(path: Path, judge: Judge, others: dict[str, Marks]) -> None:
    """Raises a ClwqaError unless a file or entry is what this program makes; its marks join `others`."""
    if path.name == BOARD:
        _same(_read(Board, path), judge.board, path)
        return
    stored = _stored(path)
    with opened(path / BUNDLE) as submission:
        verified = verify(submission, judge.gold, others, stored.entry.standing)
        verified.insist()
        entry, outcomes = make_entry(verified, judge.board, judge.ontology)
    if path.name != entry.id:
        raise SubmissionError(f"the folder of {entry.id} has another name", fix=ADD, file=path)
    _same(stored.entry, entry, path / ENTRY)
    _same(stored.outcomes, outcomes, path / OUTCOMES)
    if entry.standing != "reference":
        others[entry.id] = stored.marks


def _same(stored: Record, made: Record, path: Path) -> None:
    """Raises SubmissionError naming the first field in which a record is not the one made here."""
    for field, was, now in differences(stored.model_dump(mode="json"), made.model_dump(mode="json")):
        raise SubmissionError(f"{was!r} is there, {now!r} was computed", fix=ADD, file=path, field=field)


def _files(folder: Path) -> dict[str, Path]:
    """Everything below a folder that is not a directory, by its name from there; links are not followed."""
    found: dict[str, Path] = {}
    pending = [folder]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.is_dir() and not path.is_symlink():
                pending.append(path)
            elif path.name != ".gitkeep":
                found[path.relative_to(folder).as_posix()] = path
    return dict(sorted(found.items()))
