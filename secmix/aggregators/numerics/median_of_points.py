"""The geometric median of n points in few dimensions, by Newton's method with Weiszfeld steps to fall back on.

Where only the inner products of points or their distances are known, the median's weights are found the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array, Ints

_STEPS = 500
_EXACT = 1e-14  # of n: the gradient can hardly be smaller in double precision
_EQUAL = 1e-12  # of n: pulls that differ by less are equal but for rounding
_ON_A_LINE = 1e-12  # directions whose cosine differs from ±1 by less are the same or opposite
_AT_ONE_PLACE = 1e-26  # squared, of the typical distance: points nearer to each other are at one place
_NEAR = 3e-3  # nearer to a point than this share of the pivot's distance from it: start again there


@dataclass(frozen=True)
class Median:
    """The place of the median: at the point ``at``, or at these ``distances`` (n,) from the points."""

    at: int | None
    distances: Array
    residual: float  # ‖Σ (y_i − z)/‖y_i − z‖‖, 0 at a point that is optimal


def median_of_points(points: Array) -> Median:
    """Compute the geometric median of ``points`` (n, r)."""
    medians = medians_of_points(points[None])
    at = int(medians.at[0])
    return Median(None if at < 0 else at, medians.distances[0], float(medians.residual[0]))


@dataclass(frozen=True)
class Medians:
    """The places of the medians of several sets: at the points ``at`` (s,), or, where that is −1, between them.

    ``distances`` (s, n) are from the points, ``residual`` (s,) as for :class:`Median`.
    """

    at: Ints
    distances: Array
    residual: Array


def medians_of_points(points: Array) -> Medians:
    """Compute the geometric medians of several sets of ``points`` (s, n, r), side by side.

    The sum of distances F is convex. A Newton step is taken where it lowers F, else a shorter one, else a Weiszfeld
    step, which always does. F has a kink at each point; a point is the minimiser if and only if the pull of the
    others does not exceed its multiplicity (Vardi and Zhang 2000, theorem). The point nearest to the
    iterate is tested once; if it is no minimiser, Vardi and Zhang's step away from it is taken where F falls.
    """
    s, n, _ = points.shape
    states = _States.at(points, np.median(points, axis=1))
    asked, at = np.zeros((s, n), dtype=bool), np.full(s, -1)
    going = np.arange(s)  # the sets that are still under way
    for _ in range(_STEPS):
        if not len(going):
            break
        now = states.part(going)
        nearest = np.argmin(now.distances, axis=1)
        unasked = np.flatnonzero(~asked[going, nearest])
        asked[going, nearest] = True
        ended, moved = np.zeros(len(going), dtype=bool), np.zeros(len(going), dtype=bool)
        if len(unasked):
            leaving, away = _steps_away(_of(points, going[unasked]), nearest[unasked])
            stays = np.ones(len(unasked), dtype=bool)
            stays[leaving] = False
            at[going[unasked[stays]]] = nearest[unasked[stays]]
            ended[unasked[stays]] = True
            left = unasked[leaving]
            base = now.part(left)
            lower = np.flatnonzero((base.change(away) < 0) | (base.distances[np.arange(len(left)), nearest[left]] == 0))
            states.put(going[left[lower]], away.part(lower))
            moved[left[lower]] = True
        ended |= ~moved & (now.residual <= _EXACT * n)
        rest = np.flatnonzero(~moved & ~ended)
        if len(rest):
            ended[rest] = True
            for which, better in _improved(_of(points, going[rest]), now.part(rest)):
                states.put(going[rest[which]], better)
                ended[rest[which]] = False
        going = going[~ended]
    there = np.flatnonzero(at >= 0)
    away_from = points[there] - points[there, at[there]][:, None]
    states.distances[there] = np.sqrt((away_from**2).sum(axis=2))
    return Medians(at, states.distances, np.where(at >= 0, 0.0, states.residual))


def _of(points: Array, which: Ints) -> Array:
    """Select the points of some sets, in ascending order; for all sets these themselves, not a copy."""
    return points if len(which) == len(points) else points[which]


@dataclass
class _States:
    """Candidates z (s, r), one for each set of points, with what the next step needs."""

    z: Array
    distances: Array
    units: Array
    inverse: Array
    pull: Array
    residual: Array

    @classmethod
    def at(cls, points: Array, z: Array) -> _States:
        away = points - z[:, None]
        distances = np.sqrt((away**2).sum(axis=2))
        apart = distances > 0
        inverse = np.zeros_like(distances)
        with np.errstate(over="ignore"):
            np.divide(1.0, distances, out=inverse, where=apart)
        units = np.zeros_like(away)
        np.divide(away, distances[..., None], out=units, where=apart[..., None])
        pull = units.sum(axis=1)
        return cls(z, distances, units, inverse, pull, np.sqrt((pull**2).sum(axis=1)))

    def part(self, which: Ints) -> _States:
        """Select the states of some sets, in ascending order; for all sets these themselves, not a copy."""
        return self if len(which) == len(self.z) else _States(*(getattr(self, name)[which] for name in _MEMBERS))

    def put(self, places: Ints, new: _States) -> None:
        """Take these states for some sets, in ascending order."""
        for name in _MEMBERS:
            if len(places) == len(self.z):
                setattr(self, name, getattr(new, name))
            else:
                getattr(self, name)[places] = getattr(new, name)

    def change(self, new: _States) -> Array:
        """Compute F at ``new`` less F here (s,); it keeps its digits where the sums agree in nearly all of theirs."""
        step = new.z - self.z
        total = self.distances + new.distances
        # |a − s|² − |a|² = s·(s − 2a) with a = y − z
        along = (self.units @ step[..., None])[..., 0]
        gained = (step**2).sum(axis=1)[:, None] - 2 * (along * self.distances)
        terms = np.where(total > 0, gained / np.where(total > 0, total, 1.0), 0.0)
        return np.asarray(terms.sum(axis=1))


_MEMBERS = ("z", "distances", "units", "inverse", "pull", "residual")


def _improved(points: Array, states: _States) -> list[tuple[Ints, _States]]:
    """Improve the states of some sets, and return both; those in no entry get no lower but for rounding."""
    strength = states.inverse.sum(axis=1)[:, None]
    slow = states.pull / strength
    weighted = (states.units * states.inverse[..., None]).swapaxes(1, 2)
    newton = _solved(strength[..., None] * np.eye(points.shape[2]) - weighted @ states.units, states.pull, slow)
    # A step s leads to a sum of at least n‖s‖ − F: one longer than twice the mean distance leads nowhere lower.
    length, reach = np.abs(newton).max(axis=1), 2 * states.distances.mean(axis=1)
    left, better = np.arange(len(points)), []  # the sets without a next state yet; those found with it
    for shorter in (*(0.5**k for k in range(6)), 0.0):
        tried = left[shorter * length[left] <= reach[left]] if shorter else left
        if not len(tried):
            continue
        base = states.part(tried)
        step = newton[tried] * shorter if shorter else slow[tried]
        new = _States.at(points if base is states else points[tried], base.z + step)
        change = base.change(new)
        rounding = 1e-14 * points.shape[1] * np.sqrt((step**2).sum(axis=1))
        # Too close for the sums to tell: then the smaller gradient.
        good = np.flatnonzero((change < -rounding) | ((change < rounding) & (new.residual < 0.9 * base.residual)))
        better.append((tried[good], new.part(good)))
        left = np.setdiff1d(left, tried[good], assume_unique=True)
        if not len(left):
            break
    return better


def _solved(hessians: Array, pulls: Array, otherwise: Array) -> Array:
    """Solve for H⁻¹ pull (s, r); ``otherwise`` where all points lie in one direction, to rounding."""
    try:
        return np.asarray(np.linalg.solve(hessians, pulls[..., None])[..., 0])
    except np.linalg.LinAlgError:
        if len(hessians) == 1:
            return otherwise
        slices = (slice(k, k + 1) for k in range(len(hessians)))
        return np.concatenate([_solved(hessians[k], pulls[k], otherwise[k]) for k in slices])


def _steps_away(points: Array, at: Ints) -> tuple[Ints, _States]:
    """Step away from the points ``at`` (s,) that are not minima, as Vardi and Zhang do: the sets, and their states."""
    z = points[np.arange(len(points)), at]
    base = _States.at(points, z)
    multiplicity = (base.distances == 0).sum(axis=1)
    leaving = np.flatnonzero(base.residual > multiplicity + _EQUAL * points.shape[1])
    if not len(leaving):
        return leaving, base.part(leaving)
    base, share = base.part(leaving), multiplicity[leaving] / base.residual[leaving]
    step = base.pull / base.inverse.sum(axis=1)[:, None] * (1 - share)[:, None]
    return leaving, _States.at(_of(points, leaving), base.z + step)


@dataclass(frozen=True)
class Weights:
    """The geometric median z = Σ w_i x_i of points known by their distances alone."""

    weights: Array  # (n,): at least 0, sum 1
    distances: Array  # (n,): ‖x_i − z‖
    residual: float  # ‖Σ (x_i − z)/‖x_i − z‖‖ as a share of n, 0 where z is one of the points


def weights_from_gram(gram: Array) -> Weights:
    """Compute the geometric median of points x_i of which only ``gram`` (n, n), ⟨x_i, x_j⟩, is known.

    Where two points are much nearer to each other than to the origin, their difference has lost digits in ``gram``;
    where it is known better, use :func:`weights_from_distances`.

    >>> x = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [1.0, 9.0]])
    >>> (weights_from_gram(x @ x.T).weights @ x).round(6)
    array([1., 1.])
    """
    squares = np.diag(gram)
    sums = squares[:, None] + squares
    apart = sums - 2 * gram
    apart[apart < 8 * np.finfo(float).eps * sums] = 0.0  # nothing but rounding
    np.fill_diagonal(apart, 0.0)
    return weights_from_distances(apart)


def weights_from_distances(squared: Array) -> Weights:
    """Compute the geometric median of points of which only ‖x_i − x_j‖² (n, n) are known.

    Seen from a point p in their midst, ⟨x_i − x_p, x_j − x_p⟩ = (d_ip² + d_jp² − d_ij²)/2, so that the points can be
    rebuilt in fewer than n dimensions. For an even number of points on a line it is the midpoint of the two in the
    middle, as in :func:`secmix.aggregators.vector_rules.geometric_median`.

    >>> weights_from_distances(np.array([[0.0, 4.0], [4.0, 0.0]])).weights
    array([0.5, 0.5])
    """
    n = len(squared)
    pivot = int(np.argmin(np.median(squared, axis=1)))
    typical = float(np.median(squared[pivot][squared[pivot] > 0])) if squared[pivot].any() else 1.0
    squared = np.where(squared > _AT_ONE_PLACE * typical, squared, 0.0)
    for tried in range(n):
        result, is_between = _rebuilt_around(pivot, squared)
        near = int(np.argmin(result.distances))
        # Very near a point other than the pivot its distance is not known well: start again there.
        if not is_between or tried == n - 1 or squared[near, pivot] == 0:
            break
        if result.distances[near] > _NEAR * math.sqrt(squared[near, pivot]):
            break
        pivot = near
    return result


def _rebuilt_around(pivot: int, squared: Array) -> tuple[Weights, bool]:
    """Find the median of points rebuilt around ``pivot``, and whether it lies between the points and that matters."""
    n = len(squared)
    sizes = np.sqrt(squared[pivot])
    # Each direction by itself, so that points near the pivot keep their digits beside those far away.
    at_pivot = sizes == 0
    if 2 * int(at_pivot.sum()) > n:
        return _at(pivot, squared), False
    scale = np.where(at_pivot, 1.0, sizes)
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.sqrt(squared) / scale
        cosines = np.clip((scale[:, None] / scale + scale / scale[:, None] - ratio * ratio.T) / 2, -1.0, 1.0)
    cosines[at_pivot] = cosines[:, at_pivot] = 0.0
    values, vectors = np.linalg.eigh(cosines)
    real = values > n * np.finfo(float).eps
    units = vectors[:, real] * np.sqrt(values[real])
    unit = float(np.median(sizes[~at_pivot]))
    points = units / np.maximum(np.sqrt((units**2).sum(axis=1, keepdims=True)), 1e-300) * (sizes / unit)[:, None]
    points = points[np.argmax(squared == 0, axis=1)]  # points at one place are rebuilt at one place
    line = _middle_of_line(points, cosines, sizes)
    if line is not None:
        return Weights(line, _distances(line, squared), 0.0), False
    median = median_of_points(points)
    if median.at is not None:
        return _at(median.at, squared), median.at != pivot
    pull = 1.0 / np.maximum(median.distances, 1e-300)
    return Weights(pull / pull.sum(), median.distances * unit, median.residual / n), True


def _at(k: int, squared: Array) -> Weights:
    weights = np.zeros(len(squared))
    weights[k] = 1.0
    return Weights(weights, np.sqrt(squared[k]), 0.0)


def _distances(weights: Array, squared: Array) -> Array:
    """Compute ‖x_i − z‖, by ‖x_i − z‖² = Σ w_j d_ij² − Σ w_j w_k d_jk²/2."""
    return np.asarray(np.sqrt(np.maximum(squared @ weights - weights @ squared @ weights / 2, 0.0)))


def _middle_of_line(points: Array, cosines: Array, sizes: Array) -> Array | None:
    """Compute the weights of the median of points on a line through the pivot; None where they are on none."""
    n = len(points)
    along = cosines[int(np.argmax(sizes))]
    if (np.abs(along[sizes > 0]) < 1 - _ON_A_LINE).any():
        return None
    weights = np.zeros(n)
    weights[np.argsort(along * sizes, kind="stable")[(n - 1) // 2 : n // 2 + 1]] = 1 / (1 if n % 2 else 2)
    # They look so from the pivot; whether they are is decided by whether this is optimal.
    state = _States.at(points[None], (weights @ points)[None])
    return weights if state.residual[0] <= (state.distances == 0).sum() + 1e-9 * n else None
