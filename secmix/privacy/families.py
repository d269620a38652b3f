"""Privacy curves of a mechanism whose code is proved, at many noise scales: error rates are inverted in the scale."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.checks import Array, finite_array
from secmix._base.dp_accounting import accounting
from secmix.errors import SecmixError

_EPSILONS = np.concatenate([[0.0], np.geomspace(1e-3, 60.0, 1000)])  # in steps of 1.1 %
_TRIED = 300  # of them against rates of errors
_SLACK = 1e-10  # of delta: what the accountant adds where it cuts tails off, and would read as epsilon


@dataclass(frozen=True)
class NoiseFamily:
    """The curves δ(ε) of one mechanism at several noise scales, the least noise first.

    Attributes
    ----------
    name : str
    scales : ndarray, (scales,)
        Ascending.
    epsilons : ndarray, (epsilons,)
        Ascending, the first 0.
    deltas : ndarray, (scales, epsilons)
        δ at each scale and ε; at most ``_SLACK`` above the truth of the ε before.
    """

    name: str
    scales: Array
    epsilons: Array
    deltas: Array

    def least_miss(self, false_positive: Array) -> Array:
        """Return the least rate of misses at each scale for rates of false alarms: (scales, tests) from (tests,).

        A mechanism that is (ε, δ) private for all points of its curve leaves 1 − δ − e^ε FP ≤ FN and
        e^−ε (1 − δ − FP) ≤ FN (Kairouz et al. 2015, Theorem 2.1).
        """
        rate = np.asarray(false_positive)[None, :]
        least = np.zeros((len(self.scales), rate.shape[1]))
        every = max(len(self.epsilons) // _TRIED, 1)  # any points of the curve bound the rates
        for epsilon, delta in zip(self.epsilons[::every], self.deltas.T[::every], strict=True):
            room = 1 - delta[:, None]
            np.maximum(least, room - np.exp(epsilon) * rate, out=least)
            np.maximum(least, np.exp(-epsilon) * (room - rate), out=least)
        return least

    def epsilon(self, false_positive: Array, miss: Array, delta: float) -> Array:
        """Return the ε at ``delta`` of the least noisy scale that error rates (tests,) refute; 0 where none is.

        Whatever is noisier leaves more errors: the mechanism has less noise than that scale, so at least that ε.
        """
        refuted = self.least_miss(false_positive) > np.asarray(miss)[None, :]
        first = np.where(refuted.any(axis=0), refuted.argmax(axis=0), len(self.scales))
        return np.append(self.epsilon_of_scales(delta), 0.0)[first]

    def epsilon_of_scales(self, delta: float) -> Array:
        """Return the ε at ``delta`` of each scale, (scales,): the last of the grid at which δ is still exceeded."""
        exceeded = self.deltas > delta + _SLACK
        last = exceeded.shape[1] - 1 - exceeded[:, ::-1].argmax(axis=1)
        return self.epsilons[np.where(exceeded.any(axis=1), last, 0)]


def family_of(event: Callable[[float], Any], scales: Iterable[float], *, name: str = "declared family") -> NoiseFamily:
    """Work out the curves of a mechanism at many noise scales by its privacy loss distribution (dp-accounting).

    Parameters
    ----------
    event : callable
        From a noise scale to an event of ``dp_accounting``: what one call of the mechanism releases. The more noise,
        the less may be told. Its neighbours are those of ``dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE``,
        scaled by the sensitivity that the caller divides by.
    scales : iterable of float
        Above 0; a lower bound comes in steps of these.
    name : str

    Raises
    ------
    SecmixError
        If dp-accounting is not installed or no scale is given.

    Examples
    --------
    >>> import dp_accounting
    >>> laplace = family_of(dp_accounting.LaplaceDpEvent, [0.5, 1.0, 2.0], name="Laplace")
    >>> laplace.epsilon(np.array([0.01, 0.3]), np.array([0.1, 0.3]), 0.0).round(1).tolist()
    [2.0, 1.0]
    """
    grid = np.unique(finite_array(list(scales), "scales", 1))
    if grid[0] <= 0:
        raise SecmixError(f"scales must lie above 0; the least that is given is {grid[0]:g}")
    pld = accounting().pld
    deltas = []
    for scale in grid.tolist():
        accountant = pld.PLDAccountant()
        accountant.compose(event(scale))
        deltas.append(np.clip(np.asarray(accountant.get_delta(_EPSILONS), dtype=float), 0.0, 1.0))
    return NoiseFamily(name, grid, _EPSILONS, np.stack(deltas))
