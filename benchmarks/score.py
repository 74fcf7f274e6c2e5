"""Measure scoring: the whole command on 10,000 predictions, and its parts against a plain loop, ir_measures, ranx.

    python -m benchmarks score                       # data/clwqa-100k, split test
    python -m benchmarks score data/my-dataset --resamples 1000

The command runs in a fresh process with all metrics and all strata.  The parts are compared on the measures all
engines have, from the same answers, and every value of one engine is checked against the others'.
ranx is not among the requirements (it brings a compiler along): `pip install ranx` to have it measured.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import ir_measures
import numpy as np

from clwqa_bench.dataset import Dataset
from clwqa_bench.grid import Gold, Grid, align
from clwqa_bench.metrics import Metric
from clwqa_bench.predictions import Evidence, EvidenceTriple, PredictedAnswer, Prediction
from clwqa_bench.runs import gold_of
from clwqa_bench.stats import Resamples, Sample, intervals, seed_of

PREDICTIONS, ANSWERS, SEED = 10_000, 5, 5
SHARED = {"Hits(match=id)@1": "Success@1", "MRR(match=id)@10": "RR@10", "Recall(match=id)@10": "R@10"}
RANX = {"Success@1": "hit_rate@1", "RR@10": "mrr@10", "R@10": "recall@10"}
FEW = 100  # resamples of the plain loop, which is then scaled up

Values = Mapping[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", nargs="?", default="data/clwqa-100k", type=Path)
    parser.add_argument("--split", default="test")
    parser.add_argument("--resamples", type=int, default=10_000)
    arguments = parser.parse_args()
    gold = gold_of(Dataset.open(arguments.dataset, verify=False), arguments.split)
    predictions = made_up(gold, random.Random(SEED))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "predictions.jsonl"
        lines = (prediction.model_dump_json(exclude_defaults=True) for prediction in predictions)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command(file, arguments.dataset, arguments.split, arguments.resamples)
    grid = align(gold, predictions)
    measures(grid)
    bootstrap(grid, arguments.resamples)


def made_up(gold: Gold, rng: random.Random) -> list[Prediction]:
    """Predictions of a middling system: up to five entities, the gold among them half of the time, and triples."""
    pool = [answer for question in gold.questions for answer in question.answers]
    predictions = []
    for question in gold.questions[:PREDICTIONS]:
        chosen = {a.entity_id: a for a in rng.sample(pool, rng.randint(1, ANSWERS))}
        if rng.random() < 0.5:
            chosen |= {a.entity_id: a for a in question.answers}
        answers = [PredictedAnswer(text=a.label, entity_id=a.entity_id) for a in chosen.values()]
        rng.shuffle(answers)
        shown = [*question.evidence, *rng.choice(gold.questions).evidence]
        triples = tuple(EvidenceTriple(id=f"t{i}", triple=triple) for i, triple in enumerate(shown))
        predictions.append(
            Prediction(
                id=question.id,
                status="ok",
                ranked=True,
                answers=tuple(answers),
                evidence=Evidence(triples=triples),
                raw_answer="、".join(a.text for a in answers),
            )
        )
    return predictions


def command(file: Path, dataset: Path, split: str, resamples: int) -> None:
    """Wall time and peak memory of `clwqa-bench score`, start of the interpreter included; best of three."""
    run = [
        sys.executable, "-c", "from clwqa_bench.cli import main; main()", "score", str(file), "--dataset",
        str(dataset), "--split", split, "--resamples", str(resamples), "--json",
    ]  # fmt: skip
    best, peak = float("inf"), 0.0
    for _ in range(3):
        started = time.perf_counter()
        process = subprocess.Popen(run, stdout=subprocess.DEVNULL)
        _, code, usage = os.wait4(process.pid, 0)
        if code:
            sys.exit(f"the command failed: {' '.join(run)}")
        best, peak = min(best, time.perf_counter() - started), max(peak, usage.ru_maxrss / 1000)
    print(f"score, all metrics, all strata, {resamples:,} resamples, {PREDICTIONS:,} predictions")
    print(f"    {best:.2f} s wall (best of 3), {peak:.0f} MB peak")


def measures(grid: Grid) -> None:
    """The measures all engines share, from answers in memory to means."""
    qrels = {q.id: {a.entity_id: 1 for a in q.answers} for q in grid.gold.questions}
    run = {
        p.id: {str(a.entity_id): float(ANSWERS * 2 - rank) for rank, a in enumerate(p.answers)}
        for p in grid.predictions
        if p
    }
    engines: dict[str, Callable[[], Values]] = {
        "clwqa-bench": lambda: ours(Grid(grid.gold, grid.predictions)),
        "plain loop": lambda: plain(qrels, run),
        "ir_measures": lambda: _ir_measures(qrels, run),
    }
    if importlib.util.find_spec("ranx"):
        engines["ranx"] = lambda: _ranx(qrels, run)
    print(f"\n{', '.join(SHARED.values())} of {len(grid):,} questions, answers by id")
    compare(engines)


def ours(grid: Grid) -> Values:
    return {name: float(Metric.parse(m).per_question(grid).mean()) for m, name in SHARED.items()}


def plain(qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]]) -> Values:
    """What one would write in an afternoon."""
    totals = dict.fromkeys(SHARED.values(), 0.0)
    for question, golds in qrels.items():
        ranked = sorted(run.get(question, {}).items(), key=lambda pair: -pair[1])[:10]
        right = [rank for rank, (id, _) in enumerate(ranked, start=1) if id in golds]
        totals["Success@1"] += right[:1] == [1]
        totals["RR@10"] += 1 / right[0] if right else 0
        totals["R@10"] += len(right) / len(golds)
    return {name: total / len(qrels) for name, total in totals.items()}


def _ir_measures(qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]]) -> Values:
    found = ir_measures.calc_aggregate([ir_measures.parse_measure(name) for name in RANX], qrels, run)
    return {str(measure): value for measure, value in found.items()}


def _ranx(qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]]) -> Values:
    import ranx

    judged, ranked = ranx.Qrels(qrels), ranx.Run({id: run.get(id, {"": 0.0}) for id in qrels})
    found = ranx.evaluate(judged, ranked, list(RANX.values()))
    return {name: float(found[other]) for name, other in RANX.items()}


def bootstrap(grid: Grid, resamples: int) -> None:
    """A clustered interval for F1 on every stratum: all at once, and as a loop over resamples."""
    metric = Metric.parse("F1")
    columns, clusters = metric.columns(grid), grid.gold.clusters
    masks = [np.ones(len(grid), bool), *grid.gold.strata.values()]
    rows = [np.flatnonzero(mask) for mask in masks]
    plan = Resamples(
        int(clusters.max()) + 1, resamples, seed_of([q.id for q in grid.gold.questions], "bootstrap")
    )
    samples = [Sample(columns.values[r], clusters[r], metric.reduce) for r in rows]
    fast = timed(lambda: intervals(samples, plan))
    values = columns.values[:, 0]
    slow = timed(lambda: _loop(values, clusters, rows, FEW), repeat=1) * resamples / FEW
    print(f"\nclustered bootstrap of F1 on {len(rows)} strata, {resamples:,} resamples")
    print(f"    clwqa-bench {fast:8.2f} s")
    print(f"    plain loop  {slow:8.2f} s ({slow / fast:.0f}x; measured on {FEW} resamples)")


def _loop(
    values: np.ndarray, clusters: np.ndarray, strata: Sequence[np.ndarray], resamples: int
) -> list[list[float]]:  # type: ignore[type-arg]
    rng = np.random.default_rng(0)
    members = {code: np.flatnonzero(clusters == code) for code in range(int(clusters.max()) + 1)}
    inside = [set(rows.tolist()) for rows in strata]
    means = []
    for _ in range(resamples):
        drawn = np.concatenate([members[code] for code in rng.integers(0, len(members), len(members))])
        means.append([float(np.mean([values[i] for i in drawn.tolist() if i in rows])) for rows in inside])
    return means


def compare(engines: Mapping[str, Callable[[], Values]]) -> None:
    """Time every engine on the same work, after one run that is checked against the first engine's values."""
    reference, first = None, 0.0
    for name, engine in engines.items():
        values = engine()
        reference = reference or values
        for measure, value in values.items():
            if abs(value - reference[measure]) > 1e-9:
                sys.exit(f"{name}: {measure} is {value}, not {reference[measure]}")
        seconds = timed(engine)
        first = first or seconds
        print(f"    {name:12} {seconds * 1000:7.0f} ms ({seconds / first:.1f}x)")


def timed(work: Callable[[], object], repeat: int = 3) -> float:
    """Seconds of the best of a few runs."""
    seconds = []
    for _ in range(repeat):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


if __name__ == "__main__":
    main()
