"""CMA-ES: search without derivatives, by a cloud of trials that learns the shape of the landscape.

Hansen 2016, The CMA evolution strategy: a tutorial (arXiv 1604.00772), figure 6, with its default settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from secmix._base.checks import Array


def evolve(
    score: Callable[[Array], float], start: Array, step: float, trials: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """Maximise ``score`` from ``start`` (d,) with about ``trials`` evaluations; the best point and its score."""
    return evolve_side_by_side(lambda points: np.array([score(x) for x in points]), start, step, trials, rng)


def evolve_side_by_side(
    scores: Callable[[Array], Array], start: Array, step: float, trials: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """Maximise as :func:`evolve` does, where ``scores`` takes a whole generation of points (k, d): their worth (k,).

    Above 40 dimensions the covariance is kept diagonal, which learns as fast as the trials allow
    (Ros and Hansen 2008).
    """
    d = len(start)
    diagonal = d > 40
    population = 4 + int(3 * math.log(d))
    parents = population // 2
    weights = math.log(parents + 0.5) - np.log(np.arange(1, parents + 1))
    weights /= weights.sum()
    mass = 1.0 / float((weights**2).sum())
    c_sigma = (mass + 2) / (d + mass + 5)
    damping = 1 + 2 * max(0.0, math.sqrt((mass - 1) / (d + 1)) - 1) + c_sigma
    c_c = (4 + mass / d) / (d + 4 + 2 * mass / d)
    faster = (d + 2) / 3 if diagonal else 1.0
    c_1 = min(1.0, faster * 2 / ((d + 1.3) ** 2 + mass))
    c_mu = min(1 - c_1, faster * 2 * (mass - 2 + 1 / mass) / ((d + 2) ** 2 + mass))
    usual = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))

    mean, sigma = np.array(start, dtype=np.float64), step
    path_sigma, path_c = np.zeros(d), np.zeros(d)
    covariance = np.ones(d) if diagonal else np.eye(d)
    best, best_score = mean.copy(), -np.inf
    for generation in range(1, max(trials // population, 1) + 1):
        if diagonal:
            root = np.sqrt(covariance)
            y = rng.standard_normal((population, d)) * root
        else:
            values, vectors = np.linalg.eigh(covariance)
            root = np.sqrt(np.maximum(values, 1e-20))
            # By C^½, not by the eigenvectors alone: their signs are anybody's, and differ between processors.
            y = rng.standard_normal((population, d)) @ ((vectors * root) @ vectors.T)
        worth = scores(mean + sigma * y)
        order = np.argsort(-worth, kind="stable")
        if worth[order[0]] > best_score:
            best, best_score = mean + sigma * y[order[0]], float(worth[order[0]])
        chosen = y[order[:parents]]
        move = weights @ chosen
        mean = mean + sigma * move
        whitened = move / root if diagonal else vectors @ ((vectors.T @ move) / root)
        path_sigma = (1 - c_sigma) * path_sigma + math.sqrt(c_sigma * (2 - c_sigma) * mass) * whitened
        length = float(np.linalg.norm(path_sigma))
        steady = length / math.sqrt(1 - (1 - c_sigma) ** (2 * generation)) < (1.4 + 2 / (d + 1)) * usual
        path_c = (1 - c_c) * path_c + steady * math.sqrt(c_c * (2 - c_c) * mass) * move
        keep = 1 - c_1 - c_mu + (0.0 if steady else c_1 * c_c * (2 - c_c))
        if diagonal:
            covariance = keep * covariance + c_1 * path_c**2 + c_mu * (weights @ chosen**2)
        else:
            covariance = keep * covariance + c_1 * np.outer(path_c, path_c) + c_mu * (chosen.T * weights) @ chosen
        sigma *= math.exp(min((c_sigma / damping) * (length / usual - 1), 1.0))
        if not 1e-12 < sigma < 1e12:
            break
    return best, best_score
