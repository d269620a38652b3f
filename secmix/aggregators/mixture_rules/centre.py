"""COAT: the machine in the thick of the others, by integrated squared error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, Ints
from secmix.aggregators.mixture_rules.integrated_error import squared_distances
from secmix.aggregators.mixture_rules.screening import Machines, Mixtures, screened
from secmix.errors import DataError
from secmix.mixture import Mixture

_ROUNDING = 1e-14


@dataclass(frozen=True)
class Coat:
    """The centre among m machines (COAT: centre of attention, Zhang 2024)."""

    index: int  # the machine whose median squared distance to all machines, itself included, is least
    mixture: Mixture  # what it sent
    # its root distance to the ⌊m/2⌋-th nearest machine, itself counted as the 0th: √c in the paper's terms
    radius: float
    median: float  # the median squared distance of that row
    distances: Array  # (m,): root distances of all machines from it; infinite where a machine sent no mixture


@dataclass(frozen=True)
class ScreenedMixtures:
    """The usable machines with all squared distances among them, (m, m)."""

    machines: Machines
    squared: Array

    @property
    def rounding(self) -> float:
        """Squared distances that differ by less are equal but for rounding.

        In proportion to the median of ∫ f², over which a minority has no power.
        """
        return _ROUNDING * float(np.median(self.machines.norms))

    def mixture(self, index: int) -> Mixture:
        """Return what a usable machine sent."""
        return self.machines.mixture[int(np.searchsorted(self.machines.usable, index))]

    def mixtures(self, indices: Ints) -> Mixture:
        """Return what some usable machines sent."""
        return self.machines.mixture[np.searchsorted(self.machines.usable, indices)]


def screen(mixtures: Mixtures, squared: ArrayLike | None = None) -> ScreenedMixtures:
    """Screen the machines and measure the distances, unless ``squared`` (m, m) gives them.

    Raises DataError: no majority of usable machines, or distances of another shape.
    """
    machines = screened(mixtures)
    if squared is None:
        return ScreenedMixtures(machines, squared_distances(machines))
    distances = np.asarray(squared, dtype=np.float64)
    if distances.shape != (machines.m, machines.m) or not (distances >= 0).all():
        raise DataError(
            f"squared distances are ({machines.m}, {machines.m}) and not negative; given shape {distances.shape}"
        )
    distances = distances.copy()
    out = np.asarray(sorted(machines.reasons), dtype=np.intp)
    distances[out, :] = distances[:, out] = np.inf
    np.fill_diagonal(distances, 0.0)
    return ScreenedMixtures(machines, distances)


def coat(mixtures: Mixtures, *, squared: ArrayLike | None = None) -> Coat:
    """Find the machine whose median squared distance to all m machines is least.

    ``squared`` (m, m): their squared distances, where they are known already; see :func:`ise_matrix`. Raises DataError
    where half of the machines or more sent no mixture; fewer than that are set aside with a warning.

    The median is that of m numbers with the zero for itself included, with the midpoint of the two in the middle.
    For odd m two machines can be the median of each other. Such a tie goes to the machine with the smaller sum of
    distances to the nearer half, then to the first by value, so that the order of the machines does not matter.

    >>> three = Mixture(np.ones((3, 1)), [[[0.0]], [[0.1]], [[9.0]]], np.ones((3, 1, 1, 1)))
    >>> coat(three).index in (0, 1), round(coat(three).radius, 3)
    (True, 0.038)
    """
    return centre(screen(mixtures, squared))


def centre(mixtures: ScreenedMixtures) -> Coat:
    """Find COAT of machines whose distances are known."""
    squared, m = mixtures.squared, mixtures.machines.m
    rows = np.sort(squared, axis=1)
    medians = 0.5 * (rows[:, (m - 1) // 2] + rows[:, m // 2])
    usable = mixtures.machines.usable
    if not np.isfinite(medians[usable]).any():
        raise DataError("no machine is at a finite distance from half of the others: there is no majority to follow")
    slack = mixtures.rounding
    tied = usable[medians[usable] <= medians[usable].min() + slack]
    if len(tied) > 1:
        spread = rows[tied][:, : m // 2 + 1].sum(axis=1)
        tied = tied[spread <= spread.min() + m * slack]
    index = int(min(tied.tolist(), key=lambda i: _numbers(mixtures.mixture(i))))
    radius = float(np.sqrt(rows[index, m // 2]))
    return Coat(index, mixtures.mixture(index), radius, float(medians[index]), np.sqrt(squared[index]))


def _numbers(mixture: Mixture) -> list[float]:
    """List a mixture's numbers, whatever the order of its components: lists compare by the first that differs."""
    k = mixture.n_components
    table = np.concatenate([mixture.weights[:, None], mixture.means, mixture.covariances.reshape(k, -1)], axis=1)
    return table[np.lexsort(table.T[::-1])].ravel().tolist()
