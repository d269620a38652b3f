"""Mixture: Gaussian mixtures, any number of them at once.

Every function takes leading batch axes: one mixture, one a run, or one a run and node.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from secmix._base.checks import Array, Ints
from secmix.errors import DataError


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
