"""Runs against each other on the same questions, with paired tests."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from clwqa_bench.commands import common
from clwqa_bench.comparison import RESAMPLES, Family, Pair
from clwqa_bench.comparison import compare as compute
from clwqa_bench.console import emit
from clwqa_bench.metrics import Metric, select
from clwqa_bench.report.names import AGREE, AGREE_MARK, count, interval, level_name, metric_name, percent
from clwqa_bench.report.results import qualified
from clwqa_bench.report.sheet import Numbers, Sheet

DEFAULT = ("Hits@1", "F1", "EM")


def compare(
    runs: common.RunArguments,
    dataset: common.DatasetOption = common.DATASET,
    split: common.SplitOption = None,
    metric: common.MetricsOption = None,
    resamples: common.ResamplesOption = RESAMPLES,
    json: common.JsonOption = False,
) -> None:
    """Test runs against each other in pairs; by default under Hits@1, F1 and EM.

    All pairs under all metrics are one family: Holm's correction runs over it, so name the metrics you mean.

    Example: clwqa-bench compare runs/ceaf runs/tog --metric F1
    """
    opened = common.open_runs(runs, dataset, split)
    grids = {run.title: run.grid for run in opened}
    manifests = {title: run.manifest for title, run, _ in opened if run.manifest}
    family = compute(grids, select(metric or DEFAULT), resamples=resamples, manifests=manifests)
    emit(family.as_dict(), json, lambda _: draw(family))


def draw(family: Family) -> RenderableType:
    """The family for the terminal: a table of pairs and one of ranks for each metric."""
    return Group(*_parts(family))


def _parts(family: Family) -> Iterator[RenderableType]:
    ref = family.ref
    yield Text(
        f"{ref.name} {ref.version}, {ref.split} split; differences in points of per cent, a minus b", "dim"
    )
    yield Text(
        f"{level_name(family.level)} intervals from {count(family.resamples)} bootstrap resamples of fact groups, "
        f"permutation tests by fact group, Holm over a family of {family.size}",
        "dim",
    )
    if any(_interval(pair) == AGREE_MARK for pair in family.pairs):
        yield Text(f"{AGREE_MARK} {AGREE.en}", "dim")
    if family.caution:
        yield Text(family.caution, "yellow")
    for metric in family.metrics:
        yield Text(f"\n{metric}", "bold")
        yield _pairs(family, [pair for pair in family.pairs if pair.metric == metric])
        yield Text()
        yield _ranks(family, metric)
    for metric, reason in family.left_out.items():
        yield Text(f"\nleft out: {metric}: {reason}")


def _pairs(family: Family, pairs: list[Pair]) -> Sheet:
    headings = ("a", "b", "delta", "", "p", "p Holm", "McNemar", "win/tie/loss", "detectable", "n")
    drawn = Sheet("a against b", *map(Numbers, headings), Numbers("", "left"))
    for pair in pairs:
        test, detectable = pair.test, pair.test.minimal_detectable_difference
        drawn.add_row(
            f"{_title(family, pair.a)} / {_title(family, pair.b)}",
            percent(test.a),
            percent(test.b),
            _signed(test.delta),
            _interval(pair),
            _p(test.p_permutation),
            _p(pair.p),
            "" if test.p_mcnemar is None else _p(test.p_mcnemar),
            f"{test.wins}/{test.ties}/{test.losses}",
            "" if detectable is None else f"{100 * detectable:.1f}",
            count(test.n),
            "differs" if pair.significant else "",
        )
    return drawn


def _ranks(family: Family, metric: str) -> Sheet:
    """Systems with the ranks that the tests leave open to them, best first."""
    name, direction = metric_name(metric).en, Metric.parse(metric).direction
    values = _values(family, metric)
    rows = sorted(
        zip(family.systems, family.ranks[metric], strict=True), key=lambda row: -direction * values[row[0]]
    )
    drawn = Sheet(Numbers("rank", "left"), "system", Numbers(name))
    for system, rank in rows:
        shown = str(rank.best) if rank.best == rank.worst else f"{rank.best}-{rank.worst}"
        drawn.add_row(shown, _title(family, system), percent(values[system]))
    return drawn


def _title(family: Family, system: str) -> str:
    return qualified(system, family.manifests.get(system))


def _interval(pair: Pair) -> str:
    return interval(pair.test.low, pair.test.high, _signed)


def _values(family: Family, metric: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for pair in family.pairs:
        if pair.metric == metric:
            found |= {pair.a: pair.test.a, pair.b: pair.test.b}
    return found


def _signed(share: float) -> str:
    return f"{100 * share:+.1f}"


def _p(value: float) -> str:
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
