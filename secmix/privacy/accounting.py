"""Epsilon of Gaussian and Laplace releases together, between neighbours that move each by its sensitivity at most."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable
from typing import Any

from secmix._base.checks import not_negative, probability
from secmix.errors import SecmixError
from secmix.privacy.gaussian_mechanism import gaussian_epsilon

_MOST = (
    10.0  # of μ and of Σ t: a loss distribution takes 52 s and 5 GB at 50, and nobody asks how little is private there
)


def releases_epsilon(*, gaussian: Iterable[float] = (), laplace: Iterable[float] = (), delta: float) -> float:
    """Return an ε with which all releases together are (ε, δ) differentially private.

    Gaussian releases have a closed form, Laplace releases alone Σ t at δ = 0. Others are composed by privacy loss
    distributions (dp-accounting), or where that is not installed by adding both, which is never less. Noise on a vector
    is worst where one entry takes all of its sensitivity: the distribution of the log-likelihood ratio of one shift by
    t crosses that of two shifts t₁ + t₂ = t once, so it is the larger in convex order.

    Parameters
    ----------
    gaussian : iterable of float
        μ = Δ₂/σ of each Gaussian release.
    laplace : iterable of float
        t = Δ₁/b of each Laplace release.
    delta : float
        In [0, 1); of Gaussian noise nothing follows at 0.

    Raises
    ------
    SecmixError
        If a number lies outside its range.

    Examples
    --------
    >>> releases_epsilon(laplace=[0.5, 0.5], delta=0.0)
    1.0
    >>> round(releases_epsilon(gaussian=[0.1] * 20, delta=1e-5), 2)
    1.76
    """
    delta = probability(delta, "delta")
    mu = math.sqrt(sum(not_negative(each, "gaussian") ** 2 for each in gaussian))
    shifts = [t for t in (not_negative(each, "laplace") for each in laplace) if t > 0]
    if mu > 0 and delta == 0:
        return math.inf
    of_gaussian = gaussian_epsilon(mu, delta) if mu > 0 else 0.0
    most = of_gaussian + sum(shifts)
    if not shifts or delta == 0 or mu > _MOST or sum(shifts) > _MOST:
        return most
    try:
        library = dp_accounting_library()
    except SecmixError:
        return most
    accountant = library.pld.PLDAccountant()
    if mu > 0:
        accountant.compose(library.GaussianDpEvent(1 / mu))
    for t in shifts:
        accountant.compose(library.LaplaceDpEvent(1 / t))
    return min(most, float(accountant.get_epsilon(delta)))


def dp_accounting_library() -> Any:
    """Import Google's dp-accounting with its privacy loss distributions, ``dp_accounting`` and ``dp_accounting.pld``.

    Raises SecmixError if it is not installed.
    """
    try:
        importlib.import_module("dp_accounting.pld")
        return importlib.import_module("dp_accounting")
    except ImportError:
        raise SecmixError("accounting for noise needs dp-accounting: pip install 'secmix[privacy]'") from None
