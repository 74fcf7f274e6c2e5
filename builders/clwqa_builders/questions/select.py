"""From enumerated instances to the drawn ones: fact groups, splits, held-out templates, the draw."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clwqa_builders.questions.balance import CATEGORY_TARGETS, HOP_TARGETS, SPLIT_SHARES
from clwqa_builders.questions.columns import GraphColumns
from clwqa_builders.questions.draw import Drawn, Ints, Pool, draw
from clwqa_builders.questions.groups import assign_splits, clusters, joined_by
from clwqa_builders.questions.instances import Instances

WORD_TYPES = ("Idiom", "Proverb", "Xiehouyu", "Word", "Sentence")
PASSAGE_TYPES = ("Quotation", "Allusion", "Explanation")
CATEGORIES = tuple(CATEGORY_TARGETS)
SPLITS = tuple(SPLIT_SHARES)
TEST = SPLITS.index("test")


@dataclass(frozen=True, slots=True)
class Scale:
    """How large a dataset to draw: questions per hop (4 = four and more) and the wished category sizes."""

    hops: Mapping[int, int]
    categories: Mapping[str, int]


PAPER_SCALE = Scale(HOP_TARGETS, CATEGORY_TARGETS)


@dataclass(frozen=True, slots=True)
class Selection:
    """The drawn instances: (template number, row in its instances) with split and group, and the accounts.

    ``supply`` is (templates x hops x categories) before grouping, ``ungrouped`` how many instances the rule that a
    fact group may not cross splits made unusable.
    """

    rows: tuple[tuple[int, int], ...]
    split: tuple[str, ...]
    group: tuple[int, ...]
    drawn: Drawn
    supply: Ints
    instances: int
    ungrouped: int


def fact_groups(columns: GraphColumns) -> Ints:
    """The derivation cluster of every entity; entities that tell no word-level fact are alone."""
    word = columns.is_a(WORD_TYPES)
    pairs = []
    for relation in ("variantOf", "sameMeaningAs", "seeAlso", "hasQuotation", "hasAllusion", "hasExplanation"):
        heads, tails = columns.pairs((relation,), "head")
        keep = word[heads]
        pairs.append((heads[keep], tails[keep]))
    pairs.append(_through_records(columns, word))
    pairs.append(_same_gloss(columns, word))
    return clusters(len(columns), pairs)


def _through_records(columns: GraphColumns, word: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Word and quoted example: joined through the example's citation record."""
    heads, records = columns.pairs(("hasExample",), "head")
    quoted = columns.follow(("citesQuotation",)).take(records)
    return np.repeat(heads, quoted.lengths), quoted.values


def _same_gloss(columns: GraphColumns, word: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    heads, meanings = columns.pairs(("hasExplanation",), "head")
    heads, meanings = heads[word[heads]], meanings[word[heads]]
    number: dict[str, int] = {}
    keys = np.array([number.setdefault(columns.texts[m], len(number)) for m in meanings.tolist()], dtype=np.int64)
    return joined_by(heads, keys)


def priorities(seed: int, template_id: str, anchors: Sequence[tuple[str, ...]]) -> NDArray[np.uint64]:
    """A fixed pseudo-random number per instance, independent of all others."""
    keys = [hashlib.blake2b("\x1f".join((str(seed), template_id, *a)).encode("utf-8"), digest_size=8).digest()
            for a in anchors]
    return np.frombuffer(b"".join(keys), dtype=">u8").astype(np.uint64)


def held_out_templates(seed: int, hops: Mapping[str, int]) -> frozenset[str]:
    """One template per hop band that only the test split may use (the unseen-template view)."""
    chosen: dict[int, tuple[bytes, str]] = {}
    for id, hop in hops.items():
        key = hashlib.blake2b(f"{seed}/held-out/{id}".encode(), digest_size=8).digest()
        band = min(hop, 4)
        chosen[band] = min(chosen.get(band, (key, id)), (key, id))
    return frozenset(id for _, id in chosen.values())


def select(enumerated: Sequence[Instances], columns: GraphColumns, seed: int, scale: Scale = PAPER_SCALE) -> Selection:
    """Draw the dataset from all templates' instances.  Deterministic in its arguments."""
    category_of = {f"category:{slug}": i for i, slug in enumerate(CATEGORIES)}
    group_of = fact_groups(columns)
    columns_of = _Flat.of(enumerated, columns, category_of, group_of, seed)
    shares = np.array([SPLIT_SHARES[s] for s in SPLITS])
    split_of_group = _split_groups(columns_of, shares, seed)
    split, usable = columns_of.splits(split_of_group)
    held = held_out_templates(seed, {i.template.id: i.template.hops for i in enumerated})
    is_held = np.array([i.template.id in held for i in enumerated])
    usable &= ~is_held[columns_of.template] | (split == TEST)
    kept = np.flatnonzero(usable)
    pool = Pool(columns_of.template[kept], columns_of.hop[kept], columns_of.category[kept], split[kept],
                columns_of.source[kept], columns_of.fact[kept], columns_of.priority[kept],
                [columns_of.words[i] for i in kept.tolist()])
    drawn = draw(pool, np.array(list(scale.hops.values())),
                 np.array([scale.categories[c] for c in CATEGORIES]), shares)
    chosen = kept[drawn.chosen]
    supply = np.zeros((len(enumerated), len(scale.hops), len(CATEGORIES)), dtype=np.int64)
    np.add.at(supply, (columns_of.template, columns_of.hop, columns_of.category), 1)
    return Selection(
        rows=tuple(zip(columns_of.template[chosen].tolist(), columns_of.row[chosen].tolist(), strict=True)),
        split=tuple(SPLITS[s] for s in split[chosen].tolist()),
        group=tuple(columns_of.members[i][0] for i in chosen.tolist()),
        drawn=drawn, supply=supply, instances=len(split),
        ungrouped=int((split < 0).sum()))


def _split_groups(flat: _Flat, shares: NDArray[np.float64], seed: int) -> dict[int, int]:
    """Each group's split, so that the usable supply of every hop x category cell is shared in proportion."""
    cells = int(flat.hop.max() + 1) * len(CATEGORIES) if len(flat.hop) else 0
    groups = sorted({g for members in flat.members for g in members})
    number = {g: i for i, g in enumerate(groups)}
    weights = np.zeros((len(groups), cells))
    single = [i for i, members in enumerate(flat.members) if len(members) == 1]
    np.add.at(weights, ([number[flat.members[i][0]] for i in single],
                        flat.hop[single] * len(CATEGORIES) + flat.category[single]), 1.0)
    order = priorities(seed, "groups", [(str(g),) for g in groups])
    return dict(zip(groups, assign_splits(weights, shares, order).tolist(), strict=True))


@dataclass(frozen=True)
class _Flat:
    """All instances of all templates as parallel arrays; ``members`` are the fact groups an instance touches."""

    template: Ints
    row: Ints
    hop: Ints
    category: Ints
    source: Ints
    fact: NDArray[np.uint64]
    priority: NDArray[np.uint64]
    words: list[tuple[int, ...]]
    members: list[tuple[int, ...]]

    @classmethod
    def of(cls, enumerated: Sequence[Instances], columns: GraphColumns, category_of: Mapping[str, int],
           group_of: Ints, seed: int) -> _Flat:
        word = columns.is_a(WORD_TYPES)
        passage = columns.is_a(PASSAGE_TYPES)
        lookup = np.full(len(columns), -1, dtype=np.int64)
        for id, number in category_of.items():
            if id in columns.index_of:
                lookup[columns.index_of[id]] = number
        parts: list[tuple[Ints, ...]] = []
        facts: list[int] = []
        words: list[tuple[int, ...]] = []
        members: list[tuple[int, ...]] = []
        priority: list[NDArray[np.uint64]] = []
        for number, instances in enumerate(enumerated):
            n = len(instances)
            anchors = list(zip(*(column.tolist() for column in instances.anchors.values()), strict=True)) if n else []
            firsts = instances.anchors[instances.template.anchors[0]]
            source = np.array([int(s[0]) if len(s := instances.sources[i]) else int(firsts[i]) for i in range(n)],
                              dtype=np.int64)
            parts.append((np.full(n, number), np.arange(n), np.full(n, min(instances.template.hops, 4) - 1),
                          lookup[instances.category], source))
            priority.append(priorities(seed, instances.template.id,
                                       [tuple(columns.ids[e] for e in a) for a in anchors]))
            for i in range(n):
                own = tuple(w for w in instances.words[i].tolist() if word[w])
                told = {*own, *(a for a in anchors[i] if passage[a])} or {anchors[i][0]}
                words.append(own)
                members.append(tuple(dict.fromkeys(int(group_of[e]) for e in sorted(told))))
                facts.append(hash((tuple(sorted(anchors[i])), tuple(instances.answers[i].tolist()))) & (2**63 - 1))
        template, row, hop, category, source = (np.concatenate(c).astype(np.int64) for c in zip(*parts, strict=True))
        return cls(template, row, hop, category, source, np.array(facts, dtype=np.uint64), np.concatenate(priority),
                   words, members)

    def splits(self, split_of_group: Mapping[int, int]) -> tuple[Ints, NDArray[np.bool_]]:
        """Split of each instance, -1 where its groups lie in different ones; and which instances are usable."""
        found = np.array([_common([split_of_group[g] for g in members]) for members in self.members], dtype=np.int64)
        return found, (found >= 0) & (self.category >= 0)


def _common(splits: list[int]) -> int:
    return splits[0] if len(set(splits)) == 1 else -1
