"""spark_analysis/intervals.py: how sure a difference is: intervals on rates and on means, never a bare percentage.

In     counts of runs that failed; sums of per-run figures
Out    lower and upper bounds of a rate (Wilson), of a difference of rates (Newcombe), of a difference of means (Welch)
Why    three failures of twenty last night and none tonight prove nothing; thirty of thirty and none do
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

import msgspec

Interval = tuple[float, float]
CONFIDENCE: Final = 0.95


class Sums(msgspec.Struct):
    """Of a figure over many runs: adding up needs no more than this."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value
        self.squares += value * value

    @property
    def mean(self) -> float:
        return self.total / self.count

    @property
    def variance(self) -> float:
        """Of one run, as far as these runs tell."""
        if self.count < 2:
            return math.inf
        found = (self.squares - self.count * self.mean**2) / (self.count - 1)
        return found if found > 1e-12 * self.squares / self.count else 0.0  # what is left of equal values is rounding


def wilson(hits: int, count: int, confidence: float = CONFIDENCE) -> Interval:
    """The rate behind `hits` of `count`."""
    if count == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate, share = hits / count, z * z / count
    middle = (rate + share / 2) / (1 + share)
    half = z / (1 + share) * math.sqrt(rate * (1 - rate) / count + share / (4 * count))
    return (0.0 if hits == 0 else middle - half), (1.0 if hits == count else middle + half)


def newcombe(hits: int, count: int, hits_before: int, count_before: int, confidence: float = CONFIDENCE) -> Interval:
    """The rate now less the rate before, from the Wilson intervals of both."""
    low, high = wilson(hits, count, confidence)
    low_before, high_before = wilson(hits_before, count_before, confidence)
    rate = hits / count if count else 0.5
    before = hits_before / count_before if count_before else 0.5
    difference = rate - before
    lower = difference - math.hypot(rate - low, high_before - before)
    upper = difference + math.hypot(high - rate, before - low_before)
    return lower, upper


def welch(now: Sums, before: Sums, confidence: float = CONFIDENCE) -> Interval:
    """The mean now less the mean before; neither side need vary as much as the other."""
    difference = now.mean - before.mean
    errors = now.variance / now.count, before.variance / before.count
    error = sum(errors)
    if error == 0 or math.isinf(error):
        return (difference, difference) if error == 0 else (-math.inf, math.inf)
    freedom = error**2 / (errors[0] ** 2 / (now.count - 1) + errors[1] ** 2 / (before.count - 1))
    half = student(0.5 + confidence / 2, freedom) * math.sqrt(error)
    return difference - half, difference + half


def student(share: float, freedom: float) -> float:
    """The quantile of Student's distribution, for a share above one half: bisected on its own distribution function."""
    low, high = 0.0, 1.0
    while _below(high, freedom) < share:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _below(middle, freedom) < share else (low, middle)
    return (low + high) / 2


def _below(value: float, freedom: float) -> float:
    """The share of Student's distribution below a positive value."""
    return 1 - _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + value * value)) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised; by its continued fraction on the side where that converges quickly."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(1 - x))
    return front / a * _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """Lentz's way through the continued fraction of the incomplete beta function."""
    tiny = 1e-300
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1), tiny)
    found = d
    for m in range(1, 500):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away_from_zero(1 + numerator * d, tiny)
            c = _away_from_zero(1 + numerator / c, tiny)
            found *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return found


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
