"""Unusual rows: of all nodes, of one row, and of a single node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from secmix._base.checks import Array

Change = Callable[[Array], Array]
FAR = 2.0**12


def _one_row_far(rows: Array) -> Array:
    """Move one row beyond all others of its node."""
    return np.concatenate([FAR * (1 + np.abs(rows[:, :1])), rows[:, 1:]], axis=1)


def _every_other_column(rows: Array) -> Array:
    """Flip the sign of every other column."""
    return rows * np.where(np.arange(rows.shape[2]) % 2, -1.0, 1.0)


def _one_column_for_all(rows: Array) -> Array:
    return np.repeat(rows[:, :, :1], rows.shape[2], axis=2)


CHANGES: tuple[Change, ...] = (
    lambda rows: 2.0**4 * rows,
    lambda rows: 2.0**-4 * rows,
    lambda rows: FAR * rows,
    np.abs,
    lambda rows: -np.abs(rows),
    np.rint,
    np.zeros_like,
    lambda rows: np.repeat(rows[:, :1], rows.shape[1], axis=1),
    lambda rows: np.sort(rows, axis=1),
    np.negative,
    _one_row_far,
    _every_other_column,
    _one_column_for_all,
    lambda rows: _every_other_column(_one_column_for_all(rows)),
    lambda rows: np.concatenate([np.repeat(rows[:, :1, :1], rows.shape[1], axis=1), rows[:, :, 1:]], axis=2),
    lambda rows: np.concatenate([rows[:, : (rows.shape[1] + 1) // 2]] * 2, axis=1)[:, : rows.shape[1]],
)
"""Changes of the rows (runs, N_i, d) of every honest node: other units, other signs, equal, sorted, distant."""

_OF_ONE: tuple[Change, ...] = (lambda rows: FAR * rows, lambda rows: rows + FAR, lambda rows: rows - FAR, np.zeros_like)


def one_unlike_all(rows: Sequence[Array], honest: Sequence[int], most: int) -> Iterator[list[Array]]:
    """Yield rows in which one honest node has unusual rows, or a row of another node."""
    for node in honest[:most]:
        for change in _OF_ONE:
            yield [change(part) if i == node else part for i, part in enumerate(rows)]
    for node, other in pairwise(honest[: most + 1]):
        shared = np.concatenate([rows[other][:, :1], rows[node][:, 1:]], axis=1)
        yield [shared if i == node else part for i, part in enumerate(rows)]
