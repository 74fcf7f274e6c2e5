"""Stage diagnostics: how far the answer stayed within reach, and which stage lost it (seed paper sec. 5.5.4).

``trace`` reads what a run recorded, ``support`` and ``elements`` hold it against the gold path, ``indicators`` and
``waterfall`` count, ``diagnosis`` puts a run's result together.  Everything is a pure function of a grid.
"""

from clwqa_bench.diagnostics.diagnosis import Diagnosis, diagnose
from clwqa_bench.diagnostics.indicators import Indicator, indicators
from clwqa_bench.diagnostics.support import Level, Support
from clwqa_bench.diagnostics.waterfall import Loss, Share, largest_remainder

__all__ = [
    "Diagnosis",
    "Indicator",
    "Level",
    "Loss",
    "Share",
    "Support",
    "diagnose",
    "indicators",
    "largest_remainder",
]
