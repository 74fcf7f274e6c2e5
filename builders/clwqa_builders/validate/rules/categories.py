"""Categories against the ontology."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from clwqa_builders.questions.templates import Basis
from clwqa_builders.validate.model import Fault, rule
from clwqa_builders.validate.tables import DatasetTables

BASES = get_args(Basis)


@rule(
    "category-known",
    "error",
    "The category is a sub-category of the ontology, under its own upper category, with a known basis; where there are "
    "no categories, it is the type of the answer, under the top of its hierarchy.",
)
def category_known(tables: DatasetTables) -> Iterator[Fault]:
    known = tables.ontology
    upper_of = {category.slug: category.upper for category in known.categories if category.upper}
    if not known.categories:
        upper_of = {name: (name, *known.ancestors(name))[-1] for name in known.types}
    columns = (tables.column(name) for name in ("category", "upper_category", "category_basis"))
    for question, category, upper, basis in zip(tables.ids, *columns, strict=True):
        if category not in upper_of:
            yield Fault(question, "category", f"unknown category {category!r}")
        elif upper != upper_of[category]:
            yield Fault(
                question, "upper_category", f"{upper!r}, but {category} is under {upper_of[category]!r}"
            )
        if basis not in BASES:
            yield Fault(question, "category_basis", f"unknown basis {basis!r}")
