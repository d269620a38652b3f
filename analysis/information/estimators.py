"""The estimators that are compared: each a function of x, y and a seed that gives a :class:`Reading`."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from analysis.information import neural
from analysis.information.tasks import Array
from secmix.estimators import information_lower_bound, ksg
from secmix.estimators.estimate import Estimate
from secmix.estimators.information.normal_scores import normal_scores


class Reading(NamedTuple):
    """A number in nats and, from those that give one, its interval; ``resolved`` where the estimator vouches for it."""

    value: float
    low: float | None = None
    high: float | None = None
    resolved: bool = False


Estimator = Callable[[Array, Array, int], Reading]


def others() -> dict[str, Estimator]:
    """Those of others that are installed, and simple ones, by name."""
    found: dict[str, Estimator] = {"KSG on normal scores": _on_scores, "CCA": _cca, "scikit-learn": _scikit_learn}
    if importlib.util.find_spec("npeet_plus"):
        found["npeet-plus"] = _npeet_plus
    if importlib.util.find_spec("infomeasure"):
        found["infomeasure"] = _infomeasure
    return found


def ours() -> dict[str, Estimator]:
    """The bound, and KSG, which is handed the bound instead of working it out again."""
    bounds: list[Estimate] = []

    def bound(x: Array, y: Array, seed: int) -> Reading:
        bounds[:] = [information_lower_bound(x, y, rng=seed)]
        return _reading(bounds[0])

    return {"lower bound": bound, "KSG": lambda x, y, seed: _reading(ksg(x, y, bound=bounds[0], rng=seed))}


def neural_ones() -> dict[str, Estimator]:
    """BMI's, where its package is installed."""
    return {name: partial(_neural, name) for name in neural.NAMES} if neural.installed() else {}


def _reading(found: Estimate) -> Reading:
    return Reading(found.value, found.low, found.high, found.status == "resolved")


def _on_scores(x: Array, y: Array, seed: int) -> Reading:
    scores = (normal_scores(part)(part) for part in (x, y))
    return Reading(ksg(*scores, interval=False, checks=False, rng=seed).value)


def _cca(x: Array, y: Array, seed: int) -> Reading:
    """−½ Σ ln(1 − ρ²) over all sample canonical correlations, as the paper has it."""
    left, right = (np.linalg.qr(part - part.mean(axis=0))[0] for part in (x, y))
    rho = np.minimum(np.linalg.svd(left.T @ right, compute_uv=False), 1 - 1e-12)
    return Reading(float(-0.5 * np.log1p(-(rho**2)).sum()))


def _scikit_learn(x: Array, y: Array, seed: int) -> Reading:
    """One dimension against one is all it knows."""
    from sklearn.feature_selection import mutual_info_regression

    if x.shape[1] + y.shape[1] > 2:
        return Reading(math.nan)
    return Reading(float(mutual_info_regression(x, y[:, 0], random_state=seed)[0]))


def _npeet_plus(x: Array, y: Array, seed: int) -> Reading:
    import npeet_plus

    return Reading(float(npeet_plus.mi(x, y, k=3, base=math.e)))


def _infomeasure(x: Array, y: Array, seed: int) -> Reading:
    import infomeasure

    return Reading(float(infomeasure.mutual_information(x, y, approach="metric", k=4)))


def _neural(name: str, x: Array, y: Array, seed: int) -> Reading:
    return Reading(float(neural.estimator(name, seed + 1).estimate(x, y)))
