"""The SVD of the geometric median of the nodes' covariances, none of which is ever formed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import svd
from scipy.sparse.linalg import LinearOperator, svds

from secmix._base.checks import Array, finite_array, integer
from secmix.aggregators.numerics.median_of_points import weights_from_gram
from secmix.aggregators.screened_messages import RejectedMessages
from secmix.aggregators.subspace_rules.bases import orthonormal
from secmix.errors import DataError, NotConverged, SecmixError


def svd_rce(data: Sequence[ArrayLike] | Array, r: int) -> Array:
    """Compute the top r eigenvectors of the geometric median of the covariances Φ_ℓ, the resilient estimate.

    The median's weights come from ⟨Φ_i, Φ_j⟩ = ‖D_iᵀ D_j‖_F²/(q_i q_j), and the eigenvectors of Σ w_ℓ Φ_ℓ are the left
    singular vectors of the matrices √(w_ℓ/q_ℓ) D_ℓ side by side. ``data``, L arrays (n, q_l): as they arrive: a node's
    covariance is judged through its factor D_l. Those that are not finite, or so large that squares of them overflow,
    are rejected and reported (``RejectedMessages``). The result is (n, r), orthonormal. Inner products of covariances
    keep sixteen digits of their sizes, not of their differences: covariances that agree to eight digits or more count
    as equal.

    >>> far = 50 * np.diag([0.0, 0.0, 1.0])
    >>> data = [np.diag([3.0, 1.0, 0.5]), np.diag([2.9, 1.0, 0.5]), far]
    >>> np.abs(svd_rce(data, 1)).round(6).ravel().tolist()
    [1.0, 0.0, 0.0]
    """
    parts, r = node_data(data, r, finite=False)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.array([float(np.vdot(part, part)) / part.shape[1] for part in parts])
    good = np.flatnonzero(np.isfinite(sizes) & (sizes < 1e100))
    if not len(good):
        raise DataError(f"none of the {len(parts)} nodes' data can be used; give finite values")
    if len(good) < len(parts):
        bad = tuple(int(i) for i in np.setdiff1d(np.arange(len(parts)), good))
        warnings.warn(RejectedMessages(bad, len(parts), (len(parts) - 1) // 2), stacklevel=2)
    unit = float(np.median(sizes[good])) or 1.0
    factors = [parts[i] / np.sqrt(parts[i].shape[1] * unit) for i in good]
    count = len(factors)
    gram = np.empty((count, count))
    for i in range(count):
        for j in range(i, count):
            gram[i, j] = gram[j, i] = _overlap(factors[i], factors[j])
    median = weights_from_gram(gram)
    if median.residual > 1e-6:
        raise NotConverged(f"the geometric median was found to {median.residual:.1e} only", median.residual)
    weighted = [np.sqrt(w) * factor for w, factor in zip(median.weights, factors, strict=True) if w > 0]
    return _top(weighted, r)


def _overlap(left: Array, right: Array) -> float:
    """Compute ⟨A Aᵀ, B Bᵀ⟩ = ‖Aᵀ B‖², a few columns of A at a time, so that memory stays that of the data."""
    step = max(left.shape[0] // 4, 64)
    return sum(float(((left[:, k : k + step].T @ right) ** 2).sum()) for k in range(0, left.shape[1], step))


def _top(factors: Sequence[Array], r: int) -> Array:
    """Compute the top r left singular vectors of the matrices side by side, without an n × n array."""
    n, columns = len(factors[0]), sum(factor.shape[1] for factor in factors)
    if columns <= n or 3 * r >= n:  # what the SVD holds is then no larger than the data, or than a few results
        if r > columns:
            raise DataError(f"r = {r} eigenvectors of data with {columns} columns; give at most that many")
        # In Fortran's order LAPACK works in the place of what it is given: ``np.linalg.svd`` would copy it.
        beside = np.concatenate(factors, axis=1, out=np.empty((n, columns), order="F"))
        return np.asarray(svd(beside, full_matrices=False, overwrite_a=True, check_finite=False)[0][:, :r])
    ends = np.cumsum([factor.shape[1] for factor in factors])[:-1]
    stacked = LinearOperator(
        (n, columns),
        matvec=lambda x: sum(f @ part for f, part in zip(factors, np.split(x.ravel(), ends), strict=True)),
        rmatvec=lambda y: np.concatenate([f.T @ y.ravel() for f in factors]),
        dtype=np.float64,
    )
    left, values, _ = svds(stacked, k=r, v0=np.ones(n), solver="arpack", return_singular_vectors="u")
    return orthonormal(left[:, np.argsort(-values)], "the eigenvectors found")


def node_data(data: Sequence[ArrayLike] | Array, r: int, *, finite: bool = True) -> tuple[list[Array], int]:
    """Convert the nodes' data to arrays (n, q_l) of one n, and check r."""
    parts = [
        finite_array(part, f"the data of node {i}", ndim=2) if finite else np.asarray(part, dtype=np.float64)
        for i, part in enumerate(data)
    ]
    if not parts:
        raise DataError("there are no data; give one (n, q) array a node")
    shapes = sorted({part.shape[:1] for part in parts if part.ndim == 2 and part.size})
    if len(shapes) != 1 or any(part.ndim != 2 or not part.size for part in parts):
        raise DataError(f"data are (n, q) arrays, samples as columns, of one n; given {[p.shape for p in parts]}")
    r = integer(r, "r")
    if r > shapes[0][0]:
        raise SecmixError(f"r = {r} dimensions of a space of {shapes[0][0]}; r can be at most that")
    return parts, r
