"""The evaluators of other papers, bit for bit, so that their inflation can be seen on one's own outputs.

One module per source, written anew from a description of what its script does (no code is copied).  None of them is
ever a headline: matching by containment rewards empty answers, fragments and prose.  Where the original crashes,
`LegacyCrash` is raised and no number comes out.
"""

from __future__ import annotations

from clwqa_bench.legacy.adapters import LEGACY, MEASURES, row_for
from clwqa_bench.legacy.base import Evaluate, LegacyCrash, LegacyRow, LegacyScore, LegacyTotal

__all__ = [
    "LEGACY", "MEASURES", "Evaluate", "LegacyCrash", "LegacyRow", "LegacyScore", "LegacyTotal", "row_for",
]  # fmt: skip
