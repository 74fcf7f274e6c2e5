"""What a dataset is made of, by category and number of hops (the paper's figure 4): a table without runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from clwqa_baselines.experiments.design import Bars
from clwqa_baselines.experiments.tables import Figure, Heading, Row, Table
from clwqa_bench.dataset import Dataset
from clwqa_bench.predictions import DatasetRef
from clwqa_bench.records import Question, hop_band

NAME = "dataset"
TITLE, PAPER = "Questions by category and hops", "Figure 4"
PLOT = Bars(("share", "test share"))
BANDS = ("1", "2", "3", "4+")
COLUMNS = (
    Heading(heading="questions", figure="questions", unit="count"),
    Heading(heading="share", figure="share", unit="percent"),
    Heading(heading="test questions", figure="questions of test", unit="count"),
    Heading(heading="test share", figure="share of test", unit="percent"),
)


def composition(dataset: Dataset) -> Table:
    """Questions of each category and hop band, on the whole and in the test split."""
    every, test = list(dataset.questions()), list(dataset.questions("test"))
    manifest = dataset.manifest
    ref = DatasetRef(
        name=manifest.name,
        version=manifest.version,
        content=manifest.content.get("qa", ""),
        graph=manifest.content.get("kg", ""),
        split="all",
    )
    return Table(
        name=NAME, title=TITLE, paper=PAPER, dataset=ref, questions=len(every), columns=COLUMNS,
        rows=tuple(_rows(every, test)), notes=("Counts, so without intervals.",),
    )  # fmt: skip


def _rows(every: Sequence[Question], test: Sequence[Question]) -> Iterator[Row]:
    categories = [Counter(question.category for question in part) for part in (every, test)]
    bands = [Counter(hop_band(question.hops) for question in part) for part in (every, test)]
    for name, _ in sorted(categories[0].items(), key=lambda item: (-item[1], item[0])):
        yield Row(label=name, cells=tuple(_cells([found[name] for found in categories], every, test)))
    for band in BANDS:
        yield Row(label=f"{band} hop", cells=tuple(_cells([found[band] for found in bands], every, test)))


def _cells(counts: Sequence[int], *parts: Sequence[Question]) -> Iterator[Figure]:
    for number, part in zip(counts, parts, strict=True):
        yield Figure(value=number, n=len(part))
        yield Figure(value=number / len(part) if part else 0.0, n=len(part))
