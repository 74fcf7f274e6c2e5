"""The graph tables against the ontology."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clwqa_builders.validate.model import Fault, rule
from clwqa_builders.validate.tables import DatasetTables


@rule(
    "kg-integrity",
    "error",
    "Ids unique, labels filled, types and relations known; triples unique, with both ends, rightly typed.",
)
def kg_integrity(tables: DatasetTables) -> Iterator[Fault]:
    yield from _entities(tables)
    yield from _known_relations(tables)
    yield from _ends(tables)
    yield from _repeated(tables)
    yield from _signatures(tables)


def _entities(tables: DatasetTables) -> Iterator[Fault]:
    counts = pc.value_counts(tables.entities["id"])
    for i in np.flatnonzero(counts.field("counts").to_numpy() > 1).tolist():
        yield Fault("", "entities.id", f"{counts.field('values')[i].as_py()} occurs more than once")
    for id in tables.entities["id"].filter(pc.equal(tables.entities["label"], "")).to_pylist():
        yield Fault("", "entities.label", f"{id} has no label")
    types = tables.ontology.types
    unknown = pc.invert(pc.is_in(tables.entities["type"], value_set=pa.array(types)))
    for row in tables.entities.filter(unknown).select(["id", "type"]).to_pylist():
        yield Fault("", "entities.type", f"{row['id']} has the unknown type {row['type']}")


def _known_relations(tables: DatasetTables) -> Iterator[Fault]:
    stored = [name for name, term in tables.ontology.relation_terms.items() if not term.abstract]
    for relation in sorted(set(pc.unique(tables.triples["relation"]).to_pylist()) - set(stored)):
        yield Fault("", "triples.relation", f"{relation} is not a relation that triples may have")


def _ends(tables: DatasetTables) -> Iterator[Fault]:
    for side in ("head", "tail"):
        absent = tables.numbers(tables.triples[side].combine_chunks()) < 0
        for row in np.flatnonzero(absent).tolist():
            yield Fault("", f"triples.{side}", f"no entity {tables.triples[side][row].as_py()}")


def _repeated(tables: DatasetTables) -> Iterator[Fault]:
    columns = [tables.triples[name].combine_chunks() for name in ("head", "relation", "tail")]
    keys = tables.triple_keys(*columns)
    _, first = np.unique(keys, return_index=True)
    repeated = np.setdiff1d(np.flatnonzero(keys >= 0), first)
    for row in repeated.tolist():
        yield Fault(
            "", "triples", " ".join(column[row].as_py() for column in columns) + " occurs more than once"
        )


def _signatures(tables: DatasetTables) -> Iterator[Fault]:
    """Each (type of head, relation, type of tail) that occurs is judged once, then looked up for all triples."""
    heads, tails = (tables.numbers(tables.triples[side].combine_chunks()) for side in ("head", "tail"))
    types, codes = np.unique(np.array(tables.entity_types, dtype=str), return_inverse=True)
    relations, kinds = np.unique(
        np.array(tables.triples["relation"].to_pylist(), dtype=str), return_inverse=True
    )
    usable = (heads >= 0) & (tails >= 0)
    keys = (codes[heads] * len(relations) + kinds) * len(types) + codes[tails]
    for key in np.unique(keys[usable]).tolist():
        rest, tail = divmod(key, len(types))
        head, relation = divmod(rest, len(relations))
        names = str(types[head]), str(relations[relation]), str(types[tail])
        if _judgeable(tables, *names) and not tables.ontology.allows(*names):
            rows = np.flatnonzero(usable & (keys == key)).tolist()
            for row in rows:
                triple = " ".join(tables.triples[name][row].as_py() for name in ("head", "relation", "tail"))
                yield Fault("", "triples", f"{triple}: {names[1]} may not lead from {names[0]} to {names[2]}")


def _judgeable(tables: DatasetTables, head: str, relation: str, tail: str) -> bool:
    known = tables.ontology
    return head in known.types and tail in known.types and relation in known.relations


@rule("kg-isolated", "info", "Entities without any triple.")
def kg_isolated(tables: DatasetTables) -> Iterator[Fault]:
    ends = pa.concat_arrays([tables.triples[side].combine_chunks() for side in ("head", "tail")])
    isolated = pc.invert(pc.is_in(tables.entities["id"], value_set=pc.unique(ends)))
    for id in tables.entities["id"].filter(isolated).to_pylist():
        yield Fault("", "entities.id", f"{id} has no triple")
