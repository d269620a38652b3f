"""Mutual information of Gaussians in closed form: the truth that estimators are held against."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from secmix.errors import DataError
from secmix.estimators.ksg_estimator.premises import DETERMINED
from secmix.estimators.samples import Floats


def mutual_information_gaussian(covariance: ArrayLike, dx: int) -> float:
    """Compute the mutual information of the first ``dx`` and the remaining coordinates of a Gaussian, in nats.

    I = −½ Σ log(1 − ρ²) over the canonical correlations ρ: the closed form ½ log det Σ_x − ½ log det Σ_{x|y},
    which redundant coordinates on either side do not disturb. Infinite where a combination of x is a function of y, as
    far as rounding of the covariance can tell. Source: Cover and Thomas, Elements of Information Theory, 2nd ed.,
    equation (8.56) and section 8.5.

    >>> round(mutual_information_gaussian([[1.0, 0.6], [0.6, 1.0]], dx=1), 6)  # -½ log(1 - 0.6²)
    0.223144
    >>> mutual_information_gaussian([[1.0, 1.0], [1.0, 1.0]], dx=1)
    inf
    """
    sigma = np.asarray(covariance, dtype=np.float64)
    if sigma.ndim != 2 or sigma.shape[0] != sigma.shape[1] or not np.isfinite(sigma).all():
        raise DataError(f"covariance must be a finite square matrix; got shape {sigma.shape}")
    n = len(sigma)
    if not 0 < dx < n:
        raise DataError(f"dx = {dx} must leave coordinates on both sides of a {n} x {n} covariance")
    scale = np.sqrt(np.diag(sigma).clip(min=0.0))
    scale[scale == 0.0] = 1.0  # a constant coordinate carries nothing and is dropped by the rank below
    sigma = sigma / scale / scale[:, None]
    if not np.allclose(sigma, sigma.T, atol=1e-9) or np.linalg.eigvalsh(sigma)[0] < -1e-9 * n:
        raise DataError("covariance must be symmetric and positive semi-definite")
    whiten_x, worst_x = _whitening(sigma[:dx, :dx])
    whiten_y, worst_y = _whitening(sigma[dx:, dx:])
    rho = np.linalg.svd(whiten_x.T @ sigma[:dx, dx:] @ whiten_y, compute_uv=False)
    unexplained = (1.0 - rho) * (1.0 + rho)
    # Rounding of the entries grows by the condition of what was whitened.
    rounding = min(8 * n * np.finfo(float).eps * max(worst_x, worst_y), DETERMINED)
    if (unexplained <= rounding).any():
        return math.inf
    return float(-0.5 * np.log(unexplained).sum())


def _whitening(sigma: Floats) -> tuple[Floats, float]:
    """Return (d, r) columns that whiten what has variance, and the condition number of that part."""
    values, vectors = np.linalg.eigh(sigma)
    kept = values > 4 * len(sigma) * np.finfo(float).eps * max(values[-1], 1e-300)
    if not kept.any():
        return np.zeros((len(sigma), 1)), 1.0
    return vectors[:, kept] / np.sqrt(values[kept]), float(values[-1] / values[kept][0])
