"""Boards as folders: `submissions/BOARD/ENTRY/{bundle.zip, entry.json, outcomes.json}`, and `board.json` beside them.

A board is named after dataset, split, metric suite and the digests of questions and graph; whatever differs in these
is another board.  An entry appears whole or not at all and is never changed.
"""

from __future__ import annotations

import contextlib
import filecmp
import hashlib
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
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
from clwqa_leaderboard.succession import Claim, related
from clwqa_leaderboard.verification import Verified, verify
from clwqa_leaderboard.withheld import board_gold
from clwqa_leaderboard.words import printable

SUBMISSIONS = Path("leaderboard/submissions")
BOARD, BUNDLE, ENTRY, OUTCOMES = "board.json", "bundle.zip", "entry.json", "outcomes.json"
PARTS = frozenset({BUNDLE, ENTRY, OUTCOMES})
KEPT = ".gitkeep"  # keeps a folder without boards in a repository
LARGEST = 4 << 20  # bytes of a JSON file of a board
NUMBERS = "keep to numbers that can be: finite, and within 64 bits"
ADD = "take the bundle, and let `clwqa-bench leaderboard add` make the entry"
ALLOW = "leave it out; a maintainer lets it through with `check --allow ENTRY`"
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
    """Verify a submission against a board and what is on it; nothing is written.

    An entry is made of what no probe refuses, so that `add` takes what is accepted here.  Raises SubmissionError or
    PredictionError where that cannot be done.
    """
    verified = _verified(submission, judge, _known(submissions / judge.board.key), standing)
    if not verified.rejections:
        _files_of(verified, judge)
    return verified


def add(
    submission: Submission,
    judge: Judge,
    submissions: Path,
    standing: Standing = "ranked",
    supersedes: str = "",
) -> Stored:
    """Verify a submission and put it on its board; `supersedes` is the entry whose place the maintainers give it.

    Raises Rejected or another ClwqaError, with the board as it was, for whatever is wrong; OSError likewise.
    """
    board = submissions / judge.board.key
    target = board / submission.id
    if target.exists():
        raise SubmissionError(
            "this bundle is on the board already", fix="there is nothing to do", file=target
        )
    known = _known(board)
    if supersedes and supersedes not in known.claims:
        raise SubmissionError(
            f"there is no entry {supersedes!r} to supersede",
            fix="name an entry of the board, as its folder is called",
            file=board,
            field="--supersedes",
        )
    verified = _verified(submission, judge, known, standing, supersedes)
    verified.insist()
    entry, files = _files_of(verified, judge)
    submissions.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=submissions, prefix=".partial-") as partial:
        made = Path(partial) / "entry"
        made.mkdir()
        shutil.copyfile(submission.bundle.path, made / BUNDLE)
        for name, content in files.items():
            write_whole(made / name, content)
        board.mkdir(exist_ok=True)
        if not (board / BOARD).exists():
            write_whole(board / BOARD, as_json(judge.board, indent=False))
        made.rename(target)
    return Stored(target, entry)


def as_json(record: Record, *, indent: bool = True) -> bytes:
    """A record as a board holds it; lists of thousands of numbers go without indentation."""
    option = orjson.OPT_SORT_KEYS | (orjson.OPT_INDENT_2 if indent else 0)
    return orjson.dumps(record.model_dump(mode="json"), option=option) + b"\n"


@dataclass(frozen=True)
class _Known:
    """What a new entry is held against: the marks of those on the board, and which of them replaces which, by id."""

    marks: dict[str, Marks]
    claims: Mapping[str, Claim]

    def rivals(self, id: str, claim: Claim) -> dict[str, Marks]:
        """Marks of all entries but those that this one replaces, or that replace it."""
        own = related(id, claim, self.claims)
        return {other: marks for other, marks in self.marks.items() if other not in own}


def _known(board: Path) -> _Known:
    known = _Known({}, claims := {})
    for stored in read_entries(board):
        claims[stored.entry.id] = Claim.of(stored.entry)
        if stored.entry.standing != "reference":
            known.marks[stored.entry.id] = stored.marks
    return known


def _verified(
    submission: Submission, judge: Judge, known: _Known, standing: Standing, supersedes: str = ""
) -> Verified:
    rivals = known.rivals(submission.id, Claim.made(submission, standing, supersedes))
    return verify(
        submission,
        judge.gold,
        rivals,
        standing,
        supersedes=supersedes,
        withheld=judge.board.withheld,
    )


def _files_of(verified: Verified, judge: Judge) -> tuple[Entry, dict[str, bytes]]:
    """The entry of a submission, and its files.  Raises SubmissionError if a board could not read them again."""
    entry, outcomes = make_entry(verified, judge.board, judge.ontology)
    bundle = verified.submission.bundle.path
    files = {ENTRY: _readable(entry, bundle), OUTCOMES: _readable(outcomes, bundle, indent=False)}
    return entry, files


def _readable(record: Record, bundle: Path, *, indent: bool = True) -> bytes:
    """A record as its file holds it.

    Raises SubmissionError if it would not be read back as it is: with a number that JSON does not have, or too large.
    """
    try:
        content = as_json(record, indent=indent)
        read = type(record).model_validate_json(content)
    except (TypeError, ValueError) as error:  # of orjson, and of pydantic
        raise SubmissionError(
            f"its entry could not be read again: {error}", fix=NUMBERS, file=bundle
        ) from None
    for field, there, made in differences(read.model_dump(mode="json"), record.model_dump(mode="json")):
        what = f"its entry would hold {there!r} where {made!r} was computed"
        raise SubmissionError(what, fix=NUMBERS, file=bundle, field=field)
    if len(content) > LARGEST:
        raise SubmissionError(
            f"its entry has {len(content):,} bytes, a board takes {LARGEST:,}",
            fix="shorten what run.json says of the run",
            file=bundle,
        )
    return content


# ---------------------------------------------------------------------- checking


def check(
    submissions: Path, judge: Judge, base: Path | None = None, allowed: Collection[str] = ()
) -> Iterator[tuple[str, Problem | None]]:
    """Make every entry of the judge's board again from its bundle and compare: (place, problem or None) of each.

    With `base`, a board known to be good, only what is new is made again, and whatever was changed or removed is a
    problem; so is a new entry of a board that cannot be checked with this dataset, and what only maintainers decide, in
    a new entry that is not among the `allowed` ids.
    """
    before, after = _files(base) if base else {}, _files(submissions)
    for name, path in before.items():
        there = after.pop(name, None)
        if there is None or there.is_symlink() or not filecmp.cmp(path, there, shallow=False):
            yield (
                name,
                Problem(name, "an accepted file was changed or removed", "undo it: bundles stay as they are"),
            )
    good = _known(base / judge.board.key) if base else _Known({}, {})
    known = _Known(good.marks, {**_claimed(submissions / judge.board.key), **good.claims})
    for name in dict.fromkeys("/".join(Path(name).parts[:2]) for name in after):
        board, _, inside = name.partition("/")
        if not inside:
            yield name, Problem(name, "not the folder of a board", "remove it")
        elif board == judge.board.key:
            problem = _recheck(name, submissions / name, judge, known)
            yield name, problem or (_presumed(name, known, allowed) if base else None)
        elif base:
            yield name, Problem(name, f"not of the board {judge.board.key}", "check it with its own dataset")


def _claimed(board: Path) -> dict[str, Claim]:
    """Which entry replaces which, as the entries of a board say that nobody has looked at yet."""
    claims: dict[str, Claim] = {}
    for path in board.iterdir() if board.is_dir() and not board.is_symlink() else ():
        with contextlib.suppress(ClwqaError, OSError, RecursionError):  # whatever it is, `_recheck` names it
            claims[path.name] = Claim.of(_stored(path).entry)
    return claims


def _presumed(name: str, known: _Known, allowed: Collection[str]) -> Problem | None:
    """What only maintainers decide, in an entry that somebody else may have made."""
    id = Path(name).name
    claim = known.claims.get(id)
    if claim is None or id in allowed:
        return None
    if claim.standing == "reference":
        return Problem(name, "only maintainers make an entry a reference", ALLOW)
    if claim.granted:
        return Problem(name, f"only maintainers give an entry the place of another ({claim.granted})", ALLOW)
    return None


def _recheck(name: str, path: Path, judge: Judge, known: _Known) -> Problem | None:
    try:
        _remake(path, judge, known)
    except ClwqaError as error:
        return Problem(error.file or name, error.what, error.fix)
    except OSError as error:
        return Problem(name, str(error), ADD)
    except Exception as error:  # noqa: BLE001 - one entry that nobody foresaw must not hide what the others are
        return Problem(name, f"cannot be made again: {type(error).__name__}: {error}", ADD)
    return None


def _remake(path: Path, judge: Judge, known: _Known) -> None:
    """Raises a ClwqaError unless a file or entry is what this program makes; its marks join the known ones."""
    if path.name == BOARD:
        _same(_read(Board, path), judge.board, path)
        return
    stored = _stored(path)
    with opened(path / BUNDLE) as submission:
        verified = _verified(submission, judge, known, stored.entry.standing, stored.entry.supersedes)
        verified.insist()
        entry, outcomes = make_entry(verified, judge.board, judge.ontology)
    if path.name != entry.id:
        raise SubmissionError(f"the folder of {entry.id} has another name", fix=ADD, file=path)
    _same(stored.entry, entry, path / ENTRY)
    _same(stored.outcomes, outcomes, path / OUTCOMES)
    if entry.standing != "reference":
        known.marks[entry.id] = stored.marks


def _same(stored: Record, made: Record, path: Path) -> None:
    """Raises SubmissionError naming the first field in which a record is not the one made here."""
    for field, was, now in differences(stored.model_dump(mode="json"), made.model_dump(mode="json")):
        raise SubmissionError(f"{was!r} is there, {now!r} was computed", fix=ADD, file=path, field=field)


def _files(folder: Path) -> dict[str, Path]:
    """Everything below a folder that is not a directory, by its name from there; links are not followed.

    Left out is the empty file that keeps the folder itself in a repository.
    """
    found: dict[str, Path] = {}
    pending = [folder]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.is_dir() and not path.is_symlink():
                pending.append(path)
            elif path != folder / KEPT or path.is_symlink() or path.stat().st_size:
                found[path.relative_to(folder).as_posix()] = path
    return dict(sorted(found.items()))
