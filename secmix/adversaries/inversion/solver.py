"""Levenberg-Marquardt on the sums of many row sets at once, from coarse equations to fine ones.

The sums of successive rounds are nearly the same functions of the rows, since θ hardly moves: what tells rows apart
sits in small differences. So the T c q functions are written in a basis that is orthonormal for rows drawn from the
last mixture, each basis function divided by its size σ_k there. With all of them weighed alike every difference counts;
weighed by 1/√(σ_k² + ε²) those below ε are left out, and the landscape is smooth. The starts go from large ε to small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.inversion.equations import Equations

# Basis functions below this share of the largest are made of rounding error.
_ROUNDING = 1e-13

# Functions of this share of ε count as a thousandth of the others at most, as a square.
_NEGLIGIBLE = 0.03

# (ε as a share of σ_1, iterations at most). Neither schedule is better on all data, so starts take turns.
SCHEDULES = (
    ((1e-1, 60), (1e-2, 60), (1e-3, 60), (1e-4, 60), (1e-6, 80), (1e-9, 80)),
    ((None, 150), (1e-9, 200)),
)
FINEST = 1e-12
# A start is done when so many iterations gain less than this share of the loss.
_PATIENCE, _GAIN = 10, 1e-6


@dataclass(frozen=True)
class Basis:
    """Functions that are orthonormal for rows of the last mixture: directions (T c q, r) and sizes (r,)."""

    directions: Array
    sizes: Array

    def weights(self, smoothing: float | None) -> Array:
        """Compute the weights (r', T c q) of the residual (T c q,), or with None those of plain sums (T c q,).

        Functions far smaller than what is left out hardly count, and are not looked at.
        """
        if smoothing is None:
            return np.ones(len(self.directions))
        left_out = smoothing * self.sizes[0]
        count = int((self.sizes >= _NEGLIGIBLE * left_out).sum())
        return np.asarray((self.directions[:, :count] / np.hypot(self.sizes[:count], left_out)).T)


def basis(equations: Equations, samples: Array) -> Basis:
    """Build the basis for rows like ``samples`` (d, N)."""
    values = equations.statistics(samples) / np.sqrt(samples.shape[1])
    directions, sizes, _ = np.linalg.svd(values, full_matrices=False)
    certain = sizes > _ROUNDING * sizes[0]
    return Basis(directions[:, certain], sizes[certain])


def solve(
    equations: Equations,
    target: Array,
    weights: Array,
    starts: Array,
    iterations: int,
    *,
    orthogonal: bool = False,
    enough: float = 1e-30,
) -> tuple[Array, Array]:
    """Minimise the squares of ``weights`` @ (Σ_i φ(z_i) − target), from each of the ``starts`` (S, h, d) by itself.

    ``target`` (T c q,); ``weights`` (r, T c q), or (T c q,) of each sum by itself; ``orthogonal``: solve each step by
    QR, not by normal equations: three times as slow, and exact where the condition is large; ``enough``: half the
    squared norm of the weighted residual below which a start is done. The result is rows (S, h, d) and the norm of the
    weighted residual (S,).
    """
    rows = starts.copy()
    goal = _weighed(weights, target)
    residual, jacobian = _evaluate(equations, weights, goal, rows)
    loss = 0.5 * (residual**2).sum(axis=1)
    damping, growth = np.full(len(rows), 1e-2), np.full(len(rows), 2.0)
    active = np.flatnonzero(np.isfinite(loss))
    before = np.full(len(rows), np.inf)
    for iteration in range(iterations):
        if iteration % _PATIENCE == 0:  # rounding alone may go on to make the loss less for as long as one lets it
            active = active[loss[active] < (1 - _GAIN) * before[active]]
            before[active] = loss[active]
        if not len(active):
            break
        step, gain = _step(residual[active], jacobian[active], damping[active], orthogonal)
        tried = rows[active] + step.reshape(len(active), *rows.shape[1:])
        new_residual, new_jacobian = _evaluate(equations, weights, goal, tried)
        new_loss = 0.5 * (new_residual**2).sum(axis=1)
        better = np.isfinite(new_loss) & (new_loss < loss[active])
        ratio = (loss[active] - new_loss) / np.maximum(gain, 1e-300)
        trust = np.clip(np.where(better, ratio, 0.0), 0.0, 1.0)
        small = np.abs(step).max(axis=1) < 1e-13
        # Nielsen's rule: less damping after a good step, more and more of it after bad ones.
        damping[active] *= np.where(better, np.maximum(0.2, 1 - (2 * trust - 1) ** 3), growth[active])
        growth[active] = np.where(better, 2.0, np.minimum(2 * growth[active], 1e3))
        taken = active[better]
        rows[taken], residual[taken], jacobian[taken] = tried[better], new_residual[better], new_jacobian[better]
        loss[taken] = new_loss[better]
        # Where the condition is large, little damping still holds back the steps that matter.
        np.clip(damping, 1e-28 if orthogonal else 1e-16, 1e10, out=damping)
        active = active[~(small | (loss[active] < enough))]
    return rows, np.sqrt(2 * loss)


def jacobians(equations: Equations, weights: Array, rows: Array) -> Array:
    """Compute the Jacobian of the weighted sums (S, r, h d) at each of the row sets (S, h, d)."""
    return _evaluate(equations, weights, np.zeros(len(weights)), rows)[1]


def _evaluate(equations: Equations, weights: Array, goal: Array, rows: Array) -> tuple[Array, Array]:
    """Compute the weighted residual (S, r) and its Jacobian (S, r, h d) for rows (S, h, d)."""
    count, h, d = rows.shape
    values, slopes = equations.with_jacobian(np.ascontiguousarray(rows.reshape(-1, d).T))
    sums = values.reshape(-1, count, h).sum(axis=2)
    jacobian = _weighed(weights, slopes.reshape(len(slopes), -1)).reshape(len(weights), d, count, h)
    return _weighed(weights, sums).T - goal, jacobian.transpose(2, 0, 3, 1).reshape(count, len(weights), h * d)


def _weighed(weights: Array, values: Array) -> Array:
    """Weigh values (T c q, ...) by a matrix, or each by itself."""
    return np.asarray(weights @ values if weights.ndim == 2 else (weights * values.T).T)


def _step(residual: Array, jacobian: Array, damping: Array, orthogonal: bool) -> tuple[Array, Array]:
    """Compute the damped step (S, n) and how much the linear model says it gains (S,)."""
    n = jacobian.shape[2]
    diagonal = np.einsum("srn,srn->sn", jacobian, jacobian)
    # A row that no sum depends on any more must not fly off: a floor under the scale of its coordinates.
    diagonal = np.maximum(diagonal, 1e-10 * diagonal.max(axis=1, keepdims=True)) + 1e-300
    slope = np.einsum("srn,sr->sn", jacobian, residual)
    if orthogonal:
        extra = np.sqrt(damping[:, None] * diagonal)[:, :, None] * np.eye(n)
        q, r = np.linalg.qr(np.concatenate([jacobian, extra], axis=1))
        padded = np.einsum("skn,sk->sn", q[:, : residual.shape[1]], residual)
        step = -_solved(r, padded)
    else:
        normal = jacobian.transpose(0, 2, 1) @ jacobian
        normal[:, np.arange(n), np.arange(n)] += damping[:, None] * diagonal
        step = -_solved(normal, slope)
    moved = np.einsum("srn,sn->sr", jacobian, step)
    return step, -np.einsum("sn,sn->s", slope, step) - 0.5 * (moved**2).sum(axis=1)


def _solved(matrices: Array, right: Array) -> Array:
    """Solve linear systems (S, n, n) and (S, n); NaN, which is no step, for those that are singular."""
    try:
        return np.asarray(np.linalg.solve(matrices, right[..., None])[..., 0])
    except np.linalg.LinAlgError:  # one is, and the others of the batch go on
        regular = np.linalg.matrix_rank(matrices) == matrices.shape[-1]
        matrices = np.where(regular[:, None, None], matrices, np.eye(matrices.shape[-1]))
        return np.asarray(np.where(regular[:, None], np.linalg.solve(matrices, right[..., None])[..., 0], np.nan))
