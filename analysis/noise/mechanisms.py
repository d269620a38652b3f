"""Ten mechanisms of known epsilon, each with its trade-off curves at all scales of its noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, skellam

from secmix._base.checks import Array
from secmix.privacy import NoiseFamily, family_of, family_of_laws, gaussian_mu
from secmix.privacy.accounting import dp_accounting_library
from secmix.privacy.refuted_rates import Curve

Draw = Callable[[np.random.Generator, int], tuple[Array, Array]]
DELTA = 1e-5
_STEPS = np.concatenate([np.geomspace(0.75, 1.0, 24)[:-1], np.geomspace(1.0, 2.5, 76)])  # the truth among them
_EPSILONS = np.concatenate([[0.0], np.geomspace(1e-3, 60.0, 1000)])
_SUPPORT = np.arange(-200, 201)
_RATE = 0.1  # at which the Gaussian is subsampled
_SCORES = (np.array([1.0, 0, 0, 0]), np.array([0, 1.0, 1, 1]))  # of the noisy maximum, on the two data sets


@dataclass(frozen=True)
class Mechanism:
    """A mechanism on two neighbouring data sets.

    Attributes
    ----------
    epsilon, delta : float
        The truth.
    draw : callable
        ``draw(rng, runs)`` returns what it releases on either data set.
    family : callable
        Returns the curves at scales around the true one, or "gaussian".
    asked : tuple of float
        Least medians at 20,000 runs, over the truth: read as of any mechanism, and as of a proved family.
    """

    epsilon: float
    delta: float
    draw: Draw
    family: Callable[[], NoiseFamily | str]
    asked: tuple[float, float]

    def curve(self) -> Curve:
        """Return the mechanism's own trade-off curve."""
        family = self.family()
        if isinstance(family, str):
            mu = gaussian_mu(self.epsilon, self.delta)
            return lambda alarms: np.asarray(norm.cdf(norm.isf(alarms) - mu))
        return family.curve(true_place(family))


def true_place(family: NoiseFamily) -> int:
    """Return the place of the true scale among those of a family."""
    return int(np.argmin(np.abs(np.log(family.scales / family.scales[-1] * _STEPS[-1]))))


def _epsilon_of(first: Array, second: Array, delta: float) -> float:
    """Return the ε of two laws over the same outputs, (outputs,)."""
    if delta == 0:
        return float(np.abs(np.log(first / second)).max())

    def excess(epsilon: float) -> float:
        gaps = (np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in ((first, second), (second, first)))
        return float(max(gaps)) - delta

    return float(brentq(excess, 0.0, 50.0))


def _listed(
    laws: Callable[[float], tuple[Array, Array]], scale: float, delta: float, outputs: Array, asked: tuple[float, float]
) -> Mechanism:
    """Return a mechanism whose ``outputs`` (outputs,) can be listed, by its laws at each scale."""
    first, second = laws(scale)

    def draw(rng: np.random.Generator, runs: int) -> tuple[Array, Array]:
        drawn = (rng.choice(outputs, size=runs, p=law / law.sum()).astype(float) for law in (first, second))
        return cast("tuple[Array, Array]", tuple(drawn))

    family = partial(family_of_laws, laws, scale * _STEPS)
    return Mechanism(_epsilon_of(first, second, delta), delta, draw, family, asked)


def _moved(law: Callable[[Array, float], Array], scale: float) -> tuple[Array, Array]:
    """Return a law on whole numbers, and the same moved by one."""
    return law(_SUPPORT, scale), law(_SUPPORT - 1, scale)


def _discrete_gaussian(k: Array, sigma: float) -> Array:
    every = np.exp(-(np.arange(-600, 601) ** 2) / (2 * sigma**2)).sum()
    return np.asarray(np.exp(-(k**2) / (2 * sigma**2)) / every)


def _geometric(k: Array, scale: float) -> Array:
    return np.asarray(math.tanh(0.5 / scale) * np.exp(-np.abs(k) / scale))


def _skellam(k: Array, sigma: float) -> Array:
    return np.asarray(skellam.pmf(k, sigma**2 / 2, sigma**2 / 2))


def _response(scale: float) -> tuple[Array, Array]:
    truth = 1 / (1 + math.exp(-1 / scale))
    return np.array([truth, 1 - truth]), np.array([1 - truth, truth])


def _maximum(scale: float) -> tuple[Array, Array]:
    first, second = (np.exp(scores / scale) / np.exp(scores / scale).sum() for scores in _SCORES)
    return first, second


def _normal(count: int, epsilon: float) -> Mechanism:
    move = gaussian_mu(epsilon, DELTA) / math.sqrt(count)

    def draw(rng: np.random.Generator, runs: int) -> tuple[Array, Array]:
        return rng.normal(size=(runs, count)), rng.normal(size=(runs, count)) + move

    return Mechanism(epsilon, DELTA, draw, lambda: "gaussian", (0.3, 0.9))


def _laplace(count: int, epsilon: float, asked: tuple[float, float]) -> Mechanism:
    def draw(rng: np.random.Generator, runs: int) -> tuple[Array, Array]:
        first, second = (rng.laplace(0, count / epsilon, (runs, count)) for _ in range(2))
        return first, second + 1.0

    def event(scale: float) -> Any:
        library = dp_accounting_library()
        return library.SelfComposedDpEvent(library.LaplaceDpEvent(scale), count)

    return Mechanism(epsilon, 0.0, draw, partial(family_of, event, count / epsilon * _STEPS), asked)


def _subsampled(sigma: float) -> Mechanism:
    def draw(rng: np.random.Generator, runs: int) -> tuple[Array, Array]:
        one, two = sigma * rng.normal(size=(2, runs))
        return one, two + (rng.random(runs) < _RATE)

    def excess(epsilon: float) -> float:
        return float(_subsampled_deltas(sigma, np.array([epsilon]))[0]) - DELTA

    def family() -> NoiseFamily:
        deltas = np.stack([_subsampled_deltas(scale, _EPSILONS) for scale in (sigma * _STEPS).tolist()])
        return NoiseFamily("subsampled Gaussian", sigma * _STEPS, _EPSILONS, deltas)

    return Mechanism(float(brentq(excess, 0.0, 50.0)), DELTA, draw, family, (0.2, 0.8))


def _subsampled_deltas(sigma: float, epsilons: Array) -> Array:
    """Return δ at each ε of N(0, σ²) and its mixture with N(1, σ²), which loses monotonically in the output."""

    def where(times: Array) -> Array:  # N(1, σ²) is so many times as likely as N(0, σ²)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(times > 0, sigma**2 * np.log(times) + 0.5, -np.inf)

    ratio = np.exp(epsilons)
    above, below = where(1 + (ratio - 1) / _RATE), where(1 - (1 - 1 / ratio) / _RATE)
    usual, other = norm.sf(above / sigma), norm.sf((above - 1) / sigma)
    more = (1 - _RATE) * usual + _RATE * other - ratio * usual
    usual, other = norm.cdf(below / sigma), norm.cdf((below - 1) / sigma)
    return np.asarray(np.maximum(more, usual - ratio * ((1 - _RATE) * usual + _RATE * other)))


_TIGHT, _RARE = (0.9, 0.9), (0.3, 0.8)  # what δ is about is rare: the ceiling is a half
MECHANISMS: dict[str, Mechanism] = {
    "Gaussian": _normal(1, 1.0),
    "twenty Gaussians": _normal(20, 4.0),
    "Laplace": _laplace(1, 1.0, (0.9, 0.8)),
    "twenty Laplace": _laplace(20, 4.0, (0.4, 0.8)),
    "discrete Gaussian": _listed(partial(_moved, _discrete_gaussian), 2.0, DELTA, _SUPPORT, _RARE),
    "Skellam": _listed(partial(_moved, _skellam), 4.0, DELTA, _SUPPORT, _RARE),
    "geometric": _listed(partial(_moved, _geometric), 1.0, 0.0, _SUPPORT, _TIGHT),
    "randomised response": _listed(_response, 1.0, 0.0, np.arange(2), _TIGHT),
    "noisy maximum": _listed(_maximum, 2.0, 0.0, np.arange(4), _TIGHT),
    "subsampled Gaussian": _subsampled(0.5),
}
