"""Reconstruction: what an adversary actually gets, by decoders judged on runs they were not fitted on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, Ints, finite_array
from secmix.errors import DataError
from secmix.estimators.estimate import Estimate

RECOVERED = 1e-6
"""Relative error below which a run counts as recovered."""

_FOLDS = 3
_PENALTIES = (0.0, *(10.0**e for e in np.arange(-6, 1.1, 0.5)))
_LEAST_ROWS = 60  # below this neither a fit nor an interval means anything


@dataclass(frozen=True)
class Decoding:
    """Result of a decoder."""

    # relative root mean square error against guessing the mean: 1 is guessing, 0 is knowing. An *upper bound*: a better
    # decoder may do better
    error: Estimate
    recovered: float  # share of runs whose target was recovered to 1e-6 relative
    prediction: Array  # (N, d): the targets as predicted by decoders that had not seen them
    features: int  # features of the view that vary; without any the prediction is a guess

    @property
    def explained(self) -> tuple[float, float, float]:
        """Explained variance 1 − error², and its interval: a normalised leakage, at least."""
        value, low, high = (max(0.0, 1.0 - e**2) for e in (self.error.value, self.error.high, self.error.low))
        return value, low, high


def reconstruct(target: ArrayLike, view: ArrayLike) -> Decoding:
    """Reconstruct ``target`` (N, d) from the features ``view`` (N, p).

    Each of three folds is predicted by least squares fitted on the other two, with a penalty chosen by leave-one-out
    error, so that no memory of a target helps. ``target`` (N, d); ``view`` (N, p). Raises DataError: fewer than 60
    rows, different lengths, values that are not finite, a constant target.

    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.standard_normal((2, 500, 1))
    >>> round(reconstruct(x, x + noise).error.value, 1)  # √½
    0.7
    """
    y = finite_array(target, "target", ndim=2)
    features = np.asarray(view, dtype=np.float64)
    if features.ndim != 2 or len(features) != len(y):
        raise DataError(f"target has shape {y.shape} and view {features.shape}: give (N, d) and (N, p)")
    if len(y) < _LEAST_ROWS:
        raise DataError(f"{len(y)} rows are too few to judge a decoder; {_LEAST_ROWS} are needed")
    spread = y.std(axis=0)
    if (spread == 0).any():
        raise DataError("a column of the target is constant: there is nothing to reconstruct")
    scaled = (y - y.mean(axis=0)) / spread
    features = _informative(features)
    prediction, guess = cross_fitted(scaled, features)
    missed = ((scaled - prediction) ** 2).mean(axis=1)
    scale = np.maximum(np.sqrt((scaled**2).mean(axis=1)), 1e-3)
    method = f"ridge regression on {features.shape[1]} features, cross-fitted, N = {len(y)}"
    return Decoding(
        relative_error(missed, ((scaled - guess) ** 2).mean(axis=1), method),
        float((np.sqrt(missed) < RECOVERED * scale).mean()),
        prediction * spread + y.mean(axis=0),
        features.shape[1],
    )


def cross_fitted(target: Array, features: Array) -> tuple[Array, Array]:
    """Predict each third of ``target`` (N, d) by a decoder, and by the mean, of the other two thirds of the rows."""
    features = _informative(features)
    prediction, guess = np.empty_like(target), np.empty_like(target)
    for held_out, rest in _folds(len(target)):
        guess[held_out] = target[rest].mean(axis=0)
        if features.shape[1]:
            prediction[held_out] = linear_prediction(features[rest], target[rest], features[held_out])
        else:
            prediction[held_out] = guess[held_out]
    return prediction, guess


@lru_cache(8)  # an audit fits hundreds of decoders on the same runs
def _folds(n: int) -> list[tuple[Ints, Ints]]:
    """Return for each fold of ``n`` rows those held out, and the rest in order."""
    order = np.random.default_rng(0).permutation(n)
    return [(held_out, np.setdiff1d(order, held_out)) for held_out in np.array_split(order, _FOLDS)]


def information_bound(target: ArrayLike, prediction: ArrayLike) -> float:
    """Bound I(target; view) from below in nats, from a held-out prediction (N, d) of the target (N, d).

    h(X) − ½ log det(2πe Cov(X − X̂)): the Gaussian has the largest entropy of its covariance. The entropy h(X) is
    the nearest-neighbour estimate (Kozachenko and Leonenko) on the distinct rows: rows drawn from a finite data set
    come again in other runs, and stand for the population they were sampled from. Infinite where the residual vanishes.
    """
    from secmix.estimators.ksg_estimator.entropies import entropy

    x, guess = np.asarray(target, dtype=float), np.asarray(prediction, dtype=float)
    d = x.shape[1]
    sign, log_det = np.linalg.slogdet(np.atleast_2d(np.cov(x - guess, rowvar=False)))
    if sign <= 0:
        return math.inf
    return float(entropy(np.unique(x, axis=0)) - 0.5 * (d * math.log(2 * math.pi * math.e) + log_det))


def _informative(features: Array) -> Array:
    """Return the columns that vary, standardised; those with infinite or missing entries are left out."""
    finite = features[:, np.isfinite(features).all(axis=0)]
    varying = finite[:, np.ptp(finite, axis=0) > 0] if len(finite) else finite
    spread = varying.std(axis=0)
    kept = spread > 1e-12 * np.abs(varying).max(axis=0, initial=0.0)
    return np.asarray((varying[:, kept] - varying[:, kept].mean(axis=0)) / spread[kept])


def relative_error(missed: Array, guessed: Array, method: str) -> Estimate:
    """Compute √(Σ missed / Σ guessed) with a 95 % interval by the delta method.

    ``missed``, ``guessed`` (N,): squared errors of a decoder and of guessing the mean, in rows that neither was fitted
    on.
    """
    n = len(missed)
    ratio = float(missed.mean() / guessed.mean())
    wobble = float((missed - ratio * guessed).std(ddof=1) / math.sqrt(n) / guessed.mean())
    low, high = max(ratio - 1.96 * wobble, 0.0), ratio + 1.96 * wobble
    return Estimate(
        math.sqrt(ratio),
        math.sqrt(low),
        math.sqrt(high),
        "relative RMSE",
        method,
        kind="upper bound",
        status="resolved",
    )


def linear_prediction(x: Array, y: Array, new: Array) -> Array:
    """Return what a linear decoder, fitted on ``x`` (N, p) and ``y`` (N, d), makes of ``new`` (M, p): (M, d).

    Ridge regression, its penalty chosen by leave-one-out error; with none where the relation is exact.
    """
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    centred = x - mean_x
    u, s, vt = np.linalg.svd(centred, full_matrices=False)
    kept = s > 1e-10 * s[0]
    u, s, vt = u[:, kept], s[kept], vt[kept]
    goal = y - mean_y
    inside = u.T @ goal
    # Every penalty at once: how it shrinks each direction, (penalties, r); leave-one-out errors, (d, penalties, N).
    shrink = s**2 / (s**2 + np.array(_PENALTIES)[:, None] * len(x))
    leverage = 1 / len(x) + shrink @ (u**2).T
    shrunk = (shrink[:, :, None] * inside).transpose(2, 0, 1).reshape(-1, len(s))
    fitted = (shrunk @ u.T).reshape(y.shape[1], len(_PENALTIES), len(x))
    missed = ((goal.T[:, None] - fitted) ** 2).sum(axis=0)
    best = int(np.argmin((missed / np.maximum(1 - leverage, 1e-6) ** 2).mean(axis=1)))
    chosen, weights = _PENALTIES[best], vt.T @ ((shrink[best] / s)[:, None] * inside)
    if chosen == 0:
        # Iterative refinement: the SVD errs by the condition number times what rounding of x alone forces.
        for _ in range(2):
            weights += vt.T @ ((u.T @ (goal - centred @ weights)) / s[:, None])
    return np.asarray(new @ weights + (mean_y - mean_x @ weights))
