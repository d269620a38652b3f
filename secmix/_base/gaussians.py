"""Gaussians, any number at once: overlap and Bhattacharyya distance.

Every function takes means (..., d) and covariances (..., d, d) whose leading axes broadcast.
"""

from __future__ import annotations

import math

import numpy as np

from secmix._base.checks import Array
from secmix.errors import DataError

LARGEST = 1e100
"""Squares of larger entries could overflow in the functions of this file."""


def cholesky(covariances: Array) -> Array:
    """Factor covariances as Σ = L Lᵀ, with lower triangles L (..., d, d).

    Raises DataError if a covariance is not positive definite.
    """
    try:
        return np.asarray(np.linalg.cholesky(covariances))
    except np.linalg.LinAlgError:
        raise DataError(
            "a covariance is not positive definite: its data are constant in some direction, or the Gaussians that it "
            "merges are too far apart for double precision; drop constant columns, or scale the data"
        ) from None


def log_det(lower: Array) -> Array:
    """Compute log det Σ (...) from the lower triangles L of Σ = L Lᵀ, (..., d, d)."""
    return np.asarray(2.0 * np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(-1))


def log_normal(deviations: Array, covariances: Array) -> Array:
    """Compute log N(δ; 0, Σ) (...), for δ (..., d) and Σ (..., d, d) with the same leading axes.

    One factorisation suffices: the Cholesky factor of [[Σ, δ], [δᵀ, c]] contains L, and (L⁻¹δ)ᵀ in its last row.
    """
    d = deviations.shape[-1]
    bordered = np.zeros((*deviations.shape[:-1], d + 1, d + 1))
    bordered[..., :d, :d] = covariances
    bordered[..., d, :d] = deviations
    bordered[..., d, d] = 1e305  # any corner above δᵀ Σ⁻¹ δ: the result does not depend on it
    lower = cholesky(bordered)
    standard = lower[..., d, :d]
    square = np.einsum("...d,...d->...", standard, standard)
    return np.asarray(-0.5 * (square + log_det(lower[..., :d, :d]) + d * math.log(2 * math.pi)))


def log_overlap(means_a: Array, covariances_a: Array, means_b: Array, covariances_b: Array) -> Array:
    """Compute log ∫ N(x; μ_a, Σ_a) N(x; μ_b, Σ_b) dx = log N(μ_a; μ_b, Σ_a + Σ_b), (...)."""
    deviations = np.asarray(means_a - means_b)
    total = np.asarray(covariances_a + covariances_b)
    batch = np.broadcast_shapes(deviations.shape[:-1], total.shape[:-2])
    return log_normal(np.broadcast_to(deviations, (*batch, deviations.shape[-1])), total)


def bhattacharyya(means_a: Array, covariances_a: Array, means_b: Array, covariances_b: Array) -> Array:
    """Compute −log ∫ √(N_a N_b) in nats, (...): 0 for equal Gaussians, unbounded for distant ones (Bhattacharyya 1943).

    >>> float(bhattacharyya(np.zeros(1), np.eye(1), np.full(1, 4.0), np.eye(1)))
    2.0
    """
    middle = 0.5 * (covariances_a + covariances_b)
    lower = cholesky(middle)
    standard = np.matmul(np.linalg.inv(lower), np.asarray(means_a - means_b)[..., None])
    ends = 0.5 * (log_det(cholesky(covariances_a)) + log_det(cholesky(covariances_b)))
    return np.asarray((standard**2).sum((-1, -2)) / 8 + 0.5 * (log_det(lower) - ends))
