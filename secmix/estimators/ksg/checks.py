"""What keeps a nearest-neighbour estimate honest: determinism and too many dimensions.

Each check answers one question about samples whose columns are already standardised, and knows nothing of how
the estimate is computed: it is handed the estimator as a function ``read(x, y, z) -> nats``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from secmix.errors import DataError
from secmix.estimators.ksg.levels import Read
from secmix.estimators.samples import Floats, Samples

DETERMINED = 1e-6  # relative held-out residual below which a target counts as a function of the view
PLANTED = 0.5  # nats


def mutual_information_gaussian(covariance: ArrayLike, dx: int) -> float:
    """Compute the mutual information of the first ``dx`` and the remaining coordinates of a Gaussian, in nats.

    I = −½ Σ log(1 − ρ²) over the canonical correlations ρ: the closed form ½ log det Σ_x − ½ log det Σ_{x|y},
    which redundant coordinates on either side do not disturb.

    Parameters
    ----------
    covariance : (dx + dy, dx + dy) array
        Symmetric and positive semi-definite.
    dx : int
        Number of coordinates of x, 0 < dx < dx + dy.

    Returns
    -------
    float
        Nats; ``inf`` where a combination of x is a function of y, as far as rounding of the covariance can
        tell.

    Raises
    ------
    DataError
        Not a covariance, or ``dx`` outside it.

    References
    ----------
    Cover and Thomas, *Elements of Information Theory*, 2nd ed., equation (8.56) and section 8.5.

    Examples
    --------
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


def determined_directions(samples: Samples, rng: np.random.Generator) -> tuple[int, int]:
    """Count the combinations of x that are linear functions of y (and z), out of how many that vary.

    Least squares fitted on one half of the rows and judged on the other, both ways, so that many features
    cannot fit by memory. With z, only what z leaves open is asked about.
    """
    x, y, z = samples
    n = len(x)
    x = x - _affine(z) @ np.linalg.lstsq(_affine(z), x, rcond=None)[0]
    y = np.hstack([y, z])
    left, spread, _ = np.linalg.svd(x, full_matrices=False)
    # What z leaves of a standardised x below the tolerance is z's own knowledge, not y's.
    kept = spread > DETERMINED * math.sqrt(n)
    targets = left[:, kept] * math.sqrt(n)
    features = _affine(y)
    residual = np.empty_like(targets)
    halves = np.array_split(rng.permutation(n), 2)
    for fitted, judged in (halves, halves[::-1]):
        coefficients = np.linalg.lstsq(features[fitted], targets[fitted], rcond=None)[0]
        residual[judged] = targets[judged] - features[judged] @ coefficients
    unexplained = np.linalg.svd(residual, compute_uv=False) / math.sqrt(n)
    return int((unexplained < DETERMINED).sum()), int(kept.sum())


def _affine(y: Floats) -> Floats:
    return np.hstack([np.ones((len(y), 1)), y])


def planted(read: Read, samples: Samples, rng: np.random.Generator) -> float:
    """Read, in nats, where `PLANTED` nats were put into Gaussian data of the shape of ``samples``.

    x, y and z keep their own covariances but are independent, save that the widest direction of x shows in
    the widest of y. An estimator that misses this would miss as much in the samples, whatever its form there.
    """
    scores = [rng.standard_normal(part.shape) for part in samples]
    seen = 1.0 - math.exp(-2.0 * PLANTED)
    scores[1][:, -1] = math.sqrt(seen) * scores[0][:, -1] + math.sqrt(1.0 - seen) * scores[1][:, -1]
    x, y, z = (score @ _axes(part) for score, part in zip(scores, samples, strict=True))
    return read(x, y, z)


def _axes(standardised: Floats) -> Floats:
    """Return principal axes as rows, from the narrowest to the widest, each as long as its standard deviation."""
    values, vectors = np.linalg.eigh(standardised.T @ standardised / len(standardised))
    return np.asarray((vectors * np.sqrt(values.clip(min=0.0))).T)
