"""Metrics: definitions, the grammar of their names, and the suite of this release."""

from clwqa_bench.metrics.base import Metric
from clwqa_bench.metrics.measure import Columns
from clwqa_bench.metrics.suite import DEFAULT, HEADLINE, SUITE_VERSION, chosen, select

__all__ = ["DEFAULT", "HEADLINE", "SUITE_VERSION", "Columns", "Metric", "chosen", "select"]
