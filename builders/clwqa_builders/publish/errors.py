"""What can go wrong when a dataset is published."""

from __future__ import annotations

from clwqa_bench.errors import ClwqaError


class PublishError(ClwqaError):
    """A dataset that may not or cannot be published, or not where it should go."""
