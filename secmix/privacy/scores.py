"""Scores that tell the outputs of a mechanism on two neighbouring data sets apart, learnt on some of the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from secmix._base.checks import Array

_CATEGORIES = 64  # distinct outputs, up to which each is counted by itself
_COORDINATES = 8  # that are tried alone: those whose means differ most
_ENOUGH = 4  # runs a number, below which a covariance is mostly chance
_STEP = 1e-9  # of a score's spread: what differs by less is rounding, which tells even f = 0 and f = 1 apart


@dataclass(frozen=True)
class Score:
    """A number for each output, larger where it looks more like one of the second data set."""

    name: str
    of: Callable[[Array], Array]

    def __call__(self, outputs: Array) -> Array:
        """Return the score of each output, (runs, m) to (runs,)."""
        return self.of(outputs)


def scores_of(first: Array, second: Array) -> Iterator[Score]:
    """Yield scores learnt on outputs (runs, m) of the first and of the second data set, each rounded."""
    pooled = np.concatenate([first, second])
    distinct = np.unique(pooled, axis=0)
    if len(distinct) == 1:
        return
    if len(distinct) <= _CATEGORIES:
        yield _by_category(distinct, first, second)
    centre, spread = pooled.mean(axis=0), pooled.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    gap = (second.mean(axis=0) - first.mean(axis=0)) / scale
    if first.shape[1] > 1:
        yield _rounded("linear", _linear(first, second, centre, scale), pooled)
        # Noise that is drawn once for several numbers leaves combinations of them without any, which a ridge hides.
        yield _rounded("linear without ridge", _linear(first, second, centre, scale, ridge=False), pooled)
        if _ENOUGH * first.shape[1] <= len(first):
            yield _rounded("quadratic", _quadratic(first, second, centre, scale), pooled)
        yield _rounded("clipped", _clipped(first, second, scale), pooled)
    for k in np.argsort(-np.abs(gap), kind="stable")[:_COORDINATES].tolist():
        sign = -1.0 if gap[k] < 0 else 1.0
        yield _rounded(f"entry {k}", partial(_entry, k, sign), pooled)

    def distance(outputs: Array) -> Array:
        return np.asarray((((outputs - centre) / scale) ** 2).mean(axis=1))

    outward = 1.0 if distance(second).mean() >= distance(first).mean() else -1.0
    yield _rounded("distance", lambda outputs: outward * distance(outputs), pooled)


def _entry(k: int, sign: float, outputs: Array) -> Array:
    return np.asarray(sign * outputs[:, k])


def _by_category(distinct: Array, first: Array, second: Array) -> Score:
    """Return the logarithm of how much more often each output was seen on the second data set."""
    number = {row.tobytes(): k for k, row in enumerate(distinct)}

    def counts(outputs: Array) -> Array:
        return np.asarray(np.bincount([number[row.tobytes()] for row in outputs], minlength=len(distinct)) + 0.5)

    ratio = np.append(np.log(counts(second) / counts(first)), 0.0)  # the last is of what was not seen

    def of(outputs: Array) -> Array:
        return np.asarray(ratio[[number.get(row.tobytes(), -1) for row in outputs]])

    return Score("frequency", of)


def _linear(
    first: Array, second: Array, centre: Array, scale: Array, *, ridge: bool = True
) -> Callable[[Array], Array]:
    """Return Fisher's linear discriminant: the weights S⁻¹ (difference of the means), S the mean covariance."""
    a, b = (first - centre) / scale, (second - centre) / scale
    covariance = (np.cov(a, rowvar=False) + np.cov(b, rowvar=False)) / 2
    usual = max(float(np.trace(covariance)) / len(covariance), _STEP)  # without any noise there is nothing to invert
    added = 1e-9 * usual + ridge * len(covariance) / len(first)
    weights = np.linalg.solve(covariance + added * np.eye(len(covariance)), b.mean(axis=0) - a.mean(axis=0))
    return lambda outputs: np.asarray((outputs - centre) / scale @ weights)


def _quadratic(first: Array, second: Array, centre: Array, scale: Array) -> Callable[[Array], Array]:
    """Return the log-likelihood ratio of two normal laws, each with the covariance of its own outputs."""
    laws = []
    for side in (first, second):
        standardised = (side - centre) / scale
        covariance = np.cov(standardised, rowvar=False)
        width = np.eye(len(covariance)) * 1e-9 * max(float(np.trace(covariance)) / len(covariance), 1e-300)
        laws.append((standardised.mean(axis=0), np.linalg.inv(covariance + width)))

    def of(outputs: Array) -> Array:
        standardised = (outputs - centre) / scale
        apart = ((standardised - mean, inverse) for mean, inverse in laws)
        near, far = (np.einsum("ri,ij,rj->r", each, inverse, each) for each, inverse in apart)
        return np.asarray(np.sign(near - far) * np.log1p(np.abs(near - far)))

    return of


def _clipped(first: Array, second: Array, scale: Array) -> Callable[[Array], Array]:
    """Return the log-likelihood ratio of independent Laplace noise: each entry counts between both its means alone."""
    low, high = first.mean(axis=0), second.mean(axis=0)
    reach = np.abs(high - low) / 2
    weights = np.sign(high - low) / scale
    return lambda outputs: np.asarray(np.clip(outputs - (low + high) / 2, -reach, reach) @ weights)


def _rounded(name: str, of: Callable[[Array], Array], pooled: Array) -> Score:
    """Return the score in steps of a small part of its spread over the outputs that it was learnt on."""
    step = _STEP * float(of(pooled).std())
    return Score(name, lambda outputs: np.round(of(outputs) / step) if step > 0 else of(outputs))
