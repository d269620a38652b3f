"""Membership of a row in what was released: how often a test finds it, at a low rate of false alarms.

The numbers that a protocol releases are drawn many times with the row among the data and many times without it. One
half of the runs fits the score, the logarithm of a ratio of two Gaussian likelihoods (Carlini et al. 2022, Membership
inference attacks from first principles, section V, on released numbers in place of losses); the other half counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from secmix._base.checks import Array, finite_array
from secmix._base.rates import lower_limit, upper_limit
from secmix.errors import SecmixError

RATE = 0.01
"""False-positive rate at which a row's membership is reported."""
COLUMNS = 60
"""Most numbers that a score is fitted on."""
_POOLED = 5.0  # runs a number that the covariance of all runs counts for beside one's own (Friedman 1989)
_RIDGE = 1e-9  # of a number's variance over all runs: what is released exactly has none in either


@dataclass(frozen=True)
class Membership:
    """Rate at which a test tells runs with a row from runs without it."""

    # share of the runs with the row that are found, at a false-positive rate of ``rate`` at most as counted
    value: float
    # low, high: interval of the test's true-positive rate where its false-positive rate is ``rate``; a better test may
    # find more
    low: float
    high: float
    rate: float
    confidence: float
    runs: int  # counted runs with the row; so many are without it

    def epsilon(self, delta: float = 0.0) -> float:
        """Return the least epsilon at ``delta`` with which the lower end agrees: TPR ≤ e^ε FPR + δ (Kairouz 2015).

        >>> round(Membership(0.5, 0.4, 0.6, rate=0.01, confidence=0.95, runs=1000).epsilon(), 2)
        3.69
        """
        return max(math.log((self.low - delta) / self.rate), 0.0) if self.low > delta else 0.0


def least_runs(rate: float = RATE, confidence: float = 0.95) -> int:
    """Return the fewest runs of one kind with which a lower end can be above 0; half of them count errors.

    >>> least_runs(0.01, 0.95)
    874
    """
    return 2 * math.ceil(math.log((1 - confidence) / 4) / math.log1p(-rate))


def membership(inside: Array, outside: Array, *, rate: float = RATE, confidence: float = 0.95) -> Membership:
    """Test whether released numbers tell a row's presence: the first half of the runs fits, the second counts.

    ``inside``, ``outside`` (runs, p): released numbers of runs with the row and without it, equally many; ``rate``:
    false-positive rate; ``confidence``: of the interval. Raises SecmixError: unless both have the same shape, of at
    least four runs.

    >>> rng = np.random.default_rng(0)
    >>> found = membership(rng.normal(3.0, size=(2000, 1)), rng.normal(size=(2000, 1)))
    >>> found.low < 0.75 < found.high  # a shift of three standard deviations: Φ(3 − 2.33)
    True
    """
    inside, outside = (finite_array(part, "the released numbers", ndim=2) for part in (inside, outside))
    if inside.shape != outside.shape or len(inside) < 4:
        raise SecmixError(
            f"expected as many runs with the row as without it, at least 4, of equally many numbers; given "
            f"{inside.shape} and {outside.shape}"
        )
    half = len(inside) // 2
    score = _Score(inside[:half], outside[:half])
    return counted(score(inside[half:]), score(outside[half:]), rate=rate, confidence=confidence)


def counted(inside: Array, outside: Array, *, rate: float = RATE, confidence: float = 0.95) -> Membership:
    """Count scores of runs with the row (N,) and without it (M,) against thresholds; larger scores speak for the row.

    Of M scores the k-th largest has a false-positive rate with distribution Beta(k, M − k + 1), whatever the scores'
    law is. So one order statistic lies beyond ``rate`` and one short of it, each but for a quarter of 1 − confidence,
    and at either the limit of Clopper and Pearson (1934) holds for the true-positive rate, which grows with the other.

    >>> counted(np.arange(1000.0), np.arange(1000.0) - 2000).low > 0.99
    True
    """
    level, falling = (1 - confidence) / 4, np.sort(outside)[::-1]
    places = np.arange(1, len(outside) + 1)
    safe = int((beta.sf(rate, places, len(outside) - places + 1) <= level).sum())  # rate not exceeded up to this place
    beyond = int((beta.cdf(rate, places, len(outside) - places + 1) > level).sum()) + 1
    hits = int((inside > falling[safe - 1]).sum()) if safe else 0
    most = int((inside >= falling[beyond - 1]).sum()) if beyond <= len(outside) else len(inside)
    usual = int((inside > falling[int(rate * len(outside))]).sum())
    low, high = float(lower_limit(hits, len(inside), level)), float(upper_limit(most, len(inside), level))
    value = float(np.clip(usual / len(inside), low, high))
    return Membership(value, low, high, rate, confidence, len(inside))


class _Score:
    """Log-ratio of two Gaussian likelihoods, each covariance drawn to the common one as far as runs are few."""

    def __init__(self, inside: Array, outside: Array) -> None:
        both = np.concatenate([inside, outside])
        self.centre, self.spread = both.mean(axis=0), both.std(axis=0)
        varies = self.spread > 1e-12 * np.abs(both).max(axis=0)
        apart = np.abs(inside.mean(axis=0) - outside.mean(axis=0)) / np.where(varies, self.spread, np.inf)
        self.columns = np.sort(np.argsort(-apart, kind="stable")[: min(COLUMNS, int(varies.sum()))])
        kinds = [self._scaled(part) for part in (inside, outside)]
        common = np.mean([_covariance(part) for part in kinds], axis=0)
        self.laws = [_Gaussian(part, common) for part in kinds] if len(self.columns) else []

    def _scaled(self, numbers: Array) -> Array:
        return np.asarray((numbers - self.centre)[:, self.columns] / self.spread[self.columns])

    def __call__(self, numbers: Array) -> Array:
        """Score released numbers (runs, p): (runs,)."""
        if not self.laws:
            return np.zeros(len(numbers))
        inside, outside = self.laws
        scaled = self._scaled(numbers)
        return np.asarray(inside.log_density(scaled) - outside.log_density(scaled))


def _covariance(numbers: Array) -> Array:
    off = numbers - numbers.mean(axis=0)
    return np.asarray(off.T @ off / (len(numbers) - 1))


class _Gaussian:
    """Fit of a Gaussian to (runs, p)."""

    def __init__(self, numbers: Array, common: Array) -> None:
        runs, p = numbers.shape
        self.mean = numbers.mean(axis=0)
        own, weight = _covariance(numbers), runs / (runs + _POOLED * p)
        covariance = weight * own + (1 - weight) * common + _RIDGE * np.eye(p)
        values, self.vectors = np.linalg.eigh(covariance)
        self.values = np.maximum(values, _RIDGE)

    def log_density(self, numbers: Array) -> Array:
        """Compute the logarithm of the density but for a constant, (runs,)."""
        along = (numbers - self.mean) @ self.vectors
        return np.asarray(-0.5 * ((along**2 / self.values).sum(axis=1) + np.log(self.values).sum()))
