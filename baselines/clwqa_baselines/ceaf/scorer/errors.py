"""What can go wrong with a scorer."""

from __future__ import annotations

from importlib.util import find_spec

from clwqa_bench.errors import ClwqaError

INSTALL = "pip install 'clwqa-bench[neural]'"
NEEDED = ("torch", "transformers", "safetensors")


class ScorerError(ClwqaError):
    """A node scorer that cannot be trained, opened or used as asked."""


def require_torch() -> None:
    """Raises ScorerError if a package of the extra `neural` is missing."""
    for name in NEEDED:
        if find_spec(name) is None:
            raise ScorerError(f"the node scorer needs the package {name!r}", fix=INSTALL)
