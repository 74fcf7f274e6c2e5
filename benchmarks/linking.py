"""Measure linking: fitting the linker, reading it back, and linking and ranking every question of a split.

    python -m benchmarks.linking                       # data/clwqa-100k, split validation
    python -m benchmarks.linking data/my-dataset

Times are CPU times of this process with one thread.  How well the linker does is what `clwqa-bench train linker` says.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from threadpoolctl import threadpool_limits

from clwqa_bench.dataset import Dataset
from clwqa_bench.linking import Linker, signature_of
from clwqa_bench.records import Question


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", nargs="?", default="data/clwqa-100k", type=Path)
    parser.add_argument("--split", default="validation")
    arguments = parser.parse_args()
    dataset = Dataset.open(arguments.dataset, verify=False)
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        measure(dataset, list(dataset.questions(arguments.split)), Path(folder))


def measure(dataset: Dataset, questions: list[Question], folder: Path) -> None:
    """Print every figure."""
    graph = dataset.kg()
    with timed("read the train split"):
        known = list(dataset.questions("train"))
    with timed(f"fit on {len(known):,} questions"):
        fitted = Linker.fit(known, graph, graph.ontology)
    with timed("write"):
        fitted.save(folder)
    print(f"{'size on disk':50} {sum(f.stat().st_size for f in folder.iterdir()) / 1e6:8.2f} MB")
    with timed("read back"):
        linker = Linker.load(folder, graph, graph.ontology)
    with timed("first quotation (reads the passages)"):
        linker.link("“这句话查无出处”是哪一篇里的话？")
    with timed(f"link {len(questions):,} questions"):
        for question in questions:
            linker.link(question.question)
    signatures = sorted({signature_of(path) for question in questions for path in question.standard_paths})
    asked = questions[-1000:]  # still remembered, so that ranking alone is timed
    with timed(f"rank {len(signatures)} path shapes for {len(asked):,} questions"):
        for question in asked:
            linker.scores(question.question, signatures)


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Print the CPU time a block takes."""
    start = time.process_time()
    yield
    print(f"{name:50} {time.process_time() - start:8.2f} s", flush=True)


if __name__ == "__main__":
    main()
