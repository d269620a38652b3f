"""Rows that stand alone in a sum, or in the difference of two: no equations need solving for those."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secmix._base.checks import Array
from secmix.mixture import Mixture

# Variance within what is one row, relative to that of all rows: what rounding leaves of nothing.
_SINGLE = 1e-8
_SINGLE_ROW = 1e-6
_LEAST = 1e-3


def isolated_rows(sums: Array, parameters: Sequence[Mixture]) -> Array:
    """Find the rows (r, d) that the sums (T, c, q) of T rounds isolate, without repetition.

    The sums of one component satisfy a C = b bᵀ (with b and C about the same point) if and only if they are those of a
    single row, whatever its share a in them; then b / a is the row. Differences between two sums, of other rounds or
    components, are tried where they count one row.

    >>> import numpy as np
    >>> from secmix.mixture import local_statistics
    >>> far = Mixture([0.5, 0.5], [[0.0], [50.0]], np.ones((2, 1, 1)))
    >>> sums = local_statistics(np.array([[-1.0], [1.0], [48.0]]), far, likelihood=False).reshape(1, 2, 3)
    >>> isolated_rows(sums, [far]).tolist()
    [[48.0]]
    """
    rounds, c, _ = sums.shape
    d = parameters[0].n_features
    means = np.stack([theta.means for theta in parameters])
    a, b = sums[..., 0], sums[..., 1 : 1 + d]
    centre = b[0].sum(axis=0) / a[0].sum()
    diagonal = 1 + d + np.array([k * d - k * (k - 1) // 2 for k in range(d)])
    shift = means - centre
    first = b - a[..., None] * means
    spread = (sums[..., diagonal] + 2 * first * shift + a[..., None] * shift**2).sum(axis=-1).reshape(-1)
    a, moved = a.reshape(-1), (b - a[..., None] * centre).reshape(rounds * c, d)
    scale = spread[:c].sum() / a[:c].sum()
    left, right = np.triu_indices(rounds * c, 1)
    sign = np.where(a[left] < a[right], -1.0, 1.0)
    count = np.concatenate([a, sign * (a[left] - a[right])])
    offset = np.concatenate([moved, sign[:, None] * (moved[left] - moved[right])])
    total = np.concatenate([spread, sign * (spread[left] - spread[right])])
    alone = np.arange(len(count)) < len(a)
    tried = np.where(alone, count > _LEAST, np.abs(count - 1) < _SINGLE_ROW)
    count, offset, total = count[tried], offset[tried], total[tried]
    within = total / count - (offset**2).sum(axis=1) / count**2
    rows = centre + offset / count[:, None]
    rows = rows[np.abs(within) < _SINGLE * scale]
    distinct: list[Array] = []
    for row in rows:
        if all(((row - other) ** 2).sum() > 1e-8 * scale for other in distinct):
            distinct.append(row)
    return np.array(distinct).reshape(-1, d)
