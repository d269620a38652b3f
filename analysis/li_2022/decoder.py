"""What the sums of a few nodes give away: a closed form, and a lower bound from a density decoder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import digamma
from scipy.stats import beta

from secmix._base.checks import Array
from secmix.estimators.estimate import normalised

Numbers = dict[str, Any]
GRID = 1024  # cells of the density decoder


def moments(sums: Array, mu: Array) -> Array:
    """(Σa, Σax, Σax²) by component (runs, 3, c) from summed (A, B, C) and the public means C is centred at.

    C = Σ a (x − μ)² = Σax² − 2μ Σax + μ² Σa.
    """
    a, b, scatter = np.split(sums, 3, axis=1)
    return np.stack([a, b, scatter + 2 * mu * b - mu**2 * a], axis=1)


def power_sums(moment: Array) -> Array:
    """(Σx, Σx²), (runs, 2): responsibilities of a node sum to one, so adding the components removes them."""
    return np.asarray(moment[:, 1:].sum(axis=2))


def power_sum_information(n: int) -> float:
    """I(X_0; Σx, Σx²) in nats for n i.i.d. Gaussians: closed form; infinite for n ≤ 2.

    Given both sums x lies on a sphere in n − 1 dimensions, uniformly: x_0 = Σx/n + ρ √((n−1)/n) U with
    ρ² ~ χ²_{n−1} and (1 + U)/2 ~ Beta((n−2)/2, (n−2)/2).
    """
    if n <= 2:
        return math.inf
    coordinate = math.log(2) + float(beta((n - 2) / 2, (n - 2) / 2).entropy())
    radius = 0.5 * (math.log(2) + float(digamma((n - 1) / 2)))
    return 0.5 * math.log(2 * math.pi * math.e) - 0.5 * math.log((n - 1) / n) - radius - coordinate


def decoder_bounds(x: Array, history: Sequence[Array], *, cumulative: bool) -> list[Numbers]:
    """Lower bounds on I(X_0; view) for a sum over three nodes and two components, one an iteration.

    Whatever the density q, I ≥ E[ln q(x_0 | view) − ln p(x_0)] (Barber and Agakov 2003). Σx and Σx² leave x
    on a circle; each iteration's (Σa, Σax, Σax²) then gives the three responsibilities at every angle, and
    what is known of their distribution (u/(u + v) for uniform u, v) weighs the angles. q is constant on GRID
    cells of a sixth of the circle (the sums do not see who is who), so it is a density by construction and
    the bound holds on any grid.

    Parameters
    ----------
    x : (runs,)
        The target's data.
    history : sequence of (runs, 3, 2)
        `moments` of each iteration.
    cumulative : bool
        Use all iterations so far, or each by itself.
    """
    gains = np.empty((len(history), len(x)))
    for rows in np.array_split(np.arange(len(x)), max(1, len(x) // 250)):
        log_weight = np.zeros((len(rows), GRID))
        for t, moment in enumerate(history):
            fresh = _angle_weights(moment[rows])
            log_weight = log_weight + fresh if cumulative else fresh
            gains[t, rows] = _gain(x[rows], moment[rows], log_weight)
    return [_mean_with_interval(gain) for gain in gains]


def power_sum_bound(x: Array, moment: Array) -> Numbers:
    """The decoder where it is told Σx and Σx² only, so that every angle of the circle weighs the same."""
    return _mean_with_interval(_gain(x, moment, np.zeros((len(x), GRID))))


def _gain(x: Array, moment: Array, log_weight: Array) -> Array:
    """ln q(x_0 | view) − ln p(x_0) (runs,) for x_0 ~ N(0, 1), whose density p has a small share in q."""
    centre, radius = _circle(moment)
    cosine = (x - centre) / radius
    inside = np.abs(cosine) < 1
    angle = np.arccos(np.where(inside, cosine, 0.0))
    folded = np.abs((angle + math.pi / 3) % (2 * math.pi / 3) - math.pi / 3)
    cell = np.minimum((folded / (math.pi / 3) * GRID).astype(int), GRID - 1)
    top = log_weight.max(axis=1, keepdims=True)
    weight = np.exp(log_weight - np.where(np.isfinite(top), top, 0.0))
    total = weight.sum(axis=1)
    share = np.where(total > 0, weight[np.arange(len(x)), cell] / np.where(total > 0, total, 1.0), 1 / GRID)
    per_angle = share * GRID / (2 * math.pi)  # a cell has six images on the circle
    # Two angles have the same cosine. Outside the circle's reach q has nothing but its share of p.
    circle = np.where(inside, 2 * per_angle / (radius * np.sin(angle)), 0.0)
    prior = np.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)
    return np.asarray(np.log(0.999 * circle / prior + 0.001))


def _circle(moment: Array) -> tuple[Array, Array]:
    """Centre and radius (runs,) such that x_j = centre + radius cos(φ + 2πj/3)."""
    total, square = power_sums(moment).T
    return total / 3, np.sqrt(np.maximum(square - total**2 / 3, 1e-300) * 2 / 3)


def _angle_weights(moment: Array) -> Array:
    """Log-likelihood (runs, GRID) of one iteration at each angle of the sixth of the circle from 0 to π/3."""
    angle = (np.arange(GRID) + 0.5) * (math.pi / 3 / GRID)
    centre, radius = _circle(moment)
    x = [centre[:, None] + radius[:, None] * np.cos(angle + 2 * math.pi * j / 3) for j in range(3)]
    m0, m1, m2 = (moment[:, power, :1] for power in range(3))  # the second component follows from the first
    out = np.zeros((len(moment), GRID))
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        gap = (x[i] - x[j]) * (x[i] - x[k])
        share = (m2 - (x[j] + x[k]) * m1 + x[j] * x[k] * m0) / gap  # Lagrange: Σa, Σax, Σax² determine each a
        out -= 0.5 * np.log(np.abs(gap))  # all three together: the Jacobian, 1/|Vandermonde determinant|
        with np.errstate(divide="ignore"):
            out -= np.where((share > 0) & (share < 1), np.log(2 * np.maximum(share, 1 - share) ** 2), np.inf)
    return out


def _mean_with_interval(gain: Array) -> Numbers:
    mean, error = float(gain.mean()), 1.96 * float(gain.std(ddof=1)) / math.sqrt(len(gain))
    return {
        "nats": mean,
        "low": mean - error,
        "high": mean + error,
        "normalised_leakage": normalised(mean, 1),
        "normalised_low": normalised(mean - error, 1),
        "kind": "lower bound",
        "method": "density decoder",
    }
