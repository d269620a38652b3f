"""The kernel-CCA critic: smooth functions of x and of y that correlate, and the normal critic of their ranks.

Features are Nyström's for a Gaussian kernel, beside the scores themselves. Bach and Jordan, *Kernel Independent
Component Analysis*, JMLR 3 (2002), section 3.2; Williams and Seeger, NIPS 13 (2000).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from secmix.estimators.information.critic import Rows, Score
from secmix.estimators.information.normal_scores import Embedding, normal_scores
from secmix.estimators.samples import Floats

NAME = "kernel CCA"
_LANDMARKS = 150
_BANDWIDTHS = (0.5, 1.0, 2.0)  # times the median distance
_RIDGES = (1e-3, 1e-2, 1e-1)  # times the mean variance of a feature
PAIRS = 6
_CHANCE = 3.0  # standard errors that a correlation in the validation rows must exceed
_FLAT = 2  # dimensions up to which the kernel needs no length beside the coordinates
_LENGTH = 2.0  # weight of the length against a coordinate
_MOST = 0.99  # correlation of a pair, or a single outlier would decide


class Variates(NamedTuple):
    """Maps of raw rows to at most six variates of x and of y, and how they correlate in the validation rows."""

    of_x: Embedding
    of_y: Embedding
    rho: Floats


def fit_variates(train: Rows, validation: Rows, rng: np.random.Generator) -> dict[str, Variates]:
    """Fit variates for every bandwidth and ridge, by name."""
    scores = _with_length(train.x), _with_length(train.y)
    x, y = scores[0](train.x), scores[1](train.y)
    if not (x.shape[1] and y.shape[1]):
        return {}
    landmarks = rng.permutation(len(x))[:_LANDMARKS]
    variates = {}
    for bandwidth in _BANDWIDTHS:
        of_x, of_y = _features(x[landmarks], bandwidth), _features(y[landmarks], bandwidth)
        features = of_x(x), of_y(y)
        means = features[0].mean(axis=0), features[1].mean(axis=0)
        f, g = features[0] - means[0], features[1] - means[1]
        spectra = _spectrum(f), _spectrum(g)
        cross = f.T @ g / len(f)
        for ridge in _RIDGES:
            whiten_x, whiten_y = (_whitening(spectrum, ridge) for spectrum in spectra)
            left, _, right = np.linalg.svd(whiten_x.T @ cross @ whiten_y, full_matrices=False)
            maps = whiten_x @ left[:, :PAIRS], whiten_y @ right[:PAIRS].T
            embed_x = _embedding(scores[0], of_x, means[0], maps[0], normal_scores(f @ maps[0], drop=False))
            embed_y = _embedding(scores[1], of_y, means[1], maps[1], normal_scores(g @ maps[1], drop=False))
            u, v = embed_x(validation.x), embed_y(validation.y)
            rho = (u * v).mean(axis=0) / np.sqrt(np.maximum((u**2).mean(axis=0) * (v**2).mean(axis=0), 1e-12))
            rho = np.where(rho > _CHANCE / np.sqrt(len(u)), np.minimum(rho, _MOST), 0.0)
            variates[f"bandwidth {bandwidth:g}, ridge {ridge:g}"] = Variates(embed_x, embed_y, rho)
    return variates


def variates_score(variates: Variates) -> Score:
    """Score pairs by f = Σ_k (ρ u v − ½ ρ² (u² + v²)) / (1 − ρ²): the log-density ratio of normal pairs."""
    rho = variates.rho
    scale = 1.0 / (1.0 - rho**2)

    def score(x: Floats, y: Floats) -> Floats:
        u, v = variates.of_x(x), variates.of_y(y)
        own = 0.5 * rho**2 * scale
        return np.asarray((u * rho * scale) @ v.T - (u**2 @ own)[:, None] - (v**2 @ own)[None, :])

    return score


def _features(landmarks: Floats, bandwidth: float) -> Callable[[Floats], Floats]:
    """Return Nyström features of a Gaussian kernel and the coordinates themselves."""
    squares = _squares(landmarks, landmarks)
    width = bandwidth**2 * max(float(np.median(squares)), 1e-12)
    values, vectors = np.linalg.eigh(np.exp(-squares / (2 * width)))
    kept = values > 1e-6 * values[-1]
    root = vectors[:, kept] / np.sqrt(values[kept])
    return lambda rows: np.hstack([np.exp(-_squares(rows, landmarks) / (2 * width)) @ root, rows])


def _squares(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.maximum((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None, :] - 2 * a @ b.T, 0.0))


def _spectrum(features: Floats) -> tuple[Floats, Floats]:
    values, vectors = np.linalg.eigh(features.T @ features / len(features))
    return values, vectors


def _whitening(spectrum: tuple[Floats, Floats], ridge: float) -> Floats:
    values, vectors = spectrum
    return np.asarray(vectors / np.sqrt(np.maximum(values, 0.0) + ridge * values.mean()))


def _embedding(
    scores: Embedding, features: Embedding, mean: Floats, weights: Floats, variate_scores: Embedding
) -> Embedding:
    """Return variates as normal scores: one that strays where no training row was would outweigh all others."""
    return lambda rows: variate_scores((features(scores(rows)) - mean) @ weights)


def _with_length(train: Floats) -> Embedding:
    """Return normal scores and, of more than two columns, that of the length: what turns with it is smooth in both."""
    scores = normal_scores(train)
    coordinates = scores(train)
    if coordinates.shape[1] <= _FLAT:
        return scores
    of_length = normal_scores(_lengths(coordinates))

    def embed(rows: Floats) -> Floats:
        embedded = scores(rows)
        return np.hstack([embedded, _LENGTH * of_length(_lengths(embedded))])

    return embed


def _lengths(rows: Floats) -> Floats:
    return np.asarray(np.linalg.norm(rows, axis=1, keepdims=True))
