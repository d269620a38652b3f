"""Populations like those of MixSim (Melnykov, Chen, Maitra 2012): random mixtures with a set maximum overlap."""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array
from secmix.mixture import Mixture

DRAWS = 4000
ECCENTRICITY = 0.9  # as MixSim's default: √(1 − least/largest eigenvalue) at most


def population(k: int, d: int, overlap: float, rng: np.random.Generator) -> Mixture:
    """Equal weights, means uniform in the unit cube, Wishart covariances; one scale for all of them sets the overlap.

    Overlap of a pair is the sum of both probabilities of taking a row of one for one of the other, by Bayes' rule
    between the two; the largest of any pair is set. It is estimated from 4000 draws a component, always the same
    ones, which grow with the scale: bisection on the scale then finds it.
    """
    means = rng.random((k, d))
    factor = rng.standard_normal((k, d, d + 1))
    values, vectors = np.linalg.eigh(factor @ factor.swapaxes(-1, -2))
    # Too eccentric ones are drawn towards a ball.
    largest, least = values[:, -1:], values[:, :1]
    wanted = (1 - ECCENTRICITY**2) * largest
    lift = np.maximum(0.0, (wanted - least) / np.maximum(largest - least, 1e-300))
    values = values + lift * (largest - values)
    shapes = (vectors * values[:, None, :]) @ vectors.swapaxes(-1, -2)
    noise = rng.standard_normal((DRAWS, d))
    low, high = 1e-6, 1e3
    for _ in range(40):
        middle = float(np.sqrt(low * high))
        if largest_overlap(Mixture(np.full(k, 1 / k), means, middle * shapes), noise) < overlap:
            low = middle
        else:
            high = middle
    return Mixture(np.full(k, 1 / k), means, float(np.sqrt(low * high)) * shapes)


def largest_overlap(mixture: Mixture, noise: Array) -> float:
    """max over pairs of P(row of i goes to j) + P(row of j goes to i), from standard normal ``noise`` (n, d)."""
    k = mixture.n_components
    lower = np.linalg.cholesky(mixture.covariances)
    rows = mixture.means[:, None] + noise @ lower.swapaxes(-1, -2)
    joint = mixture.expand(k).log_joint(rows)  # (k, n, k)
    own = joint[np.arange(k), :, np.arange(k)]
    wrong = (joint > own[..., None]).mean(axis=1)
    return float((wrong + wrong.T).max())
