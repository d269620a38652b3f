"""Defences of distributed EM against who solves its sums or steers its parameters.

Some act on what a node sends, before the sum: clipping, rounding, noise, abstaining. Others act on the parameters that
a node accepts. All of them are in the run itself, so that the transcript shows what really is sent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from secmix._base.checks import Array, integer, positive
from secmix.errors import SecmixError
from secmix.mixture import Mixture, unpack
from secmix.privacy.gaussian_mechanism import gaussian_epsilon


@dataclass(frozen=True)
class Defences:
    """Steps that nodes take beside the protocol; everything is off unless set.

    Parameters
    ----------
    min_count : float
        A component whose summed responsibilities N_k fall below this many rows keeps its old mean and covariance (its
        weight follows N_k). The sum that showed the low count has been sent by then and cannot be taken back; what can
        be kept back is the next, narrower component, which would isolate the few rows. Counts could be summed first, at
        the price of an averaging a round, but would help only against those who do not lie about theirs.
    covariance_floor : float
        Eigenvalues of every new covariance are raised to at least this, in squared units of the data.
    likelihood_drop : float
        A node abstains from a round (it sends zeros) if the mean log-likelihood of its own rows has fallen by more than
        this many nats below that under the last parameters it took part with. It asks nobody, so that nobody can lie to
        it; with few rows a node, honest EM too lowers it at times.
    rounding : float
        Each node rounds what it sends to multiples of this. No guarantee: rounding is no noise.
    clip_radius : float
        Rows are shortened to this Euclidean norm first.
    noise_multiplier : float
        Gaussian noise on the sums of this many times their sensitivity to one row, see :func:`sensitivity`; needs
        ``clip_radius``. Its (ε, δ), of a row added or removed, is :func:`epsilon`.
    noise_std : float
        Gaussian noise of this standard deviation on the sums, whatever the rows: without clipping a single row may
        change a sum by any amount, so that *no* (ε, δ) follows from it.
    noise_nodes : int
        How many nodes together add the noise above; by default all. Each node adds its share std / √noise_nodes. With f
        nodes who may disclose or leave out their shares take n − f; with 1, each vector by itself is protected, from a
        server who reads it too.

    Raises
    ------
    SecmixError
        A setting is not allowed, or two do not go together.

    Examples
    --------
    >>> Defences(covariance_floor=0.1, rounding=1e-3).words
    ['covariance_floor = 0.1', 'rounding = 0.001']
    """

    min_count: float | None = None
    covariance_floor: float | None = None
    likelihood_drop: float | None = None
    rounding: float | None = None
    clip_radius: float | None = None
    noise_multiplier: float | None = None
    noise_std: float | None = None
    noise_nodes: int | None = None

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            if value is not None and option.name != "noise_nodes":
                positive(value, option.name)
        if self.noise_nodes is not None:
            integer(self.noise_nodes, "noise_nodes")
            if not self.noise_multiplier and not self.noise_std:
                raise SecmixError("noise_nodes shares out noise; give noise_multiplier or noise_std too")
        if self.noise_multiplier and self.noise_std:
            raise SecmixError("give noise_multiplier, with a guarantee, or noise_std, without one; not both")
        if self.noise_multiplier and not self.clip_radius:
            raise SecmixError(
                "noise_multiplier needs clip_radius: without it one row may change the sums by any amount, and no "
                "noise hides that; noise_std adds noise without a guarantee"
            )
        if self.noise_multiplier and self.likelihood_drop:
            raise SecmixError(
                "noise_multiplier and likelihood_drop do not go together: whether a node abstains depends on its rows, "
                "and the noise does not cover that"
            )

    @property
    def words(self) -> list[str]:
        """The defences that are on, as they are written in a scenario."""
        return [f"{each.name} = {getattr(self, each.name)}" for each in fields(self) if getattr(self, each.name)]

    @property
    def alters(self) -> bool:
        """True where sums are other than those of the rows."""
        return bool(self.rounding or self.noise_std or self.noise_multiplier or self.clip_radius)

    @property
    def blurs(self) -> bool:
        """True where what is sent no longer fixes the rows it was computed from."""
        return bool(self.rounding or self.noise_std or self.noise_multiplier)

    def error(self, path: Sequence[Mixture], members: int, n: int) -> Array:
        """Compute the standard error (T,) of a sum over ``members`` of ``n`` nodes by rounding and noise, at each θ."""
        out = np.zeros(len(path))
        for t, theta in enumerate(path):
            std = self.sum_noise(theta)
            noise = 0.0 if std is None else float(std) * math.sqrt(members / (self.noise_nodes or n))
            out[t] = math.hypot(noise, (self.rounding or 0.0) * math.sqrt(members / 12))
        return out

    def clipped(self, rows: Array) -> Array:
        """Shorten ``rows`` (..., d) to a length of at most ``clip_radius``."""
        if self.clip_radius is None:
            return rows
        length = np.linalg.norm(rows, axis=-1, keepdims=True)
        return np.asarray(rows * np.minimum(1.0, self.clip_radius / np.maximum(length, 1e-300)))

    def sum_noise(self, theta: Mixture) -> Array | None:
        """Compute the standard deviation (...,) of the noise on the sums under ``theta`` (...); None without noise."""
        if self.noise_multiplier and self.clip_radius:
            return np.asarray(self.noise_multiplier * sensitivity(theta, self.clip_radius))
        return np.full(theta.weights.shape[:-1], self.noise_std) if self.noise_std else None

    def sent(self, vectors: Array, theta: Mixture, rng: np.random.Generator) -> Array:
        """Add noise to ``vectors`` (runs, n, m) under the nodes' θ (runs, n), round them, and return what is sent."""
        std = self.sum_noise(theta)
        if std is not None:
            share = std / math.sqrt(self.noise_nodes or vectors.shape[1])
            vectors = vectors + share[..., None] * rng.standard_normal(vectors.shape)
        if self.rounding:
            vectors = np.round(vectors / self.rounding) * self.rounding
        return vectors

    def received(self, averages: Array, k: int) -> Array:
        """Set negative counts in averages (runs, n, m) to zero: noise may have made them negative."""
        if not (self.alters or self.likelihood_drop):
            return averages
        out = averages.copy()
        width = out.shape[-1] // k
        counts = out[..., : k * width : width]
        out[..., : k * width : width] = np.where(counts < 0, 0.0, counts)  # NaN, of nodes that dropped out, stays
        return out

    def accepted(self, proposed: Mixture, old: Mixture, averages: Array, n: int) -> Mixture:
        """Hold the ``proposed`` parameters (runs, n), which follow from averages (runs, n, m), to the limits set."""
        means, covariances = proposed.means, proposed.covariances
        if self.min_count:
            counts = n * unpack(averages, proposed.n_components, proposed.n_features)[0]
            low = counts < self.min_count
            means = np.where(low[..., None], old.means, means)
            covariances = np.where(low[..., None, None], old.covariances, covariances)
        if self.covariance_floor:
            values, vectors = np.linalg.eigh(covariances)
            lifted = (vectors * np.maximum(values, self.covariance_floor)[..., None, :]) @ vectors.swapaxes(-1, -2)
            # Those that are wide enough stay as they are, to the last digit.
            wide = (values.min(axis=-1) >= self.covariance_floor)[..., None, None]
            covariances = np.where(wide, covariances, 0.5 * (lifted + lifted.swapaxes(-1, -2)))
        return Mixture(proposed.weights, means, covariances)


def sensitivity(theta: Mixture, radius: float) -> Array:
    """Bound what one row of norm at most ``radius`` adds to the summed vector, in Euclidean norm: (...,).

    The row x adds P_j (1, x, upper triangle of (x−μ_j)(x−μ_j)ᵀ) for each component. Since Σ_j P_j = 1 and Σ_j P_j² ≤ 1,
    the squared norm is at most max_j 1 + |x|² + |x−μ_j|⁴ ≤ 1 + r² + (r + max_j |μ_j|)⁴. It depends on the public θ: far
    means, steered or not, make for more noise.
    """
    reach = radius + np.linalg.norm(theta.means, axis=-1).max(axis=-1)
    return np.asarray(np.sqrt(1.0 + radius**2 + reach**4))


def epsilon(noise_multiplier: float, rounds: int, delta: float) -> float:
    """Compute the ε for which ``rounds`` noisy sums are (ε, δ) differentially private in one row *added or removed*.

    The closed form of the Gaussian mechanism, whose μ = √rounds / noise_multiplier
    (:func:`~secmix.privacy.gaussian_epsilon`). One row *exchanged* moves a sum up to twice as far: that is the ε of
    half the multiplier. It covers the sums, with the noise that the nodes counted by ``noise_nodes`` add; not what a
    node's own messages show beside.

    Raises
    ------
    SecmixError
        If a number lies outside its range.

    Examples
    --------
    >>> f"{epsilon(1.0, 10, 1e-5):.2f} added or removed, {epsilon(0.5, 10, 1e-5):.2f} exchanged"
    '17.86 added or removed, 46.21 exchanged'
    """
    multiplier = positive(noise_multiplier, "noise_multiplier")
    return gaussian_epsilon(math.sqrt(integer(rounds, "rounds")) / multiplier, delta)
