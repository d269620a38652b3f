"""Integrated squared error between Gaussian mixtures, in closed form and for all pairs at once.

ISE(G, G') = ∫ (f_G − f_G')² = wᵀ S_xx w − 2 wᵀ S_xy w' + w'ᵀ S_yy w', where S has the entries
φ(μ_i; μ_j, Σ_i + Σ_j) (Zhang and Chen 2022; Zhang 2024).
"""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array
from secmix.aggregators.mixture_rules.overlap import overlaps
from secmix.aggregators.mixture_rules.screening import Machines, Mixtures, screened
from secmix.errors import DataError
from secmix.mixture import Mixture

_ROUNDING = 1e-12
"""Of the two norms: what rounding may take a distance below zero, for covariances that are not nearly singular."""


def ise_matrix(mixtures: Mixtures) -> Array:
    """Compute squared distances ∫ (f_i − f_j)² between all pairs of mixtures, (m, m).

    The result (m, m): in units of a density. Symmetric, with a diagonal of zeros; rounding below zero is clipped to
    zero. Raises DataError: one of them is no mixture, or its density is out of the range of floats. The m²K²/2 overlaps
    are worked out a block at a time: beside the result the memory does not grow with m.

    >>> pair = Mixture([[1.0], [1.0]], [[[0.0]], [[0.0]]], [[[[1.0]]], [[[4.0]]]])
    >>> ise_matrix(pair).round(4)  # (1/1 + 1/2 − 2 √(2/5)) / (2 √π)
    array([[0.    , 0.0663],
           [0.0663, 0.    ]])
    """
    return squared_distances(screened(mixtures, strict=True))


def squared_distances(machines: Machines) -> Array:
    """Compute the ISE between all m machines, (m, m): infinite where one is not usable, zero on the diagonal."""
    flattest = float(machines.flatness.min())
    finite = _from_products(overlaps(machines.mixture), machines.norms, machines.norms, flattest)
    every = np.full((machines.m, machines.m), np.inf)
    every[np.ix_(machines.usable, machines.usable)] = finite
    np.fill_diagonal(every, 0.0)
    return every


def ise(a: Mixture, b: Mixture) -> Array:
    """Compute squared distances from m mixtures to n others, (m, n); each argument has one leading axis.

    Raises DataError as :func:`ise_matrix`.
    """
    left, right = screened(a, strict=True), screened(b, strict=True)
    flattest = float(min(left.flatness.min(), right.flatness.min()))
    return _from_products(overlaps(left.mixture, right.mixture), left.norms, right.norms, flattest)


def _from_products(cross: Array, left: Array, right: Array, flattest: float) -> Array:
    """Compute ‖f‖² + ‖g‖² − 2⟨f, g⟩ (m, n), with rounding below zero clipped, and more than rounding an error."""
    total = left[:, None] + right
    squared = total - 2 * cross
    # The overlaps of nearly singular covariances are known to fewer digits, and so is their difference.
    allowed = _ROUNDING + 100 * np.finfo(float).eps / flattest
    if (squared < -allowed * total).any():
        raise DataError(
            f"an integrated squared error came out as {float(squared.min()):.3g}, below zero by more than rounding: "
            "the covariances are too close to singular for double precision"
        )
    return np.maximum(squared, 0.0, out=squared)
