"""The geometric median of n points in few dimensions, by Newton's method with Weiszfeld steps to fall back on.

Of points of which only the inner products or the distances are known, the median's weights are found the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array

_STEPS = 500
_EXACT = 1e-14  # of n: the gradient can hardly be smaller in double precision
_EQUAL = 1e-12  # of n: pulls that differ by less are equal but for rounding
_ON_A_LINE = 1e-12  # directions whose cosine differs from ±1 by less are the same or opposite
_SAME = 1e-26  # squared, of the typical distance: points nearer to each other are at one place
_NEAR = 3e-3  # nearer to a point than this share of the pivot's distance from it: look again from there


@dataclass(frozen=True)
class Median:
    """Where the median is: at the point ``at``, or at these ``distances`` (n,) from the points."""

    at: int | None
    distances: Array
    residual: float  # ‖Σ (y_i − z)/‖y_i − z‖‖, 0 at a point that is optimal


def median_of_points(points: Array) -> Median:
    """The geometric median of ``points`` (n, r).

    The sum of distances F is convex. A Newton step is taken where it lowers F, else a shorter one, else a Weiszfeld
    step, which always does. F has a kink at each point; a point is the minimiser if and only if the pull of the
    others does not exceed its multiplicity (Vardi and Zhang 2000, theorem). The point nearest to where we are is
    asked; if it is not, their step away from it is taken if that is lower.
    """
    n = len(points)
    state = _State(points, np.median(points, axis=0))
    asked: set[int] = set()
    for _ in range(_STEPS):
        nearest = int(np.argmin(state.distances))
        if nearest not in asked:
            asked.add(nearest)
            away = _step_away(points, nearest)
            if away is None:
                return Median(nearest, np.sqrt(((points - points[nearest]) ** 2).sum(axis=1)), 0.0)
            if state.change(away) < 0 or state.distances[nearest] == 0:
                state = away
                continue
        if state.residual <= _EXACT * n:
            break
        better = _improved(points, state)
        if better is None:
            break
        state = better
    return Median(None, state.distances, state.residual)


class _State:
    """A candidate z with what the next step needs."""

    def __init__(self, points: Array, z: Array) -> None:
        away = points - z
        self.z = z
        self.distances = np.sqrt((away**2).sum(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            self.units = np.where(self.distances[:, None] > 0, away / self.distances[:, None], 0.0)
            self.inverse = np.where(self.distances > 0, 1.0 / self.distances, 0.0)
        self.pull = self.units.sum(axis=0)
        self.residual = float(np.sqrt((self.pull**2).sum()))

    def change(self, new: _State) -> float:
        """F there less F here, which keeps its digits where the two sums agree in nearly all of theirs."""
        step = new.z - self.z
        total = self.distances + new.distances
        # |a − s|² − |a|² = s·(s − 2a) with a = y − z
        gained = step @ step - 2 * ((self.units @ step) * self.distances)
        terms = np.where(total > 0, gained / np.where(total > 0, total, 1.0), 0.0)
        return float(terms.sum())


def _improved(points: Array, state: _State) -> _State | None:
    """The next state; None where nothing gets any lower but for rounding."""
    strength = state.inverse.sum()
    hessian = strength * np.eye(points.shape[1]) - (state.units.T * state.inverse) @ state.units
    try:
        newton = np.linalg.solve(hessian, state.pull)
    except np.linalg.LinAlgError:  # all points in one direction, to rounding
        newton = state.pull / strength
    steps = [newton * 0.5**k for k in range(6)] if np.isfinite(newton).all() else []
    for step in [*steps, state.pull / strength]:
        new = _State(points, state.z + step)
        change = state.change(new)
        rounding = 1e-14 * len(points) * float(np.sqrt(step @ step))
        # Too close for the sums to tell: then the smaller gradient.
        if change < -rounding or (change < rounding and new.residual < 0.9 * state.residual):
            return new
    return None


def _step_away(points: Array, k: int) -> _State | None:
    """Vardi and Zhang's step from the point k; None where k is the minimiser."""
    here = _State(points, points[k])
    multiplicity = float((here.distances == 0).sum())
    if here.residual <= multiplicity + _EQUAL * len(points):
        return None
    step = here.pull / here.inverse.sum() * (1 - multiplicity / here.residual)
    return _State(points, points[k] + step)


@dataclass(frozen=True)
class Weights:
    """The geometric median z = Σ w_i x_i of points known by their distances alone.

    Attributes
    ----------
    weights : (n,)
        At least 0, sum 1.
    distances : (n,)
        ‖x_i − z‖.
    residual : float
        ‖Σ (x_i − z)/‖x_i − z‖‖ as a share of n, 0 where z is one of the points.
    """

    weights: Array
    distances: Array
    residual: float


def weights_from_gram(gram: Array) -> Weights:
    """The geometric median of points x_i of which only ``gram`` (n, n), ⟨x_i, x_j⟩, is known.

    Where two points are much nearer to each other than to the origin, their difference has lost digits in ``gram``;
    who knows it better gives it to :func:`weights_from_distances`.

    Examples
    --------
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
    """The geometric median of points of which only ‖x_i − x_j‖² (n, n) are known.

    Seen from a point p in their midst, ⟨x_i − x_p, x_j − x_p⟩ = (d_ip² + d_jp² − d_ij²)/2, so that the points can be
    rebuilt in fewer than n dimensions. Of points on a line, an even number, it is the midpoint of the two in the
    middle, as in :func:`secmix.aggregators.vector.geometric_median`.

    Examples
    --------
    >>> weights_from_distances(np.array([[0.0, 4.0], [4.0, 0.0]])).weights
    array([0.5, 0.5])
    """
    n = len(squared)
    pivot = int(np.argmin(np.median(squared, axis=1)))
    typical = float(np.median(squared[pivot][squared[pivot] > 0])) if squared[pivot].any() else 1.0
    squared = np.where(squared > _SAME * typical, squared, 0.0)
    for tried in range(n):
        result, found = _seen_from(pivot, squared)
        near = int(np.argmin(result.distances))
        # Very near a point other than the pivot its distance is not known well: look again from there.
        if not found or tried == n - 1 or squared[near, pivot] == 0:
            break
        if result.distances[near] > _NEAR * math.sqrt(squared[near, pivot]):
            break
        pivot = near
    return result


def _seen_from(pivot: int, squared: Array) -> tuple[Weights, bool]:
    """The median of points rebuilt around ``pivot``, and whether it lies between the points, where that matters."""
    n = len(squared)
    sizes = np.sqrt(squared[pivot])
    # Each direction by itself, so that points near the pivot keep their digits beside those far away.
    here = sizes == 0
    if 2 * int(here.sum()) > n:
        return _at(pivot, squared), False
    scale = np.where(here, 1.0, sizes)
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.sqrt(squared) / scale
        cosines = np.clip((scale[:, None] / scale + scale / scale[:, None] - ratio * ratio.T) / 2, -1.0, 1.0)
    cosines[here] = cosines[:, here] = 0.0
    values, vectors = np.linalg.eigh(cosines)
    real = values > n * np.finfo(float).eps
    units = vectors[:, real] * np.sqrt(values[real])
    unit = float(np.median(sizes[~here]))
    points = units / np.maximum(np.sqrt((units**2).sum(axis=1, keepdims=True)), 1e-300) * (sizes / unit)[:, None]
    points = points[np.argmax(squared == 0, axis=1)]  # points at one place are rebuilt at one place
    line = _middle_of_line(points, cosines, sizes)
    if line is not None:
        return Weights(line, _distances(line, squared), 0.0), False
    found = median_of_points(points)
    if found.at is not None:
        return _at(found.at, squared), found.at != pivot
    pull = 1.0 / np.maximum(found.distances, 1e-300)
    return Weights(pull / pull.sum(), found.distances * unit, found.residual / n), True


def _at(k: int, squared: Array) -> Weights:
    weights = np.zeros(len(squared))
    weights[k] = 1.0
    return Weights(weights, np.sqrt(squared[k]), 0.0)


def _distances(weights: Array, squared: Array) -> Array:
    """‖x_i − z‖, by ‖x_i − z‖² = Σ w_j d_ij² − Σ w_j w_k d_jk²/2."""
    return np.asarray(np.sqrt(np.maximum(squared @ weights - weights @ squared @ weights / 2, 0.0)))


def _middle_of_line(points: Array, cosines: Array, sizes: Array) -> Array | None:
    """The weights of the median of points on a line through the pivot; None where they are on none."""
    n = len(points)
    along = cosines[int(np.argmax(sizes))]
    if (np.abs(along[sizes > 0]) < 1 - _ON_A_LINE).any():
        return None
    weights = np.zeros(n)
    weights[np.argsort(along * sizes, kind="stable")[(n - 1) // 2 : n // 2 + 1]] = 1 / (1 if n % 2 else 2)
    # They look so from the pivot; whether they are is decided by whether this is optimal.
    state = _State(points, weights @ points)
    return weights if state.residual <= (state.distances == 0).sum() + 1e-9 * n else None
