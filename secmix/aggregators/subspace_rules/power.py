"""Power methods over L nodes, with and without resilience.

Node ℓ holds D_ℓ (n × q_ℓ), zero mean, its samples as columns; Φ_ℓ = D_ℓ D_ℓᵀ/q_ℓ. In a round a node sends
Φ_ℓ U = D_ℓ (D_ℓᵀ U)/q_ℓ, so that Φ_ℓ is never formed. ``exchange`` is the way the messages take: what comes out of
it is what arrives, with the colluders' messages in place of their honest ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, integer
from secmix.aggregators.subspace_rules.bases import orthonormal
from secmix.aggregators.subspace_rules.covariance import node_data
from secmix.aggregators.subspace_rules.median import SubspaceMedian, subspace_median
from secmix.aggregators.vector_rules.coordinatewise import mean
from secmix.aggregators.vector_rules.geometric_median import geometric_median
from secmix.errors import DataError, SecmixError

Exchange = Callable[[int, Array], Array]
"""``exchange(round, sent (L, n, r)) -> what arrives (L, n, r)``."""

_ROUNDS = 30


def power_method(
    data: Sequence[ArrayLike] | Array,
    r: int,
    *,
    iterations: int = _ROUNDS,
    rng: np.random.Generator | None = None,
    exchange: Exchange | None = None,
) -> Array:
    """Compute the top r eigenvectors of the mean covariance by the power method: U ← QR(mean of Φ_ℓ U) (PowMeth).

    One Byzantine message moves it anywhere.

    Parameters
    ----------
    data : L arrays (n, q_l)
        Samples as columns.
    r : int
        At most n.
    iterations : int
        The error falls like (σ_{r+1}/σ_r)^iterations.
    rng : Generator, optional
        Draws the start, a Gaussian (n, r); by default always the same one.
    exchange : callable, optional
        ``exchange(round, sent (L, n, r)) -> what arrives``; by default what is sent. A message that is not finite is
        rejected and reported (``RejectedMessages``).

    Returns
    -------
    (n, r), orthonormal

    Raises
    ------
    DataError
        Data that are not finite or have other numbers of rows; r above the rank of the data (with an ``exchange``,
        where colluders may be why a product has lost rank, the run goes on).

    Examples
    --------
    >>> data = [np.diag([3.0, 1.0, 0.5]), np.diag([2.0, 1.0, 0.5])]
    >>> np.abs(power_method(data, 1)).round(6).ravel().tolist()
    [1.0, 0.0, 0.0]
    """
    return _iterated(data, r, mean, iterations, rng, exchange)


def resilient_power_method(
    data: Sequence[ArrayLike] | Array,
    r: int,
    *,
    iterations: int = _ROUNDS,
    rng: np.random.Generator | None = None,
    exchange: Exchange | None = None,
) -> Array:
    """Run the power method with the geometric median of the products Φ_ℓ U in place of their mean (ResPowMeth).

    Singh 2024: each product is off by the sampling error of Φ_ℓ, in every iteration, and the median by up to C times as
    much, so that it needs an eigengap far larger than the Subspace Median does. For the parameters see
    :func:`power_method`. The result is (n, r), orthonormal.
    """
    return _iterated(data, r, geometric_median, iterations, rng, exchange)


def subspace_median_of_means(
    data: Sequence[ArrayLike] | Array,
    r: int,
    groups: int,
    *,
    iterations: int = _ROUNDS,
    rng: np.random.Generator | None = None,
    exchange: Exchange | None = None,
) -> SubspaceMedian:
    """Compute the Subspace Median of what groups of nodes find by a power method each (Singh 2024, algorithm 3).

    Parameters
    ----------
    data, r, iterations, rng
        As in :func:`power_method`.
    groups : int
        L̃: nodes 0..L−1 are cut into so many groups of neighbours, equally large or nearly so. ``groups`` = L is the
        Subspace Median of every node's own basis. A group with one Byzantine node counts as Byzantine, so that fewer
        than half of the groups may hold any.
    exchange : callable, optional
        Gets the messages of all nodes, (L, n, r), each round, so that colluders in different groups act as one.

    Returns
    -------
    SubspaceMedian
        ``index``, ``weights`` and ``rejected`` refer to groups. A group whose messages were not finite, or whose
        products lost rank, has no basis and is among the rejected.
    """
    parts, r = node_data(data, r)
    groups = integer(groups, "groups")
    if groups > len(parts):
        raise SecmixError(f"{len(parts)} nodes cannot form {groups} groups; give at most {len(parts)}")
    members = np.array_split(np.arange(len(parts)), groups)
    n = len(parts[0])
    start = _start(n, r, rng)
    bases = [start] * groups
    for t in range(integer(iterations, "iterations")):
        sent = np.empty((len(parts), n, r))
        for basis, group in zip(bases, members, strict=True):
            for i in group:
                sent[i] = _product(parts[i], basis)
        arrived = sent if exchange is None else _checked(exchange(t, sent), sent.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            bases = [_or_nan(arrived[group].mean(axis=0)) for group in members]
    return subspace_median(bases)


def _iterated(
    data: Sequence[ArrayLike] | Array,
    r: int,
    rule: Callable[[Array], Array],
    iterations: int,
    rng: np.random.Generator | None,
    exchange: Exchange | None,
) -> Array:
    parts, r = node_data(data, r)
    n = len(parts[0])
    basis = _start(n, r, rng)
    for t in range(integer(iterations, "iterations")):
        sent = np.stack([_product(part, basis) for part in parts])
        arrived = sent if exchange is None else _checked(exchange(t, sent), sent.shape)
        combined = rule(arrived.reshape(len(parts), -1)).reshape(n, r)
        # Colluders may take its rank from the product, but not stop the run: then any basis will do to go on.
        basis = orthonormal(combined, "the combined product") if exchange is None else _any_basis(combined)
    return basis


def _product(part: Array, basis: Array) -> Array:
    return np.asarray(part @ (part.T @ basis) / part.shape[1])


def _any_basis(product: Array) -> Array:
    largest = float(np.abs(product).max())
    return np.asarray(np.linalg.qr(np.ldexp(product, -int(np.frexp(largest)[1])))[0])


def _or_nan(product: Array) -> Array:
    """Orthonormalise the product; NaN where it has no basis, which the Subspace Median then rejects."""
    try:
        return orthonormal(product)
    except DataError:
        return np.full_like(product, np.nan)


def _start(n: int, r: int, rng: np.random.Generator | None) -> Array:
    rng = np.random.default_rng(0) if rng is None else rng
    return np.asarray(np.linalg.qr(rng.standard_normal((n, r)))[0])


def _checked(arrived: Array, shape: tuple[int, ...]) -> Array:
    if np.shape(arrived) != shape:
        raise SecmixError(f"the exchange returned an array of shape {np.shape(arrived)}; what was sent has {shape}")
    return np.asarray(arrived, dtype=np.float64)
