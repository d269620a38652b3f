"""The numbers themselves, from nearest neighbours: information, entropy, and npeet's arithmetic."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma

from secmix.errors import DataError
from secmix.estimators.ksg_estimator.levels import Read
from secmix.estimators.neighbours.counts import kth_distances, kth_on_lines, neighbour_counts
from secmix.estimators.samples import Floats, Samples, columns, enough_rows, positive, standardised

_NPEET_NOISE = 1e-10
_NPEET_SHRINK = 1e-15
_TOGETHER = 512  # columns whose neighbours are in memory at a time


def reader(k: int) -> Read:
    """Return the estimator of Kraskov et al. with k neighbours, as a function of x, y and z in nats."""
    return lambda x, y, z: _information(x, y, z, k)


def npeet_reading(samples: Samples, k: int, rng: int | np.random.Generator) -> float:
    """Repeat the reference's arithmetic, in its order, in nats."""
    x, y, z = samples
    # The reference draws from numpy's legacy global generator; this is the same stream, without the global.
    draw = rng.random if isinstance(rng, np.random.Generator) else np.random.RandomState(rng).random_sample
    x = x + _NPEET_NOISE * draw(x.shape)
    y = y + _NPEET_NOISE * draw(y.shape)
    return _information(x, y, z, k, _NPEET_SHRINK)


def _information(x: Floats, y: Floats, z: Floats, k: int, shrink: float = 0.0) -> float:
    """Compute Frenzel and Pompe's equation (5), in nats; without z all N rows are close: Kraskov's equation (8)."""
    epsilon, closer = neighbour_counts(x, y, z, k, shrink)
    if (epsilon < shrink).any():
        raise DataError(
            "rows coincide even after npeet's noise of 1e-10, and npeet's number is infinite; "
            "use npeet_compatible=False"
        )
    in_xz, in_yz, in_z = (digamma(count).mean() for count in closer)
    return float(digamma(k) + in_z - in_xz - in_yz)


def entropy(x: ArrayLike, k: int = 3) -> float:
    """Estimate the differential entropy h(X) in nats, after Kozachenko and Leonenko.

    h = ψ(N) − ψ(k) + d ln 2 + d ⟨ln ε⟩, with ε the maximum-norm distance to the k-th other sample, computed
    on standardised columns and scaled back.

    Parameters
    ----------
    x : (N, d) or (N,) array
    k : int
        Neighbours.

    Returns
    -------
    float
        Nats, in the units of x: multiplying a column by s adds ln s.

    Raises
    ------
    DataError
        As `ksg`; or a row repeated more than k times, where the entropy is −∞.

    References
    ----------
    Kozachenko and Leonenko, Problems of Information Transmission 23, 95 (1987); in this form Kraskov et al.
    (2004), equation (20) with the volume 2^d of the unit ball of the maximum norm.

    Examples
    --------
    >>> round(entropy(np.random.default_rng(0).uniform(0.0, 4.0, 2000)), 1)  # ln 4 = 1.386
    1.4
    """
    k = positive("k", k)
    array = columns("x", x)
    enough_rows(len(array), k)
    array, log_scale = standardised("x", array)
    epsilon = kth_distances(array, k)
    if not epsilon.all():
        raise DataError(
            f"x repeats {int((epsilon == 0).sum())} of its {len(array)} rows more than k = {k} times, so it "
            "has no density; use a discrete entropy, or a k above the repetitions"
        )
    n, d = array.shape
    return float(digamma(n) - digamma(k) + d * math.log(2) + d * np.log(epsilon).mean() + log_scale)


def entropies(values: Floats, k: int = 3) -> Floats:
    """Estimate the entropy (p,) of each column of ``values`` (N, p) by itself, in nats, as :func:`entropy`.

    −∞ stands for a column that repeats a value more than ``k`` times.

    >>> entropies(np.random.default_rng(0).uniform(0.0, 4.0, (2000, 2))).round(1)  # ln 4 = 1.386
    array([1.4, 1.4])
    """
    n, p = values.shape
    enough_rows(n, k)
    out = np.empty(p)
    for begin in range(0, p, _TOGETHER):
        part = slice(begin, begin + _TOGETHER)
        with np.errstate(divide="ignore"):
            out[part] = np.log(kth_on_lines(values[:, part], k)).mean(axis=0)
    return out + float(digamma(n) - digamma(k) + math.log(2))
