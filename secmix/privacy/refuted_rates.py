"""Curves of error rates that counts refute: whatever a mechanism releases, no test errs below its trade-off curve.

Counts of false alarms X and misses Y, binomial with rates α and β, are put into one number w X + Y. A curve f is
refuted where, for every α in an interval that holds it but for a small part of the level (Berger and Boos 1994), a
number as small as the observed one is too rare with β = f(α): the tail falls in both rates, so that cells between two α
bound it from above without a gap. Two limits of Clopper and Pearson (1934) at half the level each refute less: for
rates about one half as if there were a third of the runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr
from scipy.stats import binom

from secmix._base.checks import Array
from secmix._base.rates import lower_limit, upper_limit

Curve = Callable[[Array], Array]
"""From rates of false alarms (tests,) to the least rates of misses (tests,); it falls."""

_OF_INTERVAL = 0.02  # of the level: for an interval of the rate of false alarms
_CELLS = 100  # of that interval: each costs a thirtieth of a standard deviation
_NEGLIGIBLE = 1e-9  # of the level: what is less likely is added as if it were in the tail
_ROUNDING = 1e-9  # of a count


@dataclass(frozen=True)
class ErrorCounts:
    """Errors of one test on as many runs of either data set.

    Attributes
    ----------
    false_alarms, misses : int
    runs : int
        On each of the two.
    weight : float
        Of a false alarm beside a miss, chosen without these runs: best is how steeply the curve falls there.
    """

    false_alarms: int
    misses: int
    runs: int
    weight: float = 1.0

    def refute(self, curve: Curve, level: float) -> bool:
        """Say whether these counts, or fewer, happen with a chance of at most ``level`` above ``curve``."""
        edges = np.linspace(*self._interval(_OF_INTERVAL * level), _CELLS + 1)
        least = np.clip(curve(edges[1:]), 0.0, 1.0)
        return bool(self._tails(edges[:-1], least, _NEGLIGIBLE * level).max() <= (1 - _OF_INTERVAL) * level)

    def _interval(self, level: float) -> tuple[float, float]:
        """Return limits of the rate of false alarms at half the ``level`` each."""
        low, high = (limit(self.false_alarms, self.runs, level / 2) for limit in (lower_limit, upper_limit))
        return float(low), float(high)

    def _tails(self, rates: Array, misses: Array, negligible: float) -> Array:
        """Return the chance of w X + Y at most as observed, for pairs of rates (tests,); a little more, never less."""
        first = int(binom.ppf(negligible, self.runs, rates.min()))
        last = int(binom.isf(negligible, self.runs, rates.max()))
        counts = np.arange(first, last + 1)
        left = np.floor(self.misses + self.weight * (self.false_alarms - counts) + _ROUNDING)
        allowed = counts[left >= 0]
        chance = binom.pmf(allowed[None], self.runs, rates[:, None])
        below = bdtr(np.minimum(left[left >= 0], self.runs)[None], self.runs, misses[:, None])
        beside = binom.cdf(first - 1, self.runs, rates) + binom.sf(last, self.runs, rates)
        return np.asarray((chance * below).sum(axis=1) + beside)


def private_curve(epsilon: float, delta: float) -> Curve:
    """Return the curve of all (ε, δ) private mechanisms (Kairouz et al. 2015, Theorem 2.1)."""

    def least_miss(false_alarms: Array) -> Array:
        room = 1 - delta
        steep, flat = room - np.exp(epsilon) * false_alarms, np.exp(-epsilon) * (room - false_alarms)
        return np.asarray(np.maximum(np.maximum(steep, flat), 0.0))

    return least_miss


def largest_refuted(refuted: Callable[[float], bool], most: float, step: float) -> float:
    """Return the largest refuted number up to ``most``, if all below a refuted one are refuted; 0 if none is."""
    low, high = 0.0, most
    if not refuted(low):
        return 0.0
    while high - low > step:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
