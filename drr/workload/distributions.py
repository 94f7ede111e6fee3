"""Distributions of whole numbers: token lengths, turns of a conversation, milliseconds of thinking."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from statistics import NormalDist


@dataclass(frozen=True, slots=True)
class Fixed:
    """Always ``value``."""

    value: int


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every whole number from ``min`` to ``max`` alike, both included."""

    min: int
    max: int


@dataclass(frozen=True, slots=True)
class Lognormal:
    """The logarithm is normal: half lie below ``median``, ``sigma`` is the deviation of the natural logarithm.

    Draws outside ``min`` .. ``max`` count as the bound.
    """

    median: int
    sigma: float
    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Exponential:
    """Exponential with this mean (times between independent events); draws above ``max`` count as ``max``."""

    mean: int
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Bimodal:
    """``high`` with probability ``high_share``, else ``low``; each varies evenly by up to ``spread`` of itself."""

    low: int
    high: int
    high_share: float
    spread: float = 0.0


@dataclass(frozen=True, slots=True)
class Zipf:
    """``min``, ``min + step``, ``min + 2 step`` ... up to ``max``; the k-th has the share k^-exponent of the sum."""

    exponent: float
    max: int
    min: int = 1
    step: int = 1


@dataclass(frozen=True, slots=True)
class Empirical:
    """One of the listed values, all alike, or in proportion to ``shares`` (one per value)."""

    values: tuple[int, ...]
    shares: tuple[float, ...] | None = None


Distribution = Fixed | Uniform | Lognormal | Exponential | Bimodal | Zipf | Empirical


def sampler(distribution: Distribution, random: Random, least: int = 0) -> Callable[[], int]:
    """A function that draws from the distribution; what would be below ``least`` becomes ``least``."""
    draw = random.random
    match distribution:
        case Fixed(value):
            only = max(value, least)
            return lambda: only
        case Uniform(low, high):
            width = high - low + 1
            return lambda: max(low + int(draw() * width), least)
        case Lognormal(median, sigma, lowest, highest):
            bottom = max(least, lowest or 0)
            top = math.inf if highest is None else highest
            middle = math.log(median)
            normal = random.normalvariate
            # A logarithm beyond 700 has no double; it is far above every bound that a spec may give.
            return lambda: int(max(bottom, min(top, round(math.exp(min(normal(middle, sigma), 700.0))))))
        case Exponential(mean, highest):
            top = math.inf if highest is None else highest
            return lambda: int(max(least, min(top, round(-math.log(1.0 - draw()) * mean))))
        case Bimodal(low, high, high_share, spread):

            def bimodal() -> int:
                centre = high if draw() < high_share else low
                return max(round(centre * (1.0 + spread * (2.0 * draw() - 1.0))), least)

            return bimodal
        case Zipf() | Empirical():
            values, upto = _table(distribution)
            total = upto[-1]
            return lambda: max(values[bisect_right(upto, draw() * total)], least)


def _table(distribution: Zipf | Empirical) -> tuple[list[int] | range, list[float]]:
    """The values and, for each, the summed shares up to and with it."""
    if isinstance(distribution, Zipf):
        steps = range(distribution.min, distribution.max + 1, distribution.step)
        return steps, list(accumulate((rank + 1) ** -distribution.exponent for rank in range(len(steps))))
    shares = distribution.shares or (1.0,) * len(distribution.values)
    pairs = [(value, share) for value, share in zip(distribution.values, shares, strict=True) if share]
    return [value for value, _ in pairs], list(accumulate(share for _, share in pairs))


def mean(distribution: Distribution, least: int = 0) -> float:
    """The expected draw of :func:`sampler` with the same ``least``, but for the rounding to whole numbers."""
    match distribution:
        case Fixed(value):
            return float(max(value, least))
        case Uniform(low, high):
            below = min(max(least - low, 0), high - low + 1)
            return (below * least + (low + below + high) / 2 * (high - low + 1 - below)) / (high - low + 1)
        case Lognormal(median, sigma, lowest, highest):
            return _lognormal_mean(median, sigma, max(least, lowest or 0), highest)
        case Exponential(average, highest):
            if highest is not None and highest <= least:
                return float(least)
            # Integral of the survival function from 0 to the upper bound, the lower bound added to where it is zero.
            cut = 0.0 if highest is None else math.exp(-highest / average)
            return least + average * (math.exp(-least / average) - cut)
        case Bimodal(low, high, high_share, spread):
            of_low, of_high = (_even_mean(centre, centre * spread, least) for centre in (low, high))
            return high_share * of_high + (1 - high_share) * of_low
        case Zipf() | Empirical():
            values, upto = _table(distribution)
            before = [0.0, *upto[:-1]]
            return sum(max(v, least) * (b - a) for v, a, b in zip(values, before, upto, strict=True)) / upto[-1]


def _even_mean(centre: float, reach: float, least: int) -> float:
    """Mean of what varies evenly by up to ``reach``, where everything below ``least`` counts as that."""
    low, high = centre - reach, centre + reach
    if least >= high or least <= low:
        return max(centre, float(least))
    return ((least - low) * least + (high * high - least * least) / 2) / (high - low)


def _lognormal_mean(median: int, sigma: float, lowest: int, highest: int | None) -> float:
    """Mean of a lognormal draw that is cut at both bounds; the lower one holds where they cross."""
    if highest is not None and highest <= lowest:
        return float(lowest)
    if not sigma:
        return float(max(lowest, min(median, math.inf if highest is None else highest)))
    normal = NormalDist()
    # Standard scores of the bounds: below the first and above the second the bound itself counts.
    low = (math.log(lowest) - math.log(median)) / sigma if lowest else -math.inf
    high = math.inf if highest is None else (math.log(highest) - math.log(median)) / sigma
    under = normal.cdf(low) if lowest else 0.0
    over = 0.0 if highest is None else 1 - normal.cdf(high)
    inner = (1.0 if highest is None else normal.cdf(high - sigma)) - (normal.cdf(low - sigma) if lowest else 0.0)
    return lowest * under + (highest or 0) * over + median * math.exp(sigma * sigma / 2) * inner
