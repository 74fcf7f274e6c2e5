"""PoG (Plan-on-Graph): exploration of the graph guided by sub-objectives, with a memory and with second thoughts."""

from clwqa_baselines.pog.system import PoG

__all__ = ["PoG"]
