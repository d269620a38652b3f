"""The statistics that one round of EM sums, and the parameters that follow from them (Li 2022, eqs. 3-5).

A node's vector has, for each component j, the q = 1 + d + d(d+1)/2 numbers a_j, b_j and the upper triangle
of C_j row by row, with C centred at the round's own mean; then, if likelihoods are summed too, the
log-likelihood of its rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from secmix._base.checks import Array, Ints
from secmix.errors import DataError
from secmix.mixture import Mixture

Center = Literal["new", "old"]

# A component with less than this share of the rows keeps its mean and covariance for the round: the ratios
# b/a and C/a would be made of rounding error. The share is far above the error of any sum protocol in its
# intended range.
EMPTY = 1e-6

# Rows are taken a few at a time, so that what is computed of them stays in the processor's cache.
_NUMBERS = 2**16
_FEWEST = 256


def width(k: int, d: int) -> int:
    """Count the numbers in the vector of one node, its likelihood aside: k (1 + d + d(d+1)/2)."""
    return k * (1 + d + d * (d + 1) // 2)


def features(q: int) -> int:
    """Solve 1 + d + d(d+1)/2 = q for d, to the nearest integer."""
    return round((math.sqrt(1 + 8 * q) - 3) / 2)


def local_statistics(rows: Array, mixture: Mixture, *, likelihood: bool) -> Array:
    """Compute the E-step at one node: rows (..., N, d), mixtures with the same batch axes, vector (..., m)."""
    rows = np.asarray(rows, dtype=np.float64)
    *batch, size, d = rows.shape
    step = max(_FEWEST, _NUMBERS // max(1, d * math.prod(batch)))
    vector = _chunk_statistics(rows[..., : min(step, size), :], mixture)
    for start in range(step, size, step):
        vector += _chunk_statistics(rows[..., start : min(start + step, size), :], mixture)
    return vector if likelihood else vector[..., :-1]


def statistics_by_node(parts: Sequence[Array], mixture: Mixture, *, likelihood: bool) -> Array:
    """Compute the E-step at every node: NumPy rows (runs, N_i, d) of each, mixtures (runs, n), vectors (runs, n, m)."""
    runs, size, d = parts[0].shape
    if len({part.shape for part in parts}) == 1 and runs * len(parts) * size * d <= _NUMBERS:
        return local_statistics(np.stack(parts, axis=1), mixture, likelihood=likelihood)
    vectors = [local_statistics(part, mixture[:, i], likelihood=likelihood) for i, part in enumerate(parts)]
    return np.stack(vectors, axis=1)


def _chunk_statistics(rows: Array, mixture: Mixture) -> Array:
    """Compute the statistics of a few rows (..., N, d) and, last, their log-likelihood: (..., m + 1)."""
    columns = np.ascontiguousarray(rows.swapaxes(-1, -2))
    resp, log_density = mixture.column_responsibilities(columns)
    *batch, k, _ = resp.shape
    d = rows.shape[-1]
    upper = _triangle(d)[0]
    table = np.empty((*batch, k, 1 + d + len(upper)))
    table[..., 0] = resp.sum(axis=-1)
    table[..., 1 : 1 + d] = resp @ rows
    root = np.sqrt(resp)
    for j in range(k):
        # Centred before it is squared: moments about zero would lose the digits of data far from the origin.
        off = columns - mixture.means[..., j, :, None]
        off *= root[..., j, None, :]
        square = off @ off.swapaxes(-1, -2)
        table[..., j, 1 + d :] = np.take(square.reshape(*batch, d * d), upper, axis=-1)
    return np.concatenate([table.reshape(*batch, -1), log_density.sum(axis=-1)[..., None]], axis=-1)


@lru_cache
def _triangle(d: int) -> tuple[Ints, Ints]:
    """Index the upper triangle among the d² entries of C, and the entries of C among the numbers of its triangle."""
    rows, columns = np.triu_indices(d)
    among = np.empty((d, d), dtype=np.intp)
    among[rows, columns] = among[columns, rows] = np.arange(len(rows))
    return rows * d + columns, among.ravel()


def pack(a: Array, b: Array, scatter: Array) -> Array:
    """Pack (..., K), (..., K, d) and symmetric (..., K, d, d) into a table (..., K, q), which :func:`unpack` takes."""
    upper = np.triu_indices(b.shape[-1])
    return np.concatenate([a[..., None], b, scatter[..., upper[0], upper[1]]], axis=-1)


def unpack(vector: Array, k: int, d: int) -> tuple[Array, Array, Array]:
    """Unpack (a, b, C) from vectors (..., m): (..., K), (..., K, d) and symmetric (..., K, d, d)."""
    table = vector[..., : width(k, d)].reshape(*vector.shape[:-1], k, width(1, d))
    scatter = np.take(table[..., 1 + d :], _triangle(d)[1], axis=-1)
    return table[..., 0], table[..., 1 : 1 + d], scatter.reshape(*table.shape[:-1], d, d)


def updated(vector: Array, old: Mixture, *, center: Center, reg_covar: float) -> Mixture:
    """Compute the M-step: the next mixture from averaged or summed statistics (..., m) and the current one (...)."""
    k, d = old.n_components, old.n_features
    a, b, scatter = unpack(vector, k, d)
    weights = a / a.sum(axis=-1, keepdims=True)
    empty = weights < EMPTY
    share = np.where(empty, 1.0, a)
    means = b / share[..., None]
    covariances = scatter / share[..., None, None]
    if center == "new":
        moved = means - old.means
        covariances -= moved[..., :, None] * moved[..., None, :]
    covariances += reg_covar * np.eye(d)
    weights = np.where(empty, EMPTY, weights)
    covariances = _positive_definite(covariances, reg_covar)
    return Mixture(
        weights / weights.sum(axis=-1, keepdims=True),
        np.where(empty[..., None], old.means, means),
        np.where(empty[..., None, None], old.covariances, covariances),
    )


def _positive_definite(covariances: Array, floor: float) -> Array:
    """Raise the eigenvalues of covariances to at least ``floor``; those that are positive definite stay as they are.

    Honest sums give positive definite ones. A robust rule that treats entries apart, or a poisoned sum, need not; a
    node then goes on with the nearest covariance that is one, as it must with something.
    """
    if not np.isfinite(covariances).all():  # asked first: the factorisation may let NaN pass
        raise DataError("the sums that came back are not finite, so no covariance follows from them")
    try:
        np.linalg.cholesky(covariances)
        return covariances
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariances)
    lifted = (vectors * np.maximum(values, floor)[..., None, :]) @ vectors.swapaxes(-1, -2)
    return np.asarray(0.5 * (lifted + lifted.swapaxes(-1, -2)))
