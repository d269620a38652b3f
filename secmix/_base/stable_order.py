"""Arrays in an order that does not depend on last bits: signs of directions, and assignments of rows to columns."""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array, Ints


def oriented(directions: Array) -> Array:
    """Choose one of the two signs of NumPy directions (..., d) whose sign is arbitrary, as of eigenvectors.

    The entry of largest size becomes positive; of several that agree to six digits, the first. LAPACK does not fix the
    sign, and it differs between processors, as would random draws along such directions.

    >>> oriented(np.array([[0.6, -0.8], [-0.5, 0.5]])).tolist()
    [[-0.6, 0.8], [0.5, -0.5]]
    """
    sizes = np.abs(directions)
    first = np.argmax(sizes >= (1 - 1e-6) * sizes.max(axis=-1, keepdims=True), axis=-1)[..., None]
    return np.asarray(np.where(np.take_along_axis(directions, first, axis=-1) < 0, -directions, directions))


def least_assignment(cost: Array, tie: float) -> Ints:
    """Assign a column to each row (K,) at the least total of ``cost`` (K, L), K <= L.

    Of totals that differ by less than about ``tie``, the assignment in ascending order is taken, by a bonus of at most
    ``tie`` for pairs of large indices: by the rearrangement inequality its total is largest if the columns of tied rows
    ascend. Rounding costs to a grid would only move the ties to the borders of the grid.

    >>> least_assignment(np.array([[1.0 + 1e-15, 3.0], [1.0, 3.0]]), tie=1e-9)
    array([0, 1])
    """
    from scipy.optimize import linear_sum_assignment  # takes a moment to import

    rows, columns = (np.sqrt(np.arange(size) + 1.0) for size in cost.shape)
    bonus = tie * np.outer(rows, columns) / (rows[-1] * columns[-1])
    return np.asarray(linear_sum_assignment(cost - bonus)[1], dtype=np.intp)
