"""Privacy curves of a mechanism whose code is proved, at many noise scales: error rates are inverted in the scale."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, finite_array
from secmix.errors import DataError, SecmixError
from secmix.privacy.accounting import dp_accounting_library
from secmix.privacy.refuted_rates import Curve, ErrorCounts

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

    def curve(self, place: int) -> Curve:
        """Return the least rates of misses for rates of false alarms at the scale with this place.

        A mechanism that is (ε, δ) private for all points of its curve leaves 1 − δ − e^ε FP ≤ FN and
        e^−ε (1 − δ − FP) ≤ FN (Kairouz et al. 2015, Theorem 2.1).
        """
        every = max(len(self.epsilons) // _TRIED, 1)  # any points of the curve bound the rates
        times, room = np.exp(self.epsilons[::every])[:, None], 1 - self.deltas[place, ::every, None]

        def least_miss(false_positive: Array) -> Array:
            left = np.maximum(room - times * false_positive, (room - false_positive) / times)
            return np.asarray(np.maximum(left.max(axis=0), 0.0))

        return least_miss

    def refuted_by(self, counts: ErrorCounts, delta: float, level: float) -> float:
        """Return the ε at ``delta`` of the least noisy scale that counts of errors refute; 0 where none is."""
        # Scales that are noisier than a refuted one are refuted too.
        places = range(len(self.scales))
        first = bisect_left(places, True, key=lambda place: counts.refute(self.curve(place), level))
        return float(np.append(self.epsilon_of_scales(delta), 0.0)[first])

    def best_test(self, false_positive: Array, miss: Array) -> tuple[tuple[float, ...], int, float]:
        """Return which of several tests refutes most scales, to choose it, by limits of its rates (tests,).

        Each line of a curve bounds a sum of rates, e^ε FP + FN ≥ 1 − δ or with both exchanged.

        Returns
        -------
        tuple
            How little is left (less is better), the place of the test, and the weight of a false alarm beside a miss.
        """
        every = max(len(self.epsilons) // _TRIED, 1)
        times, least = np.exp(self.epsilons[::every]), 1 - self.deltas[:, ::every]
        best: tuple[tuple[float, ...], int, float] = ((math.inf,), 0, 1.0)
        for one, other, exchanged in ((false_positive, miss, False), (miss, false_positive, True)):
            for ratio, of_scales in zip(times.tolist(), least.T, strict=True):
                needed = ratio * one + other
                first = np.searchsorted(of_scales, needed, side="right")
                short = needed - np.append(of_scales, 1.0)[first]
                k = int(np.lexsort((short, first))[0])
                best = min(best, ((float(first[k]), float(short[k])), k, 1 / ratio if exchanged else ratio))
        return best

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
        From a noise scale to an event of ``dp_accounting``: what one call of the mechanism releases. More noise must
        hide more. Its neighbours are those of ``dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE``, scaled by the
        sensitivity that the caller divides by.
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
    >>> laplace.epsilon_of_scales(0.0).round(1).tolist()
    [2.0, 1.0, 0.5]
    """
    grid, pld, deltas = _grid(scales), dp_accounting_library().pld, []
    for scale in grid.tolist():
        accountant = pld.PLDAccountant()
        accountant.compose(event(scale))
        deltas.append(np.clip(np.asarray(accountant.get_delta(_EPSILONS), dtype=float), 0.0, 1.0))
    return NoiseFamily(name, grid, _EPSILONS, np.stack(deltas))


def family_of_laws(
    laws: Callable[[float], tuple[ArrayLike, ArrayLike]], scales: Iterable[float], *, name: str = "declared family"
) -> NoiseFamily:
    """Work out the curves of a mechanism whose outputs can be listed, from their probabilities on neighbours: exact.

    δ(ε) is the sum of what exceeds in max(0, p − e^ε q), with p and q exchanged too. What the lists leave out of 1
    is added.

    Parameters
    ----------
    laws : callable
        From a noise scale to the probabilities (outputs,) on the one and on the other data set, of the same outputs.
    scales, name
        As :func:`family_of` takes them.

    Raises
    ------
    SecmixError
        If no scale is given.
    DataError
        If both lists are not equally long, or hold what are no probabilities.

    Examples
    --------
    Randomised response, by how often it lies: ε is ln 9 where that is one in ten.

    >>> lies = family_of_laws(lambda share: ([1 - share, share], [share, 1 - share]), [0.1, 0.2, 0.3])
    >>> lies.epsilon_of_scales(0.0).round(1).tolist()
    [2.2, 1.4, 0.8]
    """
    grid = _grid(scales)
    return NoiseFamily(name, grid, _EPSILONS, np.stack([_excess(*laws(scale)) for scale in grid.tolist()]))


def _grid(scales: Iterable[float]) -> Array:
    grid = np.unique(finite_array(list(scales), "scales", 1))
    if grid[0] <= 0:
        raise SecmixError(f"scales must lie above 0; the least that is given is {grid[0]:g}")
    return grid


def _excess(first: ArrayLike, second: ArrayLike) -> Array:
    """Return δ at each ε of two lists of probabilities (outputs,)."""
    p, q = (finite_array(law, "laws", 1) for law in (first, second))
    if p.shape != q.shape or min(p.min(), q.min()) < 0 or max(p.sum(), q.sum()) > 1 + _SLACK:
        raise DataError(
            f"laws must return two lists of probabilities of the same outputs; given {len(p)} and {len(q)}, the least "
            f"{min(p.min(), q.min()):g}, the sums {p.sum():g} and {q.sum():g}"
        )
    missing = max(0.0, 1 - float(p.sum()), 1 - float(q.sum()))
    deltas = [
        max(float(np.maximum(one - np.exp(epsilon) * other, 0.0).sum()) for one, other in ((p, q), (q, p)))
        for epsilon in _EPSILONS
    ]
    return np.clip(np.array(deltas) + missing, 0.0, 1.0)
