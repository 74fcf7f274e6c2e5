"""What can be wrong with a submission."""

from __future__ import annotations

from clwqa_bench.errors import ClwqaError


class SubmissionError(ClwqaError):
    """A bundle, form, entry or board that cannot be used as it is."""
