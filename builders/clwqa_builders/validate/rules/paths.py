"""Evidence, standard paths and anchors against the graph and the question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clwqa_bench.records import OPERATIONS
from clwqa_builders.validate.model import Fault, rule
from clwqa_builders.validate.tables import DatasetTables, Ints


@rule(
    "evidence-in-graph",
    "error",
    "Anchors, answers, evidence triples and every edge of a standard path are in the graph.",
)
def evidence_in_graph(tables: DatasetTables) -> Iterator[Fault]:
    for column in ("anchors", "answers"):
        rows, ids = tables.exploded(column, "entity_id")
        absent = tables.numbers(ids) < 0
        if column == "answers":  # a number or a truth value is no entity
            absent &= np.array(tables.exploded(column, "kind")[1]) != "literal"
        for i in np.flatnonzero(absent):
            yield Fault(tables.ids[rows[i]], f"{column}.entity_id", f"no entity {ids[int(i)].as_py()}")
    rows, *triple = tables.exploded("evidence", "head", "relation", "tail")
    yield from _absent(tables, "evidence", rows, *triple)
    yield from _absent(tables, "standard_paths", *_path_triples(tables))


def _absent(
    tables: DatasetTables, field: str, rows: Ints, heads: pa.Array, relations: pa.Array, tails: pa.Array
) -> Iterator[Fault]:
    for i in np.flatnonzero(~tables.has_triples(heads, relations, tails)).tolist():
        text = f"{heads[i].as_py()} -{relations[i].as_py()}-> {tails[i].as_py()}"
        yield Fault(tables.ids[rows[i]], field, f"no triple {text}")


def _path_triples(tables: DatasetTables) -> tuple[Ints, pa.Array, pa.Array, pa.Array]:
    """(question row, head, relation, tail) of every step; paths whose lengths disagree are left to hops-match-path."""
    rows, steps, entities = tables.exploded("standard_paths", "steps", "entities")
    sound = pc.equal(pc.list_value_length(entities), pc.add(pc.list_value_length(steps), 1))
    rows, steps, entities = (
        rows[sound.to_numpy(zero_copy_only=False)],
        steps.filter(sound),
        entities.filter(sound),
    )
    flat, owners = pc.list_flatten(entities), pc.list_parent_indices(entities).to_numpy(zero_copy_only=False)
    inner = np.flatnonzero(owners[1:] == owners[:-1])  # entity i and i + 1 of one path: the ends of one step
    here, there = flat.take(pa.array(inner)), flat.take(pa.array(inner + 1))
    members = pc.list_flatten(steps)
    inward = pc.equal(pc.struct_field(members, "direction"), "in")
    heads, tails = pc.if_else(inward, there, here), pc.if_else(inward, here, there)
    return rows[owners[inner]], heads, pc.struct_field(members, "relation"), tails


@rule(
    "hops-match-path",
    "error",
    "hops is the longest standard path; paths lead from every anchor to every answer (of an operation, to what it is "
    "computed from), typed as stated.",
)
def hops_match_path(tables: DatasetTables) -> Iterator[Fault]:
    rows, steps, entities = tables.exploded("standard_paths", "steps", "entities")
    lengths = pc.list_value_length(steps).to_numpy(zero_copy_only=False)
    longest = np.zeros(len(tables.ids), dtype=np.int64)
    np.maximum.at(longest, rows, lengths)
    for row in np.flatnonzero(longest != np.array(tables.column("hops"))).tolist():
        yield Fault(
            tables.ids[row], "hops", f"{tables.column('hops')[row]}, but the longest path has {longest[row]}"
        )
    starts: list[set[str]] = [set() for _ in tables.ids]
    ends: list[set[str]] = [set() for _ in tables.ids]
    types = pc.struct_field(pc.list_flatten(steps), "type").to_pylist()
    position = 0
    for row, length, nodes in zip(rows.tolist(), lengths.tolist(), entities.to_pylist(), strict=True):
        declared = types[position : position + length]
        position += length
        if len(nodes) != length + 1:
            yield Fault(tables.ids[row], "standard_paths", f"{length} steps over {len(nodes)} entities")
            continue
        starts[row].add(nodes[0])
        ends[row].add(nodes[-1])
        yield from _types(tables, row, declared, nodes[1:])
    yield from _ends(tables, "anchors", starts)
    computed = (family in OPERATIONS for family in tables.column("family"))
    yield from _ends(
        tables, "answers", [set() if any_ else own for any_, own in zip(computed, ends, strict=True)]
    )


def _types(tables: DatasetTables, row: int, declared: list[str], nodes: list[str]) -> Iterator[Fault]:
    for type_, node in zip(declared, nodes, strict=True):
        actual = tables.type_of.get(node, type_)
        if type_ != actual and type_ not in tables.ontology.ancestors(actual):
            yield Fault(tables.ids[row], "standard_paths.type", f"{node} is {actual}, not {type_}")


def _ends(tables: DatasetTables, column: str, found: list[set[str]]) -> Iterator[Fault]:
    for question, ids, reached in zip(tables.ids, tables.members(column, "entity_id"), found, strict=True):
        if reached and set(ids) != reached:
            odd = sorted(set(ids) ^ reached)
            yield Fault(
                question, "standard_paths", f"{column} and ends of paths differ in {', '.join(odd[:3])}"
            )


@rule(
    "anchors-unique",
    "error",
    "An anchor's mention is the name of one entity only among those of its kind; no anchor occurs twice.",
)
def anchors_unique(tables: DatasetTables) -> Iterator[Fault]:
    bearers = _bearers(tables)
    ids, mentions = tables.members("anchors", "entity_id"), tables.members("anchors", "mention")
    for question, own, names in zip(tables.ids, ids, mentions, strict=True):
        if len(set(own)) < len(own):
            yield Fault(question, "anchors", "the same anchor twice")
        for id, mention in zip(own, names, strict=True):
            kind = _kind(tables, tables.type_of.get(id, ""))
            if (count := bearers[kind, _bare(mention)]) > 1:
                yield Fault(question, "anchors.mention", f"{mention} can mean {count} entities")


def _bearers(tables: DatasetTables) -> Counter[tuple[str, str]]:
    """How many entities of a kind bear a name as label or alias."""
    bearers: Counter[tuple[str, str]] = Counter()
    kinds = {type_: _kind(tables, type_) for type_ in set(tables.entity_types)}
    columns = (tables.entities[name].to_pylist() for name in ("label", "aliases"))
    for type_, label, aliases in zip(tables.entity_types, *columns, strict=True):
        bearers.update((kinds[type_], name) for name in {label, *aliases})
    return bearers


def _kind(tables: DatasetTables, type_: str) -> str:
    """What a reader takes a bare name for: works are one kind, whether part or whole; so are words and persons."""
    if type_ not in tables.ontology.types:
        return ""
    root = next(reversed((type_, *tables.ontology.ancestors(type_))))
    return "work" if root in ("ContentUnit", "CulturalSource") else root


def _bare(mention: str) -> str:
    return mention.removeprefix("《").removesuffix("》")


@rule("anchor-mentioned", "error", "The question contains the mention of each of its anchors.")
def anchor_mentioned(tables: DatasetTables) -> Iterator[Fault]:
    texts = tables.column("question")
    for question, text, mentions in zip(tables.ids, texts, tables.members("anchors", "mention"), strict=True):
        for mention in mentions:
            if not mention or mention not in text:
                yield Fault(question, "anchors.mention", f"{mention!r} is not in the question")
