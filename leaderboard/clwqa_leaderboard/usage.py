"""What answers are said to have cost: figures that no board takes, and those that a reader should wonder at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from clwqa_bench.predictions import Prediction, StageUsage
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.words import printable

CALLS, TOKENS, SECONDS, DOLLARS = 100_000, 10**8, 10**7, 10**5
MOST: Mapping[str, int] = {
    "calls": CALLS,
    "attempts": CALLS,
    "cached": CALLS,
    "tokens_in": TOKENS,
    "tokens_out": TOKENS,
    "seconds": SECONDS,
    "cost": DOLLARS,
}
"""What one stage of one question may have cost, a thousand times and more what any system here takes: 45 calls, 1,800
tokens, ten minutes.  Sums over a split stay far from where numbers end."""


def refuse_absurd(usage: Mapping[str, StageUsage], path: Path, number: int) -> None:
    """Raises SubmissionError naming the first figure of a prediction that cannot be true."""
    for stage, spent in usage.items():
        place = f"usage.{printable(stage[:40])}"
        for field, most in MOST.items():
            if getattr(spent, field) > most:
                _refuse(f"more than {most:,}, which no answer takes", path, number, f"{place}.{field}")
        if spent.cached > spent.calls:
            what = f"{spent.cached:,} of {spent.calls:,} calls were answered from the cache"
            _refuse(what, path, number, f"{place}.cached")


def doubtful(predictions: Iterable[Prediction], *, asks_a_model: bool) -> Iterator[tuple[str, list[str]]]:
    """Usage that does not fit together: what is odd about it, with `{}` for how many, and the questions.

    Rules count calls like a model's, so that runs compare; tokens only a model has.
    """
    talking = [p for p in predictions if any(s.tokens_in or s.tokens_out for s in p.usage.values())]
    if not asks_a_model:
        yield "{} took tokens, though no model is named", [p.id for p in talking]
    yield "{} took tokens and no time", [p.id for p in talking if any(map(_timeless, p.usage.values()))]


def _timeless(spent: StageUsage) -> bool:
    """Tokens without a second; a reply from the cache takes none."""
    from_cache = spent.calls > 0 and spent.cached == spent.calls
    return bool(spent.tokens_in or spent.tokens_out) and not spent.seconds and not from_cache


def _refuse(what: str, path: Path, number: int, field: str) -> None:
    raise SubmissionError(
        what,
        fix="record what the stage took, as in the page on predictions",
        file=path,
        line=number,
        field=field,
    )
