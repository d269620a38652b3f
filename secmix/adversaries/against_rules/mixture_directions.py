"""Families of false mixtures: each one a direction in which to go as far as it pays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix._base.stable_order import oriented
from secmix.adversaries.against_rules.ties import in_order
from secmix.aggregators.mixture_rules import aligned, ise
from secmix.mixture import Mixture


@dataclass(frozen=True)
class Direction:
    """A family of false mixtures: ``at(t)`` for t > 0, in about standard deviations; whether it goes on for ever."""

    name: str
    at: Callable[[float], Mixture]
    endless: bool = True


def directions(base: Mixture, honest: Mixture, truth: Mixture | None, rng: np.random.Generator) -> Iterator[Direction]:
    """Yield lies about the oracle's mixture ``base``, the most promising first."""
    k, d = base.n_components, base.n_features
    values, vectors = np.linalg.eigh(base.covariances)
    vectors = oriented(vectors.swapaxes(1, 2))  # a row each
    spread = np.sqrt(values)
    if truth is not None and truth.n_components == k:
        order = aligned(truth, base)
        away = base.means - truth.means[order]
        yield Direction(
            "further along the oracle's error", shifted(base, away / max(np.abs(away / spread.mean()).max(), 1e-12))
        )
    typical = float(spread.mean())
    for direction in rng.standard_normal((3, d)):
        unit = typical * direction / np.linalg.norm(direction)
        for sign in (1.0, -1.0):
            yield Direction("all means in one direction", shifted(base, np.tile(sign * unit, (k, 1))))
    # A component adds w² / √det Σ to ∫ f²: the least of them is moved at the least cost in distance.
    cheap = in_order(np.log(base.weights) - 0.25 * np.log(values).sum(axis=1))
    for c in cheap:
        for axis, sign in ((-1, 1.0), (-1, -1.0), (0, 1.0)):
            step = np.zeros((k, d))
            step[c] = sign * spread[c, axis] * vectors[c, axis]
            yield Direction(f"the mean of component {c}", shifted(base, step))
    for c in cheap:
        for sign in (1.0, -1.0):
            rates = np.zeros(k)
            rates[c] = sign
            yield Direction(f"the covariance of component {c}", _scaled(base, rates), endless=False)
            yield Direction(f"the weight of component {c}", _weighted(base, rates), endless=False)
    yield Direction("all covariances", _scaled(base, np.ones(k)), endless=False)
    far = in_order(-ise(base.expand(1), honest)[0])[:3]
    for j in far:
        outlier = honest[j]
        if outlier.n_components == k:
            yield Direction("towards an honest machine far out", _towards(base, outlier))


def shifted(base: Mixture, step: Array) -> Callable[[float], Mixture]:
    """Make the family in which all means are moved by t · step."""
    return lambda t: Mixture(base.weights, base.means + t * step, base.covariances)


def _scaled(base: Mixture, rates: Array) -> Callable[[float], Mixture]:
    return lambda t: Mixture(base.weights, base.means, base.covariances * np.exp(t * rates)[:, None, None])


def _weighted(base: Mixture, rates: Array) -> Callable[[float], Mixture]:
    def at(t: float) -> Mixture:
        weights = base.weights * np.exp(t * rates)
        return Mixture(weights / weights.sum(), base.means, base.covariances)

    return at


def _towards(base: Mixture, other: Mixture) -> Callable[[float], Mixture]:
    order = aligned(other, base)
    step = other.means[order] - base.means
    change = other.covariances[order] - base.covariances
    # Beyond the other, a difference of covariances need not leave a covariance.
    return lambda t: Mixture(base.weights, base.means + t * step, base.covariances + min(t, 1.0) * change)
