"""The figures of a run: metrics, stage indicators and usage, all as cells with intervals, in one namespace.

    Hits(match=alias,text>=0.8)@1     a metric of the suite, by its canonical name
    stage/coverage                    a stage indicator
    used/tokens_in                    what a question took on average
    time/retrieve/p99                 seconds of a part of the pipeline: mean, p50, p99, or its share of the whole;
                                      of the whole also the share of calls answered from the cache

Figures are kept beside the runs, since a run with traces takes longer to read than to look at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

import clwqa_bench
from clwqa_baselines.experiments.design import PARTS
from clwqa_bench.diagnostics import diagnose
from clwqa_bench.digests import file_sha256
from clwqa_bench.errors import PredictionError
from clwqa_bench.grid import Gold, Grid
from clwqa_bench.metrics.suite import HEADLINE
from clwqa_bench.ontology import Ontology
from clwqa_bench.predictions import StageUsage
from clwqa_bench.run_folder import write_whole
from clwqa_bench.runs import ITEMS, MANIFEST, read_run
from clwqa_bench.scoring import RESAMPLES, WHOLE, Cell, score
from clwqa_bench.stats import Reduce, Resamples, Sample, identity, intervals, seed_of, standard_error
from clwqa_bench.systems import added

CODE = ("diagnostics", "metrics", "stats", "grid.py", "matching.py", "scoring.py", "text.py")
"""What of the core figures depend on, besides this module: with any change of it they are taken again."""
COUNTED = ("calls", "tokens_in", "tokens_out", "cost", "seconds")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measured:
    """All figures of a run.  `statuses` counts its questions, `digest` is of its predictions."""

    title: str
    questions: int
    statuses: Mapping[str, int]
    digest: str
    cells: Mapping[tuple[str, str], Cell]

    def cell(self, figure: str, stratum: str = WHOLE) -> Cell | None:
        """One figure, or None if the run does not have it."""
        return self.cells.get((figure, stratum))


def measured(folder: Path, gold: Gold, ontology: Ontology, kept: Path) -> Measured | None:
    """The figures of a run, from the file of that name below `kept` if they are still its; None if nothing was asked.

    Raises PredictionError as reading and aligning a run does.
    """
    if not (folder / ITEMS).exists() or not (folder / ITEMS).stat().st_size:
        return None
    digest = file_sha256(folder / ITEMS)
    made_from = [code_digest(), digest, file_sha256(folder / MANIFEST)]
    key = hashlib.sha256(orjson.dumps(made_from)).hexdigest()
    path = kept / f"{folder.name}.json"
    if path.exists() and (found := orjson.loads(path.read_bytes()))["key"] == key:
        return _from_json(found)
    result = _measure(folder, gold, ontology, digest)
    kept.mkdir(parents=True, exist_ok=True)
    write_whole(path, orjson.dumps({"key": key, **_as_json(result)}))
    return result


@cache
def code_digest() -> str:
    """Digest of the code that figures depend on."""
    core = Path(clwqa_bench.__file__).parent
    files = [Path(__file__), *(file for name in CODE for file in sources(core / name))]
    return hashlib.sha256("".join(map(file_sha256, files)).encode()).hexdigest()


def sources(path: Path) -> list[Path]:
    """A module's file, or those of a package."""
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _measure(folder: Path, gold: Gold, ontology: Ontology, digest: str) -> Measured:
    run = read_run(folder)
    grid = run.on(gold)
    table = score(grid, HEADLINE, title=run.title, manifest=run.manifest).table
    cells = [*table.cells, *_indicators(grid, ontology), *_usage(grid)]
    return Measured(
        title=run.title,
        questions=len(grid),
        statuses={outcome: len(ids) for outcome, ids in table.outcomes.items() if ids},
        digest=digest,
        cells={(cell.metric, cell.stratum): cell for cell in cells},
    )


def _indicators(grid: Grid, ontology: Ontology) -> Iterator[Cell]:
    """Of a run that left traces; the others have none."""
    try:
        found = diagnose(grid, ontology, by=())
    except PredictionError:
        return
    for cell in found.cells:
        yield replace(cell, metric=f"stage/{cell.metric}")


# ---------------------------------------------------------------------- usage


def _usage(grid: Grid) -> Iterator[Cell]:
    """Means with intervals over the questions that have a prediction, and quantiles of their times."""
    rows = np.array([row for row, p in enumerate(grid.predictions) if p is not None])
    usage = [p.usage for p in grid.predictions if p is not None]
    whole = [_sum(stages.values()) for stages in usage]
    count = {name: np.array([getattr(total, name) for total in whole], float) for name in COUNTED}
    seconds = {
        part: np.array([sum(u[s].seconds for s in stages if s in u) for u in usage], float)
        for part, stages in PARTS.items()
    }
    samples: dict[str, tuple[Floats, Reduce]] = {
        f"used/{name}": (values[:, None], identity) for name, values in count.items()
    }
    cached = np.array([[total.cached, total.calls] for total in whole], float)
    samples["used/cached"] = cached, ratio
    for part, values in seconds.items():
        samples[f"time/{part}/mean"] = values[:, None], identity
        samples[f"time/{part}/share"] = np.stack([values, count["seconds"]], axis=1), ratio
    samples["time/whole/mean"] = count["seconds"][:, None], identity
    samples["time/whole/cached"] = cached, ratio
    samples["time/whole/share"] = np.stack([count["seconds"]] * 2, axis=1), ratio
    yield from _with_intervals(grid, rows, samples)
    for part, values in {**seconds, "whole": count["seconds"]}.items():
        for percent in (50, 99):
            value = float(np.percentile(values, percent))
            yield Cell(f"time/{part}/p{percent}", WHOLE, value, len(rows), 0, None, None, None)


def _sum(stages: Iterable[StageUsage]) -> StageUsage:
    total = StageUsage()
    for usage in stages:
        total = added(total, usage)
    return total


def ratio(means: Floats) -> Floats:
    """The first mean by the second, 0 where that is 0."""
    above, below = means[..., 0], means[..., 1]
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _with_intervals(
    grid: Grid, rows: NDArray[np.int64], samples: Mapping[str, tuple[Floats, Reduce]]
) -> Iterator[Cell]:
    clusters = grid.gold.clusters
    plan = Resamples(int(clusters.max()) + 1, RESAMPLES, seed_of(grid.gold.ids, "bootstrap"))
    made = [Sample(columns, clusters[rows], reduce) for columns, reduce in samples.values()]
    groups = len(np.unique(clusters[rows]))
    for name, sample, bounds in zip(samples, made, intervals(made, plan), strict=True):
        low, high = bounds or (None, None)
        yield Cell(name, WHOLE, float(sample.estimate), len(rows), groups, low, high, standard_error(sample))


# ---------------------------------------------------------------------- kept as JSON


def _as_json(result: Measured) -> dict[str, Any]:
    plain = {name: getattr(result, name) for name in ("title", "questions", "statuses", "digest")}
    return plain | {"cells": [asdict(cell) for cell in result.cells.values()]}


def _from_json(found: Mapping[str, Any]) -> Measured:
    cells = [Cell(**cell) for cell in found["cells"]]
    plain = {name: found[name] for name in ("title", "questions", "statuses", "digest")}
    return Measured(**plain, cells={(cell.metric, cell.stratum): cell for cell in cells})
