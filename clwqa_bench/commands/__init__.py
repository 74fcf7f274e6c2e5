"""The core's own commands; each module is reached through the entry-point group ``clwqa_bench.commands``."""
