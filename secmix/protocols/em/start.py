"""Start of EM where no parameters are given: from secure-summed statistics and a public coin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secmix._base.checks import Array
from secmix.mixture import Mixture
from secmix.network import Network
from secmix.protocols.interfaces import SumProtocol, without_average
from secmix.transcript import Channel

LLOYD_ROUNDS = 5


def secure_start(
    parts: Sequence[Array],
    k: int,
    sums: SumProtocol,
    network: Network,
    rng: np.random.Generator,
    channel: Channel,
    *,
    lloyd: bool,
    reg_covar: float,
) -> Mixture:
    """Draw θ^0 with batch axes (runs, n) from parts (runs, n_i, d), through the sum protocol and into the channel.

    One averaging gives every node the moments (count, Σx, Σxxᵀ); centres are drawn from the Gaussian that fits them,
    the same at every node (a public coin); with ``lloyd`` five rounds of k-means follow, each a sum of counts and
    totals by cluster. A cluster that no row joins keeps its centre.
    """
    runs, _, d = parts[0].shape
    coin, *later = rng.spawn(2 + LLOYD_ROUNDS)
    rounds = LLOYD_ROUNDS if lloyd else 0
    channel.iteration = -1 - rounds
    moments = np.stack([_moments(part) for part in parts], axis=1)
    average = _known(sums.average(moments, network, later[0], channel=channel)[0])
    count = average[..., :1]
    mean = average[..., 1 : 1 + d] / count
    second = np.empty((runs, network.n, d, d))
    upper = np.triu_indices(d)
    second[..., upper[0], upper[1]] = second[..., upper[1], upper[0]] = average[..., 1 + d :] / count
    covariance = second - mean[..., :, None] * mean[..., None, :]
    covariance[..., np.arange(d), np.arange(d)] += reg_covar
    draw = coin.standard_normal((runs, 1, k, d))
    centres = mean[..., None, :] + np.matmul(draw, np.linalg.cholesky(covariance).swapaxes(-1, -2))
    for step in range(rounds):
        channel.iteration = step - rounds
        tallies = np.stack([_tally(part, centres[:, i]) for i, part in enumerate(parts)], axis=1)
        average = _known(sums.average(tallies, network, later[1 + step], channel=channel)[0])
        table = average.reshape(runs, network.n, k, 1 + d)
        count = table[..., :1]
        # A cluster with less than a millionth of a row a node is empty: what it has is rounding error.
        joined = count > 1e-6
        centres = np.where(joined, table[..., 1:] / np.where(joined, count, 1.0), centres)
    weights = np.full((runs, network.n, k), 1.0 / k)
    return Mixture(weights, centres, np.repeat(covariance[:, :, None], k, axis=2))


def _known(averages: Array) -> Array:
    """Give each node that dropped out the result of another, to start from."""
    gone = without_average(averages)
    return np.where(gone[:, None], averages[:, [int(np.argmin(gone))]], averages)


def _moments(rows: Array) -> Array:
    """Compute (count, Σx, upper triangle of Σxxᵀ) of rows (runs, N, d)."""
    runs, size, d = rows.shape
    upper = np.triu_indices(d)
    second = np.matmul(rows.swapaxes(-1, -2), rows)[:, upper[0], upper[1]]
    return np.concatenate([np.full((runs, 1), float(size)), rows.sum(axis=1), second], axis=1)


def _tally(rows: Array, centres: Array) -> Array:
    """Sum (count, Σx) of the rows (runs, N, d) nearest to each centre (runs, K, d), flattened to (runs, K(1+d))."""
    distance = ((rows[:, :, None, :] - centres[:, None, :, :]) ** 2).sum(axis=-1)
    nearest = np.argmin(distance, axis=-1)[..., None] == np.arange(centres.shape[1])
    total = np.matmul(nearest.swapaxes(-1, -2).astype(float), rows)
    return np.concatenate([nearest.sum(axis=1)[..., None], total], axis=-1).reshape(len(rows), -1)
