"""Measure CEAF without a language model: a run over a split, its stages, and what the type paths save.

    python -m benchmarks.ceaf                          # data/clwqa-100k, split validation
    python -m benchmarks.ceaf data/my-dataset --split test --set combine=intersection

The linker is learned before the clock starts if it has not been.  Nothing is kept.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from clwqa_baselines.ceaf.oracles import gold_constraints
from clwqa_baselines.ceaf.retrieval import TypeGraph, retrieve
from clwqa_baselines.ceaf.system import Ceaf
from clwqa_bench.dataset import Dataset
from clwqa_bench.diagnostics import diagnose
from clwqa_bench.linking import open_linker
from clwqa_bench.metrics import Metric
from clwqa_bench.records import Question
from clwqa_bench.runner import Pace, run
from clwqa_bench.runs import Run, gold_of, read_run
from clwqa_bench.systems import Resources, dataset_cache, parse_settings

METRICS = ("Hits@1", "P", "R", "F1(agg=of-means)", "F1(agg=macro)")
EXPANDED = 200  # questions whose whole neighbourhood is walked


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", nargs="?", default="data/clwqa-100k", type=Path)
    parser.add_argument("--split", default="validation")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--oracle", action="append", default=[])
    arguments = parser.parse_args()
    dataset = Dataset.open(arguments.dataset, verify=False)
    texts = dict(text.partition("=")[::2] for text in arguments.set)
    system = Ceaf(parse_settings("ceaf", Ceaf.Config, texts))
    learn(dataset)
    with tempfile.TemporaryDirectory() as folder:
        summary = run(
            system, dataset, arguments.split, Path(folder), oracle=arguments.oracle, pace=Pace(concurrency=1)
        )
        size = (Path(folder) / "items.jsonl").stat().st_size / 1e6
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{summary.title}: {summary.asked:,} questions in {summary.seconds:.1f} s, {memory:,.0f} MB,")
        print(f"predictions of {size:,.0f} MB; {dict(summary.statuses)}")
        finished = read_run(Path(folder))
    stages(finished)
    scores(dataset, finished, arguments.split)
    retrieval(dataset, list(dataset.questions(arguments.split)))


def learn(dataset: Dataset) -> None:
    """Have the linker in the cache, as after a first run."""
    kg, content = dataset.kg(), dataset.manifest.content
    cache = dataset_cache(content.get("kg", ""), content.get("qa", ""))
    open_linker(Resources(kg, kg.ontology, train=lambda: dataset.questions("train"), cache=cache))


def stages(finished: Run) -> None:
    """Milliseconds a question spends in each stage."""
    spent: dict[str, list[float]] = defaultdict(list)
    for prediction in finished.predictions:
        for stage, used in prediction.usage.items():
            spent[stage].append(used.seconds * 1e3)
    for stage, times in spent.items():
        p50, p99 = np.percentile(times, [50, 99])
        print(f"  {stage:12} p50 {p50:7.2f} ms  p99 {p99:7.2f} ms  sum {sum(times) / 1e3:6.1f} s")


def scores(dataset: Dataset, finished: Run, split: str) -> None:
    """Answers by view, indicators and waterfall."""
    gold = gold_of(dataset, split)  # type: ignore[arg-type]
    grid = finished.on(gold)
    views = {"all": np.ones(len(gold.ids), bool)}
    views |= {name: mask for name, mask in gold.strata.items() if name.startswith(("view=", "hops="))}
    for name in METRICS:
        metric = Metric.parse(name)
        values = metric.columns(grid).values
        by_view = (f"{view} {metric.reduce(values[mask].mean(0)):.4f}" for view, mask in views.items())
        print(f"  {metric.label:12} {'  '.join(by_view)}")
    diagnosis = diagnose(grid, dataset.kg().ontology, resamples=100, by=())
    for name, label in diagnosis.labels.items():
        if cell := diagnosis.cell(name):
            print(f"  {label:40} {cell.value:.4f}  (n = {cell.n:,})")
    print(f"  {diagnosis.rows()}")


def retrieval(dataset: Dataset, questions: list[Question]) -> None:
    """Stage 2 under gold constraints, against walking everything from the anchors to the same depth."""
    graph, types = dataset.kg(), TypeGraph(dataset.kg().ontology)
    near = [question for question in questions if question.hops <= types.d_max]
    paths, seconds, covered = [], [], 0
    for question in near:
        query = gold_constraints(question, graph.ontology)
        began = time.perf_counter()
        found = retrieve(query, graph, types, cap=5_000)
        seconds.append(time.perf_counter() - began)
        paths.append(len(found.paths))
        walks = {path.nodes for path in found.paths}
        covered += any(path.entities in walks for path in question.standard_paths)
    print(f"retrieval, gold constraints, {len(near):,} questions of at most {types.d_max} hops:")
    print(
        f"  {np.mean(paths):,.1f} paths, {np.mean(seconds) * 1e3:.2f} ms, coverage {covered / len(near):.4f}"
    )
    some = range(0, len(near), max(1, len(near) // EXPANDED))
    for directed in (True, False):
        began = time.perf_counter()
        every = [
            graph.paths([anchor.entity_id for anchor in near[i].anchors], types.d_max, directed=directed)
            for i in some
        ]
        took = (time.perf_counter() - began) / len(some) * 1e3
        kind = "forwards" if directed else "either way"
        print(f"  every path {kind}: {np.mean([found.total for found in every]):,.1f}, {took:.2f} ms")
    on_some = np.asarray(paths)[list(some)].mean(), np.asarray(seconds)[list(some)].mean() * 1e3
    print(f"  (of the same {len(some)} questions, by type paths: {on_some[0]:,.1f}, {on_some[1]:.2f} ms)")


if __name__ == "__main__":
    main()
