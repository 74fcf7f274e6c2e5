"""Pace, back-off, budget and token estimates, on a clock that does not run by itself."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.llm.limits import Budget, Limiter, backoff, count_tokens, retry_after
from clwqa_bench.llm.protocol import Activity, Estimate, Limits
from tests.llm.play import FakeClock


def begin_times(count: int, *, tokens: int = 0, hold: float = 0.0, **rates: int | None) -> list[float]:
    """When each of `count` requests made at once may begin, in seconds from now."""
    fake = FakeClock()
    start = fake.time
    limiter = Limiter(
        rates.get("concurrency") or count, rates.get("rpm"), rates.get("tpm"), fake.clock(), Activity()
    )
    begun: list[float] = []

    async def request() -> None:
        async with limiter.slot(tokens):
            begun.append(fake.time - start)

    async def all_of_them() -> None:
        if hold:
            limiter.hold(hold)
        await asyncio.gather(*(request() for _ in range(count)))

    asyncio.run(all_of_them())
    return begun


def test_requests_per_minute_hold_in_every_minute() -> None:
    begun = begin_times(150, rpm=60)
    assert begun == pytest.approx(range(150))
    assert max(sum(t <= other < t + 60 for other in begun) for t in begun) == 60


def test_tokens_per_minute() -> None:
    assert begin_times(4, tokens=500, tpm=1000) == pytest.approx([0, 30, 60, 90])


def test_without_rates_nothing_waits() -> None:
    assert begin_times(5) == [0] * 5


def test_a_hold_stops_everybody() -> None:
    assert begin_times(3, hold=20.0) == [20.0] * 3


def test_what_was_estimated_too_high_is_given_back() -> None:
    fake = FakeClock()
    limiter = Limiter(1, None, 1000, fake.clock(), Activity())

    async def two() -> None:
        async with limiter.slot(1000):
            pass
        limiter.used(1000, 100)
        async with limiter.slot(1000):
            pass

    asyncio.run(two())
    assert fake.slept == pytest.approx([6.0])


def test_backoff_doubles_up_to_a_minute_and_never_ends_below_half() -> None:
    rng = random.Random(1)
    for attempt in range(1, 12):
        ceiling = min(60.0, 2.0 ** (attempt - 1))
        assert ceiling / 2 <= backoff(attempt, rng) < ceiling


def test_two_runs_turned_away_together_come_back_at_different_times() -> None:
    one, other = ([backoff(4, random.Random(seed)) for _ in range(3)] for seed in (1, 2))
    assert one[0] == one[1], "the seed decides"
    assert one[0] != other[0]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("3", 3.0),
        ("0.5", 0.5),
        ("-3", None),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:02:00 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Thu, 01 Jan 1970 00:00:00 +99999999999999", None),
    ],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, wall=100.0) == seconds


def test_a_budget_sets_aside_the_worst_and_gets_back_what_was_not_used() -> None:
    budget = Budget(Limits(tokens=100))
    worst = Estimate(20, 40)
    assert budget.reserve(worst) is None
    assert "100 tokens" in str(budget.reserve(worst))
    budget.settle(worst, Estimate(20, 10))
    assert budget.reserve(worst) is None
    budget.settle(worst, None)
    assert (budget.calls, budget.spent) == (1, Estimate(20, 10))


@given(
    limit=st.integers(0, 300),
    steps=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 100), st.integers(0, 9)), max_size=30),
)
def test_whatever_is_under_way_together_stays_within_the_budget(
    limit: int, steps: list[tuple[int, int, int]]
) -> None:
    budget = Budget(Limits(tokens=limit))
    open_calls: list[tuple[Estimate, Estimate]] = []
    used = 0
    for worst, percent, settled in steps:
        if budget.reserve(Estimate(worst, 0)) is None:
            open_calls.append((Estimate(worst, 0), Estimate(worst * percent // 100, 0)))
        for _ in range(min(settled, len(open_calls))):
            used += open_calls[0][1].tokens_in
            budget.settle(*open_calls.pop(0))
        assert used + sum(call[1].tokens_in for call in open_calls) <= limit
    for call in open_calls:
        budget.settle(*call)
    assert budget.spent.tokens_in == used + sum(call[1].tokens_in for call in open_calls)


@pytest.mark.parametrize("limits", [Limits(calls=0), Limits(tokens=0), Limits(cost=0.0)])
def test_a_budget_of_nothing_allows_nothing(limits: Limits) -> None:
    assert Budget(limits).reserve(Estimate(1, 1, 0.001)) is not None


def test_what_has_no_known_price_fits_no_limit_of_cost() -> None:
    unpriced = Estimate(1, 1, None)
    assert "1,000.0 US dollars" in str(Budget(Limits(cost=1000.0)).reserve(unpriced))
    budget = Budget(Limits(calls=2))
    assert budget.reserve(unpriced) is None
    budget.settle(unpriced, Estimate(1, 0, None))
    assert budget.spent == Estimate(1, 0, None)


@pytest.mark.parametrize(
    ("texts", "tokens"), [([], 0), ([""], 4), (["画蛇添足"], 8), (["abcdefghij"], 7), (["画蛇", "ab"], 10)]
)
def test_tokens_are_estimated_from_characters(texts: list[str], tokens: int) -> None:
    assert count_tokens(texts) == tokens


def test_activity_is_shown_in_one_line() -> None:
    activity = Activity(requests=1200, in_flight=4, waiting=2)
    activity.retries.update({"429": 6, "timeout": 1})
    assert activity.line() == "1,200 requests, 4 in flight, 2 waiting, 7 retries (429: 6, timeout: 1)"
