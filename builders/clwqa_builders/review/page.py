"""The sheet of one reader as one HTML file: it needs no server and no network, and keeps its state in the browser."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from clwqa_bench.onefile import inert_json, security_policy, shared
from clwqa_builders.pairs.rubric import Rubric
from clwqa_builders.review.forms import rubric_rows
from clwqa_builders.review.sheets import Sheet

HERE = Path(__file__).parent


def html(sheet: Sheet, rubric: Rubric | None = None) -> str:
    """The page of a sheet; for scoring pairs with the rubric, which readers go by."""
    plan = sheet.review.plan
    data = {
        "review": plan.id,
        "dataset": plan.edition,
        "annotator": sheet.person,
        "role": sheet.role,
        "kind": plan.kind,
        "criteria": [asdict(criterion) for criterion in sheet.form.criteria],
        "choices": [asdict(choice) for choice in sheet.form.choices],
        "rubric": rubric_rows(rubric),
        "items": [
            {
                "id": item.id,
                "shown": item.shown,
                "question": item.question,
                "answers": item.answers,
                "paths": item.paths,
                "passages": item.passages,
                "node": item.node,
                "said": sheet.told_by_others(item),
            }
            for item in sheet.items
        ],
    }
    css, script = _asset("page.css"), shared("page.js") + _asset("page.js")
    return _template().render(
        title=f"{sheet.person} · {plan.edition}",
        data=inert_json(data),
        css=css,
        script=script,
        security=security_policy(script, css),
    )


def _asset(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(HERE, encoding="utf-8")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("page.html.j2")
