"""The statistics that one round of EM sums, and the parameters that follow from them (Li 2022, eqs. 3-5).

A node's vector has, for each component j, the q = 1 + d + d(d+1)/2 numbers a_j, b_j and the upper triangle
of C_j row by row, with C centred at the round's own mean; then, if likelihoods are summed too, the
log-likelihood of its rows.

Rows and parameters may be arrays of any library that keeps to the Array API standard; the statistics are of that
library. NumPy is the default.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from secmix._base import arrays
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
    rows = arrays.floats(arrays.namespace(rows, mixture.weights), rows)
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
    xp = mixture.xp
    columns = arrays.contiguous(xp, xp.matrix_transpose(rows))
    resp, log_density = mixture.column_responsibilities(columns)
    *batch, k, _ = resp.shape
    d = rows.shape[-1]
    upper = _indices(xp, _triangle(d)[0], rows)
    table = xp.empty((*batch, k, 1 + d + upper.shape[0]), dtype=xp.float64, device=arrays.device_of(rows))
    table[..., 0] = xp.sum(resp, axis=-1)
    table[..., 1 : 1 + d] = xp.matmul(resp, rows)
    root = xp.sqrt(resp)
    for j in range(k):
        # Centred before it is squared: moments about zero would lose the digits of data far from the origin.
        off = columns - mixture.means[..., j, :, None]
        off *= root[..., j, None, :]
        square = xp.matmul(off, xp.matrix_transpose(off))
        table[..., j, 1 + d :] = xp.take(xp.reshape(square, (*batch, d * d)), upper, axis=-1)
    return xp.concat(  # type: ignore[no-any-return]
        [xp.reshape(table, (*batch, -1)), xp.sum(log_density, axis=-1)[..., None]], axis=-1
    )


@lru_cache
def _triangle(d: int) -> tuple[Ints, Ints]:
    """Index the upper triangle among the d² entries of C, and the entries of C among the numbers of its triangle."""
    rows, columns = np.triu_indices(d)
    among = np.empty((d, d), dtype=np.intp)
    among[rows, columns] = among[columns, rows] = np.arange(len(rows))
    return rows * d + columns, among.ravel()


def _indices(xp: Any, indices: Ints, like: Any) -> Any:
    return indices if arrays.is_numpy(xp) else xp.asarray(indices, device=arrays.device_of(like))


def unpack(vector: Array, k: int, d: int) -> tuple[Array, Array, Array]:
    """Unpack (a, b, C) from vectors (..., m): (..., K), (..., K, d) and symmetric (..., K, d, d)."""
    xp = arrays.namespace(vector)
    table = xp.reshape(vector[..., : width(k, d)], (*vector.shape[:-1], k, 1 + d + d * (d + 1) // 2))
    scatter = xp.take(table[..., 1 + d :], _indices(xp, _triangle(d)[1], vector), axis=-1)
    return table[..., 0], table[..., 1 : 1 + d], xp.reshape(scatter, (*table.shape[:-1], d, d))


def updated(vector: Array, old: Mixture, *, center: Center, reg_covar: float) -> Mixture:
    """Compute the M-step: the next mixture from averaged or summed statistics (..., m) and the current one (...)."""
    xp, k, d = old.xp, old.n_components, old.n_features
    a, b, scatter = unpack(vector, k, d)
    weights = a / xp.sum(a, axis=-1, keepdims=True)
    empty = weights < EMPTY
    share = xp.where(empty, xp.ones_like(a), a)
    means = b / share[..., None]
    covariances = scatter / share[..., None, None]
    if center == "new":
        moved = means - old.means
        covariances -= moved[..., :, None] * moved[..., None, :]
    covariances += reg_covar * xp.eye(d, dtype=xp.float64, device=arrays.device_of(a))
    weights = xp.where(empty, xp.full_like(weights, EMPTY), weights)
    covariances = _positive_definite(xp, covariances, reg_covar)
    return Mixture(
        weights / xp.sum(weights, axis=-1, keepdims=True),
        xp.where(empty[..., None], old.means, means),
        xp.where(empty[..., None, None], old.covariances, covariances),
    )


def _positive_definite(xp: Any, covariances: Array, floor: float) -> Array:
    """Raise the eigenvalues of covariances to at least ``floor``; those that are positive definite stay as they are.

    Honest sums give positive definite ones. A robust rule that treats entries apart, or a poisoned sum, need not; a
    node then goes on with the nearest covariance that is one, as it must with something.
    """
    if not bool(xp.all(xp.isfinite(covariances))):  # asked first: NumPy's factorisation may let NaN pass
        raise DataError("the sums that came back are not finite, so no covariance follows from them")
    if arrays.cholesky(xp, covariances) is not None:
        return covariances
    values, vectors = xp.linalg.eigh(covariances)
    least = xp.where(values < floor, xp.full_like(values, floor), values)
    lifted = xp.matmul(vectors * least[..., None, :], xp.matrix_transpose(vectors))
    return 0.5 * (lifted + xp.matrix_transpose(lifted))  # type: ignore[no-any-return]
