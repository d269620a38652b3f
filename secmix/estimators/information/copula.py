"""The t-copula critic: exact for normal and Student data under any one-to-one map of the columns.

With t-scores x, y (the margins mapped to a Student distribution with ν degrees of freedom) the log-density ratio is

    f = −(ν + d)/2 ln(1 + q_xy/ν) + (ν + d_x)/2 ln(1 + q_x/ν) + (ν + d_y)/2 ln(1 + q_y/ν) + const,

d = d_x + d_y, with the quadratic forms q of the correlation matrices; for ν = ∞, f = ½ (q_x + q_y − q_xy).
Demarta and McNeil, *The t Copula and Related Copulas*, International Statistical Review 73 (2005), equation (4).
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, stdtrit

from secmix.estimators.information.critic import Family, Rows, Score
from secmix.estimators.information.normal_scores import Embedding, normal_scores
from secmix.estimators.samples import Floats

DEGREES = (1.0, 2.0, 3.0, 5.0, 10.0, math.inf)
_PERMUTATIONS = 10
_FLOOR = 1e-3  # least eigenvalue of a correlation matrix, and of 1 − ρ²


class Canonical(NamedTuple):
    """Maps to whitened coordinates whose first r pairs correlate by ``rho`` (r,) and nothing else does."""

    of_x: Floats
    of_y: Floats
    rho: Floats


def fit_copulas(train: Rows, validation: Rows, rng: np.random.Generator) -> dict[str, Score]:
    """Fit every number of degrees of freedom to correlations above chance: canonical ones, or entries of the matrix."""
    scores = normal_scores(train.x), normal_scores(train.y)
    x, y = scores[0](train.x), scores[1](train.y)
    if not (x.shape[1] and y.shape[1]):
        return {}
    structures = {"canonical": _canonical(x, y, rng), "thresholded": _thresholded(x, y)}
    return {
        f"{name}, ν = {degrees:g}": copula_score(scores, structure, degrees)
        for name, structure in structures.items()
        for degrees in DEGREES
    }


FAMILY = Family("t-copula", fit_copulas, refitted=True)


def copula_score(scores: tuple[Embedding, Embedding], canonical: Canonical, degrees: float) -> Score:
    """Return the log-density ratio of a t-copula, up to a constant; ``scores`` map raw rows to normal scores."""
    dx, dy, rho = len(canonical.of_x), len(canonical.of_y), canonical.rho
    r = len(rho)
    scale = 1.0 / (1.0 - rho**2)

    def score(x: Floats, y: Floats) -> Floats:
        u = t_scores(scores[0](x), degrees) @ canonical.of_x
        v = t_scores(scores[1](y), degrees) @ canonical.of_y
        q_x, q_y = (u**2).sum(axis=1)[:, None], (v**2).sum(axis=1)[None, :]
        own = rho**2 * scale  # q_xy − q_x − q_y, by the canonical pairs
        joined = (
            (u[:, :r] ** 2 @ own)[:, None] + (v[:, :r] ** 2 @ own)[None, :] - 2 * (u[:, :r] * rho * scale) @ v[:, :r].T
        )
        if math.isinf(degrees):
            return np.asarray(-0.5 * joined)
        together = np.log1p(np.maximum(q_x + q_y + joined, 0.0) / degrees)
        apart = (degrees + dx) * np.log1p(q_x / degrees) + (degrees + dy) * np.log1p(q_y / degrees)
        return np.asarray(0.5 * (apart - (degrees + dx + dy) * together))

    return score


def _canonical(x: Floats, y: Floats, rng: np.random.Generator) -> Canonical:
    """Return canonical correlations of the shrunk covariance, those above what ten permutations of the rows show."""
    from sklearn.covariance import ledoit_wolf

    covariance, _ = ledoit_wolf(np.hstack([x, y]))
    canonical = _decomposed(_correlation(covariance), x.shape[1])
    u, v = (x - x.mean(axis=0)) @ canonical.of_x, (y - y.mean(axis=0)) @ canonical.of_y
    shuffled = [u.T @ v[rng.permutation(len(v))] / len(v) for _ in range(_PERMUTATIONS)]
    by_chance = max(float(np.linalg.norm(cross, 2)) for cross in shuffled)
    return canonical._replace(rho=canonical.rho[canonical.rho > by_chance])


def _thresholded(x: Floats, y: Floats) -> Canonical:
    """Return canonical correlations of the correlation matrix without the entries that chance explains."""
    correlation = np.asarray(np.corrcoef(np.hstack([x, y]), rowvar=False))
    d = len(correlation)
    noise = math.sqrt(2 * math.log(d**2 / 2) / len(x))
    correlation = np.where(np.abs(correlation) > noise, correlation, 0.0)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    canonical = _decomposed(_correlation((vectors * np.maximum(values, _FLOOR)) @ vectors.T), x.shape[1])
    return canonical._replace(rho=canonical.rho[canonical.rho > 1e-6])


def _decomposed(correlation: Floats, dx: int) -> Canonical:
    whiten_x, whiten_y = _root(correlation[:dx, :dx]), _root(correlation[dx:, dx:])
    left, rho, right = np.linalg.svd(whiten_x @ correlation[:dx, dx:] @ whiten_y)
    return Canonical(whiten_x @ left, whiten_y @ right.T, np.minimum(rho, math.sqrt(1 - _FLOOR)))


def _root(correlation: Floats) -> Floats:
    """Return the symmetric inverse square root."""
    values, vectors = np.linalg.eigh(correlation)
    return np.asarray((vectors / np.sqrt(np.maximum(values, _FLOOR))) @ vectors.T)


def _correlation(covariance: Floats) -> Floats:
    scale = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / scale / scale[:, None])


def t_scores(normal: Floats, degrees: float) -> Floats:
    """Return normal scores mapped to those of a Student distribution."""
    if math.isinf(degrees):
        return normal
    grid, quantiles = _quantiles(degrees)
    return np.interp(normal, grid, quantiles)


@cache
def _quantiles(degrees: float) -> tuple[Floats, Floats]:
    grid = np.linspace(-6.0, 6.0, 6001)
    return grid, np.asarray(stdtrit(degrees, ndtr(grid)))
