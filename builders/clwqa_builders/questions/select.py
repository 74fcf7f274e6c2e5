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
    flat = _flatten_all(enumerated, columns, seed)
    shares = np.array([SPLIT_SHARES[s] for s in SPLITS])
    split = flat.shared_out(len(CATEGORIES), shares, seed)
    held = held_out_templates(seed, {i.template.id: i.template.hops for i in enumerated})
    kept = flat.usable(split, np.array([i.template.id in held for i in enumerated]))
    wished = np.array([scale.categories[c] for c in CATEGORIES])
    drawn = draw(flat.pool(kept, split), np.array(list(scale.hops.values())), wished, shares)
    return flat.selection(kept[drawn.chosen], split, drawn)


@dataclass(frozen=True)
class Flat:
    """All instances of all templates as parallel arrays; ``groups`` are the fact groups an instance touches.

    ``hop``, ``category``, ``source``, ``fact``, ``priority`` and ``words`` are those of a :class:`Pool`.
    """

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
    def of(
        cls,
        number: int,
        instances: Instances,
        columns: GraphColumns,
        seed: int,
        *,
        category: Ints,
        source: Ints,
        groups: Ragged,
    ) -> Flat:
        """The instances of one template, which has this number."""
        n, template = len(instances), instances.template
        anchors = np.stack([instances.anchors[v] for v in template.anchors])
        answers = np.add.reduceat(mixed(instances.answers.values), instances.answers.offsets[:-1])
        ids = [tuple(columns.ids[e] for e in row) for row in anchors.T.tolist()]
        return cls(
            template=np.full(n, number),
            row=np.arange(n),
            hop=np.full(n, min(template.hops, len(HOP_TARGETS)) - 1),
            category=category,
            source=source,
            fact=mixed(anchors).sum(axis=0) * np.uint64(3) + answers,
            priority=priorities(seed, template.id, ids),
            words=instances.words,
            groups=groups,
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Flat]) -> Flat:
        """The instances of several templates, one template after the other."""

        def join(get: Callable[[Flat], NDArray[Any]]) -> NDArray[Any]:
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

    def shared_out(self, categories: int, shares: NDArray[np.float64], seed: int) -> Ints:
        """Split of each instance, -1 where its groups lie in different ones.

        Groups are divided so that the usable supply of every hop x category cell is shared in proportion.
        """
        groups = np.unique(self.groups.values)
        number = np.searchsorted(groups, self.groups.values)
        starts = self.groups.offsets[:-1]
        weights = np.zeros((len(groups), len(HOP_TARGETS) * categories))
        alone = np.flatnonzero(self.groups.lengths == 1)
        np.add.at(weights, (number[starts[alone]], self.hop[alone] * categories + self.category[alone]), 1.0)
        order = priorities(seed, "groups", [(str(g),) for g in groups.tolist()])
        split = assign_splits(weights, shares, order)[number]
        least, most = np.minimum.reduceat(split, starts), np.maximum.reduceat(split, starts)
        return np.where(least == most, least, -1)

    def usable(self, split: Ints, is_held: NDArray[np.bool_]) -> Ints:
        """Instances that lie in one split, which is the test split where their template is held out for it."""
        return np.flatnonzero((split >= 0) & (~is_held[self.template] | (split == TEST)))

    def pool(self, kept: Ints, split: Ints) -> Pool:
        """These instances, to draw from."""
        return Pool(
            self.template[kept],
            self.hop[kept],
            self.category[kept],
            split[kept],
            self.source[kept],
            self.fact[kept],
            self.priority[kept],
            self.words.take(kept).rows(),
        )

    def selection(self, chosen: Ints, split: Ints, drawn: Drawn) -> Selection:
        """These instances as those drawn."""
        first_group = self.groups.values[self.groups.offsets[:-1]]
        return Selection(
            rows=tuple(zip(self.template[chosen].tolist(), self.row[chosen].tolist(), strict=True)),
            split=tuple(SPLITS[s] for s in split[chosen].tolist()),
            group=tuple(first_group[chosen].tolist()),
            drawn=drawn,
            instances=len(split),
            ungrouped=int((split < 0).sum()),
        )


def _flatten_all(enumerated: Sequence[Instances], columns: GraphColumns, seed: int) -> Flat:
    column_of = np.full(len(columns), -1, dtype=np.int64)
    for number, slug in enumerate(CATEGORIES):
        if (entity := columns.index_of.get(f"category:{slug}")) is not None:
            column_of[entity] = number
    group_of, own = fact_groups(columns), tellers(columns)
    return Flat.concatenate(
        [
            _flatten(number, instances, columns, column_of, group_of, own, seed)
            for number, instances in enumerate(enumerated)
            if len(instances)
        ]
    )


def _flatten(
    number: int,
    instances: Instances,
    columns: GraphColumns,
    column_of: Ints,
    group_of: Ints,
    own: NDArray[np.bool_],
    seed: int,
) -> Flat:
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
    category = column_of[instances.category]
    return Flat.of(number, instances, columns, seed, category=category, source=source, groups=groups)


def mixed(values: Ints) -> NDArray[np.uint64]:
    """Well-spread 64-bit numbers (the finaliser of splitmix64); their sums tell sets of entities apart."""
    x = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
