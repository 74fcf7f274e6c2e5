"""Put the tables of experiments into docs/experiments.md: ``python docs/experiments.py OUT [NAME]``.

OUT is where ``clwqa-bench experiment all`` has put them.  They are kept in docs/results/experiments-NAME.json, with
their plots; NAME is `lexical` unless another is given (`local`: a small local model; `switches`: that experiment).
What stands in the page, and in README.md, between ``<!-- experiment:NAME/TABLE -->`` and ``<!-- /experiment -->`` is
made from these files and nowhere else; a test compares them.  With `lexical`, what a question took goes into the
package of the systems, where `systems info` finds it, and a small run is made and kept too, which a test repeats: when
it finds other numbers, the experiments are to be made again.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import orjson
from pydantic import TypeAdapter

from clwqa_baselines.experiments.catalogue import CATALOGUE
from clwqa_baselines.experiments.composition import NAME as COMPOSITION
from clwqa_baselines.experiments.definitions import EXPERIMENTS
from clwqa_baselines.experiments.plan import NOT_ASKED, Setting, SharedGraph, plan
from clwqa_baselines.experiments.plots import draw
from clwqa_baselines.experiments.render import markdown
from clwqa_baselines.experiments.session import Session, plot_of
from clwqa_baselines.experiments.tables import Table, read_table
from clwqa_bench.errors import BuildError
from clwqa_bench.runner import Selection

DOCS = Path(__file__).resolve().parent
PAGE, README, RESULTS = DOCS / "experiments.md", DOCS.parent / "README.md", DOCS / "results"
MEASURED = DOCS.parent / "baselines" / "clwqa_baselines" / "measured.json"
BLOCK = re.compile(r"<!-- experiment:([a-z]+)/([a-z]+) -->.*?<!-- /experiment -->", re.DOTALL)
TABLES = TypeAdapter(tuple[Table, ...])
NAMES = (COMPOSITION, *EXPERIMENTS)
CHECKED, SAMPLE = ("byokg-rag", "ceaf", "kg-lookup", "mindmap", "pog", "tog"), 200
"""Systems of the small run (all that build no index), and how many questions they are asked."""
BRIEF = ("Hits@1", "F1 of means", "calls", "ms")
"""Columns of `brief`, the table of README.md."""


def kept(name: str) -> Path:
    """Where the tables called `name` are kept."""
    return RESULTS / f"experiments-{name}.json"


def read(name: str) -> tuple[Table, ...]:
    """The tables called `name`; none if they were not made yet."""
    return TABLES.validate_json(kept(name).read_bytes()) if kept(name).exists() else ()


def write(name: str, tables: Sequence[Table]) -> None:
    content = [table.model_dump(mode="json") for table in tables]
    kept(name).write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")


def plot(name: str, table: str) -> Path:
    """Where the plot of a table is kept."""
    return RESULTS / f"{name}-{table}.svg"


def check(dataset: Path) -> Table:
    """`experiment main` with few systems and questions, made now."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        setting = Setting(SharedGraph.open(dataset, verify=False), Selection("test", 0, SAMPLE), out / "runs")
        session = Session(setting, out)
        planned = plan(EXPERIMENTS["main"], setting, only=CHECKED)
        session.run([planned])
        table = session.table(planned)
    rows = tuple(row.model_copy(update={"run": "", "digest": ""}) for row in table.rows)  # numbers alone
    return table.model_copy(update={"rows": rows})


def refuse_mixed(tables: Sequence[Table], out: Path, *, whole: bool = True) -> None:
    """Raise BuildError for tables on other questions than the rest; if they are to be whole, for rows not asked for."""
    asked = {(table.sample, table.seed) for table in tables if table.name != COMPOSITION}
    if len(asked) > 1:
        raise BuildError("its tables are on different samples", fix="make them all with one sample", file=out)
    for table in tables:
        if whole and NOT_ASKED in table.left_out.values():
            fix = "make it without --only"
            raise BuildError(f"the table {table.name!r} has only some of its rows", fix=fix, file=out)


def measured(tables: Sequence[Table]) -> dict[str, dict[str, object]]:
    """By system: what it took per question with its defaults, for `clwqa-bench systems info`."""
    cost = next(table for table in tables if table.name == "cost")
    systems = {v.label: v.system for v in EXPERIMENTS["cost"].variants if not v.settings}
    headings = [column.heading for column in cost.columns]
    return {
        systems[row.label]: {
            "backbone": row.backbone,
            "dataset": f"{cost.dataset.name} {cost.dataset.version} ({cost.dataset.content[:12]})",
            "questions": cost.questions,
            "calls": round(row.cells[headings.index("calls")].value, 2),
            "seconds": round(row.cells[headings.index("ms")].value, 6),
        }
        for row in sorted(cost.rows, key=lambda row: row.label)
        if row.label in systems
    }


def brief(tables: Sequence[Table]) -> Table | None:
    """A few columns of the tables `main` and `cost`; no notes, which stand with the tables themselves."""
    made = {table.name: table for table in tables}
    if not {"main", "cost"} <= made.keys():
        return None
    main, cost = made["main"], made["cost"]
    costs = {row.label: row.cells for row in cost.rows}
    columns = (*main.columns, *cost.columns)
    places = [[column.heading for column in columns].index(heading) for heading in BRIEF]
    rows = tuple(
        row.model_copy(update={"cells": tuple((*row.cells, *costs[row.label])[place] for place in places)})
        for row in main.rows
        if row.label in costs
    )
    chosen = tuple(columns[place] for place in places)
    return main.model_copy(
        update={"name": "brief", "columns": chosen, "rows": rows, "notes": (), "left_out": {}}
    )


def filled(text: str) -> str:
    """The page with all its blocks made anew.  Raises BuildError for a block that nobody makes."""

    def block(match: re.Match[str]) -> str:
        name, wanted = match.groups()
        if wanted not in (COMPOSITION, *CATALOGUE, "brief"):
            raise BuildError(f"there is no experiment {wanted!r}", fix=f"use one of {', '.join(CATALOGUE)}")
        tables = read(name)
        found = brief(tables) if wanted == "brief" else next((t for t in tables if t.name == wanted), None)
        shown = f"Not measured yet with `--llm {name}`."
        if found is not None:
            picture = plot(name, wanted)
            shown = markdown(found, plot=f"{RESULTS.name}/{picture.name}" if picture.exists() else "")
        return f"<!-- experiment:{name}/{wanted} -->\n\n{shown}\n\n<!-- /experiment -->"

    return BLOCK.sub(block, text)


def main(out: Path, name: str = "lexical", dataset: Path = DOCS.parent / "data" / "clwqa-100k") -> None:
    made = ((out / f"{wanted}.json") for wanted in (COMPOSITION, *CATALOGUE))
    tables = [read_table(path) for path in made if path.exists()]
    if unfinished := [table.name for table in tables if table.partial]:
        raise BuildError(f"not finished: {', '.join(unfinished)}", fix="run the experiments to their end")
    if not tables:
        raise BuildError("no table here", fix="make them with `clwqa-bench experiment all`", file=out)
    refuse_mixed(tables, out, whole=name == "lexical")  # a slow model need not be asked everything
    RESULTS.mkdir(exist_ok=True)
    write(name, tables)
    for table in tables:
        draw(table, plot_of(table.name), plot(name, table.name))
    if name == "lexical":
        content = orjson.dumps(measured(tables), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
        MEASURED.write_bytes(content + b"\n")
        write("check", [check(dataset)])
    for page in (PAGE, README):
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
