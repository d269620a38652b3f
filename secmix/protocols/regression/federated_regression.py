"""Federated averaging (McMahan et al. 2017, Algorithm 1) of linear models and of one ReLU layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from secmix._base.checks import Array, integer
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols.collaboration import checked_parts
from secmix.protocols.regression.training import Model, Trainer
from secmix.transcript import SERVER, Channel


@dataclass(frozen=True)
class FederatedRegression:
    """The server sends a model, every node trains it on its rows and sends it back, the server averages by rows.

    A row is (x, y), y in its last column. Every node takes part in every round; the server talks to all of them,
    whatever the network is. A node also sends how many rows it has, as averages by rows need it.

    Parameters
    ----------
    model : {"linear", "logistic", "relu"}
        What each node trains: least squares, logistic regression, or least squares with a hidden layer of ReLU units.
    rounds : int
    steps : int
        Of gradient descent in each round, on all rows of a node.
    rate : float
        Length of a step.
    weight_decay : float
        λ of the penalty λ/2 ‖W‖² on the weights.
    hidden : int
        Units of the hidden layer.
    classes : (low, high), optional
        The two values of y for "logistic"; by default the class is whether y is above 0.
    precision : {"float64", "float32"}
        Of the messages.
    encrypted : bool
        Whether the lines between nodes and server are encrypted.

    Notes
    -----
    What it reveals by design: the server reads the trained model of every node. The gradient of a first layer is a sum
    of rows, times the same factors as in the gradient of its biases: of a node with one row it *is* that row.

    Examples
    --------
    >>> rng, channel = np.random.default_rng(0), Channel()
    >>> parts = [rng.standard_normal((2, 4, 3)) for _ in range(3)]  # 2 runs, 4 rows a node
    >>> FederatedRegression(rounds=5).collaborate(parts, Network.complete(3), rng, channel=channel).shape
    (2, 3, 3)
    >>> channel.transcript.messages
    33
    """

    model: Model = "linear"
    rounds: int = 1
    steps: int = 1
    rate: float = 0.1
    weight_decay: float = 0.0
    hidden: int = 16
    classes: Sequence[float] | None = None
    precision: Literal["float64", "float32"] = "float64"
    encrypted: bool = True

    def __post_init__(self) -> None:
        integer(self.rounds, "rounds")
        if self.precision not in ("float64", "float32"):
            raise SecmixError(f"precision is 'float64' or 'float32'; given {self.precision!r}")
        _ = self.trainer

    @cached_property
    def trainer(self) -> Trainer:
        """The training that each node does."""
        return Trainer(self.model, self.hidden, self.steps, self.rate, self.weight_decay, self.classes)

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        """Run all rounds; every node ends with the parameters of the last, (runs, nodes, p)."""
        data = checked_parts(parts, network)
        runs, d = data[0].shape[0], data[0].shape[2]
        if d < 2:
            raise SecmixError("a row is (x, y): give the data two columns at least")
        for i, part in enumerate(data):
            channel.hold(-1, i, "input", part.reshape(runs, -1))
        nodes = np.arange(network.n)
        parameters = np.repeat(self.trainer.start(d, rng)[None], runs, axis=0)
        for t in range(self.rounds + 1):
            channel.iteration = t
            broadcast = parameters.astype(self.precision)[None]
            content = np.zeros(network.n, dtype=np.intp)
            arrived = channel.send(0, SERVER, nodes, "model", broadcast, encrypted=self.encrypted, content=content)
            model = np.asarray(arrived[0], dtype=np.float64)
            if t == self.rounds:
                return np.repeat(model[:, None], network.n, axis=1)
            sent = np.stack([self._update(model, part) for part in data]).astype(self.precision)
            updates = channel.send(1, nodes, SERVER, "update", sent, encrypted=self.encrypted)
            parameters = averaged(np.asarray(updates, dtype=np.float64))
        raise AssertionError

    def error(self, results: Array, reference: Array) -> Array:
        """Compute the largest distance between parameters at a node, relative to the reference: (runs,)."""
        size = np.maximum(np.linalg.norm(reference, axis=2), 1e-12)
        return np.asarray((np.linalg.norm(results - reference, axis=2) / size).max(axis=1))

    def _update(self, model: Array, rows: Array) -> Array:
        """Compute a node's message, (runs, p + 1): its trained parameters, and how many rows it has."""
        return np.concatenate(
            [self.trainer.trained(model, rows), np.full((len(rows), 1), float(rows.shape[1]))], axis=1
        )


def averaged(updates: Array) -> Array:
    """Average updates (n, runs, p + 1) by numbers of rows, as the server does, to parameters (runs, p).

    >>> averaged(np.array([[[1.0, 3.0]], [[5.0, 1.0]]])).tolist()
    [[2.0]]
    """
    counts = updates[..., -1:]
    return np.asarray((counts * updates[..., :-1]).sum(axis=0) / counts.sum(axis=0))
