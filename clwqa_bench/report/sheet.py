"""Rows of numbers for a terminal of any width: whatever the room, a number is never cut or broken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Column, Table
from rich.text import Text

GAP = 2  # blank columns between two columns
FOLDED = 16  # columns that are left to a text at least; a longer one is folded


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of numbers.  Without a heading it goes with the column before it: the interval of a value."""

    heading: str = ""
    justify: Literal["left", "right"] = "right"


class Sheet:
    """Rows under headings, as wide a layout as fits: a table; a table with what goes together in one column, line
    under line; or a block of lines for each row.

    A heading that is a plain string is of a column of texts, which may be folded.
    """

    def __init__(self, *columns: str | Numbers) -> None:
        self._columns = columns
        self._rows: list[tuple[Text, ...]] = []

    def add_row(self, *cells: str | Text) -> None:
        """One cell per column; no markup is read in strings."""
        row = zip(self._columns, cells, strict=True)
        self._rows.append(tuple(cell if isinstance(cell, Text) else Text(cell) for _, cell in row))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for layout in (self, self._joined("\n")):
            if layout._room() <= options.max_width:
                yield layout._table()
                return
        yield self._joined("  ")._blocks()

    def _room(self) -> int:
        """Columns the table needs at least."""
        needed = [
            width if isinstance(column, Numbers) else min(width, FOLDED)
            for column, width in zip(self._columns, self._widths(), strict=True)
        ]
        return sum(needed) + GAP * (len(needed) - 1)

    def _widths(self) -> Iterator[int]:
        for place, column in enumerate(self._columns):
            lines = [line for row in self._rows for line in row[place].plain.split("\n")]
            yield max(map(cell_len, [_heading(column), *lines]))

    def _joined(self, separator: str) -> Sheet:
        """The sheet with columns without a heading joined to the one before."""
        starts = [place for place, column in enumerate(self._columns) if place == 0 or _heading(column)]
        spans = [slice(*ends) for ends in zip(starts, [*starts[1:], None], strict=True)]
        joined = Sheet(*(self._columns[start] for start in starts))
        for row in self._rows:
            joined.add_row(*(Text(separator).join(filter(None, row[span])) for span in spans))
        return joined

    def _table(self) -> Table:
        table = Table(*map(_column, self._columns), box=None, pad_edge=False, header_style="dim")
        for row in self._rows:
            table.add_row(*row)
        return table

    def _blocks(self) -> Group:
        """Each row as its first cell and, below, a line for every other one that is not empty."""
        parts: list[Text | Table] = []
        names = [f"  {_heading(column)}" for column in self._columns[1:]]
        width = max(map(cell_len, names), default=0)
        for first, *others in self._rows:
            lines = Table(
                Column(style="dim", width=width),
                Column(overflow="fold"),
                box=None,
                pad_edge=False,
                show_header=False,
            )
            for name, cell in zip(names, others, strict=True):
                if cell:
                    lines.add_row(Text(name), cell)
            parts += [first, lines]
        return Group(*parts)


def _heading(column: str | Numbers) -> str:
    return column.heading if isinstance(column, Numbers) else column


def _column(column: str | Numbers) -> Column:
    if isinstance(column, Numbers):
        return Column(column.heading, justify=column.justify, no_wrap=True)
    return Column(column, overflow="fold")
