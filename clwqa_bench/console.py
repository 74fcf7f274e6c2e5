"""What commands print: results on stdout (drawn for people, JSON for machines), all else on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import orjson
from rich.console import Console, RenderableType

from clwqa_bench.errors import ClwqaError

if TYPE_CHECKING:
    from rich import progress as bars

PIPED_WIDTH = 240  # columns of a table that goes to another program, so that a row stays a line


def _width() -> int | None:
    """None leaves the width to the terminal, or to COLUMNS."""
    return None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH


out_console = Console(highlight=False, soft_wrap=True, width=_width())
err_console = Console(stderr=True, highlight=False, soft_wrap=True)

T = TypeVar("T")


class Progress(Protocol):
    """What long work reports to while it runs."""

    def expect(self, total: int) -> None:
        """From now on the work has ``total`` steps."""

    def advance(self, steps: int = 1) -> None:
        """``steps`` more of the total are done."""

    def note(self, text: str) -> None:
        """Say one line about what is going on."""


def speak_utf8() -> None:
    """Make stdout and stderr UTF-8 whatever the locale says: the subject matter is Chinese text."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def emit(data: T, json_mode: bool, render: Callable[[T], RenderableType]) -> None:
    """Print one result on stdout: ``data`` as JSON when ``json_mode``, else what ``render(data)`` draws.

    ``data`` is anything orjson writes (dataclasses included); paths are written as strings.
    """
    if json_mode:
        sys.stdout.write(to_json(data) + "\n")
    else:
        out_console.print(render(data))


def emit_error(error: ClwqaError, json_mode: bool) -> None:
    """Print an error: one line on stderr, or with ``json_mode`` its ``as_dict()`` on stdout.

    A program that asked for JSON reads stdout, so it finds an object with the key ``error`` there and an exit
    code other than 0; it never has to parse stderr.
    """
    if json_mode:
        sys.stdout.write(to_json(error.as_dict()) + "\n")
    else:
        err_console.print(f"error: {error}", style="red", markup=False)


def say(text: str) -> None:
    """Print one line about the work's course on stderr."""
    err_console.print(text, markup=False)


def warn(text: str) -> None:
    """Print one warning line on stderr."""
    err_console.print(f"warning: {text}", style="yellow", markup=False)


def to_json(data: object) -> str:
    """Indented JSON text of ``data``, Chinese left as it is."""
    return orjson.dumps(data, default=_plain, option=orjson.OPT_INDENT_2).decode("utf-8")


def _plain(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Progress]:
    """Report long work on stderr: a live bar on a terminal, a few plain lines anywhere else."""
    if not err_console.is_terminal:
        lines = _Lines(description, total)
        yield lines
        lines.close()
        return
    from rich import progress as bars  # only a terminal shows bars

    columns = ("{task.description}", bars.BarColumn(), bars.TaskProgressColumn(), bars.TimeElapsedColumn())
    with bars.Progress(*columns, console=err_console) as live:
        yield _Bar(live, live.add_task(description, total=total))


class _Bar:
    def __init__(self, live: bars.Progress, task: bars.TaskID) -> None:
        self._live, self._task = live, task

    def expect(self, total: int) -> None:
        self._live.reset(self._task, total=total)

    def advance(self, steps: int = 1) -> None:
        self._live.advance(self._task, steps)

    def note(self, text: str) -> None:
        self._live.console.print(text, markup=False)


class _Lines:
    """At most five lines for one piece of work; no times in them, so that two logs can be compared."""

    def __init__(self, description: str, total: int | None) -> None:
        self._description, self._total = description, total
        self._done = 0
        self.note(f"{description} ...")

    def expect(self, total: int) -> None:
        self._done, self._total = 0, total

    def advance(self, steps: int = 1) -> None:
        before, self._done = self._done, self._done + steps
        if self._total and before * 4 // self._total < self._done * 4 // self._total < 4:
            self.note(f"{self._description}: {self._done * 100 // self._total} %")

    def note(self, text: str) -> None:
        say(text)

    def close(self) -> None:
        self.note(f"{self._description}: done")
