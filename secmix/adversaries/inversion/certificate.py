"""Certificate of rows that solve the sums: how well they fit, how far off they can be, how many starts found them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from secmix._base.checks import Array
from secmix.adversaries.inversion.equations import Equations

RELATIVE = 1e-10
"""The residual of a certified solution, relative to the sums' scale, where the sums carry rounding error alone."""
SAME_ROWS = 1e-6
"""Two solutions are the same if every row is this close, in standard deviations; more where noise allows it."""
USEFUL = 1e-4
"""The largest error of a row, in standard deviations, that still counts as recovered."""
NOISIEST = 1e-7
"""Sums with more error than this share of their scale are never certified, only given an error estimate."""
_SIGMAS = 3.0
_FAR = 1e-2


@dataclass(frozen=True)
class Solution:
    """Rows that solve the sums, in standard coordinates, and what the sums say about them."""

    rows: Array  # (h, d)
    residual: float  # largest misfit of a sum, relative to its scale 1 + Σ_i |φ(z_i)|
    consistent: bool  # whether each misfit is within the tolerance: 1e-10 of the scale, and what the noise explains
    misfit: float  # root mean square misfit in units of the noise, at least 1
    # (h,): expected distance of each row from the true one, three standard errors, linearised: the noise, or the misfit
    # where that is larger, carried through the pseudo-inverse of the Jacobian, and what the Gauss-Newton step would
    # still move the row
    errors: Array
    rank: int  # directions of the h d that the sums fix to within a tenth of a standard deviation, at the noise given
    condition: float  # of the Jacobian, each equation divided by its scale
    start: int  # number of the start that it came from

    @property
    def error(self) -> float:
        """The error of the worst row."""
        return float(self.errors.max())


def fit(equations: Equations, target: Array, noise: Array, rows: Array, start: int = 0) -> Solution:
    """Judge ``rows`` (h, d) against the sums ``target`` (T c q,) with absolute errors ``noise`` (T c q,)."""
    values, slopes = equations.with_jacobian(np.ascontiguousarray(rows.T))
    scale = 1.0 + np.abs(values).sum(axis=1)
    off = values.sum(axis=1) - target
    residual, consistent, worse = misfits(values.T, target, noise)
    # (T c q, d, h) to one column an unknown, row by row.
    jacobian = slopes.transpose(0, 2, 1).reshape(len(slopes), -1)
    if not np.isfinite(jacobian).all() or not np.isfinite(residual):
        return Solution(rows, np.inf, False, np.inf, np.full(len(rows), np.inf), 0, np.inf, start)
    unknowns = jacobian.shape[1]
    # The triangle has the columns' inner products, and with them all that is asked here.
    triangle = np.asarray(np.linalg.qr(np.column_stack([jacobian, off]) / noise[:, None], mode="r"))
    outward, strength, directions = np.linalg.svd(triangle[:, :unknowns])
    plain = np.linalg.svd(np.linalg.qr(jacobian / scale[:, None], mode="r"), compute_uv=False)
    rank = int((strength > 10.0).sum())
    # The rows have covariance I here: none is further out than √(h d), however little the sums say of a direction.
    certain = np.full(unknowns, 1 / (2 * np.sqrt(unknowns)))
    certain[: len(strength)] = np.maximum(certain[: len(strength)], strength / (_SIGMAS * worse))
    errors = np.sqrt(((directions / certain[:, None]) ** 2).sum(axis=0).reshape(rows.shape).sum(axis=1))
    # How far the Gauss-Newton step still is from here: a search that stopped short in a flat valley is not there.
    used = len(strength)
    along = outward[:, :used].T @ triangle[:, unknowns] / np.maximum(strength, _SIGMAS * certain[:used] / 2)
    errors += np.linalg.norm((directions[:used].T @ along).reshape(rows.shape), axis=1)
    complete = len(plain) >= unknowns and plain[-1] > 0
    return Solution(
        rows,
        residual,
        consistent,
        worse,
        errors,
        rank,
        float(plain[0] / plain[unknowns - 1]) if complete else np.inf,
        start,
    )


def misfits(values: Array, target: Array, noise: Array) -> tuple[float, bool, float]:
    """Compare the sums of ``values`` (h, T c q) with ``target``: residual, whether consistent, and root mean square.

    As the attributes of :class:`Solution`.
    """
    scale = 1.0 + np.abs(values).sum(axis=0)
    misfit = np.abs(values.sum(axis=0) - target)
    consistent = bool((misfit <= tolerance(scale, noise)).all())
    return float((misfit / scale).max()), consistent, max(1.0, float(np.sqrt(np.mean((misfit / noise) ** 2))))


def tolerance(scale: Array, noise: Array) -> Array:
    """Compute the misfit that each sum may have."""
    return RELATIVE * scale + 4.0 * noise


def distance(first: Array, second: Array) -> float:
    """Compute the largest distance between rows (h, d) of two sets, paired by the least sum of squared distances."""
    apart = ((first[:, None, :] - second[None, :, :]) ** 2).sum(axis=-1)
    return float(np.sqrt(apart[linear_sum_assignment(apart)].max()))


def are_same_rows(first: Solution, second: Solution) -> bool:
    """Check whether two fits are the same multiset of rows, within their errors."""
    return distance(first.rows, second.rows) <= max(SAME_ROWS, min(USEFUL, first.error + second.error))


def agreeing(best: Solution, fits: Sequence[Solution]) -> int:
    """Count the starts, each of its own, that led to consistent fits with the same rows as ``best``."""
    return len({other.start for other in fits if other.consistent and are_same_rows(best, other)})


def likeliest(fits: Sequence[Solution]) -> list[Solution]:
    """Select the fits that are consistent with the sums and about as good as the best: others got stuck on the way."""
    fitting = [each for each in fits if each.consistent]
    least = min((each.misfit for each in fitting), default=0.0)
    return [each for each in fitting if each.misfit <= 3 * least]


def rivals(best: Solution, fits: Sequence[Solution]) -> int:
    """Count the ``fits`` whose rows are further from ``best`` than both errors."""
    return sum(distance(best.rows, other.rows) > max(SAME_ROWS, min(_FAR, best.error + other.error)) for other in fits)
