"""A report of a review on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text


def draw(report: Mapping[str, Any]) -> RenderableType:
    """The report of `results.report`."""
    parts: list[RenderableType] = [Text(line) for line in head(report)]
    rates = Table(
        Column("criterion"), *(Column(name, justify="right") for name in ("n", "strict", "lenient")), box=None
    )
    for criterion, found in report["rates"].items():
        overall = found["overall"]
        rates.add_row(criterion, count(overall), interval(overall["strict"]), interval(overall["lenient"]))
    names = ("items", "observed", "Fleiss", "Krippendorff", "Cohen")
    agreement = Table(Column("agreement"), *(Column(name, justify="right") for name in names), box=None)
    for criterion, found in report["agreement"].items():
        cohen = ", ".join(f"{pair} {number(one['kappa'])}" for pair, one in found["cohen"].items()) or "-"
        values = (number(found[name]) for name in ("observed", "fleiss", "krippendorff"))
        agreement.add_row(criterion, str(found["items"]), *values, cohen)
    parts += [rates, agreement, Text(disputed(report))]
    if bands := report.get("bands"):
        parts.append(
            Text(f"rubric against readers: kappa {number(bands['kappa'])}, alpha {number(bands['alpha'])}")
        )
    return Group(*parts)


def head(report: Mapping[str, Any]) -> Iterator[str]:
    """Which review this is, and how far it is."""
    data = report["dataset"]
    yield f"{data['name']} {data['version']}, review {report['review']}: {report['drawn']}, seed {report['seed']}"
    yield f"{report['read']} of {report['items']} items read, out of {report['population']:,} {report['kind']}"
    for person, counts in report["annotators"].items():
        yield f"{person}: {counts['read']} of {counts['given']}"


def disputed(report: Mapping[str, Any]) -> str:
    """How many disagreements there are, and how many wait for an adjudicator."""
    found = report["disagreements"]
    settled = found["items"] - len(found["open"])
    return f"{found['items']} items disputed, {settled} of them settled; {len(report['failed'])} items failed"


def interval(share: Mapping[str, float] | None) -> str:
    """A rate with its interval, in percent."""
    if share is None:
        return "-"
    return f"{100 * share['value']:.1f} [{100 * share['low']:.1f}, {100 * share['high']:.1f}]"


def count(shares: Mapping[str, Any]) -> str:
    return str(shares["strict"]["n"]) if shares["strict"] else "0"


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
