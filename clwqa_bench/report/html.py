"""A report as one HTML file: it fetches nothing, runs no script but its own, and shows what systems said as text.

The tables are in the markup and can be read without scripts; the script adds the browser of questions, the
choice of run and language, and copying.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from clwqa_bench.comparison import Family
from clwqa_bench.diagnostics import Diagnosis
from clwqa_bench.grid import GoldQuestion
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.matching import HEADLINE
from clwqa_bench.onefile import inert_json, security_policy, shared
from clwqa_bench.ontology import Ontology
from clwqa_bench.report.items import EVERYTHING, Selection, browser_data, lost_at
from clwqa_bench.report.latex import latex
from clwqa_bench.report.markdown import markdown
from clwqa_bench.report.names import (
    AGREE,
    AGREE_MARK,
    GROUPS,
    OUTCOMES,
    VERDICTS,
    Name,
    by_reason,
    count,
    dimension_name,
    dimensions,
    interval,
    level_name,
    main_metrics,
    metric_groups,
    metric_name,
    notes_of,
    percent,
    stage_name,
    stratum_name,
)
from clwqa_bench.report.results import Column, intervals_note, results, title_of
from clwqa_bench.scoring import WHOLE, Cell, Scored, ScoreTable

HERE = Path(__file__).parent
OPEN_DIMENSIONS = ("hops", "category")  # unfolded when the page opens


def html(
    scored: Sequence[Scored],
    columns: Sequence[Column],
    family: Family | None = None,
    *,
    baseline: str | None = None,
    diagnoses: Mapping[str, Diagnosis] | None = None,
    selection: Selection = EVERYTHING,
) -> str:
    """The page of one or several runs on the same questions.

    `columns` are those of the table of all runs, which is also there to copy; `diagnoses` are by title of the run.
    """
    gold = scored[0].grid.gold
    ontology = _ontology(gold.graph)
    tables = [run.table for run in scored]
    table = results(tables, columns, family, baseline)
    found = diagnoses or {}
    lost = [lost_at(found.get(run.table.title)) for run in scored]
    data = browser_data(scored, ontology, selection, lost)
    data |= _words(gold.questions, list(gold.strata), ontology)
    data["stages"] = [[stage, *stage_name(stage)] for stage in _stages(found.values())]
    css, script = shared("report.css"), shared("page.js") + shared("report.js")
    return _template().render(
        ref=gold.ref,
        questions=len(gold.questions),
        shown=len(data["questions"]),
        selection=selection,
        comparison=table if len(scored) > 1 else None,
        runs=[_run(run.table, ontology, found.get(run.table.title)) for run in scored],
        copies={"LaTeX": latex(table), "Markdown": markdown(table)},
        data=inert_json(data),
        css=css,
        script=script,
        policy=str(HEADLINE),
        agree={"mark": AGREE_MARK, "name": AGREE},
        security=security_policy(script, css),
    )


# ---------------------------------------------------------------------- what the template shows


def _run(table: ScoreTable, ontology: Ontology, diagnosis: Diagnosis | None) -> dict[str, Any]:
    return {
        "title": title_of(table),
        "identity": _identity(table),
        "intervals": Name(
            f"{level_name(table.level)} 置信区间，按事实组自助重抽样 {count(table.resamples)} 次",
            intervals_note(table),
        ),
        "groups": [
            {"key": group, "name": GROUPS[group], "rows": [_metric_row(table, metric) for metric in metrics]}
            for group, metrics in metric_groups(table.metrics).items()
        ],
        "dimensions": [
            _dimension(table, d, names, ontology) for d, names in dimensions(table.strata).items()
        ],
        "columns": [metric_name(metric) for metric in main_metrics(table.metrics)],
        "outcomes": [_outcome(table, outcome, ids) for outcome, ids in table.outcomes.items() if ids],
        "losses": _losses(diagnosis),
        "notes": notes_of(table.notes),
        "left_out": by_reason(table.left_out),
    }


def _identity(table: ScoreTable) -> list[tuple[Name, str]]:
    found = [
        (Name("数据集", "Dataset"), f"{table.ref.name} {table.ref.version}"),
        (Name("划分", "Split"), f"{table.ref.split}, {count(table.n)}"),
        (Name("指标集", "Metric suite"), table.suite),
    ]
    if manifest := table.manifest:
        system = f"{manifest.system} {manifest.variant}".strip()
        found[:0] = [(Name("系统", "System"), system), (Name("基座模型", "Backbone"), manifest.backbone)]
        found.append((Name("代码版本", "Code version"), manifest.code_version))
        found.append((Name("种子", "Seed"), str(manifest.seed)))
    return [*found, (Name("内容摘要", "Content"), table.ref.content[:16])]


def _metric_row(table: ScoreTable, metric: str) -> dict[str, Any]:
    return {"name": metric_name(metric), "canonical": metric, "cell": _shown(table.cell(metric))}


def _dimension(
    table: ScoreTable, dimension: str, strata: Sequence[str], ontology: Ontology
) -> dict[str, Any]:
    rows = []
    for stratum in (*strata, WHOLE):
        cells = [table.cell(metric, stratum) for metric in main_metrics(table.metrics)]
        if any(cells):
            name = stratum_name(stratum, ontology)
            rows.append({"stratum": stratum, "name": name, "cells": [_shown(cell) for cell in cells]})
    return {"name": dimension_name(dimension), "open": dimension in OPEN_DIMENSIONS, "rows": rows}


def _shown(cell: Cell | None) -> dict[str, Any] | None:
    """A cell as text, and as the geometry of its bar on a scale of 0 to 100."""
    if cell is None:
        return None
    low, high = (cell.value if bound is None else bound for bound in (cell.low, cell.high))
    return {
        "value": percent(cell.value),
        "interval": interval(cell.low, cell.high),
        "n": count(cell.n),
        "small": cell.small,
        "at": round(100 * cell.value, 2),
        "low": round(100 * low, 2),
        "width": round(100 * (high - low), 2),
    }


def _outcome(table: ScoreTable, outcome: str, ids: Sequence[str]) -> dict[str, Any]:
    share = len(ids) / table.n
    return {
        "status": outcome, "name": OUTCOMES[outcome], "count": count(len(ids)), "share": percent(share),
        "at": round(100 * share, 2),
    }  # fmt: skip


def _losses(diagnosis: Diagnosis | None) -> list[dict[str, Any]]:
    rows = diagnosis.rows() if diagnosis else []
    return [
        {"stage": stage, "name": stage_name(stage), "count": count(n), "share": f"{share:.1f}", "at": share}
        for stage, n, share in rows
        if n
    ]


def _stages(diagnoses: Iterable[Diagnosis]) -> list[str]:
    """Stages that some run lost questions at."""
    return list(dict.fromkeys(stage for d in diagnoses for stage, ids in d.questions.items() if ids))


def _words(questions: Sequence[GoldQuestion], strata: Sequence[str], ontology: Ontology) -> dict[str, Any]:
    """Names of strata, verdicts and statuses for the script; a stratum that holds every question filters nothing."""
    held = Counter(name for question in questions for name in question.strata)
    number = {name: place for place, name in enumerate(strata)}
    return {
        "dimensions": [
            {
                "name": dimension_name(dimension),
                "strata": [[number[name], *stratum_name(name, ontology)] for name in names],
            }
            for dimension, names in dimensions(strata).items()
            if any(held[name] < len(questions) for name in names)
        ],
        "verdict_names": list(VERDICTS.values()),
        "status_names": OUTCOMES,
    }


# ---------------------------------------------------------------------- one file, safely


def _ontology(graph: GraphStore | None) -> Ontology:
    return graph.ontology if isinstance(graph, MemoryGraph) else Ontology.load()


@cache
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(HERE, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2")
