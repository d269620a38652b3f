"""Mixture: Gaussian mixtures, any number of them at once; the statistics and the update of a round of EM.

Every function takes leading batch axes: one mixture, one a run, or one a run and node. Distributed EM sums
the statistics (Li 2022, eqs. 3-5): a node's vector has, for each component j, the q = 1 + d + d(d+1)/2 numbers a_j, b_j
and the upper triangle of C_j row by row, with C centred at the round's own mean; then, if likelihoods are summed too,
the log-likelihood of its rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from secmix._base.checks import Array, Ints
from secmix.errors import DataError

Center = Literal["new", "old"]

# A component with less than this share of the rows keeps its mean and covariance for the round: the ratios
# b/a and C/a would be made of rounding error. The share is far above the error of any sum protocol in its
# intended range.
EMPTY = 1e-6

# Rows are taken a few at a time, so that what is computed of them stays in the processor's cache.
_NUMBERS = 2**16
_FEWEST = 256


@dataclass(frozen=True)
class Mixture:
    """A Gaussian mixture.

    Attributes
    ----------
    weights : (..., K)
    means : (..., K, d)
    covariances : (..., K, d, d)

    Examples
    --------
    >>> import numpy as np
    >>> standard = Mixture(np.ones(1), np.zeros((1, 2)), np.eye(2)[None])
    >>> float(standard.log_density(np.zeros((1, 2)))[0])  # -ln 2π
    -1.837877...
    """

    weights: Array
    means: Array
    covariances: Array

    def __post_init__(self) -> None:
        for name in ("weights", "means", "covariances"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        batch, k, d = self.weights.shape[:-1], self.weights.shape[-1], self.means.shape[-1]
        if tuple(self.means.shape) != (*batch, k, d) or tuple(self.covariances.shape) != (*batch, k, d, d):
            raise DataError(
                "a mixture has weights (..., K), means (..., K, d) and covariances (..., K, d, d); given "
                f"{self.weights.shape}, {self.means.shape} and {self.covariances.shape}"
            )

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle holds: not what was worked out on the way."""
        return {"weights": self.weights, "means": self.means, "covariances": self.covariances}

    @property
    def n_components(self) -> int:
        """K."""
        return int(self.weights.shape[-1])

    @property
    def n_features(self) -> int:
        """d."""
        return int(self.means.shape[-1])

    def __getitem__(self, index: int | slice | Ints | tuple[int | slice | Ints | None, ...]) -> Mixture:
        """Select the mixtures at ``index`` of the batch axes."""
        return Mixture(self.weights[index], self.means[index], self.covariances[index])

    def expand(self, *batch: int) -> Mixture:
        """Broadcast the mixture(s) to new leading axes ``batch``; no copy."""
        return Mixture(
            np.broadcast_to(self.weights, (*batch, *self.weights.shape)),
            np.broadcast_to(self.means, (*batch, *self.means.shape)),
            np.broadcast_to(self.covariances, (*batch, *self.covariances.shape)),
        )

    def log_joint(self, rows: Array) -> Array:
        """Compute log β_j N(x; μ_j, Σ_j) for rows (..., N, d): (..., N, K).

        Raises
        ------
        DataError
            If a covariance is not positive definite.
        """
        return self._joint(_as_columns(rows)).swapaxes(-1, -2)

    def log_density(self, rows: Array) -> Array:
        """Compute log p(x) for rows (..., N, d): (..., N)."""
        return self.column_responsibilities(_as_columns(rows))[1]

    def responsibilities(self, rows: Array) -> tuple[Array, Array]:
        """Compute P_j(x) (Li 2022, eq. 2) and log p(x) for rows (..., N, d): (..., N, K) and (..., N)."""
        resp, density = self.column_responsibilities(_as_columns(rows))
        return resp.swapaxes(-1, -2), density

    def column_responsibilities(self, columns: Array) -> tuple[Array, Array]:
        """Compute :meth:`responsibilities` for points laid out as columns (..., d, N): (..., K, N) and (..., N).

        The E-step uses this layout: sums over features and components then run along memory, at half the cost.
        """
        joint = self._joint(columns)
        top = joint.max(axis=-2)
        joint -= top[..., None, :]
        np.exp(joint, out=joint)
        total = joint.sum(axis=-2)
        joint /= total[..., None, :]
        top += np.log(total)
        return joint, top

    @cached_property
    def _whitening(self) -> tuple[Array, Array]:
        """L⁻¹ with Σ = L Lᵀ, (..., K, d, d), and log β − log det L − ½ d log 2π, (..., K)."""
        try:
            lower = np.linalg.cholesky(self.covariances)
        except np.linalg.LinAlgError:
            raise DataError(
                "a covariance is not positive definite: a component has collapsed onto too few rows; raise "
                "reg_covar or lower the number of components"
            ) from None
        log_det = np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
        with np.errstate(divide="ignore"):  # a component of weight zero has log weight -inf, and takes no row
            log_weights = np.log(self.weights)
        constant = log_weights - log_det - 0.5 * self.n_features * math.log(2 * math.pi)
        # d is small, and one product with the inverse then serves every row.
        return np.linalg.inv(lower), constant

    def _joint(self, columns: Array) -> Array:
        """Compute log β_j N(x; μ_j, Σ_j) for points (..., d, N): (..., K, N)."""
        whiten, constant = self._whitening
        batch = np.broadcast_shapes(tuple(columns.shape[:-2]), tuple(self.weights.shape[:-1]))
        shape = (*batch, self.n_components, columns.shape[-1])
        out = np.empty(shape)
        for j in range(self.n_components):
            # Centred before it is scaled: far from the origin the other order loses digits.
            standard = whiten[..., j, :, :] @ (columns - self.means[..., j, :, None])
            np.einsum("...dn,...dn->...n", standard, standard, out=out[..., j, :])
        out *= -0.5
        out += constant[..., None]
        return out

    def sample(self, size: int, rng: np.random.Generator) -> Array:
        """Draw ``size`` rows (size, d) from a single mixture."""
        which = rng.choice(self.n_components, size=size, p=self.weights)
        lower = np.linalg.cholesky(self.covariances)
        noise = rng.standard_normal((size, self.n_features))
        return np.asarray(self.means[which] + np.einsum("nij,nj->ni", lower[which], noise))


def _as_columns(rows: Array) -> Array:
    """Convert rows (..., N, d) to contiguous columns (..., d, N)."""
    return np.ascontiguousarray(np.asarray(rows, dtype=np.float64).swapaxes(-1, -2))


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
