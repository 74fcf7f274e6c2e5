"""Every experiment by name: those of the paper, which `all` stands for, and those that are asked for by name."""

from __future__ import annotations

from typing import Final

from clwqa_baselines.experiments.definitions import EXPERIMENTS
from clwqa_baselines.experiments.switches import SWITCHES

CATALOGUE: Final = EXPERIMENTS | {SWITCHES.name: SWITCHES}
