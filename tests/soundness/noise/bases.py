"""Federations that add noise, written for one data set as engineers do, with steps that a twin replaces."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Adversary, CuriousServer
from secmix.network import Network
from secmix.privacy import clip, gaussian, gaussian_mu, laplace
from secmix.protocols import run_by_run
from secmix.transcript import SERVER, Channel

Rng = np.random.Generator
CLIP, ROUNDS, DELTA = 1.0, 3, 1e-5


def noise_for(epsilon: float, sensitivity: float, releases: int = 1, delta: float = DELTA) -> float:
    """Return the standard deviation with which so many releases are (ε, δ) private, by the exact formula."""
    return sensitivity * math.sqrt(releases) / gaussian_mu(epsilon, delta)


@dataclass(frozen=True)
class Twins:
    """A wrong protocol and its right twin, which make the same claim.

    Attributes
    ----------
    fault : str
        What is wrong, in the words of the specification.
    wrong, right : callable
        Make a new protocol object.
    claim : dict
        As in a scenario; the right twin's noise keeps it exactly.
    adversary : Adversary
    data : dict
        Of the scenario, beside the defaults.
    """

    fault: str
    wrong: Callable[[], Any]
    right: Callable[[], Any]
    claim: dict[str, Any]
    adversary: Adversary = field(default_factory=CuriousServer)
    data: dict[str, Any] = field(default_factory=dict)


@dataclass
class Federation:
    """Every node answers the server's parameters with a noisy message, and the server moves them."""

    scale: float = 1.0
    rounds: int = ROUNDS
    rate: float = 0.05

    def collaborate(self, parts: Sequence[Array], network: Network, rng: Rng, *, channel: Channel) -> Array:
        """Return the parameters that every node ends with, (runs, n, p)."""
        own = rng.spawn(network.n)
        return run_by_run(lambda rows, line: self.train(rows, network, own, line), parts, channel)

    def train(self, rows: Sequence[Array], network: Network, own: Sequence[Rng], line: Channel) -> Array:
        """Train on the rows (N_i, d) of every node; all end with the same parameters, (n, p)."""
        theta, nodes = np.zeros(self.size(rows[0].shape[1])), np.arange(network.n)
        self.begin(rows, line)
        for t in range(self.rounds):
            sent = [self.message(part, theta, t, i, own[i]) for i, part in enumerate(rows)]
            arrived = [line.send(2 * t, i, SERVER, "update", each[None])[0] for i, each in enumerate(sent)]
            self.beside(rows, theta, t, line)
            theta = theta - self.rate * np.mean(arrived, axis=0)
            theta = line.send(2 * t + 1, SERVER, nodes, "model", theta[None], content=0 * nodes)[0]
            if self.stops(rows, theta):
                break
        return np.repeat(theta[None], network.n, axis=0)

    def error(self, results: Array, reference: Array) -> Array:
        """Return the largest distance."""
        return np.asarray(np.linalg.norm(results - reference, axis=2).max(axis=1))

    def size(self, columns: int) -> int:
        """Return how many parameters there are."""
        return columns

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        """Return what a node sends in a round, (p,)."""
        return self.noisy(self.clipped(self.contributions(rows, theta)).sum(axis=0), rng)

    def contributions(self, rows: Array, theta: Array) -> Array:
        """Return what each row contributes, (N, p)."""
        return theta - rows

    def clipped(self, contributions: Array) -> Array:
        """Bound each contribution."""
        return clip(contributions, CLIP, axis=-1)

    def noisy(self, total: Array, rng: Rng) -> Array:
        """Add noise to what a node sends."""
        return gaussian(total, self.scale, rng)

    def begin(self, rows: Sequence[Array], line: Channel) -> None:
        """Say something before the first round."""

    def beside(self, rows: Sequence[Array], theta: Array, t: int, line: Channel) -> None:
        """Say something beside the updates."""

    def stops(self, rows: Sequence[Array], theta: Array) -> bool:
        """Say whether training ends after this round."""
        return False


class Means(Federation):
    """Federated mean by gradient descent: each row contributes its distance to the parameters."""


class Regression(Federation):
    """Federated least squares (DP-SGD): each row contributes its gradient; the last column is predicted."""

    def size(self, columns: int) -> int:
        """One weight a feature."""
        return columns - 1

    def contributions(self, rows: Array, theta: Array) -> Array:
        """Return the gradients of the squared error."""
        x, y = rows[:, :-1], rows[:, -1]
        return np.asarray((x @ theta - y)[:, None] * x)


class Sampled(Regression):
    """Federated least squares in whose rounds some nodes take part, as Flower's FedAvg draws them."""

    taking_part = 1

    def collaborate(self, parts: Sequence[Array], network: Network, rng: Rng, *, channel: Channel) -> Array:
        """Return the parameters that every node ends with, (runs, n, p)."""
        self.server = rng.spawn(1)[0]
        return super().collaborate(parts, network, rng, channel=channel)

    def train(self, rows: Sequence[Array], network: Network, own: Sequence[Rng], line: Channel) -> Array:
        """Train on the rows of nodes that are drawn anew in each round."""
        theta, nodes = np.zeros(self.size(rows[0].shape[1])), np.arange(network.n)
        for t in range(self.rounds):
            arrived = []
            for i in self.chosen(rows, theta):
                sent = self.message(rows[i], theta, t, i, own[i])
                arrived.append(line.send(2 * t, i, SERVER, "update", sent[None])[0])
            theta = theta - self.rate * np.mean(arrived, axis=0)
            theta = line.send(2 * t + 1, SERVER, nodes, "model", theta[None], content=0 * nodes)[0]
        return np.repeat(theta[None], network.n, axis=0)

    def chosen(self, rows: Sequence[Array], theta: Array) -> list[int]:
        """Draw who takes part in a round."""
        return sorted(self.server.choice(len(rows), self.taking_part, replace=False).tolist())


class Updates(Regression):
    """Federated averaging that hides a node: local steps of descent, whose sum is clipped as a whole."""

    steps = 3

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        """Return the negative update, with noise."""
        local = theta.copy()
        for _ in range(self.steps):
            local = local - self.rate * self.contributions(rows, local).mean(axis=0)
        return self.noisy(self.clipped(theta - local), rng)


class Moments(Federation):
    """Federated PCA: the noisy sum of x xᵀ, in one round, of rows that are clipped."""

    def size(self, columns: int) -> int:
        """Return the number of entries of a matrix."""
        return columns**2

    def contributions(self, rows: Array, theta: Array) -> Array:
        """Return x xᵀ of each row as a vector."""
        return (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)


class Histogram(Federation):
    """Counts of rows by their largest column, with Laplace noise, in one round."""

    def contributions(self, rows: Array, theta: Array) -> Array:
        """Return a one at the largest column of each row."""
        return np.eye(rows.shape[1])[rows.argmax(axis=1)]

    def clipped(self, contributions: Array) -> Array:
        """Bound each contribution in L1 norm."""
        return clip(contributions, CLIP, axis=-1, ord=1)

    def noisy(self, total: Array, rng: Rng) -> Array:
        """Add Laplace noise."""
        return laplace(total, self.scale, rng)
