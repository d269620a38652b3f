"""The Gaussian mechanism in closed form: its privacy curve, and its inverses (Balle and Wang 2018, Dong et al. 2022).

A release f(x) + σ N(0, I) is μ-Gaussian differentially private with μ = Δ/σ, where Δ is how far f moves between
neighbours at most, in Euclidean norm. The μ of adaptive releases add in squares: √(Σ μ²) stands for all of them.
Whether neighbours differ by a row that is exchanged or by one that is added is decided by Δ: the caller names it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from scipy.optimize import brentq
from scipy.stats import norm

from secmix._base.checks import not_negative, positive, probability
from secmix.errors import SecmixError

_MOST = 1e8  # of epsilon and of mu: further out no privacy is left to speak of


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return the least δ with which a μ-Gaussian mechanism is (ε, δ) differentially private.

    δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2), worked out in logarithms (Balle and Wang 2018, Theorem 8).

    Parameters
    ----------
    epsilon : float
        At least 0.
    mu : float
        Sensitivity over noise, above 0.

    Raises
    ------
    SecmixError
        If a number lies outside its range.

    Examples
    --------
    >>> round(gaussian_delta(1.0, 0.268), 7)
    1e-05
    """
    mu, epsilon = positive(mu, "mu"), not_negative(epsilon, "epsilon")
    above = norm.logcdf(-epsilon / mu + mu / 2)
    below = epsilon + norm.logcdf(-epsilon / mu - mu / 2)
    return float(-math.exp(above) * math.expm1(min(below - above, 0.0)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the least ε with which a μ-Gaussian mechanism is (ε, δ) differentially private.

    Parameters
    ----------
    mu : float
        Sensitivity over noise, above 0; √(Σ μ²) of several releases.
    delta : float
        Above 0 and below 1: a Gaussian mechanism has no ε at δ = 0.

    Raises
    ------
    SecmixError
        If a number lies outside its range.

    Examples
    --------
    >>> [round(gaussian_epsilon(mu, 1e-5), 2) for mu in (0.268, 0.925, 2.0)]
    [1.0, 4.0, 10.0]
    """
    return _least_epsilon(positive(mu, "mu"), _proper(delta))


@lru_cache(maxsize=1024)  # an account of many nodes and rounds asks for few values, many times each
def _least_epsilon(mu: float, delta: float) -> float:
    if gaussian_delta(0.0, mu) <= delta:
        return 0.0
    bracket = _bracket(lambda epsilon: delta - gaussian_delta(epsilon, mu), 0.0, max(1.0, mu))
    if bracket is None:
        raise SecmixError(f"mu = {mu:.3g} leaves no epsilon below {_MOST:.0e}; add more noise")
    return float(brentq(lambda epsilon: gaussian_delta(epsilon, mu) - delta, 0.0, bracket[1], xtol=1e-12, rtol=1e-12))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest μ with which a Gaussian mechanism is (ε, δ) differentially private.

    Parameters
    ----------
    epsilon : float
        At least 0.
    delta : float
        Above 0 and below 1.

    Raises
    ------
    SecmixError
        If a number lies outside its range.

    Examples
    --------
    >>> [round(gaussian_mu(epsilon, 1e-5), 3) for epsilon in (1.0, 4.0, 10.0)]
    [0.268, 0.925, 2.0]
    """
    epsilon, delta = not_negative(epsilon, "epsilon"), _proper(delta)
    bracket = _bracket(lambda mu: gaussian_delta(epsilon, mu) - delta, 1e-12, 1.0)
    if bracket is None:
        raise SecmixError(f"delta = {delta:.3g} at epsilon = {epsilon:.3g} asks for no noise at all")
    return float(brentq(lambda mu: gaussian_delta(epsilon, mu) - delta, *bracket, xtol=1e-15, rtol=1e-12))


def _bracket(rising: Callable[[float], float], low: float, high: float) -> tuple[float, float] | None:
    """Return ``low`` and ``high``, doubled until a function is at least 0 there; None where it never is."""
    while rising(high) < 0:
        low, high = high, 2 * high
        if high > _MOST:
            return None
    return low, high


def _proper(delta: float) -> float:
    if probability(delta, "delta") == 0:
        raise SecmixError("delta must lie above 0 and below 1; given 0: a Gaussian mechanism has no epsilon there")
    return float(delta)
