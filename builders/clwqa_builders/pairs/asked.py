"""The questions pairs are made of: read in columns, dealt out by fact group, and sampled over templates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from numpy.typing import NDArray

from clwqa_bench.records import SPLITS
from clwqa_builders.questions.columns import GraphColumns
from clwqa_builders.questions.draw import rank_within
from clwqa_builders.questions.select import WORD_TYPES, fact_groups

Ints = NDArray[np.int64]

SHARES = (0.48, 0.12, 0.40)
"""Parts of the fact groups that train, validation and test may use: 60/40, and of the 60 again 80/20."""
SHARED, CLOSED = -1, len(SPLITS)
"""Part numbers of what tells no word's fact (a book, a person), and of what a QA test question tells."""

_TEXT = pa.string()
_IDS = pa.list_(pa.struct([("entity_id", _TEXT)]))
COLUMNS = pa.schema(
    [
        *((name, _TEXT) for name in ("id", "question", "split", "group_id", "template_id", "family")),
        ("target_element", _TEXT),
        ("anchors", _IDS),
        ("answers", _IDS),
        ("standard_paths", pa.list_(pa.struct([("entities", pa.list_(_TEXT))]))),
    ]
)
"""The part of a question record that is read."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as the rubric sees it; ``path`` are the nodes between anchors and answers, in walking order."""

    id: str
    text: str
    template: str
    family: str
    target: str
    anchors: tuple[str, ...]
    path: tuple[str, ...]
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Parts:
    """Who may use which node: by entity number, a position in SPLITS, SHARED or CLOSED."""

    of_entity: Ints
    of_question: Ints


def read_asked(path: Path) -> pa.Table:
    """The columns of COLUMNS from a file of question records."""
    parse = pa.json.ParseOptions(explicit_schema=COLUMNS, unexpected_field_behavior="ignore")
    reading = pa.json.ReadOptions(block_size=1 << 24)
    return pa.json.read_json(path, read_options=reading, parse_options=parse).combine_chunks()


def deal(questions: pa.Table, columns: GraphColumns, seed: int) -> Parts:
    """Give every fact group to one part, by a seeded hash, and close those a QA test question tells.

    A word, its explanations, passages and citation records are one fact group with those of its family
    (``questions.select.fact_groups``). A question belongs to the part of all facts it tells; one that tells facts
    of two parts is CLOSED, like every question of the QA test split.
    """
    owner = _owners(columns)
    groups = np.array([columns.index_of[id[6:]] for id in questions["group_id"].to_pylist()], dtype=np.int64)
    rows, nodes = _told(questions, columns)
    told = owner[nodes] >= 0
    rows = np.concatenate([rows[told], np.arange(questions.num_rows)])
    facts = np.concatenate([owner[nodes[told]], groups])
    part = _part_of_groups(np.union1d(owner[owner >= 0], groups), columns, seed)
    tested = np.asarray(pc.equal(questions["split"], "test"))
    part[facts[tested[rows]]] = CLOSED
    least, most = np.full(questions.num_rows, CLOSED), np.full(questions.num_rows, SHARED)
    np.minimum.at(least, rows, part[facts])
    np.maximum.at(most, rows, part[facts])
    of_entity = np.where(owner >= 0, part[owner], SHARED)
    return Parts(of_entity, np.where(least == most, least, CLOSED))


def _owners(columns: GraphColumns) -> Ints:
    """The fact group of every entity that belongs to a word, -1 for all others."""
    group, word = fact_groups(columns), columns.is_a(WORD_TYPES)
    owner = np.where(np.isin(group, group[word]), group, -1)
    for relation in ("hasCitation", "hasExample"):
        heads, records = columns.pairs((relation,), "head")
        owner[records] = group[heads]
    return owner


def _told(questions: pa.Table, columns: GraphColumns) -> tuple[Ints, Ints]:
    """(question number, entity number) of every anchor, answer and path node."""
    known = pa.array(columns.ids)
    rows, nodes = [], []
    for name in ("anchors", "answers", "standard_paths"):
        lists = questions[name].combine_chunks()
        number = pc.list_parent_indices(lists)
        values = pc.struct_field(pc.list_flatten(lists), 0)
        if name == "standard_paths":
            number, values = number.take(pc.list_parent_indices(values)), pc.list_flatten(values)
        rows.append(np.asarray(number, dtype=np.int64))
        nodes.append(np.asarray(pc.index_in(values, known), dtype=np.int64))
    return np.concatenate(rows), np.concatenate(nodes)


def _part_of_groups(groups: Ints, columns: GraphColumns, seed: int) -> Ints:
    """(entities,) part number at the number of each group."""
    bounds = np.cumsum(SHARES)[:-1]
    chance = np.array([hashed(seed, "part", columns.ids[g]) for g in groups.tolist()]) / 2**64
    part = np.full(len(columns), SHARED, dtype=np.int64)
    part[groups] = np.searchsorted(bounds, chance, side="right")
    return part


def sample(questions: pa.Table, of_question: Ints, part: int, size: int, seed: int) -> Iterator[Asked]:
    """At most ``size`` questions of a part, one of each template before a second of any."""
    own = np.flatnonzero(of_question == part)
    table = questions.take(pa.array(own))
    names = table["template_id"].to_pylist()
    number = {name: i for i, name in enumerate(sorted(set(names)))}
    template = np.array([number[name] for name in names], dtype=np.int64)
    chance = np.array([hashed(seed, "question", id) for id in table["id"].to_pylist()], dtype=np.uint64)
    order = np.lexsort((chance, rank_within(chance, template)))[:size]
    for row in table.take(pa.array(order)).to_pylist():
        yield _asked(row)


def _asked(row: dict[str, Any]) -> Asked:
    anchors, answers = (tuple(end["entity_id"] for end in row[name]) for name in ("anchors", "answers"))
    nodes = dict.fromkeys(node for path in row["standard_paths"] for node in path["entities"])
    return Asked(
        id=row["id"],
        text=row["question"],
        template=row["template_id"],
        family=row["family"],
        target=row["target_element"],
        anchors=anchors,
        path=tuple(node for node in nodes if node not in anchors and node not in answers),
        answers=answers,
    )


def hashed(seed: int, *key: object) -> int:
    """A fixed pseudo-random number below 2**64 for a key, independent of all others."""
    text = "\x1f".join(map(str, (seed, "pairs", *key)))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest(), "big")
