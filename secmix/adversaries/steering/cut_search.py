"""Search of one run for rows: the next cut, the sums it gives, and the parameters that make it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from secmix._base.checks import Array
from secmix.mixture import Mixture

Shape = Literal["half_space", "ball"]
Sums = tuple[Array, Array, Array]
"""(a, b, C) of one round, by component: (K,), (K, d), (K, d, d), C about that round's means."""

# Blurred cuts of a slab before another direction is taken.
_PATIENCE = 4
# Counts this far from integers belong to rows on the edge of a cut.
_CLEAN = 1e-6
# Variance within what passes for one row, relative to that of all rows. Two rows that are cut in shares p and 1 − p
# count as one each, too; only their scatter shows it.
_SINGLE = 1e-6
_EMPTY = 1e-3
_HALF = 0.5


@dataclass(frozen=True)
class Isolated:
    """A row that stood alone in a sum.

    Attributes
    ----------
    row : (d,)
    rounds : int
        Rounds of EM after which the adversary held it, from the first on.
    """

    row: Array
    rounds: int


@dataclass
class HalfSpaces:
    """Cuts the rows by parallel planes until each lies alone between two of them.

    Two narrow components far apart leave each row to the nearer: one sum then counts and adds up the rows on one side.
    The difference of two such sums is that of the rows between two planes. A slab of rows is cut at their mean, which
    always has rows on both sides.
    """

    direction: Array  # (d,)
    near: Array | None  # (d,) or None: only the slab that holds this point is cut on; without it all are
    apart: float
    width: float
    # list of (low, high, moments): from low to high along the direction; moments are Σ 1, Σ x and Σ |x − centre|² of
    # the rows between
    slabs: list[tuple[float, float, Array]] = field(default_factory=list)
    isolated: list[Isolated] = field(default_factory=list)
    _centre: Array | None = None
    _aimed: float | None = None  # where the next sums are cut
    _under_way: float | None = None  # where those are that come in next
    _blurred: dict[float, int] = field(default_factory=dict)  # by the low edge of a slab

    def learn(self, sums: Sums, rounds: int, means: Array | None) -> None:
        """Take in the sums of a round with these ``means`` (K, d), which are None where they are not known."""
        a, b, scatter = sums
        if a.sum() < _HALF:  # nobody took part
            self._under_way = None
            return
        if self._centre is None:
            self._centre = b.sum(axis=0) / a.sum()
        if means is None:
            return
        shift = means - self._centre
        spread = np.trace(scatter, axis1=1, axis2=2) + 2 * ((b - a[:, None] * means) * shift).sum(axis=1)
        spread += a * (shift**2).sum(axis=1)
        sides = np.concatenate([a[:, None], b, spread[:, None]], axis=1)
        if not self.slabs:
            self.slabs = [(-np.inf, np.inf, sides.sum(axis=0))]
        if self._under_way is not None:
            plane = float(0.5 * (means[0] + means[1:].mean(axis=0)) @ self.direction)
            self._split(plane, sides[0], rounds)
        self._under_way = None

    def _split(self, plane: float, below: Array, rounds: int) -> None:
        """Cut a slab in two, given the moments of all rows below the plane."""
        i = next(i for i, slab in enumerate(self.slabs) if slab[1] >= plane)
        low, high, total = self.slabs[i]
        left = below - sum((slab[2] for slab in self.slabs[:i]), np.zeros_like(below))
        halves = [(low, plane, left), (plane, high, total - left)]
        single = [half[2] for half in halves if round(half[2][0]) == 1]
        if abs(left[0] - round(left[0])) > _CLEAN or not all(self._is_single_row(half) for half in single):
            self._blurred[low] = self._blurred.get(low, 0) + 1
        elif 0 < round(left[0]) < round(total[0]):
            self.slabs[i : i + 1] = halves
            self._blurred.pop(low, None)
            known = [each.row for each in self.isolated]
            new = [half[1:-1] for half in single]
            self.isolated += [Isolated(row, rounds) for row in new if not any(np.allclose(row, o) for o in known)]

    def _is_single_row(self, moments: Array) -> bool:
        total = np.sum([slab[2] for slab in self.slabs], axis=0)
        offset = moments[1:-1] - moments[0] * self._centre
        return bool(abs(moments[-1] - offset @ offset) < _SINGLE * total[-1] / total[0])

    def aim(self, rng: np.random.Generator, k: int) -> Mixture | None:
        """Choose parameters of ``k`` components that make the next cut; None where no slab in question has two rows."""
        self._aimed = self._plane(rng) if self.slabs else None
        if self._aimed is None or self._centre is None:
            return None
        d, mean = len(self.direction), self._centre
        base = mean + (self._aimed - mean @ self.direction) * self.direction
        means = np.repeat((base + 0.5 * self.apart * self.direction)[None], k, axis=0)
        means[0] -= self.apart * self.direction
        # One component on the one side, all others together on the other.
        weights = np.full(k, 0.5 / (k - 1))
        weights[0] = 0.5
        return Mixture(weights, means, np.repeat(self.width**2 * np.eye(d)[None], k, axis=0))

    def advance(self) -> None:
        """End a round: the next sums are cut where was aimed."""
        self._under_way, self._aimed = self._aimed, None

    def _plane(self, rng: np.random.Generator) -> float | None:
        at = None if self.near is None else float(self.near @ self.direction)
        open_ = [slab for slab in self.slabs if round(slab[2][0]) > 1 and (at is None or slab[0] <= at <= slab[1])]
        if not open_:
            return None
        if min(self._blurred.get(slab[0], 0) for slab in open_) >= _PATIENCE:
            direction = rng.standard_normal(len(self.direction))
            self.direction = direction / np.linalg.norm(direction)
            total = np.sum([slab[2] for slab in self.slabs], axis=0)
            self.slabs, self._blurred, self._under_way = [(-np.inf, np.inf, total)], {}, None
            open_ = self.slabs
        cut = self._under_way
        waiting = [slab for slab in open_ if cut is None or not slab[0] < cut < slab[1]]
        low, high, moments = min(waiting or open_, key=lambda slab: (self._blurred.get(slab[0], 0), float(slab[2][0])))
        plane = float(moments[1:-1] @ self.direction / moments[0])
        if self._blurred.get(low) or not waiting:  # a row sits on the plane, or a cut there has not been read yet
            plane += float(rng.uniform(-0.5, 0.5)) * min(high - plane, plane - low, self.apart / 4)
        return plane


@dataclass
class Ball:
    """Narrows one component about a point until one row is left in it, while another covers the rest.

    It moves little and keeps likelihoods high, but must know about where the row is, and the covariance floor of the
    protocol is the least ball there is.
    """

    near: Array
    weight: float
    isolated: list[Isolated] = field(default_factory=list)
    _centre: Array = field(init=False)
    _width: float = 0.0  # of the first sums, with the spread
    _aimed: bool = False
    _under_way: bool = False
    _spread: tuple[Array, Array] | None = None  # mean and covariance of all rows

    def __post_init__(self) -> None:
        self._centre = self.near

    def learn(self, sums: Sums, rounds: int, means: Array | None) -> None:
        """Take in the sums of a round with these ``means`` (K, d), which are None where they are not known."""
        a, b, scatter = sums
        if means is None or a.sum() < _HALF:
            return
        if self._spread is None:
            mean = b.sum(axis=0) / a.sum()
            off = means - mean
            first = b - a[:, None] * means
            cross = first[:, :, None] * off[:, None, :]
            total = scatter + cross + cross.swapaxes(1, 2) + a[:, None, None] * off[:, :, None] * off[:, None, :]
            # Noisy sums need not give a covariance; the nearest one that is, is wide enough.
            values, vectors = np.linalg.eigh(total.sum(axis=0) / a.sum())
            self._spread = mean, (vectors * np.maximum(values, 1e-6)) @ vectors.T
            self._width = 0.5 * float(np.sqrt(np.trace(self._spread[1]) / len(mean)))
        if not self._under_way:
            return
        if a[0] < _EMPTY:
            self._width *= 1.5  # nobody there
            return
        first = b[0] - a[0] * means[0]
        within = np.trace(scatter[0]) / a[0] - first @ first / a[0] ** 2
        if abs(within) <= _SINGLE * np.trace(self._spread[1]) and not self.isolated:
            self.isolated.append(Isolated(b[0] / a[0], rounds))
        # To the rows that weigh most, as far as they may still be the one that was meant.
        step = b[0] / a[0] - self.near
        reach = 0.25 * float(np.sqrt(np.trace(self._spread[1]) / len(step)))
        self._centre = self.near + step * min(1.0, reach / max(float(np.linalg.norm(step)), 1e-300))
        self._width *= 0.7

    def aim(self, rng: np.random.Generator, k: int) -> Mixture | None:
        """Choose parameters of ``k`` components with the ball, or None while too little is known or all is done."""
        if self._spread is None or self.isolated:
            return None
        self._aimed = True
        mean, covariance = self._spread
        d = len(mean)
        means = np.repeat(mean[None], k, axis=0)
        means[0] = self._centre
        covariances = np.repeat(covariance[None], k, axis=0)
        covariances[0] = self._width**2 * np.eye(d)
        weights = np.full(k, (1 - self.weight) / (k - 1))
        weights[0] = self.weight
        return Mixture(weights, means, covariances)

    def advance(self) -> None:
        """End a round: the next sums are weighed by the ball, if one was aimed."""
        self._under_way, self._aimed = self._aimed, False
