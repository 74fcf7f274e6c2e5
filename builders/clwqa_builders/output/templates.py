"""How the Markdown of a dataset folder is rendered."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def environment() -> Environment:
    """Templates of this package; an undefined name is an error, and Markdown is not escaped."""
    made = Environment(
        loader=PackageLoader("clwqa_builders.output", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    made.filters["share"] = _share
    made.filters["cell"] = _cell
    made.filters["interval"] = _interval
    made.filters["decimal"] = _decimal
    return made


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _cell(text: str) -> str:
    """Text for a table cell: one line, no bar."""
    return " ".join(text.split()).replace("|", "\\|")


def _interval(share: dict[str, float] | None) -> str:
    """A rate in percent with its interval."""
    if share is None:
        return "-"
    return f"{100 * share['value']:.1f} % [{100 * share['low']:.1f}, {100 * share['high']:.1f}]"


def _decimal(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
