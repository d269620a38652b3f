"""Inner products ∫ f g of Gaussian mixtures, for all pairs of many at once."""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array
from secmix._base.gaussians import log_overlap
from secmix.mixture import Mixture

_NUMBERS = 30_000
"""Numbers in the matrices of one block, a quarter of a megabyte: small blocks stay in the cache, whatever m is."""


def overlaps(a: Mixture, b: Mixture | None = None) -> Array:
    """Compute ∫ f_i g_j for mixtures ``a`` (m) and ``b`` (n), (m, n); without ``b``, of all pairs of ``a``."""
    other = a if b is None else b
    m, n = len(a.weights), len(other.weights)
    pairs = a.n_components * other.n_components
    at_once = max(1, _NUMBERS // (pairs * (a.n_features + 1) ** 2))
    result = np.empty((m, n))
    for i in range(m):
        for begin in range(i if b is None else 0, n, at_once):
            end = min(begin + at_once, n)
            with np.errstate(over="ignore", under="ignore"):
                phi = np.exp(
                    log_overlap(
                        a.means[i][:, None],
                        a.covariances[i][:, None],
                        other.means[begin:end, None],
                        other.covariances[begin:end, None],
                    )
                )
                result[i, begin:end] = np.einsum("k,jkl,jl->j", a.weights[i], phi, other.weights[begin:end])
        if b is None:
            result[i:, i] = result[i, i:]
    return result


def norms(mixtures: Mixture) -> Array:
    """Compute ∫ f_i² (m,) of mixtures with one leading axis."""
    m, k = mixtures.weights.shape
    at_once = max(1, _NUMBERS // (k * k * (mixtures.n_features + 1) ** 2))
    result = np.empty(m)
    for begin in range(0, m, at_once):
        chunk = mixtures[begin : begin + at_once]
        means, covariances = chunk.means, chunk.covariances
        with np.errstate(over="ignore", under="ignore"):
            phi = np.exp(log_overlap(means[:, :, None], covariances[:, :, None], means[:, None], covariances[:, None]))
            result[begin : begin + at_once] = np.einsum("jk,jkl,jl->j", chunk.weights, phi, chunk.weights)
    return result
