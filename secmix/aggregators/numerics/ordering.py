"""Order among numbers, column by column, and among messages, by their values and never by who sent them."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix.aggregators.numerics.blocks import blocks
from secmix.aggregators.screened_messages import Messages, Vector

_TIED = 1e-12  # scores that differ by less, relative, are equal but for rounding


def sorted_columns(messages: Messages) -> Iterator[tuple[slice, Messages]]:
    """Yield the columns of messages (..., n, p) a block at a time, each in ascending order down the rows."""
    p = messages.shape[-1]
    for columns in blocks(messages.size // p, p, most=5000):
        yield columns, np.sort(messages[..., columns], axis=-2)


def smallest(scores: Array, count: int, messages: Messages) -> NDArray[np.intp]:
    """Find which ``count`` scores (n,) of messages (n, p) are smallest; ties as in :func:`smallest_of_each`."""
    return np.asarray(smallest_of_each(scores[None], count, messages[None])[0])


def smallest_of_each(
    scores: Array, count: int, stack: Messages, rows: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Find which ``count`` scores are smallest, for each set of a stack of messages (s, n, p): (s, count).

    Ties are broken by the first entry in which two messages differ, so that the choice is the same in whatever
    order the messages arrive. The scores (s, m) are those of all messages, or of ``rows`` (s, m).
    """
    order = np.argsort(scores, axis=1, kind="stable")
    if count >= scores.shape[1]:
        return order
    chosen = order[:, :count]
    sets = np.arange(len(scores))
    edge = scores[sets, order[:, count - 1]]
    slack = np.where(np.isfinite(edge), _TIED * np.abs(edge), 0.0)
    for k in np.flatnonzero(scores[sets, order[:, count]] <= edge + slack):
        at = np.arange(scores.shape[1]) if rows is None else rows[k]
        chosen[k] = _by_value(scores[k], count, float(edge[k] - slack[k]), float(edge[k] + slack[k]), stack[k][at])
    return chosen


def _by_value(scores: Array, count: int, low: float, high: float, messages: Messages) -> NDArray[np.intp]:
    """Find the ``count`` smallest scores, where those from ``low`` to ``high`` are tied for the last places."""
    sure = np.flatnonzero(scores < low)
    tied = np.flatnonzero((scores >= low) & (scores <= high))

    def first(i: int, j: int) -> int:
        return compare(messages[i], messages[j])

    ranked = sorted(tied.tolist(), key=functools.cmp_to_key(first))
    return np.concatenate([sure, np.asarray(ranked[: count - len(sure)], dtype=np.intp)])


def compare(a: Vector, b: Vector) -> int:
    """Compare two vectors by the first entry in which they differ: −1, 0 or 1."""
    differ = np.flatnonzero(a != b)
    if not len(differ):
        return 0
    return -1 if a[differ[0]] < b[differ[0]] else 1
