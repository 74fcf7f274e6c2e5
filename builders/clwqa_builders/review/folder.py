"""The folder of a review: its plan and items, the sheets of each reader, and every ruling that came back.

`rulings.jsonl` is only ever added to: a later ruling of the same person on the same item stands beside the earlier
one, and the last one counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import orjson
from pydantic import ValidationError

from clwqa_bench.records import Record
from clwqa_bench.run_folder import alone, append_line, cut_torn_line, differences, write_whole
from clwqa_builders.review.forms import FORMS, Form
from clwqa_builders.review.records import Item, Plan, ReviewError, Role, Ruling, Stored

PLAN, ITEMS, RULINGS, REPORT = "plan.json", "items.jsonl", "rulings.jsonl", "review.json"
SHEETS, ADJUDICATION = "sheets", "adjudication"
_JSON = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
Entry = TypeVar("Entry", bound=Record)
Latest = Mapping[tuple[Role, str, str], Ruling]
"""By role, person and item: the ruling that counts."""


@dataclass(frozen=True)
class Review:
    """A review folder, opened."""

    folder: Path
    plan: Plan

    @property
    def form(self) -> Form:
        return FORMS[self.plan.kind]

    @cached_property
    def items(self) -> dict[str, Item]:
        """The items by id."""
        path = self.folder / ITEMS
        items = {item.id: item for item in _read_lines(path, Item)}
        if _digest(path.read_bytes()) != self.plan.items:
            raise ReviewError("not the items of the plan", fix="restore the file of the export", file=path)
        return items

    def rulings(self) -> list[Stored]:
        """Everything that was ever ruled, in the order it came."""
        path = self.folder / RULINGS
        return _read_lines(path, Stored) if path.exists() else []

    def add(self, rulings: Sequence[Stored]) -> tuple[int, int]:
        """Keep what is new; returns how many were new and how many changed what the same person said before.

        Importing a file again adds nothing. Raises PredictionError while another process is adding.
        """
        with alone(self.folder):
            cut_torn_line(self.folder / RULINGS)
            before = self.rulings()
            files = {ruling.sha256 for ruling in before}
            now, added, changed = dict(latest(before)), list[Stored](), 0
            for ruling in rulings:
                old = now.get(key := (ruling.role, ruling.annotator, ruling.item))
                if ruling.sha256 in files or (old and _said(old) == _said(ruling)):
                    continue
                added.append(ruling)
                changed += old is not None
                now[key] = ruling
            with (self.folder / RULINGS).open("ab", buffering=0) as stream:
                lines = (orjson.dumps(ruling.model_dump()) + b"\n" for ruling in added)
                append_line(stream, b"".join(lines))
        return len(added) - changed, changed


def latest(rulings: Iterable[Ruling]) -> dict[tuple[Role, str, str], Ruling]:
    """The last ruling of every person on every item."""
    return {(ruling.role, ruling.annotator, ruling.item): ruling for ruling in rulings}


def begin(folder: Path, plan: Plan, items: bytes) -> Review:
    """Write plan and items into a new folder, or find them there already.

    Raises ReviewError when the folder belongs to another review or holds something else.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / PLAN).exists():
        if changed := differences(open_review(folder).plan, plan):
            listed = ", ".join(sorted({key.split(".")[0] for key in changed}))
            what = f"this folder belongs to another review, with other {listed}"
            raise ReviewError(what, fix="use another --out", file=folder / PLAN, field=listed)
    elif strangers := sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")):
        what = f"the folder holds {strangers[0]!r} and is none of a review"
        raise ReviewError(what, fix="name a new or empty folder", file=folder)
    else:
        write_whole(folder / ITEMS, items)
        write_whole(folder / PLAN, orjson.dumps(plan.model_dump(), option=_JSON))
    return Review(folder, plan)


def open_review(folder: Path) -> Review:
    """The review in a folder.  Raises ReviewError when there is none or its plan is damaged."""
    path = folder / PLAN
    try:
        return Review(folder, Plan.model_validate_json(path.read_bytes()))
    except FileNotFoundError:
        fix = "name a folder that `clwqa-bench review export` has written"
        raise ReviewError(f"no review here: {PLAN} is missing", fix=fix, file=folder) from None
    except ValidationError as error:
        raise damaged(error, path) from None


def encode(items: Iterable[Item]) -> tuple[bytes, str]:
    """The items file and its digest."""
    content = b"".join(orjson.dumps(item.model_dump()) + b"\n" for item in items)
    return content, _digest(content)


def damaged(error: ValidationError, path: Path, line: int | None = None) -> ReviewError:
    """A file of the review that somebody edited."""
    first = error.errors(include_url=False)[0]
    field = ".".join(map(str, first["loc"])) or None
    fix = "restore the file; it must not be edited"
    return ReviewError(first["msg"], fix=fix, file=path, line=line, field=field)


def _read_lines(path: Path, kind: type[Entry]) -> list[Entry]:
    found = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            found.append(kind.model_validate_json(line))
        except ValidationError as error:
            raise damaged(error, path, number) from None
    return found


def _said(ruling: Ruling) -> tuple[dict[str, str], str]:
    return dict(ruling.verdicts), ruling.comment


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
