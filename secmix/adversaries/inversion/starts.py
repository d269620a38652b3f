"""Starts of the search for rows: the moments that the sums reveal, and rows of the last mixture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secmix._base.checks import Array
from secmix._base.stable_order import oriented
from secmix.adversaries.inversion.coordinates import Standard, moments, scatter_about
from secmix.adversaries.inversion.equations import Equations
from secmix.mixture import Mixture

_EPS = float(np.finfo(np.float64).eps)


def rounding(sums: Array, rounds: Sequence[Mixture], h: int) -> Array:
    """Bound what float64 may have changed in each sum (T, c, q), generously: a few ulps of the terms added up."""
    mean, covariance = moments(sums, rounds, h)
    d = len(mean)
    upper = np.triu_indices(d)
    spread = np.sqrt(np.abs(np.diag(covariance)))
    out = np.empty_like(sums)
    for t, mixture in enumerate(rounds):
        reach = np.abs(mixture.means - mean) + 2 * spread
        out[t, :, 0] = 1.0
        out[t, :, 1 : 1 + d] = np.abs(mean) + 2 * spread
        out[t, :, 1 + d :] = reach[:, upper[0]] * reach[:, upper[1]]
    return np.asarray(4 * _EPS * out * (1 + np.abs(sums[..., :1])))


def draw_starts(
    last: Mixture,
    standard: Standard,
    count: int,
    h: int,
    rng: np.random.Generator,
    *,
    counts: Array | None = None,
    moments: tuple[Array, Equations] | None = None,
) -> Array:
    """Draw ``count`` sets of h rows (count, h, d) from the last mixture, in standard coordinates.

    With ``counts`` (c,), how many rows each component holds, a set has about that many of each, drawn from it. Without,
    each set is given the rows' mean and, where h > d, their covariance, and with ``moments`` the first of the sets is
    the exact solution for two rows.
    """
    d = standard.lower.shape[1]
    if counts is not None:
        return _by_component(last, standard, count, h, rng, counts)
    sets: Array = standard.standardised(last.sample(count * h, rng)).reshape(count, h, d)
    sets -= sets.mean(axis=1, keepdims=True)
    if h > d:
        second = np.einsum("shd,she->sde", sets, sets) / h
        second[:, np.arange(d), np.arange(d)] += 1e-9
        sets = np.asarray(np.linalg.solve(np.linalg.cholesky(second), sets.swapaxes(1, 2)).swapaxes(1, 2))
    elif h == 2 and moments is not None:
        sets[0] = _two_rows(*moments)
    return sets


def samples(last: Mixture, standard: Standard, size: int, rng: np.random.Generator) -> Array:
    """Draw about ``size`` rows (N, d) of the last mixture in standard coordinates, none further out than √(3d).

    The values of functions farther out would outweigh those among the rows.
    """
    rows = standard.standardised(last.sample(size, rng))
    near = rows[(rows**2).sum(axis=1) < 3 * rows.shape[1]]
    return near if len(near) > size // 4 else rows


def _by_component(
    last: Mixture, standard: Standard, count: int, h: int, rng: np.random.Generator, counts: Array
) -> Array:
    # Integers by chance, with the right mean: 1.3 rows are one row in seven sets of ten, else two.
    share = np.cumsum(np.clip(counts, 0.0, None))
    share *= h / share[-1]
    ticks = rng.random((count, 1)) + np.arange(h)
    which = np.minimum((ticks[:, :, None] > share).sum(axis=2), last.n_components - 1)
    lower = np.linalg.cholesky(last.covariances)
    noise = rng.standard_normal((count, h, last.n_features))
    rows = last.means[which] + np.einsum("shde,she->shd", lower[which], noise)
    return standard.standardised(rows.reshape(count * h, -1)).reshape(count, h, -1)


def _two_rows(target: Array, equations: Equations) -> Array:
    """Solve for two rows m ± δ by their moments: Σ(x−m)(x−m)ᵀ = 2 δδᵀ (in standard coordinates, where m = 0)."""
    rounds, _, d = equations.means.shape
    total = scatter_about(np.zeros(d), target.reshape(rounds, -1)[0], equations.means[0])
    values, vectors = np.linalg.eigh(total)
    delta = np.sqrt(max(values[-1], 0.0) / 2) * oriented(vectors[:, -1])
    return np.stack([delta, -delta])
