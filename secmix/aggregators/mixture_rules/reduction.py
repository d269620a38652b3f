"""Reduction of many Gaussian components to few, by majorisation-minimisation (Zhang and Chen 2022).

The pooled components are assigned to their cheapest centre, each centre becomes the Gaussian with the moments of its
members, and so on: k-means among Gaussians, with the divergence KL(component ‖ centre) for a distance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secmix._base.checks import Array, Ints, finite_array
from secmix._base.gaussians import cholesky, log_det
from secmix.aggregators.mixture_rules.screening import one_mixture
from secmix.errors import DataError
from secmix.mixture import Mixture

ROUNDS = 100
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Reduction:
    """A reduced mixture, and how the reduction went."""

    mixture: Mixture  # as many components as the start; one that lost all members and found no others has weight zero
    # Σ (weight) KL(component ‖ nearest centre) in nats, at ``mixture``, over the components that are not trimmed
    objective: float
    # (rounds + 2,): the objective at the start, after each round, and at the end; it never increases
    history: tuple[float, ...]
    converged: bool  # whether it stopped because the objective changed by less than 1e-5 of itself
    # tuple of (round, centre): centres that lost all members and were moved to the most expensive component
    reseeded: tuple[tuple[int, int], ...]
    used: Array  # (m, K): the share of each pooled component that was not trimmed


def reduced(
    mixtures: Mixture,
    start: Mixture,
    *,
    shares: ArrayLike | None = None,
    trim: float = 0.0,
    rounds: int = ROUNDS,
    tolerance: float = TOLERANCE,
) -> Reduction:
    """Reduce the components of m mixtures to those of ``start``, beginning there.

    Of ``start``, a single mixture, only where its components are matters. ``shares`` (m,): what each machine counts
    for, by default the same; say the number of its rows. ``trim``, in [0, 1), leaves out the components that cost most,
    up to this share of the total weight, the last one in part (trimmed k-barycentre, del Barrio et al. 2019). It stops
    after so many ``rounds``, or when the objective changes by less than the ``tolerance``, a share of itself. Raises
    DataError where a covariance is not positive definite, given or matched.

    >>> two = Mixture([[1.0], [1.0]], [[[0.0]], [[2.0]]], [[[[1.0]]], [[[1.0]]]])
    >>> reduction = reduced(two, two[0])
    >>> reduction.mixture.means, reduction.mixture.covariances, round(reduction.objective, 4)  # ½ ln 2
    (array([[1.]]), array([[[2.]]]), 0.3466)
    """
    pool = _pool(mixtures, shares)
    centres = one_mixture(start, "start")
    if centres.n_features != mixtures.n_features:
        raise DataError(
            f"start has {centres.n_features} features, the mixtures have {mixtures.n_features}; give as many"
        )
    history: list[float] = []
    reseeded: list[tuple[int, int]] = []
    converged = False
    for step in range(rounds + 1):
        member, cost, untrimmed = _assigned(pool, centres, trim)
        history.append(float(untrimmed @ cost))
        if step > 0 and history[-2] - history[-1] <= tolerance * abs(history[-2]):
            converged = True
        moved = _reseed(member, cost, untrimmed, centres.n_components)
        reseeded += [(step, centre) for centre in moved]
        centres = _matched(pool, member, untrimmed, centres)
        if converged and not moved:
            break
    _, cost, untrimmed = _assigned(pool, centres, trim)
    history.append(float(untrimmed @ cost))
    used = np.zeros(mixtures.weights.shape)
    used[pool.at] = untrimmed / pool.weights
    return Reduction(centres, history[-1], tuple(history), converged, tuple(reseeded), used)


@dataclass(frozen=True)
class _Pool:
    """All components of weight above zero: weights (n,), means (n, d), covariances (n, d, d), log determinants (n,)."""

    weights: Array
    means: Array
    covariances: Array
    log_dets: Array
    at: NDArray[np.bool_]  # (m, K)


def _pool(mixtures: Mixture, shares: ArrayLike | None) -> _Pool:
    m = len(mixtures.weights)
    share = np.ones(m) if shares is None else finite_array(shares, "shares", ndim=1)
    if share.shape != (m,) or (share < 0).any() or share.sum() == 0:
        raise DataError(f"shares are {m} numbers of at least 0, not all of them 0; given {share.tolist()}")
    weights = mixtures.weights * (share / share.sum())[:, None]
    at = weights > 0
    covariances = mixtures.covariances[at]
    return _Pool(weights[at], mixtures.means[at], covariances, log_det(cholesky(covariances)), at)


def _assigned(pool: _Pool, centres: Mixture, trim: float) -> tuple[Ints, Array, Array]:
    """Assign each pooled component to its cheapest centre; return that, its cost and the weight not trimmed, (n,)."""
    n, d = pool.means.shape
    costs = np.empty((n, centres.n_components))
    lower = cholesky(centres.covariances)
    whiten = np.linalg.inv(lower)
    flat = pool.covariances.reshape(n, d * d)
    for k in range(centres.n_components):
        spread = flat @ (whiten[k].T @ whiten[k]).reshape(d * d)
        shift = (((pool.means - centres.means[k]) @ whiten[k].T) ** 2).sum(axis=1)
        costs[:, k] = 0.5 * (spread + shift - d + log_det(lower[k]) - pool.log_dets)
    member = np.argmin(costs, axis=1)
    cost = costs[np.arange(n), member]
    if trim == 0:
        return member, cost, pool.weights
    order = np.argsort(cost, kind="stable")
    before = np.cumsum(pool.weights[order]) - pool.weights[order]
    untrimmed = np.empty(n)
    untrimmed[order] = np.clip((1 - trim) - before, 0.0, pool.weights[order])
    return member, cost, untrimmed


def _reseed(member: Ints, cost: Array, untrimmed: Array, k: int) -> list[int]:
    """Give each centre without members the most expensive component, in place; return which centres.

    That component then costs nothing, and no other costs more than before: the objective falls.
    """
    moved = []
    cost = np.where(untrimmed > 0, cost, 0.0)
    for centre in range(k):
        if (untrimmed[member == centre] > 0).any():
            continue
        worst = int(np.argmax(cost))
        if cost[worst] <= 1e-9:  # every component lies on a centre already: there is nothing to move to
            continue
        member[worst], cost[worst] = centre, 0.0
        moved.append(centre)
    return moved


def _matched(pool: _Pool, member: Ints, untrimmed: Array, old: Mixture) -> Mixture:
    """Match each centre to the weight and moments of its members; one without any stays, with weight zero."""
    weights = np.zeros(old.n_components)
    means, covariances = np.array(old.means), np.array(old.covariances)
    for k in range(old.n_components):
        inside = (member == k) & (untrimmed > 0)
        if not inside.any():
            continue
        weights[k] = untrimmed[inside].sum()
        share = untrimmed[inside] / weights[k]
        means[k] = share @ pool.means[inside]
        apart = pool.means[inside] - means[k]
        covariances[k] = np.tensordot(share, pool.covariances[inside], axes=1) + (share[:, None] * apart).T @ apart
    return Mixture(weights / weights.sum(), means, covariances)
