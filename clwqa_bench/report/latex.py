"""A LaTeX table (booktabs) of one or several runs; Chinese stays Chinese."""

from __future__ import annotations

from collections.abc import Iterator

from clwqa_bench.report.results import ABSENT, Entry, Results

_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "%": r"\%",
        "#": r"\#",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "[": "{[}",  # at the start of a row it would be the argument of the line break before
        "]": "{]}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "*": r"\textasteriskcentered{}",
        "†": r"\textdagger{}",
        "‡": r"\textdaggerdbl{}",
        "§": r"\S{}",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        ABSENT: "--",
        "\n": " ",
        "\r": " ",
    }
)


def latex(table: Results, label: str = "tab:clwqa") -> str:
    """The table as LaTeX source that needs \\usepackage{booktabs}."""
    return "\n".join(_lines(table, label)) + "\n"


def escape(text: str) -> str:
    """Text that LaTeX prints as it is, on one line."""
    return text.translate(_SPECIAL)


def _lines(table: Results, label: str) -> Iterator[str]:
    yield r"% \usepackage{booktabs}; for Chinese names compile with XeLaTeX or LuaLaTeX and \usepackage{ctex}"
    yield r"\begin{table}[t]"
    yield r"  \centering"
    yield rf"  \caption{{{escape(table.caption)}}}"
    yield rf"  \label{{{label}}}"
    yield rf"  \begin{{tabular}}{{l{'r' * len(table.columns)}}}"
    yield r"    \toprule"
    yield _row("System", *(escape(column.heading) for column in table.columns))
    yield r"    \midrule"
    for title, entries in table.rows:
        yield _row(escape(title), *(_cell(entry, alone=len(table.rows) == 1) for entry in entries))
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    yield r"\end{table}"


def _row(*cells: str) -> str:
    return f"    {' & '.join(cells)} " + r"\\"


def _cell(entry: Entry, *, alone: bool) -> str:
    value = escape(entry.value)
    text = rf"\textbf{{{value}}}" if entry.best else value
    marks = (r"\dagger" if entry.differs else "") + (r"\ast" if entry.small else "")
    spread = rf" {{\scriptsize {escape(entry.interval)}}}" if alone and entry.interval else ""
    return text + (f"$^{{{marks}}}$" if marks else "") + spread
