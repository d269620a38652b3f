"""Screening of mixtures: each is checked, and those that make no sense are set aside.

A machine that sends NaN, negative weights or a matrix that is no covariance is faulty or Byzantine. It is counted
as such: it stays among the m machines, infinitely far from the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array, Ints
from secmix._base.gaussians import LARGEST
from secmix.aggregators.mixture_rules.overlap import norms
from secmix.errors import DataError
from secmix.mixture import Mixture

Mixtures = Mixture | Sequence[Mixture]
"""m mixtures: one Mixture with one leading axis, or a list, in which the numbers of components may differ."""

FLATTEST = 1e-12
"""The least eigenvalue that a correlation matrix may have: below, distances have no correct digits left."""


class RejectedMixtures(UserWarning):
    """Some machines sent what is no mixture; they were set aside and counted as Byzantine.

    ``reasons``: what is wrong, by machine.
    """

    def __init__(self, reasons: dict[int, str]) -> None:
        super().__init__(reasons)
        self.reasons = reasons

    def __str__(self) -> str:
        return f"{_listed(self.reasons)}: rejected, and counted as Byzantine"


@dataclass(frozen=True)
class Machines:
    """The mixtures that can be used, with one leading axis, and where among the m machines they stand."""

    mixture: Mixture
    usable: Ints
    m: int
    reasons: dict[int, str]
    flatness: Array  # the least eigenvalue of any correlation matrix of each usable machine, (u,)
    norms: Array  # ∫ f² of each, (u,)


def stacked(mixtures: Mixtures) -> Mixture:
    """Stack m mixtures as one Mixture with one leading axis; missing components get weight zero.

    Raises DataError: none at all, not one leading axis, or different numbers of features.

    >>> one = Mixture([1.0], [[0.0]], [[[1.0]]])
    >>> two = Mixture([0.5, 0.5], [[0.0], [3.0]], [[[1.0]], [[1.0]]])
    >>> stacked([one, two]).weights
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    if isinstance(mixtures, Mixture):
        if mixtures.weights.ndim != 2:
            raise DataError(
                "the mixtures of m machines have one leading axis, weights (m, K); given weights of shape "
                f"{mixtures.weights.shape}"
            )
        if mixtures.weights.size == 0:
            raise DataError(f"expected at least one mixture; given weights of shape {mixtures.weights.shape}")
        return mixtures
    mixture_list = list(mixtures)
    if not mixture_list:
        raise DataError("expected at least one mixture; given an empty list")
    shapes = {(one.weights.ndim, one.n_features) for one in mixture_list}
    if len(shapes) != 1 or mixture_list[0].weights.ndim != 1 or min(one.n_components for one in mixture_list) == 0:
        raise DataError(
            "each of a list of mixtures has weights (K,), K >= 1, and all have as many features; given means of "
            f"shapes {sorted({one.means.shape for one in mixture_list})}"
        )
    k, d = max(one.n_components for one in mixture_list), mixture_list[0].n_features
    weights, means, covariances = (
        np.zeros((len(mixture_list), k)),
        np.zeros((len(mixture_list), k, d)),
        np.zeros((len(mixture_list), k, d, d)),
    )
    covariances[:] = np.eye(d)
    for j, mixture in enumerate(mixture_list):
        size = mixture.n_components
        weights[j, :size], means[j, :size], covariances[j, :size] = mixture.weights, mixture.means, mixture.covariances
    return Mixture(weights, means, covariances)


def screened(mixtures: Mixtures, *, strict: bool = False) -> Machines:
    """Select the machines whose mixtures make sense.

    With ``strict`` one that does not is an error, otherwise a warning (:class:`RejectedMixtures`). Components of weight
    zero are no part of a mixture and are not checked. Raises DataError: strict and one is wrong, or half of the
    machines or more are.
    """
    every = stacked(mixtures)
    reasons, flatness = _reasons(every)
    m = len(every.weights)
    usable = np.asarray([j for j in range(m) if j not in reasons], dtype=np.intp)
    tidy = _tidied(every, usable)
    sizes = norms(tidy)
    in_range = (sizes > 0) & (sizes < 1e300)
    for j in usable[~in_range]:
        reasons[int(j)] = "has a density whose square leaves the range of floats; scale the features"
    if reasons and strict:
        raise DataError(_listed(reasons))
    if 2 * len(reasons) >= m:
        raise DataError(
            f"{len(reasons)} of {m} machines sent nothing usable, so no majority is left: {_listed(reasons)}"
        )
    if reasons:
        warnings.warn(RejectedMixtures(reasons), stacklevel=4)
    good = np.flatnonzero(in_range)
    return Machines(tidy[good], usable[good], m, reasons, flatness[usable[good]], sizes[good])


def one_mixture(mixture: Mixture, name: str) -> Mixture:
    """Check a single mixture, and drop its components of weight zero."""
    if mixture.weights.ndim != 1:
        raise DataError(
            f"{name} is a single mixture, with weights (K,); given weights of shape {mixture.weights.shape}"
        )
    tidy = screened([mixture], strict=True).mixture[0]
    return tidy[np.flatnonzero(tidy.weights > 0)]


def honest_machines(honest: Iterable[int], m: int) -> NDArray[np.bool_]:
    """Mark who is honest (m,), from indices or m booleans."""
    indices = np.asarray(list(honest))
    if indices.dtype == bool and indices.shape == (m,):
        return indices
    if indices.dtype.kind not in "iu" or not ((indices >= 0) & (indices < m)).all():
        raise DataError(f"honest must be indices of machines below {m}, or {m} booleans; given {indices.tolist()}")
    return np.isin(np.arange(m), indices)


def _reasons(mixtures: Mixture) -> tuple[dict[int, str], Array]:
    """Describe the faults of each machine, and measure how flat its flattest component is (m,)."""
    weights, means, covariances = mixtures.weights, mixtures.means, mixtures.covariances
    used = ~(weights == 0)  # NaN is not zero
    with np.errstate(all="ignore"):
        finite = np.isfinite(weights) & np.isfinite(means).all(-1) & np.isfinite(covariances).all((-1, -2))
        size = np.maximum(np.abs(means).max(-1), np.abs(covariances).max((-1, -2)))
        diagonal = np.diagonal(covariances, axis1=-2, axis2=-1)
        scale = np.sqrt(diagonal)
        correlations = covariances / scale[..., :, None] / scale[..., None, :]
        skew = np.abs(correlations - correlations.swapaxes(-1, -2)).max((-1, -2))
        small = (diagonal < 1 / LARGEST).any(-1) & (diagonal > 0).all(-1)
    good = finite & (size <= LARGEST) & (diagonal > 0).all(-1) & ~small
    least = np.full(weights.shape, np.nan)
    least[good] = np.linalg.eigvalsh(correlations[good])[:, 0]
    wrong = {
        "holds NaN or infinity": (used & ~finite).any(-1),
        "has a weight below zero, or weights that do not sum to 1": (weights < 0).any(-1)
        | ~(np.abs(np.where(finite, weights, 0).sum(-1) - 1) <= 1e-6),
        f"holds numbers beyond {LARGEST:.0e} or variances below {1 / LARGEST:.0e}; scale the features": (
            used & ((size > LARGEST) | small)
        ).any(-1),
        "has a covariance that is not symmetric": (used & good & ~(skew <= 1e-8)).any(-1),
        "has a covariance that is singular or not positive definite": (
            used & finite & ~small & (size <= LARGEST) & ~(least >= FLATTEST)
        ).any(-1),
    }
    reasons: dict[int, str] = {}
    for what, where in wrong.items():
        for j in np.flatnonzero(where):
            reasons.setdefault(int(j), what)
    return dict(sorted(reasons.items())), np.where(used & good, least, 1.0).min(-1)


def _tidied(mixtures: Mixture, usable: Ints) -> Mixture:
    """Symmetrise to the last bit; components of weight zero become copies of the heaviest, so as not to matter."""
    weights, means, covariances = mixtures.weights[usable], mixtures.means[usable], mixtures.covariances[usable]
    heaviest = np.arange(len(usable)), np.argmax(weights, axis=-1)
    unused = (weights == 0)[..., None]
    means = np.where(unused, means[heaviest][:, None], means)
    covariances = np.where(unused[..., None], covariances[heaviest][:, None], covariances)
    return Mixture(weights, means, 0.5 * (covariances + covariances.swapaxes(-1, -2)))


def _listed(reasons: dict[int, str]) -> str:
    named = "; ".join(f"machine {j} {what}" for j, what in list(reasons.items())[:5])
    return named + (f"; and {len(reasons) - 5} more machines" if len(reasons) > 5 else "")
