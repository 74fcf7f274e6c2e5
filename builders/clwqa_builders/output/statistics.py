"""Counts of a built dataset, all computed from its tables; the card and `statistics.json` print nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from clwqa_bench.dataset import Targets
from clwqa_bench.records import BAND_LABELS, SPLITS, hop_band

HOP_BANDS = ("1", "2", "3", "4+")


@dataclass(frozen=True)
class CategoryRow:
    """Questions of one category: what was aimed at, what the dataset has, what the graph could supply."""

    category: str
    upper_category: str
    target: int | None
    reached: int
    supply: int | None


@dataclass(frozen=True)
class PairStatistics:
    """The scoring pairs: totals, and by split, element type and rule the number of each band."""

    pairs: int
    questions: int
    nodes: int
    splits: Mapping[str, Mapping[str, int]]
    elements: Mapping[str, Mapping[str, int]]
    rules: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Statistics:
    """Every table is a mapping from a value (or a pair joined by "/") to the number of questions, sorted by key."""

    questions: int
    groups: int
    divided_groups: int
    words: int
    splits: Mapping[str, int]
    hops: Mapping[str, int]
    hops_by_split: Mapping[str, Mapping[str, int]]
    categories: tuple[CategoryRow, ...]
    hops_by_category: Mapping[str, Mapping[str, int]]
    families: Mapping[str, int]
    templates: Mapping[str, int]
    methods: Mapping[str, int]
    answers_per_question: Mapping[str, int]
    views: Mapping[str, int]
    question_length: Mapping[str, int]
    entities: int
    triples: int
    entity_types: Mapping[str, int]
    relations: Mapping[str, int]
    pairs: PairStatistics

    def counts(self) -> dict[str, int]:
        """The totals that go into the manifest."""
        return {
            "questions": self.questions,
            "entities": self.entities,
            "triples": self.triples,
            **self.splits,
            "scoring_pairs": self.pairs.pairs,
        }


def compute(
    questions: pa.Table,
    pairs: pa.Table,
    entities: pa.Table,
    triples: pa.Table,
    targets: Targets,
    supply: Mapping[str, int],
) -> Statistics:
    """Count everything the card shows. `supply` maps a category to the instances the build could draw from."""
    splits = questions["split"].to_pylist()
    bands = [hop_band(hops) for hops in questions["hops"].to_pylist()]
    categories = questions["category"].to_pylist()
    anchors = pc.struct_field(pc.list_flatten(questions["anchors"]), "entity_id")
    lengths = pc.utf8_length(questions["question"])
    return Statistics(
        questions=questions.num_rows,
        groups=pc.count_distinct(questions["group_id"]).as_py(),
        divided_groups=_divided(questions["group_id"].to_pylist(), splits),
        words=pc.count_distinct(anchors.filter(pc.starts_with(anchors, "word:"))).as_py(),
        splits={split: splits.count(split) for split in SPLITS},
        hops={band: bands.count(band) for band in HOP_BANDS},
        hops_by_split=crosstab(splits, bands),
        categories=tuple(_category_rows(questions, targets, supply)),
        hops_by_category=crosstab(categories, bands),
        families=tally(questions["family"]),
        templates=tally(questions["template_id"].drop_null()),
        methods=tally(pc.struct_field(questions["generator"], "method")),
        answers_per_question=tally(pc.list_value_length(questions["answers"])),
        views=tally(pc.list_flatten(questions["views"])),
        question_length=_quantiles(lengths),
        entities=entities.num_rows,
        triples=triples.num_rows,
        entity_types=tally(entities["type"]),
        relations=tally(triples["relation"]),
        pairs=count_pairs(pairs),
    )


def count_pairs(pairs: pa.Table) -> PairStatistics:
    """How evenly the scoring pairs are spread; `elements` and `rules` hold a number for every band."""
    bands = pairs["band"].to_pylist()
    return PairStatistics(
        pairs=pairs.num_rows,
        questions=pc.count_distinct(pairs["question_id"]).as_py(),
        nodes=pc.count_distinct(pairs["entity_id"]).as_py(),
        splits=crosstab(pairs["split"].to_pylist(), bands, tuple(BAND_LABELS)),
        elements=crosstab(pairs["element"].to_pylist(), bands, tuple(BAND_LABELS)),
        rules=crosstab(pairs["rule"].to_pylist(), bands, tuple(BAND_LABELS)),
    )


def tally(column: pa.ChunkedArray) -> dict[str, int]:
    """Occurrences of every value, sorted by value (numbers as numbers)."""
    counts = Counter(column.to_pylist())
    return {str(value): counts[value] for value in sorted(counts)}


def crosstab(
    rows: list[str], columns: list[str], names: Sequence[str] = HOP_BANDS
) -> dict[str, dict[str, int]]:
    """Pairwise counts under the column names, complete: a pair that never occurs is 0."""
    counts = Counter(zip(rows, columns, strict=True))
    return {row: {column: counts[row, column] for column in names} for row in sorted(set(rows))}


def _category_rows(questions: pa.Table, targets: Targets, supply: Mapping[str, int]) -> list[CategoryRow]:
    upper = dict(zip(questions["category"].to_pylist(), questions["upper_category"].to_pylist(), strict=True))
    reached = tally(questions["category"])
    names = sorted({*targets.categories, *reached}, key=lambda name: (-targets.categories.get(name, 0), name))
    return [
        CategoryRow(
            name, upper.get(name, ""), targets.categories.get(name), reached.get(name, 0), supply.get(name)
        )
        for name in names
    ]


def _divided(groups: list[str], splits: list[str]) -> int:
    """Groups with questions in more than one split."""
    splits_per_group = Counter(group for group, _ in set(zip(groups, splits, strict=True)))
    return sum(count > 1 for count in splits_per_group.values())


def _quantiles(lengths: pa.ChunkedArray) -> dict[str, int]:
    if not len(lengths):
        return {}
    points = {"min": 0.0, "median": 0.5, "p99": 0.99, "max": 1.0}
    values = pc.quantile(lengths, q=list(points.values()), interpolation="lower").to_pylist()
    return dict(zip(points, values, strict=True))
