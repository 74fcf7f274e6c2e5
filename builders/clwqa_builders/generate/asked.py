"""What a dataset asks already, and in which split each fact group lies: nothing generated may repeat or cross it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.records import SPLITS, Question, Split
from clwqa_bench.text import comparison_key
from clwqa_builders.generate.reasons import Rejected
from clwqa_builders.questions.balance import SPLIT_SHARES
from clwqa_builders.questions.columns import GraphColumns
from clwqa_builders.questions.select import PASSAGE_TYPES, WORD_TYPES, fact_groups
from clwqa_builders.validate.rules.duplicates import SIMILAR, bare, jaccard
from clwqa_builders.validate.tables import DatasetTables

Gold = tuple[str, ...]


@dataclass
class Asked:
    """Questions by their letters and by their gold; those accepted are added as they come."""

    gold_of: dict[str, Gold] = field(default_factory=dict)
    texts_of: defaultdict[Gold, list[str]] = field(default_factory=lambda: defaultdict(list))
    facts: set[tuple[Gold, Gold]] = field(default_factory=set)
    """(anchors, answers) of what was generated; a template may ask for the same in its own words."""

    @classmethod
    def of(cls, tables: DatasetTables) -> Asked:
        """All questions of a dataset."""
        asked = cls()
        for key, gold in zip(tables.keys, tables.gold, strict=True):
            asked._take(bare(key), gold)
        return asked

    def add(self, question: Question) -> None:
        """Take a generated question.  Raises Rejected if it is there already."""
        text = bare(comparison_key(question.question))
        gold = tuple(sorted(answer.entity_id for answer in question.answers))
        fact = tuple(sorted(anchor.entity_id for anchor in question.anchors)), gold
        if (other := self.gold_of.get(text)) is not None:
            raise Rejected("duplicate" if other == gold else "two-answers", question.question)
        if near := next((one for one in self.texts_of[gold] if jaccard(one, text) >= SIMILAR), None):
            raise Rejected("duplicate", f"nearly {near}")
        if fact in self.facts:
            raise Rejected("same-fact", question.question)
        self.facts.add(fact)
        self._take(text, gold)

    def _take(self, text: str, gold: Gold) -> None:
        self.gold_of.setdefault(text, gold)
        self.texts_of[gold].append(text)


@dataclass(frozen=True)
class Groups:
    """Fact groups of the graph (docs/adr/0004), and the splits the dataset has put them in.

    A group that it asks nothing about gets a split from its own id, in the shares of the dataset.
    """

    columns: GraphColumns
    group_of: NDArray[np.int64]
    split_of: dict[int, Split]

    @classmethod
    def of(cls, tables: DatasetTables, columns: GraphColumns) -> Groups:
        """Read off the evidence of the dataset's questions."""
        groups = cls(columns, fact_groups(columns), {})
        rows, heads, tails = tables.exploded("evidence", "head", "tail")
        anchored, anchors = tables.exploded("anchors", "entity_id")
        splits = tables.column("split")
        met = defaultdict[int, list[str]](list)
        named = defaultdict[int, list[str]](list)
        for own, numbers, ids in ((met, rows, heads), (met, rows, tails), (named, anchored, anchors)):
            for row, id in zip(numbers.tolist(), ids.to_pylist(), strict=True):
                own[row].append(id)
        for row, ids in named.items():
            for group in groups.touched(ids, met[row]):
                groups.split_of.setdefault(group, splits[row])
        return groups

    def touched(self, anchors: Sequence[str], evidence: Iterable[str]) -> list[int]:
        """The groups a question touches, the first of them its own: those of the words on its evidence and of the
        passages it names, else that of its first anchor.
        """
        types, number = self.columns.types, self.columns.index_of
        told = [number[id] for id in evidence if types[number[id]] in WORD_TYPES]
        told += [number[id] for id in anchors if types[number[id]] in PASSAGE_TYPES]
        return sorted({int(self.group_of[entity]) for entity in told or [number[anchors[0]]]})

    def place(self, anchors: Sequence[str], evidence: Iterable[str]) -> tuple[str, Split]:
        """Group id and split of a question.  Raises Rejected if it would stand in two splits."""
        groups = self.touched(anchors, evidence)
        splits = {self.split_of.get(group) or self._drawn(group) for group in groups}
        if len(splits) > 1:
            raise Rejected("crosses-split", ", ".join(sorted(splits)))
        return f"group:{self.columns.ids[groups[0]]}", splits.pop()

    def _drawn(self, group: int) -> Split:
        digest = hashlib.blake2b(f"generated/{self.columns.ids[group]}".encode(), digest_size=8).digest()
        bounds = np.cumsum([SPLIT_SHARES[split] for split in SPLITS])
        place = int(np.searchsorted(bounds, int.from_bytes(digest) / 2**64, side="right"))
        return SPLITS[min(place, len(SPLITS) - 1)]
