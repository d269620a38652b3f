"""Machines that send a wrong mixture without looking at the others: the failures of Zhang 2024, and some more.

Each takes the mixtures of m machines and which of them are Byzantine, and returns all m as they are then sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from secmix._base.checks import Array, Ints, positive, probability
from secmix.errors import DataError, SecmixError
from secmix.mixture import Mixture

Failure = Callable[[Mixture, Ints, np.random.Generator], Mixture]
"""``failure(mixtures (m), byzantine, rng) -> mixtures (m)``."""


def mean_failure(
    mixtures: Mixture, byzantine: Iterable[int], rng: np.random.Generator, scale: float = 100.0
) -> Mixture:
    """Draw every component mean from N(0, scale² I) (Zhang 2024, section 5)."""
    positive(scale, "scale")
    weights, means, covariances, who = _copied(mixtures, byzantine)
    means[who] = scale * rng.standard_normal(means[who].shape)
    return Mixture(weights, means, covariances)


def covariance_failure(mixtures: Mixture, byzantine: Iterable[int], rng: np.random.Generator) -> Mixture:
    """Add the noise B Bᵀ to each covariance, B a d × d matrix of standard Gaussians (Zhang 2024, section 5)."""
    weights, means, covariances, who = _copied(mixtures, byzantine)
    covariances[who] += _wishart(covariances[who].shape, rng)
    return Mixture(weights, means, covariances)


def weight_failure(
    mixtures: Mixture, byzantine: Iterable[int], rng: np.random.Generator, concentration: float = 1.0
) -> Mixture:
    """Draw weights from a Dirichlet whose K parameters are drawn from the integers 10 to 19 (Zhang 2024, section 5).

    The parameters are multiplied by ``concentration``: near 0 all weight comes to lie on one component.
    """
    positive(concentration, "concentration")
    weights, means, covariances, who = _copied(mixtures, byzantine)
    for j in who:
        weights[j] = rng.dirichlet(concentration * rng.integers(10, 20, size=mixtures.n_components))
    return Mixture(weights, means, covariances)


def touched_components(m: int, k: int, rate: float, rng: np.random.Generator) -> Array:
    """Draw the components that fail on each machine, (m, K) of 0 and 1: each fails on ⌊rate · m⌋ machines.

    With more than a few components nearly every machine is touched, though fewer than half in any one component.
    """
    probability(rate, "rate")
    touched = np.zeros((m, k))
    for c in range(k):
        touched[rng.permutation(m)[: int(rate * m + 1e-9)], c] = 1.0
    return touched


def component_failure(
    mixtures: Mixture, touched: Array, rng: np.random.Generator, kind: str = "mean", scale: float = 100.0
) -> Mixture:
    """Apply the mean or covariance failure to single components: those that ``touched`` (m, K) names.

    Components are counted from each machine's own first: machines that start at the same mixture have the same order.
    """
    weights, means, covariances, _ = _copied(mixtures, ())
    where = np.asarray(touched).astype(bool)
    if where.shape != weights.shape:
        raise DataError(f"touched has one entry a component, {weights.shape}; given {where.shape}")
    if kind == "mean":
        means[where] = positive(scale, "scale") * rng.standard_normal(means[where].shape)
    elif kind == "covariance":
        covariances[where] += _wishart(covariances[where].shape, rng)
    else:
        raise SecmixError(f"kind is 'mean' or 'covariance'; given {kind!r}")
    return Mixture(weights, means, covariances)


def _copied(mixtures: Mixture, byzantine: Iterable[int]) -> tuple[Array, Array, Array, Ints]:
    if mixtures.weights.ndim != 2:
        raise DataError(f"the mixtures of m machines have weights (m, K); given {mixtures.weights.shape}")
    who = np.unique(np.asarray(list(byzantine), dtype=np.intp))
    m = len(mixtures.weights)
    if len(who) and not 0 <= who[0] <= who[-1] < m:
        raise DataError(f"Byzantine machines are numbers from 0 to {m - 1}; given {who.tolist()}")
    return np.array(mixtures.weights), np.array(mixtures.means), np.array(mixtures.covariances), who


def _wishart(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    noise = rng.standard_normal(shape)
    return np.asarray(noise @ noise.swapaxes(-1, -2))


FAILURES: dict[str, Failure] = {
    "mean": mean_failure,
    "covariance": covariance_failure,
    "weight": weight_failure,
}
"""The failures that need nothing but the mixtures, by name."""
