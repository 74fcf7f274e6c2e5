"""Scoring pairs as the model sees them: two texts, the index of an element, a number to come near to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from clwqa_baselines.ceaf.scorer.errors import ScorerError
from clwqa_bench.dataset import Dataset
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import ScoringPair, Split


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and a node in words, with the index of the node's element in the ontology's types."""

    question: str
    node: str
    element: int


@dataclass(frozen=True, slots=True)
class Examples:
    """The pairs of one part of the scoring pairs, and what each should score."""

    records: tuple[ScoringPair, ...]
    pairs: tuple[Pair, ...]

    @property
    def labels(self) -> tuple[float, ...]:
        """Soft labels in [0, 1]."""
        return tuple(record.label for record in self.records)


def examples(dataset: Dataset, part: Split, ontology: Ontology) -> Examples:
    """The pairs of a part.  Raises ScorerError if there are none, or if the ontology lacks the element of one."""
    file = dataset.root / "scoring_pairs" / f"{part}.parquet"
    records = tuple(dataset.pairs(part))
    if not records:
        raise ScorerError("there are no scoring pairs", fix="build the dataset with its pairs", file=file)
    index = {name: place for place, name in enumerate(ontology.types)}
    for record in records:
        if record.element not in index:
            raise ScorerError(
                f"pair {record.id!r} has the element {record.element!r}, which the ontology does not know",
                fix="use the ontology the pairs were made with",
                file=file,
                field="element",
            )
    pairs = (Pair(record.question, record.node_text, index[record.element]) for record in records)
    return Examples(records, tuple(pairs))


def buckets(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Places in batches of `size`, each of pairs about equally long, so that little is padded; shortest first."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    yield from (order[at : at + size] for at in range(0, len(order), size))


def shuffled(lengths: Sequence[int], size: int, rng: np.random.Generator) -> list[list[int]]:
    """The batches of one pass: equally long ones within stretches of a random order, the batches in random order."""
    order = rng.permutation(len(lengths))
    stretch = STRETCH * size
    batches = [
        [int(some[place]) for place in batch]
        for some in (order[at : at + stretch] for at in range(0, len(order), stretch))
        for batch in buckets([lengths[place] for place in some], size)
    ]
    return [batches[place] for place in rng.permutation(len(batches))]


STRETCH = 8  # batches that are sorted by length together: padding is small, and batches still differ from pass to pass


def texts(pairs: Iterable[Pair]) -> Iterator[str]:
    """All texts."""
    for pair in pairs:
        yield pair.question
        yield pair.node
