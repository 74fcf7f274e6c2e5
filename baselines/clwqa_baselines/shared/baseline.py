"""What every system with settings has in common."""

from __future__ import annotations

from clwqa_bench.systems import System


class Baseline(System):
    """A system whose runs are told apart by their settings."""

    @property
    def variant(self) -> str:
        """The settings that are not the default."""
        changed = self.config.model_dump(exclude_defaults=True)
        return ",".join(key if value is True else f"{key}={value}" for key, value in changed.items())
