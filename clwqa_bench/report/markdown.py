"""A Markdown table (pipes) of one or several runs."""

from __future__ import annotations

from clwqa_bench.report.results import DIFFERS_MARK, SMALL_MARK, Entry, Results

_SPECIAL = str.maketrans(
    {character: f"\\{character}" for character in r"\`*_[]|#~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
    | {"\n": " ", "\r": " "}
)  # fmt: skip


def markdown(table: Results) -> str:
    """The table with its caption below."""
    lines = [
        _row("System", *(escape(column.heading) for column in table.columns)),
        _row("---", *("--:" for _ in table.columns)),
        *(
            _row(escape(title), *(_cell(entry, alone=len(table.rows) == 1) for entry in entries))
            for title, entries in table.rows
        ),
        "",
        escape(table.caption),
    ]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return text.translate(_SPECIAL)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(entry: Entry, *, alone: bool) -> str:
    value = escape(entry.value)
    marks = (DIFFERS_MARK if entry.differs else "") + (escape(SMALL_MARK) if entry.small else "")
    spread = f" {escape(entry.interval)}" if alone and entry.interval else ""
    return (f"**{value}**" if entry.best else value) + marks + spread
