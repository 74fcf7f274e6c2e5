"""The scoring pairs: how many, about what, labelled how, and nothing of the QA test split among them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence

from clwqa_bench.kg.verbalise import node_text
from clwqa_bench.records import BAND_LABELS
from clwqa_builders.output.manifest import ADJUDICATED
from clwqa_builders.pairs.adjudicated import RULE, plain, read_decisions
from clwqa_builders.pairs.rubric import load_rubric
from clwqa_builders.questions.select import WORD_TYPES
from clwqa_builders.validate.model import Fault, rule
from clwqa_builders.validate.tables import DatasetTables, spans

BALANCE = 0.8
"""Each band holds at least this part of an equal share of its split."""
OWNED = ("hasExplanation", "hasQuotation", "hasAllusion", "hasCitation", "hasExample")
"""Relations from a word to what belongs to its facts; works, persons, periods and components are everybody's."""


@rule(
    "pairs-count",
    "error",
    "Each split of the scoring pairs has the number of pairs of the manifest's target.",
)
def pairs_count(tables: DatasetTables) -> Iterator[Fault]:
    reached, targets = Counter(tables.pair("split")), tables.manifest.targets.pairs
    for split in sorted({*targets, *reached}) if targets else ():
        if reached[split] != targets.get(split, 0):
            yield Fault(
                "", f"pairs.{split}", f"{reached[split]} pairs, the target is {targets.get(split, 0)}"
            )


@rule(
    "pairs-unique",
    "error",
    "No id, no question with a node and no question with a node text stands in two pairs.",
)
def pairs_unique(tables: DatasetTables) -> Iterator[Fault]:
    pair = tables.pair
    yield from _repeated(tables, "id", pair("id"))
    yield from _repeated(tables, "entity_id", list(zip(pair("question_id"), pair("entity_id"), strict=True)))
    yield from _repeated(tables, "node_text", list(zip(pair("question"), pair("node_text"), strict=True)))


def _repeated(tables: DatasetTables, field: str, keys: Sequence[Hashable]) -> Iterator[Fault]:
    for rows in spans(keys).values():
        if len(rows) > 1:
            labels = sorted({tables.pair("label")[row] for row in rows})
            told = f"{len(rows)} pairs with labels {', '.join(map(str, labels))}"
            yield Fault(tables.pair("id")[rows[0]], field, told)


@rule(
    "pairs-question",
    "error",
    "Every pair is about a question of the train or validation split, in its words.",
)
def pairs_question(tables: DatasetTables) -> Iterator[Fault]:
    pair, row_of = tables.pair, tables.row_of
    for id, question, text in zip(pair("id"), pair("question_id"), pair("question"), strict=True):
        row = row_of.get(question)
        if row is None:
            yield Fault(id, "question_id", f"there is no question {question}")
        elif tables.column("split")[row] == "test":
            yield Fault(id, "question_id", f"{question} is a question of the test split")
        elif tables.column("question")[row] != text:
            yield Fault(id, "question", f"{question} reads otherwise")


@rule("pairs-label", "error", "Band, label and rule of every pair agree with the scale and the rubric.")
def pairs_label(tables: DatasetTables) -> Iterator[Fault]:
    pair = tables.pair
    if (
        not tables.pairs.num_rows
    ):  # a graph that somebody brought has none, and nothing that the rubric speaks of
        return
    band_of = {rule.id: rule.band for rule in load_rubric(tables.ontology).rules}
    for id, band, label, name in zip(*map(pair, ("id", "band", "label", "rule")), strict=True):
        if BAND_LABELS.get(band) != label:
            yield Fault(id, "label", f"{label} is not the label of {band}")
        elif name != RULE and band_of.get(name) != band:
            yield Fault(id, "rule", f"the rubric has no rule {name} of band {band}")


@rule(
    "pairs-adjudicated",
    "error",
    "Every pair that people decided has the band they gave it, and only such a pair says that they did.",
)
def pairs_adjudicated(tables: DatasetTables) -> Iterator[Fault]:
    path = tables.root / ADJUDICATED
    decisions = read_decisions([path]) if path.is_file() else {}
    columns = map(tables.pair, ("id", "band", "rule", "question", "node_text"))
    found = {id: values for id, *values in zip(*columns, strict=True)}
    for id, (_, name, _, _) in found.items():
        if name == RULE and id not in decisions:
            yield Fault(id, "rule", f"{ADJUDICATED} has no such pair")
    for id, decision in decisions.items():
        if id not in found:
            yield Fault(id, "id", f"{ADJUDICATED} decides on a pair that is not there")
            continue
        band, _, question, text = found[id]
        if band != decision.band:
            yield Fault(id, "band", f"{band}, people decided on {decision.band}")
        if (plain(question), plain(text)) != (decision.question, decision.node_text):
            yield Fault(id, "node_text", "people read other words")


@rule(
    "pairs-node",
    "error",
    "Every node is in the graph, of the type the pair states, in the words of the toolkit.",
)
def pairs_node(tables: DatasetTables) -> Iterator[Fault]:
    columns = zip(*map(tables.pair, ("id", "entity_id", "element", "node_text")), strict=True)
    for id, entity, element, text in columns:
        if (kind := tables.type_of.get(entity)) is None:
            yield Fault(id, "entity_id", f"{entity} is not in the graph")
        elif kind != element:
            yield Fault(id, "element", f"{entity} is of type {kind}")
        elif text != node_text(tables.store.entity(entity), tables.ontology):
            yield Fault(id, "node_text", f"{entity} is put into other words")


@rule(
    "pairs-leakage",
    "error",
    "No fact group, and no word or passage, stands in two splits of the pairs, or in the pairs and the QA test split.",
)
def pairs_leakage(tables: DatasetTables) -> Iterator[Fault]:
    told = _told(tables)
    test = {fact for row, facts in told.items() if tables.column("split")[row] == "test" for fact in facts}
    first: dict[str, str] = {}
    columns = zip(*map(tables.pair, ("id", "question_id", "entity_id", "split")), strict=True)
    for id, question, entity, split in columns:
        row = tables.row_of.get(question)
        if row is None or tables.column("split")[row] == "test":
            continue  # pairs-question says so
        facts = set(told[row])
        if _owned(entity, tables):
            facts.add(entity)
        for fact in sorted(facts):
            if fact in test:
                yield Fault(id, "split", f"{fact} is told by a question of the test split")
            elif first.setdefault(fact, split) != split:
                yield Fault(id, "split", f"{fact} is in {first[fact]} and in {split}")


def _told(tables: DatasetTables) -> dict[int, set[str]]:
    """By row of the question: its group, the words on its evidence, and what of theirs is there."""
    told: defaultdict[int, set[str]] = defaultdict(set)
    for row, group in enumerate(tables.column("group_id")):
        told[row].add(group)
    rows, *columns = tables.exploded("evidence", "head", "relation", "tail")
    for row, head, relation, tail in zip(rows.tolist(), *(c.to_pylist() for c in columns), strict=True):
        if tables.type_of.get(head) in WORD_TYPES:
            told[row].update((head, tail) if relation in OWNED else (head,))
    return told


def _owned(entity: str, tables: DatasetTables) -> bool:
    """Whether the node is a word, or belongs to one."""
    if (kind := tables.type_of.get(entity)) is None or kind in WORD_TYPES:
        return kind is not None
    owners = tables.store.neighbours(entity, OWNED, "in")
    return any(tables.type_of.get(owner) in WORD_TYPES for owner in owners)


@rule("pairs-balance", "warning", "The bands of each split of the pairs are about equally large.")
def pairs_balance(tables: DatasetTables) -> Iterator[Fault]:
    sizes = Counter(tables.pair("split"))
    counts = Counter(zip(tables.pair("split"), tables.pair("band"), strict=True))
    for split, size in sorted(sizes.items()):
        for band in BAND_LABELS:
            if counts[split, band] < BALANCE * (size // len(BAND_LABELS)):
                yield Fault("", f"pairs.{split}.{band}", f"{counts[split, band]} of {size} pairs")
