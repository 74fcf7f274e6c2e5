"""Other people's result files, scored as their own scripts do and strictly, side by side.

Formats: `RESULT_FORMATS` (pog, tog, rog, gcr, metaqa, jsonl) and `GOLD_FORMATS` (webqsp, cwq, grailqa, metaqa,
jsonl); docs/foreign.md shows each.
"""

from clwqa_bench.foreign.gold import GOLD_FORMATS, ForeignGold, ForeignQuestion, read_gold
from clwqa_bench.foreign.joining import Joined, join
from clwqa_bench.foreign.original import Original
from clwqa_bench.foreign.results import RESULT_FORMATS, ResultRow, Results, read_results
from clwqa_bench.foreign.side_by_side import Bridge, SideBySide, Step, side_by_side

__all__ = [
    "GOLD_FORMATS", "RESULT_FORMATS", "Bridge", "ForeignGold", "ForeignQuestion", "Joined", "Original", "ResultRow",
    "Results", "SideBySide", "Step", "join", "read_gold", "read_results", "side_by_side",
]  # fmt: skip
