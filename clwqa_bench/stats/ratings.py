"""What several people say of the same things: a share with its interval, and agreement beyond chance.

Pure functions of categories; nothing here knows what is rated.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import NormalDist
from typing import TypeAlias, TypeVar

Category = TypeVar("Category", bound=Hashable)
Distance: TypeAlias = Callable[[Category, Category], float]


@dataclass(frozen=True, slots=True)
class Share:
    """A share of 0 to 1 estimated from ``n`` things, with its interval."""

    value: float
    low: float
    high: float
    n: int


def share(values: Sequence[float], weights: Sequence[float], level: float = 0.95) -> Share | None:
    """Weighted mean of ``values`` (each 0 to 1) with Wilson's score interval; None without any.

    ``weights`` are positive, such as the things a sampled one stands for.  Unequal weights count for less than
    ``n`` equal ones: the interval is that of Kish's effective size, (sum w)^2 / sum w^2.
    """
    if not values:
        return None
    total = math.fsum(weights)
    value = math.fsum(v * w for v, w in zip(values, weights, strict=True)) / total
    effective = total**2 / math.fsum(w * w for w in weights)
    low, high = wilson(value, effective, level)
    return Share(value, low, high, len(values))


def wilson(value: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's (1927) score interval of a share ``value`` of ``n``; never empty, never outside [0, 1]."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = value + z**2 / (2 * n)
    margin = z * math.sqrt(value * (1 - value) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    return max(0.0, (centre - margin) / scale), min(1.0, (centre + margin) / scale)


def cohen_kappa(pairs: Sequence[tuple[Category, Category]]) -> float | None:
    """Cohen's (1960) kappa of two raters, one pair of categories per thing.

    None where chance alone agrees always: nothing rated, or one category only.
    """
    n = len(pairs)
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    agreed = sum(one == other for one, other in pairs) * n
    chance = sum(first[category] * second[category] for category in first)  # both times n squared
    return (agreed - chance) / (n**2 - chance) if n**2 > chance else None


def fleiss_kappa(ratings: Sequence[Sequence[Category]]) -> float | None:
    """Fleiss' (1971) kappa: the ratings of each thing by any raters, two at least.

    Things may be rated by different numbers of people; with equal numbers it is Fleiss' own.  None where chance
    alone agrees always.
    """
    rated = [Counter(own) for own in ratings if len(own) > 1]
    totals: Counter[Category] = sum(rated, Counter())
    observed = observed_agreement(ratings)
    if observed is None:
        return None
    chance = sum((count / totals.total()) ** 2 for count in totals.values())
    return (observed - chance) / (1 - chance) if len(totals) > 1 else None


def observed_agreement(ratings: Iterable[Sequence[Category]]) -> float | None:
    """Share of pairs of raters that say the same, averaged over the things with two ratings or more."""
    found = [_agreed_pairs(Counter(own)) for own in ratings if len(own) > 1]
    return math.fsum(found) / len(found) if found else None


def krippendorff_alpha(
    ratings: Sequence[Sequence[Category]], order: Sequence[Category] | None = None
) -> float | None:
    """Krippendorff's alpha; ordinal where ``order`` names the categories from least to most, else nominal.

    Things with fewer than two ratings say nothing and are left out.  Krippendorff (2011), "Computing
    Krippendorff's Alpha-Reliability".  None where all ratings are one category.
    """
    weighted: dict[tuple[Category, Category], float] = {}  # ordered pairs of ratings of one thing
    for own in ratings:
        counts = Counter(own)
        for one, other in product(counts, repeat=2) if len(own) > 1 else ():
            pairs = counts[one] * (counts[other] - (one == other))
            weighted[one, other] = weighted.get((one, other), 0.0) + pairs / (len(own) - 1)
    totals: dict[Category, float] = {}
    for (one, _), weight in weighted.items():
        totals[one] = totals.get(one, 0.0) + weight
    n = math.fsum(totals.values())
    distance = _ordinal(order, totals) if order else _nominal
    expected = math.fsum(totals[a] * totals[b] * distance(a, b) for a, b in product(totals, repeat=2))
    found = math.fsum(weight * distance(a, b) for (a, b), weight in weighted.items())
    return 1 - (n - 1) * found / expected if expected else None


def _agreed_pairs(counts: Counter[Category]) -> float:
    raters = counts.total()
    return sum(count * (count - 1) for count in counts.values()) / (raters * (raters - 1))


def _nominal(one: Hashable, other: Hashable) -> float:
    return float(one != other)


def _ordinal(order: Sequence[Category], totals: dict[Category, float]) -> Distance[Category]:
    """Squared number of ratings between two categories, each end counting half."""
    place = {category: number for number, category in enumerate(order)}

    def distance(one: Category, other: Category) -> float:
        low, high = sorted((place[one], place[other]))
        between = math.fsum(totals.get(category, 0.0) for category in order[low : high + 1])
        return (between - (totals[one] + totals[other]) / 2) ** 2 if low < high else 0.0

    return distance
