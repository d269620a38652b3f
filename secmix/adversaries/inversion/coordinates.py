"""Coordinates of the rows: standard ones, and those of the few directions in which few rows differ.

Sums over all components leave Σx and Σxxᵀ, since the components' responsibilities add up to one. So the mean m and the
covariance of h rows are known, and with h ≤ d the h − 1 directions in which the rows lie about m: x = m + L y with
h − 1 numbers y. A Gaussian restricted to that plane is a Gaussian in y, and the sums of y follow from those of x.
Three rows of a hundred columns are found as three rows of two columns are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from secmix._base.checks import Array
from secmix._base.stable_order import oriented
from secmix.adversaries.inversion.equations import Equations
from secmix.mixture import Mixture, pack, unpack

_FLAT = 1e-8
"""Share of the largest variance below which that of the rows in a direction does not count as known."""


@dataclass(frozen=True)
class Standard:
    """The affine map z = L⁺(x − m) to coordinates in which the rows have mean 0 and covariance I."""

    centre: Array  # (d,)
    lower: Array  # (d, r): L: lower triangular, or with r < d the directions in which the rows lie

    @cached_property
    def inverse(self) -> Array:
        """L⁺ (r, d)."""
        d, r = self.lower.shape
        return np.asarray(np.linalg.inv(self.lower) if d == r else np.linalg.pinv(self.lower))

    @property
    def is_plane(self) -> bool:
        """True for fewer coordinates than the data have."""
        d, r = self.lower.shape
        return bool(r < d)

    def rows(self, standard: Array) -> Array:
        """Convert rows (..., r) to the units of the data (..., d)."""
        return np.asarray(standard @ self.lower.T + self.centre)

    def standardised(self, rows: Array) -> Array:
        """Convert rows (N, d) to these coordinates (N, r)."""
        if self.is_plane:
            return np.asarray((rows - self.centre) @ self.inverse.T)
        return np.asarray(np.linalg.solve(self.lower, (rows - self.centre).T).T)

    def equations(self, parameters: Sequence[Mixture]) -> Equations:
        """Build the equations in these coordinates."""
        inverse = self.inverse
        with np.errstate(divide="ignore"):  # a component of weight zero takes no row
            constants: Array = np.log(np.stack([mixture.weights for mixture in parameters]))
        if self.is_plane:
            covariances = np.stack([mixture.covariances for mixture in parameters])
            means, precisions, apart = self._restricted(parameters)
            constants = np.asarray(constants - 0.5 * (np.linalg.slogdet(covariances)[1] + apart))
        else:
            means = np.stack([(each.means - self.centre) @ inverse.T for each in parameters])
            covariances = np.stack([inverse @ mixture.covariances @ inverse.T for mixture in parameters])
            precisions = np.asarray(np.linalg.inv(covariances))
            constants = np.asarray(constants - 0.5 * np.linalg.slogdet(covariances)[1])
        return Equations(means, 0.5 * (precisions + precisions.swapaxes(-1, -2)), constants)

    def _restricted(self, parameters: Sequence[Mixture]) -> tuple[Array, Array, Array]:
        """Restrict Gaussians to the plane: where each is largest (T, c, r), how sharp it is, and how far from there.

        (x − μ)ᵀ P (x − μ) = (y − y*)ᵀ Q (y − y*) + what does not depend on y, with Q = Lᵀ P L and Q y* = Lᵀ P (μ − m).
        """
        off: Array = np.asarray(np.stack([mixture.means for mixture in parameters]) - self.centre)
        sharp: Array = np.linalg.inv(np.stack([mixture.covariances for mixture in parameters]))
        pull: Array = np.matmul(sharp, off[..., None])[..., 0]
        precisions = np.asarray(self.lower.T @ sharp @ self.lower)
        slope: Array = pull @ self.lower
        nearest = np.asarray(np.linalg.solve(precisions, slope[..., None])[..., 0])
        return nearest, precisions, np.asarray((off * pull).sum(axis=-1) - (nearest * slope).sum(axis=-1))

    def sums(self, sums: Array, parameters: Sequence[Mixture]) -> Array:
        """Convert sums (T, c, q) to these coordinates."""
        return self._converted(sums, self.inverse, -self.centre, *self._moved(parameters))

    def noise(self, noise: Array, parameters: Sequence[Mixture]) -> Array:
        """Convert standard errors (T, c, q) of the sums, taken to be independent, as :meth:`sums` converts these."""
        means, shift = self._moved(parameters)
        return np.asarray(np.sqrt(self._converted(noise**2, self.inverse**2, self.centre**2, means**2, shift**2)))

    def _converted(self, table: Array, inverse: Array, off: Array, means: Array, shift: Array) -> Array:
        """Convert sums (T, c, q), or with squares of all coefficients their variances."""
        counts, sums, scatter = unpack(table.reshape(len(table), -1), table.shape[1], len(self.lower))
        sums = (sums + counts[..., None] * off) @ inverse.T
        inside = inverse @ scatter @ inverse.T
        if self.is_plane:  # from about L⁺(μ − m) to about y*
            first = sums + counts[..., None] * means
            cross = first[..., :, None] * shift[..., None, :]
            inside += cross + cross.swapaxes(-1, -2)
            inside += counts[..., None, None] * shift[..., :, None] * shift[..., None, :]
        return pack(counts, sums, inside)

    def _moved(self, parameters: Sequence[Mixture]) -> tuple[Array, Array]:
        """Compute −L⁺(μ − m) (T, c, r), and how far L⁺(μ − m) is from where the restricted Gaussian is largest."""
        if not self.is_plane:
            return np.empty(0), np.empty(0)
        means = np.stack([(mixture.means - self.centre) @ self.inverse.T for mixture in parameters])
        return -means, means - self._restricted(parameters)[0]


@dataclass(frozen=True)
class Problem:
    """Sums to be solved for rows, in coordinates of the rows."""

    standard: Standard
    equations: Equations
    target: Array  # (T c q,)
    noise: Array  # (T c q,): standard error of each

    @classmethod
    def of(cls, standard: Standard, sums: Array, error: Array, parameters: Sequence[Mixture]) -> Problem:
        """Convert sums and their errors (T, c, q)."""
        target, noise = standard.sums(sums, parameters).ravel(), standard.noise(error, parameters).ravel()
        if standard.is_plane:  # the plane is as uncertain as the moments that it follows from
            noise = np.hypot(noise, noise.max() * (1 + np.abs(target)))
        return cls(standard, standard.equations(parameters), target, noise)


def moments(sums: Array, rounds: Sequence[Mixture], h: int) -> tuple[Array, Array]:
    """Compute the rows' mean (d,) and covariance (d, d): as Σ_j P_j = 1, sums over components leave Σx and Σxxᵀ."""
    d = rounds[0].n_features
    mean = sums[..., 1 : 1 + d].sum(axis=1).mean(axis=0) / h
    covariances = [scatter_about(mean, t, mixture.means) / h for t, mixture in zip(sums, rounds, strict=True)]
    return mean, np.asarray(np.mean(covariances, axis=0))


def scatter_about(centre: Array, table: Array, means: Array) -> Array:
    """Compute Σ(x−m)(x−m)ᵀ (d, d) about m = ``centre`` (d,) from a round's sums (c, q), which are about ``means``."""
    counts, sums, scatter = unpack(table.ravel(), *means.shape)
    # (x−m) = (x−μ) + (μ−m).
    first = sums - counts[:, None] * means
    shift = means - centre
    cross = first[:, :, None] * shift[:, None, :]
    about = scatter + cross + cross.swapaxes(1, 2)
    about += counts[:, None, None] * shift[:, :, None] * shift[:, None, :]
    return np.asarray(about.sum(axis=0))


def standard_of(sums: Array, rounds: Sequence[Mixture], h: int) -> Standard:
    """Choose coordinates in which the rows have mean 0 and covariance I; with too few rows, the last mixture has."""
    mean, covariance = moments(sums, rounds, h)
    d = len(mean)
    if h > d:
        spread = np.sqrt(np.abs(np.diag(covariance))) + 1e-300
        values = np.linalg.eigvalsh(covariance / np.outer(spread, spread))
        if values[0] > 1e-8:
            return Standard(mean, np.asarray(np.linalg.cholesky(covariance)))
    last = rounds[-1]
    off = last.means - last.weights @ last.means
    pooled = np.einsum("c,cde->de", last.weights, last.covariances + off[:, :, None] * off[:, None, :])
    return Standard(mean, np.asarray(np.linalg.cholesky(pooled)))


def plane_of(sums: Array, rounds: Sequence[Mixture], h: int) -> Standard | None:
    """Return coordinates of the plane in which fewer rows than columns lie; None where the sums do not show it."""
    mean, covariance = moments(sums, rounds, h)
    spread = np.sqrt(np.abs(np.diag(covariance)))
    if not 1 < h <= len(mean) or not spread.all():
        return None
    sizes, directions = np.linalg.eigh(covariance / np.outer(spread, spread))
    sizes, directions = sizes[:-h:-1], oriented(directions.T[:-h:-1])
    if sizes[-1] < _FLAT * sizes[0]:
        return None
    return Standard(mean, spread[:, None] * directions.T * np.sqrt(sizes))
