"""Two small networks, one for x and one for y, whose inner product adds to what the closed-form critics say.

Trained by Adam on InfoNCE over the residual of a base critic; the weights of the best epoch on validation rows are
kept. Kingma and Ba, *Adam*, ICLR 2015; two towers as in van den Oord et al. (2018).
"""

from __future__ import annotations

import math

import numpy as np

from secmix.estimators.information.contrast import batches, contrasts
from secmix.estimators.information.critic import Rows, Score
from secmix.estimators.information.scores import normal_scores
from secmix.estimators.samples import Floats

NAME = "two towers"
_WIDTHS = (64, 64, 16)
_BATCH = 128
_MOST_ROWS = 2400
_EPOCHS = 60
_PATIENCE = 8
_RATE = 2e-3
_DECAY = 1e-4
_LEAST_ROWS = 200

Layers = list[Floats]  # weights and biases, alternating


def fit_towers(train: Rows, validation: Rows, base: Score, rng: np.random.Generator) -> Score | None:
    """Fit the towers on top of ``base``; None where they add nothing in the validation rows, or rows are few."""
    of_x, of_y = normal_scores(train.x), normal_scores(train.y)
    train = train.at(rng.permutation(len(train.x))[:_MOST_ROWS])
    x, y = of_x(train.x), of_y(train.y)
    if len(x) < _LEAST_ROWS or not (x.shape[1] and y.shape[1]):
        return None
    known = base(train.x, train.y)
    judged = [(of_x(part.x), of_y(part.y), base(part.x, part.y)) for part in batches(validation)]
    towers = [new_layers(part.shape[1], rng) for part in (x, y)]
    parameters = towers[0] + towers[1]
    split = len(towers[0])
    adam = _Adam(parameters)

    def product(parameters: Layers, x: Floats, y: Floats) -> Floats:
        return np.asarray(forward(parameters[:split], x)[-1] @ forward(parameters[split:], y)[-1].T)

    def judge(parameters: Layers) -> float:
        found = [contrasts(offset + product(parameters, u, v)) for u, v, offset in judged]
        return float(np.concatenate(found).mean())

    nothing = float(np.concatenate([contrasts(offset) for _, _, offset in judged]).mean())
    best, kept, since = nothing, None, 0
    for _ in range(_EPOCHS):
        for rows in np.array_split(rng.permutation(len(x)), max(1, len(x) // _BATCH)):
            adam.step(parameters, contrast_slopes(parameters, split, x[rows], y[rows], known[np.ix_(rows, rows)]))
        found = judge(parameters)
        since += 1
        if found > best:
            best, kept, since = found, [part.copy() for part in parameters], 0
        if since >= _PATIENCE:
            break
    if kept is None:
        return None
    chosen = kept
    return lambda x, y: product(chosen, of_x(x), of_y(y))


def new_layers(width: int, rng: np.random.Generator) -> Layers:
    """Draw weights and biases of one tower for rows of ``width`` entries."""
    layers: Layers = []
    for out in _WIDTHS:
        layers += [rng.standard_normal((width, out)) * math.sqrt(2.0 / width), np.zeros(out)]
        width = out
    layers[-2] *= 0.1  # the first product is small beside the base
    return layers


def forward(layers: Layers, rows: Floats) -> list[Floats]:
    """Return what enters each layer, then what leaves the last; ReLU between layers."""
    values = [rows]
    for i in range(0, len(layers), 2):
        out = values[-1] @ layers[i] + layers[i + 1]
        values.append(out if i + 2 == len(layers) else np.maximum(out, 0.0))
    return values


def contrast_slopes(parameters: Layers, split: int, x: Floats, y: Floats, known: Floats) -> Layers:
    """Compute the slope of InfoNCE's loss, averaged over asking for y given x and x given y."""
    u, v = forward(parameters[:split], x), forward(parameters[split:], y)
    scores = known + u[-1] @ v[-1].T
    rows, columns = (np.exp(scores - scores.max(axis=a, keepdims=True)) for a in (1, 0))
    rows, columns = rows / rows.sum(axis=1, keepdims=True), columns / columns.sum(axis=0, keepdims=True)
    slope = (0.5 * (rows + columns) - np.eye(len(x))) / len(x)
    return _backward(parameters[:split], u, slope @ v[-1]) + _backward(parameters[split:], v, slope.T @ u[-1])


def _backward(layers: Layers, values: list[Floats], slope: Floats) -> Layers:
    found: Layers = []
    for i in range(len(layers) - 2, -1, -2):
        entered = values[i // 2]
        found = [entered.T @ slope, slope.sum(axis=0), *found]
        if i:
            slope = (slope @ layers[i].T) * (entered > 0)
    return found


class _Adam:
    """Adam's moments, and its step with decoupled weight decay."""

    def __init__(self, parameters: Layers) -> None:
        self.first = [np.zeros_like(part) for part in parameters]
        self.second = [np.zeros_like(part) for part in parameters]
        self.steps = 0

    def step(self, parameters: Layers, slopes: Layers) -> None:
        self.steps += 1
        rate = _RATE * math.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        for part, slope, first, second in zip(parameters, slopes, self.first, self.second, strict=True):
            first += 0.1 * (slope - first)
            second += 0.001 * (slope**2 - second)
            part -= rate * first / (np.sqrt(second) + 1e-8) + _RATE * _DECAY * part
