"""The experiments as they are written down: nothing in them is misspelt, and each says what it makes again."""

from __future__ import annotations

import pytest

from clwqa_baselines.ceaf.config import RankerError
from clwqa_baselines.experiments.catalogue import CATALOGUE
from clwqa_baselines.experiments.composition import NAME as COMPOSITION
from clwqa_baselines.experiments.definitions import CEAF, EXPERIMENTS, NEURAL
from clwqa_baselines.experiments.design import Curves, Experiment, Variant, scored
from clwqa_baselines.experiments.elsewhere import elsewhere
from clwqa_bench.metrics.suite import HEADLINE
from clwqa_bench.registry import SYSTEMS
from clwqa_bench.systems import load_system

EACH = pytest.mark.parametrize("experiment", CATALOGUE.values(), ids=CATALOGUE)
BLANKS = {"scorer": "", "scorer_no_elements": ""}


def test_tables_2_to_9_and_figures_4_and_5_are_there() -> None:
    assert list(EXPERIMENTS) == [
        "main", "hops", "topk", "depth", "ablation", "stagewise", "oracle", "cost", "latency",
    ]  # fmt: skip
    assert set(elsewhere()) == {*EXPERIMENTS, COMPOSITION}


@EACH
def test_every_variant_of_an_installed_system_can_be_made(experiment: Experiment) -> None:
    for variant in experiment.variants:
        if variant.system not in SYSTEMS.names():
            continue
        if variant.lacks(()):
            with pytest.raises(RankerError, match="needs a trained node scorer"):
                load_system(variant.system, variant.filled(BLANKS).settings)
            continue
        system = load_system(variant.system, variant.settings)
        assert set(variant.oracle) <= set(system.oracles)


@EACH
def test_labels_tell_rows_apart(experiment: Experiment) -> None:
    labels = [variant.label for variant in experiment.variants]
    assert len(set(labels)) == len(labels)


@EACH
def test_a_plot_shows_columns_of_its_table(experiment: Experiment) -> None:
    plot = experiment.plot
    shown = {plot.heading} if isinstance(plot, Curves) else set(plot.headings)
    assert shown <= {column.heading for column in experiment.columns}
    if isinstance(plot, Curves):
        assert all(variant.series and variant.x is not None for variant in experiment.variants)


def test_metrics_of_columns_are_those_that_runs_are_scored_with() -> None:
    figures = {column.figure for e in CATALOGUE.values() for column in e.columns if "/" not in column.figure}
    assert figures <= {str(metric) for metric in HEADLINE}


def test_blanks_are_filled_or_named() -> None:
    assert CEAF.lacks({}) == []
    assert NEURAL.lacks({}) == ["scorer"]
    assert NEURAL.filled({"scorer": "trained"}).settings == {"ranker": "neural", "scorer": "trained"}
    assert Variant("two", "ceaf", {"a": "{x}{y}", "b": "{x}"}).lacks({"y": "1"}) == ["x"]


def test_a_metric_names_its_column() -> None:
    assert (scored("F1(agg=of-means)").heading, scored("Hits@1", "first").heading) == ("F1 of means", "first")
