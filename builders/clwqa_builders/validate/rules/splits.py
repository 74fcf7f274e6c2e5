"""Nothing that tells the same fact stands on both sides of a split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from clwqa_builders.validate.model import Fault, rule
from clwqa_builders.validate.tables import DatasetTables

DERIVATION = ("hasSource", "hasQuotation", "hasAllusion", "hasCitation")
"""Relations that state where a word comes from; their heads own the fact."""
PASSAGES = ("Quotation", "Allusion")


@rule("group-leakage", "error", "No fact group has questions in two splits.")
def group_leakage(tables: DatasetTables) -> Iterator[Fault]:
    yield from _crossing(tables, "group_id", range(len(tables.ids)), tables.column("group_id"))


@rule(
    "fact-leakage",
    "error",
    "No word's derivation, quotation or allusion is evidence in two splits (found from the graph, not from group ids).",
)
def fact_leakage(tables: DatasetTables) -> Iterator[Fault]:
    rows, heads, relations, tails = tables.exploded("evidence", "head", "relation", "tail")
    own = np.isin(np.array(relations.to_pylist(), dtype=object), DERIVATION)
    passages = np.array([tables.type_of.get(tail) in PASSAGES for tail in tails.to_pylist()], dtype=bool)
    facts = pa.concat_arrays([heads.filter(pa.array(own)), tails.filter(pa.array(passages))]).to_pylist()
    yield from _crossing(tables, "evidence", np.concatenate([rows[own], rows[passages]]).tolist(), facts)


def _crossing(
    tables: DatasetTables, field: str, rows: Sequence[int], values: Sequence[str]
) -> Iterator[Fault]:
    """A fault for the first question that puts a value into a second split."""
    split_of: dict[str, str] = {}
    told: set[str] = set()
    splits = tables.column("split")
    for row, value in zip(rows, values, strict=True):
        here, first = splits[row], split_of.setdefault(value, splits[row])
        if here != first and value not in told:
            told.add(value)
            yield Fault(tables.ids[row], field, f"{value} is in {first} and in {here}")
