"""Local training: gradient descent on all rows of a node, of models whose first layer is linear.

With z_i = W x_i + b, the gradients of a loss in W and b are Σ_i δ_i x_iᵀ and Σ_i δ_i: the same factors, which
reconstructions use (Phong et al. 2018, Privacy-preserving deep learning, section 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from secmix._base.checks import Array, integer, positive
from secmix.errors import SecmixError

Model = Literal["linear", "logistic", "relu"]


@dataclass(frozen=True)
class Trainer:
    """The training of a model at a node.

    Parameters
    ----------
    model : {"linear", "logistic", "relu"}
        Least squares on y; logistic regression on its class; or least squares with one hidden layer of ReLU units.
    hidden : int
        Units of that layer.
    steps : int
        Steps of gradient descent, each on all rows.
    rate : float
        Their length.
    weight_decay : float
        λ of the penalty λ/2 ‖W‖², which biases are free of.
    classes : (low, high), optional
        For "logistic": the two values that y takes. By default the class is whether y is above 0.
    """

    model: Model = "linear"
    hidden: int = 16
    steps: int = 1
    rate: float = 0.1
    weight_decay: float = 0.0
    classes: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if self.model not in ("linear", "logistic", "relu"):
            raise SecmixError(f"model is 'linear', 'logistic' or 'relu'; given {self.model!r}")
        integer(self.hidden, "hidden")
        integer(self.steps, "steps")
        positive(self.rate, "rate")
        if not 0 <= self.weight_decay < 1 / self.rate:
            raise SecmixError(
                f"weight_decay is at least 0 and below 1/rate = {1 / self.rate:g}; it is {self.weight_decay}"
            )
        if self.classes is not None and (len(self.classes) != 2 or not self.classes[0] < self.classes[1]):
            raise SecmixError(f"classes are the two values of y, the lower first; given {self.classes!r}")

    @property
    def units(self) -> int:
        """The number of units of the first layer."""
        return self.hidden if self.model == "relu" else 1

    def size(self, d: int) -> int:
        """Count the parameters for rows of d numbers, the last of them y: W, b and, of "relu", a and c."""
        return self.units * d + (self.hidden + 1 if self.model == "relu" else 0)

    def start(self, d: int, rng: np.random.Generator) -> Array:
        """Make the first parameters (p,): zero, or of "relu" drawn."""
        if self.model != "relu":
            return np.zeros(self.size(d))
        drawn = rng.standard_normal(self.size(d))
        drawn[: self.units * (d - 1)] /= np.sqrt(max(d - 1, 1))
        drawn[self.units * d :] /= np.sqrt(self.hidden)
        return drawn

    def trained(self, parameters: Array, rows: Array) -> Array:
        """Train parameters (runs, p) on ``rows`` (runs, N, d).

        >>> Trainer(rate=0.5).trained(np.zeros((1, 3)), np.array([[[2.0, 1.0, 4.0]]])).tolist()
        [[4.0, 2.0, 2.0]]
        """
        for _ in range(self.steps):
            parameters = parameters - self.rate * self._gradient(parameters, rows)
        return parameters

    def first_layer(self, parameters: Array) -> tuple[Array, Array]:
        """Take the first layer from ``parameters``: W (..., units, d − 1) and b (..., units)."""
        weights = (parameters.shape[-1] - self._behind) // self.units * self.units - self.units
        return parameters[..., :weights].reshape(*parameters.shape[:-1], self.units, -1), parameters[
            ..., weights : weights + self.units
        ]

    def output_layer(self, parameters: Array) -> tuple[Array, Array]:
        """Take the output layer of "relu" from ``parameters``: a (..., hidden) and c (...)."""
        return parameters[..., -self._behind : -1], parameters[..., -1]

    @property
    def _behind(self) -> int:
        return self.hidden + 1 if self.model == "relu" else 0

    def _gradient(self, parameters: Array, rows: Array) -> Array:
        x, y = rows[..., :-1], rows[..., -1]
        weights, biases = self.first_layer(parameters)
        z = np.einsum("rud,rnd->rnu", weights, x) + biases[:, None]
        rest: list[Array] = []
        if self.model == "relu":
            a, c = self.output_layer(parameters)
            active = np.maximum(z, 0.0)
            off = (np.einsum("rnu,ru->rn", active, a) + c[:, None] - y) / y.shape[1]
            rest = [np.einsum("rn,rnu->ru", off, active) + self.weight_decay * a, off.sum(axis=1)[:, None]]
            delta = off[..., None] * a[:, None] * (z > 0)
        elif self.model == "logistic":
            delta = (_sigmoid(z) - self.labels(y)[..., None]) / y.shape[1]
        else:
            delta = (z - y[..., None]) / y.shape[1]
        slope = np.einsum("rnu,rnd->rud", delta, x) + self.weight_decay * weights
        return np.concatenate([slope.reshape(len(slope), -1), delta.sum(axis=1), *rest], axis=1)

    def labels(self, y: Array) -> Array:
        """Compute the classes of "logistic", 0 or 1."""
        return (y > (0.0 if self.classes is None else 0.5 * sum(self.classes))).astype(float)


def _sigmoid(z: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * z)))
