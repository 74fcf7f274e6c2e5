"""Not too fast, not too many, not too dear: pacing, back-off and budgets, all on a clock that tests can hold."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import inf

from clwqa_bench.llm.protocol import NOTHING, Activity, Estimate, Limits

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds of the exponential back-off

PER_CHINESE, PER_OTHER, PER_MESSAGE = 0.9, 0.3, 4
"""Tokens per character and message of `count_tokens`.

The tokenizers of DeepSeek and Qwen take 0.79 and 0.85 tokens per Chinese character on 400 questions of the train split
(the vendor's rule of thumb of 0.6 holds for running prose, not for names and classical Chinese), and less than 0.3 per
character of the English prompts; the estimate is to be on the safe side of both.
"""

_CHINESE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as the back-end sees it, in seconds."""

    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


def count_tokens(texts: Iterable[str]) -> int:
    """Tokens of messages, estimated from their characters without any tokenizer."""
    total = 0.0
    for text in texts:
        chinese = len(_CHINESE.findall(text))
        total += PER_MESSAGE + PER_CHINESE * chinese + PER_OTHER * (len(text) - chinese)
    return round(total)


# ---------------------------------------------------------------------- pace


class Bucket:
    """A token bucket that holds one portion: whatever is taken must be paid off before the next may begin."""

    def __init__(self, per_minute: int | None) -> None:
        self._seconds_each = 60.0 / per_minute if per_minute else 0.0
        self._free_at = float("-inf")

    def take(self, amount: int, now: float) -> float:
        """Take an amount; returns when that may begin."""
        begin = max(now, self._free_at)
        self._free_at = begin + amount * self._seconds_each
        return begin

    def give_back(self, amount: int) -> None:
        """Correct an amount taken on an estimate (negative: more was used)."""
        self._free_at -= amount * self._seconds_each


class Limiter:
    """Lets requests begin: so many at a time, so many a minute, and none while the endpoint says wait."""

    def __init__(
        self, concurrency: int, rpm: int | None, tpm: int | None, clock: Clock, activity: Activity
    ) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._requests, self._tokens = Bucket(rpm), Bucket(tpm)
        self._held_until = float("-inf")
        self._clock, self._activity = clock, activity

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[None]:
        """Room for one request of about so many tokens."""
        async with self._slots:
            now = self._clock.now()
            begin = max(self._requests.take(1, now), self._tokens.take(tokens, now))
            await self.wait(begin - now)
            while (held := self._held_until - self._clock.now()) > 0:
                await self.wait(held)
            self._activity.requests += 1
            self._activity.in_flight += 1
            try:
                yield
            finally:
                self._activity.in_flight -= 1

    def used(self, estimated: int, tokens: int) -> None:
        """A request has taken so many tokens instead of what was estimated."""
        self._tokens.give_back(estimated - tokens)

    def hold(self, seconds: float) -> None:
        """Let no request begin for a while: the endpoint has asked for it."""
        self._held_until = max(self._held_until, self._clock.now() + seconds)

    async def wait(self, seconds: float) -> None:
        """Sleep, and be seen waiting."""
        if seconds <= 0:
            return
        self._activity.waiting += 1
        try:
            await self._clock.sleep(seconds)
        finally:
            self._activity.waiting -= 1


# ---------------------------------------------------------------------- back-off


def backoff(attempt: int, rng: random.Random) -> float:
    """Seconds before the attempt after the `attempt`-th (from 1): doubling, half of it left to chance."""
    ceiling = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (attempt - 1))
    return ceiling * (0.5 + 0.5 * rng.random())


def retry_after(header: str | None, wall: float) -> float | None:
    """Seconds a `Retry-After` header asks for, given as a number or an HTTP date; None if it says neither."""
    text = (header or "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # the second: an offset larger than a time can have
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.fromtimestamp(wall, UTC)).total_seconds())


# ---------------------------------------------------------------------- budget


@dataclass(slots=True)
class Budget:
    """What a run has used of its limits.  A completion is asked for only if its worst case still fits, so that
    requests under way at the same time never exceed them together.  Requests that failed count as nothing; what has no
    known price fits no limit of cost.
    """

    limits: Limits
    calls: int = 0
    spent: Estimate = NOTHING

    def reserve(self, worst: Estimate) -> str | None:
        """Set an amount aside; returns what it would exceed, and then nothing is set aside."""
        after = self.spent + worst
        asked = (
            ("calls", self.limits.calls, self.calls + 1),
            ("tokens", self.limits.tokens, after.tokens_in + after.tokens_out),
            ("US dollars", self.limits.cost, inf if after.cost is None else after.cost),
        )
        for unit, limit, total in asked:
            if limit is not None and total > limit * (1 + 1e-12):
                return f"the budget of {limit:,} {unit} does not allow another call"
        self.calls += 1
        self.spent = after
        return None

    def settle(self, worst: Estimate, used: Estimate | None) -> None:
        """Replace what was set aside by what was used; None if nothing was answered."""
        self.calls -= used is None
        back = Estimate(-worst.tokens_in, -worst.tokens_out, None if worst.cost is None else -worst.cost)
        self.spent = self.spent + back + (used or NOTHING)
