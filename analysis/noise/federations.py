"""Four learners with noise on the sums that nodes send: EM, PCA, regression and EM on a graph.

Each row's contribution is clipped as a whole, and every node adds Gaussian noise to the sum of its rows: what it sends
hides each of its rows. The library has none of them; what is clipped, released, sent and audited goes through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from secmix._base.checks import Array
from secmix.network import Network
from secmix.privacy import clip, gaussian
from secmix.protocols import run_by_run
from secmix.transcript import SERVER, Channel

Rng = np.random.Generator
_LEAST = 1e-2  # eigenvalue of a covariance, and share of the rows behind a component


@dataclass
class NoisyFederation:
    """A server asks all nodes for noisy sums in every round, and makes the next model of them.

    Attributes
    ----------
    scale : float
        Standard deviation of the noise on each entry; at 0 nothing is added, to see what clipping costs by itself.
    """

    scale: float
    rounds: ClassVar[int] = 1
    norm: ClassVar[float] = 1.0

    def collaborate(self, parts: Sequence[Array], network: Network, rng: Rng, *, channel: Channel) -> Array:
        """Return the model that every node ends with, (runs, n, p)."""
        own = rng.spawn(network.n)
        return run_by_run(lambda rows, line: self.train(rows, network, own, line), parts, channel)

    def train(self, rows: Sequence[Array], network: Network, own: Sequence[Rng], line: Channel) -> Array:
        """Train on the rows (N_i, d) of every node, (n, p)."""
        nodes, total = np.arange(network.n), sum(map(len, rows))
        model = self.start(rows[0].shape[1])
        for t in range(self.rounds):
            sent = np.stack([self.noisy_sum(part, model, own[i]) for i, part in enumerate(rows)])
            arrived = line.send(2 * t, nodes, SERVER, "noisy sum", sent[:, None])[:, 0]
            model = self.update(model, arrived.sum(axis=0) / total)
            model = line.send(2 * t + 1, SERVER, nodes, "model", model[None, None], content=0 * nodes)[0, 0]
        return np.repeat(model[None], network.n, axis=0)

    def noisy_sum(self, rows: Array, model: Array, rng: Rng) -> Array:
        """Return the sum of clipped contributions with noise, (m,)."""
        total = clip(self.contributions(rows, model), self.norm, axis=-1).sum(axis=0)
        return gaussian(total, self.scale, rng) if self.scale > 0 else np.asarray(total)

    def error(self, results: Array, reference: Array) -> Array:
        """Return the largest distance between models."""
        return np.asarray(np.linalg.norm(results - reference, axis=2).max(axis=1))

    def start(self, columns: int) -> Array:
        """Return the public model that training starts from, (p,)."""
        raise NotImplementedError

    def contributions(self, rows: Array, model: Array) -> Array:
        """Return what each row adds to a sum, (N, m)."""
        raise NotImplementedError

    def update(self, model: Array, mean: Array) -> Array:
        """Return the next model from the mean contribution (m,)."""
        raise NotImplementedError

    def lost(self, model: Array, best: Array, rows: Array) -> float:
        """Return the share that a model loses against one without noise or clipping, 0 where it is as good."""
        raise NotImplementedError


class NoisyPCA(NoisyFederation):
    """Three principal directions of the noisy sum of x xᵀ (Dwork et al. 2014, Analyze Gauss)."""

    r = 3
    unit = 5.0  # public: what rows are divided by, so that few are clipped

    def start(self, columns: int) -> Array:
        """Return no directions."""
        return np.zeros(self.r * columns)

    def contributions(self, rows: Array, model: Array) -> Array:
        """Return x xᵀ."""
        scaled = rows / self.unit
        return np.asarray((scaled[:, :, None] * scaled[:, None, :]).reshape(len(rows), -1))

    def update(self, model: Array, mean: Array) -> Array:
        """Return the leading eigenvectors."""
        d = len(model) // self.r
        matrix = mean.reshape(d, d)
        return np.asarray(np.linalg.eigh((matrix + matrix.T) / 2)[1][:, -self.r :].T.ravel())

    def lost(self, model: Array, best: Array, rows: Array) -> float:
        """Return the share of the variance within the best directions that others miss."""
        held, most = (((rows @ each.reshape(self.r, -1).T) ** 2).sum() for each in (model, best))
        return float(1 - held / most)


class NoisyRegression(NoisyFederation):
    """Least squares by descent along the mean of clipped gradients (Abadi et al. 2016, on all rows)."""

    rounds = 15
    rate = 6.0

    def start(self, columns: int) -> Array:
        """Return weights of zero."""
        return np.zeros(columns - 1)

    def contributions(self, rows: Array, model: Array) -> Array:
        """Return gradients, over the number of features."""
        x, y = rows[:, :-1], rows[:, -1]
        return np.asarray((x @ model - y)[:, None] * x / x.shape[1])

    def update(self, model: Array, mean: Array) -> Array:
        """Take a step."""
        return model - self.rate * mean

    def lost(self, model: Array, best: Array, rows: Array) -> float:
        """Return how much less of the variance of the last column is explained."""
        x, y = rows[:, :-1], rows[:, -1]
        return float((((x @ model - y) ** 2).mean() - ((x @ best - y) ** 2).mean()) / y.var())


class NoisyEM(NoisyFederation):
    """EM for two Gaussians on noisy sums of responsibilities, and of rows and their squares under these."""

    k, rounds, norm, unit = 2, 8, 1.5, 3.0

    def start(self, columns: int) -> Array:
        """Return two components on either side of zero, in the units of the rows over ``unit``."""
        means = np.array([-0.3, 0.3])[:, None] * np.ones(columns)
        return _packed(np.full(2, 0.5), means, np.tile(np.eye(columns) / 9, (2, 1, 1)))

    def contributions(self, rows: Array, model: Array) -> Array:
        """Return responsibilities, and these times rows and products of two columns."""
        x = rows / self.unit
        gamma = np.exp(_log_densities(x, model, self.k))
        gamma /= gamma.sum(axis=1, keepdims=True)
        products = (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)
        each = np.concatenate([np.ones((len(x), 1)), x, products], axis=1)
        return np.asarray((gamma[:, :, None] * each[:, None, :]).reshape(len(x), -1))

    def update(self, model: Array, mean: Array) -> Array:
        """Return the mixture of these sums; what noise makes no mixture is moved to the next one."""
        sums = mean.reshape(self.k, -1)
        d = _columns(sums.shape[1])
        counts = np.maximum(sums[:, 0], _LEAST)
        means = np.clip(sums[:, 1 : d + 1] / counts[:, None], -2.0, 2.0)
        second = sums[:, d + 1 :].reshape(self.k, d, d) / counts[:, None, None]
        covariances = second - means[:, :, None] * means[:, None, :]
        values, vectors = np.linalg.eigh((covariances + covariances.transpose(0, 2, 1)) / 2)
        covariances = np.einsum("kij,kj,klj->kil", vectors, np.clip(values, _LEAST, 4.0), vectors)
        return _packed(counts / counts.sum(), means, covariances)

    def lost(self, model: Array, best: Array, rows: Array) -> float:
        """Return the share of the rows that are put into another group, whatever the groups are called."""
        groups, right = (_log_densities(rows / self.unit, each, self.k).argmax(axis=1) for each in (model, best))
        share = float((groups != right).mean())
        return min(share, 1 - share)


class NoisyGraphFedEM(NoisyEM):
    """The same on a graph: every node sends its noisy sums to its neighbours and averages what it gets with its own.

    It is GraphFed-EM with α = 1 and mixing by counts (Abdurakhmanova and Jung 2025), on sums in place of parameters.
    """

    def train(self, rows: Sequence[Array], network: Network, own: Sequence[Rng], line: Channel) -> Array:
        """Train on the rows of every node, each of which ends with a model of its own, (n, p)."""
        models = np.repeat(self.start(rows[0].shape[1])[None], network.n, axis=0)
        pairs = np.concatenate([network.edges, network.edges[:, ::-1]])
        for t in range(self.rounds):
            sums = np.stack([self.noisy_sum(part, models[i], own[i]) for i, part in enumerate(rows)])
            arrived = line.send(t, pairs[:, 0], pairs[:, 1], "noisy sum", sums[:, None], content=pairs[:, 0])[:, 0]
            total, count = sums.copy(), np.array([float(len(part)) for part in rows])
            np.add.at(total, pairs[:, 1], arrived[pairs[:, 0]])
            counts = count.copy()
            np.add.at(counts, pairs[:, 1], count[pairs[:, 0]])
            models = np.stack([self.update(model, s / n) for model, s, n in zip(models, total, counts, strict=True)])
        return models


LEARNERS: dict[str, type[NoisyFederation]] = {
    "EM": NoisyEM,
    "PCA": NoisyPCA,
    "GraphFed-EM": NoisyGraphFedEM,
    "regression": NoisyRegression,
}


def _packed(weights: Array, means: Array, covariances: Array) -> Array:
    k = len(weights)
    return np.concatenate([weights[:, None], means, covariances.reshape(k, -1)], axis=1).ravel()


def _columns(width: int) -> int:
    """Return d where 1 + d + d² numbers describe a component."""
    return round((float(np.sqrt(4 * width - 3)) - 1) / 2)


def _log_densities(x: Array, model: Array, k: int) -> Array:
    """Return the logarithm of each component's weight and density at each row, (N, k)."""
    table = model.reshape(k, -1)
    d = _columns(table.shape[1])
    logs: list[Any] = []
    for row in table:
        off, covariance = x - row[1 : d + 1], row[d + 1 :].reshape(d, d)
        distance = np.einsum("ni,ni->n", off @ np.linalg.inv(covariance), off)
        logs.append(np.log(row[0]) - distance / 2 - np.linalg.slogdet(covariance)[1] / 2)
    table_of_logs = np.stack(logs, axis=1)
    return np.asarray(table_of_logs - logsumexp(table_of_logs, axis=1, keepdims=True))
