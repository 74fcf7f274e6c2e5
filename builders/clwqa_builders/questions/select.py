"""From enumerated instances to the drawn ones: fact groups, splits, held-out templates, the draw."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.records import SPLITS, Split
from clwqa_builders.questions.balance import CATEGORY_TARGETS, HOP_TARGETS, SPLIT_SHARES
from clwqa_builders.questions.columns import GraphColumns, Ragged
from clwqa_builders.questions.draw import Drawn, Ints, Pool, draw
from clwqa_builders.questions.groups import assign_splits, clusters, joined_by
from clwqa_builders.questions.instances import Instances

WORD_TYPES = ("Idiom", "Proverb", "Xiehouyu", "Word", "Sentence")
PASSAGE_TYPES = ("Quotation", "Allusion", "Explanation")
CATEGORIES = tuple(CATEGORY_TARGETS)
TEST = SPLITS.index("test")
LINE_KEY = 6  # letters of a line's beginning by which it is looked for in passages


@dataclass(frozen=True, slots=True)
class Scale:
    """How large a dataset to draw: questions per hop (4 = four and more) and the wished category sizes."""

    hops: Mapping[int, int]
    categories: Mapping[str, int]


PAPER_SCALE = Scale(HOP_TARGETS, CATEGORY_TARGETS)


@dataclass(frozen=True, slots=True)
class Selection:
    """The drawn instances: (template number, row in its instances) with split and group, and the accounts.

    ``ungrouped`` is how many instances the rule that a fact group may not cross splits made unusable.
    """

    rows: tuple[tuple[int, int], ...]
    split: tuple[Split, ...]
    group: tuple[int, ...]
    drawn: Drawn
    instances: int
    ungrouped: int


def only_drawn(enumerated: Sequence[Instances], selection: Selection) -> tuple[list[Instances], Selection]:
    """The drawn instances alone, with the selection's rows counted among them: four in five are not drawn."""
    kept: list[list[int]] = [[] for _ in enumerated]
    rows = []
    for template, row in selection.rows:
        rows.append((template, len(kept[template])))
        kept[template].append(row)
    drawn = [instances.take(chosen) for instances, chosen in zip(enumerated, kept, strict=True)]
    return drawn, replace(selection, rows=tuple(rows))


def tellers(columns: GraphColumns) -> NDArray[np.bool_]:
    """Mask of the words that own facts: all but those that are in the graph only as a part of another.

    A dictionary word owns facts when it has an entry: a category and a meaning, or a work it is documented in and
    no later example (only the idiom tables print examples, of words that they also know as a part of another).
    """

    def heads(*relations: str) -> NDArray[np.bool_]:
        mask = np.zeros(len(columns), dtype=bool)
        mask[columns.pairs(relations, "head")[0]] = True
        return mask

    told = heads("belongsToCategory") & heads("hasExplanation")
    documented = heads("hasSource") & ~heads("hasExample")
    return columns.is_a(WORD_TYPES) | (columns.is_a(("DictionaryWord",)) & (told | documented))


def fact_groups(columns: GraphColumns) -> Ints:
    """The derivation cluster of every entity; entities that tell no word-level fact are alone."""
    word = tellers(columns)
    pairs = []
    for relation in (
        "variantOf",
        "sameMeaningAs",
        "seeAlso",
        "hasQuotation",
        "hasAllusion",
        "hasExplanation",
    ):
        heads, tails = columns.pairs((relation,), "head")
        keep = word[heads]
        pairs.append((heads[keep], tails[keep]))
    pairs.append(_through_records(columns))
    # Two-part sayings share their answers by the dozen (多此一举): that is no common fact.
    pairs.append(_same_gloss(columns, word & ~columns.is_a(("Xiehouyu",))))
    pairs.append(_lines_in_passages(columns))
    return clusters(len(columns), pairs)


def _through_records(columns: GraphColumns) -> tuple[Ints, Ints]:
    """Word and quoted example: joined through the example's citation record."""
    heads, records = columns.pairs(("hasExample",), "head")
    quoted = columns.follow(("citesQuotation",)).take(records)
    return np.repeat(heads, quoted.lengths), quoted.values


def _lines_in_passages(columns: GraphColumns) -> tuple[Ints, Ints]:
    """Lines and the quoted passages that hold them: both tell where the words stand."""
    lines = np.flatnonzero(columns.is_a(("Sentence",))).tolist()
    begins: dict[str, list[tuple[int, str]]] = {}
    for line in lines:
        text = "".join(filter(str.isalnum, columns.labels[line]))
        begins.setdefault(text[:LINE_KEY], []).append((line, text))
    found: list[tuple[int, int]] = []
    for passage in np.flatnonzero(columns.is_a(("Quotation",))).tolist() if lines else ():
        text = "".join(filter(str.isalnum, columns.texts[passage]))
        for at in range(len(text) - LINE_KEY + 1):
            for line, words in begins.get(text[at : at + LINE_KEY], ()):
                if text.startswith(words, at):
                    found.append((line, passage))
    table = np.array(found, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _same_gloss(columns: GraphColumns, word: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    heads, meanings = columns.pairs(("hasExplanation",), "head")
    heads, meanings = heads[word[heads]], meanings[word[heads]]
    number: dict[str, int] = {}
    keys = np.array(
        [number.setdefault(columns.texts[m], len(number)) for m in meanings.tolist()], dtype=np.int64
    )
    return joined_by(heads, keys)


def priorities(seed: int, template_id: str, anchors: Sequence[tuple[str, ...]]) -> NDArray[np.uint64]:
    """A fixed pseudo-random number per instance, independent of all others."""
    keys = [
        hashlib.blake2b("\x1f".join((str(seed), template_id, *a)).encode("utf-8"), digest_size=8).digest()
        for a in anchors
    ]
    return np.frombuffer(b"".join(keys), dtype=">u8").astype(np.uint64)


def held_out_templates(seed: int, hops: Mapping[str, int]) -> frozenset[str]:
    """One template per hop band that only the test split may use (the unseen-template view)."""
    chosen: dict[int, tuple[bytes, str]] = {}
    for id, hop in hops.items():
        key = hashlib.blake2b(f"{seed}/held-out/{id}".encode(), digest_size=8).digest()
        band = min(hop, 4)
        chosen[band] = min(chosen.get(band, (key, id)), (key, id))
    return frozenset(id for _, id in chosen.values())


def select(
    enumerated: Sequence[Instances], columns: GraphColumns, seed: int, scale: Scale = PAPER_SCALE
) -> Selection:
    """Draw the dataset from all templates' instances.  Deterministic in its arguments."""
    flat = _Flat.of(enumerated, columns, fact_groups(columns), seed)
    shares = np.array([SPLIT_SHARES[s] for s in SPLITS])
    split = flat.splits(_split_of_groups(flat, len(columns), shares, seed))
    held = held_out_templates(seed, {i.template.id: i.template.hops for i in enumerated})
    is_held = np.array([i.template.id in held for i in enumerated])
    kept = np.flatnonzero((split >= 0) & (~is_held[flat.template] | (split == TEST)))
    pool = Pool(
        flat.template[kept],
        flat.hop[kept],
        flat.category[kept],
        split[kept],
        flat.source[kept],
        flat.fact[kept],
        flat.priority[kept],
        flat.words.take(kept).rows(),
    )
    wished = np.array([scale.categories[c] for c in CATEGORIES])
    drawn = draw(pool, np.array(list(scale.hops.values())), wished, shares)
    chosen = kept[drawn.chosen]
    first_group = flat.groups.values[flat.groups.offsets[:-1]]
    return Selection(
        rows=tuple(zip(flat.template[chosen].tolist(), flat.row[chosen].tolist(), strict=True)),
        split=tuple(SPLITS[s] for s in split[chosen].tolist()),
        group=tuple(first_group[chosen].tolist()),
        drawn=drawn,
        instances=len(split),
        ungrouped=int((split < 0).sum()),
    )


def _split_of_groups(flat: _Flat, size: int, shares: NDArray[np.float64], seed: int) -> Ints:
    """Each group's split, so that the usable supply of every hop x category cell is shared in proportion.

    Returns (size,) split numbers, -1 for entities that name no group of an instance.
    """
    groups = np.unique(flat.groups.values)
    number = np.full(size, -1, dtype=np.int64)
    number[groups] = np.arange(len(groups))
    weights = np.zeros((len(groups), (int(flat.hop.max(initial=0)) + 1) * len(CATEGORIES)))
    alone = np.flatnonzero(flat.groups.lengths == 1)
    own = number[flat.groups.values[flat.groups.offsets[:-1][alone]]]
    np.add.at(weights, (own, flat.hop[alone] * len(CATEGORIES) + flat.category[alone]), 1.0)
    order = priorities(seed, "groups", [(str(g),) for g in groups.tolist()])
    split = np.full(size, -1, dtype=np.int64)
    split[groups] = assign_splits(weights, shares, order)
    return split


@dataclass(frozen=True)
class _Flat:
    """All instances of all templates as parallel arrays; ``groups`` are the fact groups an instance touches."""

    template: Ints
    row: Ints
    hop: Ints
    category: Ints
    source: Ints
    fact: NDArray[np.uint64]
    priority: NDArray[np.uint64]
    words: Ragged
    groups: Ragged

    @classmethod
    def of(cls, enumerated: Sequence[Instances], columns: GraphColumns, group_of: Ints, seed: int) -> _Flat:
        column_of = np.full(len(columns), -1, dtype=np.int64)
        for number, slug in enumerate(CATEGORIES):
            if (entity := columns.index_of.get(f"category:{slug}")) is not None:
                column_of[entity] = number
        own = tellers(columns)
        parts = [
            _flatten(number, instances, columns, column_of, group_of, own, seed)
            for number, instances in enumerate(enumerated)
            if len(instances)
        ]

        def join(get: Callable[[_Flat], NDArray[Any]]) -> NDArray[Any]:
            return np.concatenate([get(part) for part in parts])

        return cls(
            template=join(lambda part: part.template),
            row=join(lambda part: part.row),
            hop=join(lambda part: part.hop),
            category=join(lambda part: part.category),
            source=join(lambda part: part.source),
            fact=join(lambda part: part.fact),
            priority=join(lambda part: part.priority),
            words=Ragged.concatenate([part.words for part in parts]),
            groups=Ragged.concatenate([part.groups for part in parts]),
        )

    def splits(self, split_of_group: Ints) -> Ints:
        """Split of each instance; -1 where its groups lie in different ones."""
        found = split_of_group[self.groups.values]
        starts = self.groups.offsets[:-1]
        least, most = np.minimum.reduceat(found, starts), np.maximum.reduceat(found, starts)
        return np.where(least == most, least, -1)


def _flatten(
    number: int,
    instances: Instances,
    columns: GraphColumns,
    column_of: Ints,
    group_of: Ints,
    own: NDArray[np.bool_],
    seed: int,
) -> _Flat:
    """The instances of one template."""
    n, template = len(instances), instances.template
    anchors = np.stack([instances.anchors[v] for v in template.anchors])
    has_source = instances.sources.lengths > 0
    source = anchors[0].copy()
    source[has_source] = instances.sources.values[instances.sources.offsets[:-1][has_source]]
    telling = instances.words.where(own[instances.words.values])
    # The groups told: those of the words, and of passages that are quoted as anchors; else the first anchor's own.
    passage = columns.is_a(PASSAGE_TYPES)[anchors]
    rows = [np.repeat(np.arange(n), telling.lengths), np.nonzero(passage)[1]]
    told = [telling.values, anchors[passage]]
    silent = np.flatnonzero((telling.lengths == 0) & ~passage.any(axis=0))
    groups = Ragged.group(
        np.concatenate([*rows, silent]), group_of[np.concatenate([*told, anchors[0][silent]])], n
    )
    fact = mixed(anchors).sum(axis=0) * np.uint64(3) + np.add.reduceat(
        mixed(instances.answers.values), instances.answers.offsets[:-1]
    )
    ids = [tuple(columns.ids[e] for e in row) for row in anchors.T.tolist()]
    return _Flat(
        np.full(n, number),
        np.arange(n),
        np.full(n, min(template.hops, 4) - 1),
        column_of[instances.category],
        source,
        fact,
        priorities(seed, template.id, ids),
        instances.words,
        groups,
    )


def mixed(values: Ints) -> NDArray[np.uint64]:
    """Well-spread 64-bit numbers (the finaliser of splitmix64); their sums tell sets of entities apart."""
    x = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
