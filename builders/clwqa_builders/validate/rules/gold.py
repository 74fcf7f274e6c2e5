"""The gold answers, computed again."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import groupby
from operator import and_

from clwqa_bench.records import StandardPath
from clwqa_bench.text import comparison_key
from clwqa_builders.validate.model import Fault, rule
from clwqa_builders.validate.rdf import RdfView, sparql_answer
from clwqa_builders.validate.tables import DatasetTables, spans

SPARQL_SAMPLE = 200


@rule(
    "non-empty-gold",
    "error",
    "Every answer's label still says something in its comparison key; no answer is listed twice.",
)
def non_empty_gold(tables: DatasetTables) -> Iterator[Fault]:
    for question, labels, gold in zip(
        tables.ids, tables.members("answers", "label"), tables.gold, strict=True
    ):
        for label in labels:
            if not comparison_key(label).strip():
                yield Fault(question, "answers.label", f"{label!r} is empty")
        if len(set(gold)) < len(gold):
            yield Fault(question, "answers.entity_id", "the same answer twice")


@rule("gold-size", "error", "No question has more answers than the manifest's limit.")
def gold_size(tables: DatasetTables) -> Iterator[Fault]:
    limit = tables.manifest.limits.answers
    for question, gold in zip(tables.ids, tables.gold, strict=True):
        if len(gold) > limit:
            yield Fault(question, "answers", f"{len(gold)} answers, the limit is {limit}")


@rule(
    "gold-equals-path",
    "error",
    "Each gold set is exactly what the question's pattern returns on the graph (all questions).",
)
def gold_equals_path(tables: DatasetTables) -> Iterator[Fault]:
    for row in range(len(tables.ids)):
        yield from _executed(tables, row)


def _executed(tables: DatasetTables, row: int) -> Iterator[Fault]:
    """Faults of one question against the execution of its pattern."""
    question, name = tables.ids[row], tables.column("template_id")[row]
    if name is None:
        found = _by_standard_paths(tables, row)
    elif (template := tables.templates.get(name)) is None:
        yield Fault(question, "template_id", f"no template {name}")
        return
    elif (bound := template.bind(tables.members("anchors", "entity_id")[row])) is None:
        yield Fault(question, "anchors", f"the template has the anchors {', '.join(template.anchors)}")
        return
    else:
        found = template.gold(tables.store, bound)
    yield from compare(tables, row, found, "the pattern")


def _by_standard_paths(tables: DatasetTables, row: int) -> tuple[str, ...]:
    """For a question without template: what all its anchors reach by the kinds of path recorded for them."""
    paths = [StandardPath.model_validate(path) for path in tables.column("standard_paths")[row]]
    reached = []
    for anchor, own in groupby(sorted(paths, key=lambda p: p.entities[0]), key=lambda p: p.entities[0]):
        kinds = {tuple((s.relation, s.direction, s.type) for s in path.steps) for path in own}
        reached.append({path.nodes[-1] for kind in kinds for path in tables.store.follow([anchor], kind)})
    return tuple(sorted(reduce(and_, reached)))


def compare(tables: DatasetTables, row: int, found: Sequence[str], by: str) -> Iterator[Fault]:
    """Faults of a question's gold ids against those found; in a ranking the order counts."""
    question, listed = tables.ids[row], tables.members("answers", "entity_id")[row]
    missing, extra = sorted({*found} - {*listed}), sorted({*listed} - {*found})
    if missing:
        yield Fault(question, "answers", f"{by} also returns {', '.join(missing[:3])}")
    if extra:
        yield Fault(question, "answers", f"{by} does not return {', '.join(extra[:3])}")
    if not (missing or extra) and tables.column("family")[row] == "ranking" and [*found] != listed:
        yield Fault(question, "answers", f"{by} has them in the order {', '.join(found)}")


@rule(
    "query-text", "error", "Cypher and SPARQL are what the template compiles to for the question's anchors."
)
def query_text(tables: DatasetTables) -> Iterator[Fault]:
    stored = zip(tables.column("template_id"), tables.column("cypher"), tables.column("sparql"), strict=True)
    anchors = tables.members("anchors", "entity_id")
    for row, (name, cypher, sparql) in enumerate(stored):
        template = tables.templates.get(name) if name else None
        if template is None or (bound := template.bind(anchors[row])) is None:
            continue  # gold-equals-path reports it
        if cypher != template.cypher(bound):
            yield Fault(tables.ids[row], "cypher", f"not the query of template {name}")
        if sparql != template.sparql(bound):
            yield Fault(tables.ids[row], "sparql", f"not the query of template {name}")


@rule(
    "gold-equals-sparql",
    "error",
    f"The stored SPARQL returns the gold set (a seeded sample of {SPARQL_SAMPLE}, every template first).",
)
def gold_equals_sparql(tables: DatasetTables) -> Iterator[Fault]:
    view = RdfView(tables.store)
    for row in sample(tables, SPARQL_SAMPLE):
        if any(_executed(tables, row)):
            continue  # gold-equals-path reports it
        found = list(map(sparql_answer, view.select(tables.column("sparql")[row])))
        yield from compare(tables, row, found, "SPARQL")


def sample(tables: DatasetTables, size: int) -> list[int]:
    """So many rows: one of every template, then others at random; the same for the same dataset and seed."""
    rng = random.Random(tables.manifest.seed)
    rows = sorted(range(len(tables.ids)), key=tables.ids.__getitem__)
    rng.shuffle(rows)
    first = [own[0] for own in spans([tables.column("template_id")[row] for row in rows]).values()]
    chosen = dict.fromkeys([rows[i] for i in first] + rows)
    return list(chosen)[:size]
