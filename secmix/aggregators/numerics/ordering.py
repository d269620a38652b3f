"""Order among numbers, column by column, and among messages, by their values and never by who sent them."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix.aggregators.messages import Messages, Vector
from secmix.aggregators.numerics.blocks import blocks

_TIED = 1e-12  # scores that differ by less, relative, are equal but for rounding


def sorted_columns(messages: Messages) -> Iterator[tuple[slice, Messages]]:
    """The columns a block at a time, each column of a block in ascending order down the rows."""
    for columns in blocks(len(messages), messages.shape[1], most=5000):
        yield columns, np.sort(messages[:, columns], axis=0)


def smallest(scores: Array, count: int, messages: Messages, rows: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
    """Which ``count`` scores are smallest; where that is a tie, of the messages that come first by value.

    Ties are broken by the first entry in which two messages differ, so that the choice is the same in whatever
    order the messages arrive. The scores are those of all messages, or of ``rows``.
    """
    order = np.argsort(scores, kind="stable")
    if count >= len(scores):
        return order
    edge = scores[order[count - 1]]
    slack = _TIED * abs(edge) if np.isfinite(edge) else 0.0
    low, high = edge - slack, edge + slack
    if scores[order[count]] > high:
        return order[:count]
    sure = np.flatnonzero(scores < low)
    tied = np.flatnonzero((scores >= low) & (scores <= high))
    at = np.arange(len(scores)) if rows is None else rows

    def first(i: int, j: int) -> int:
        return compare(messages[at[i]], messages[at[j]])

    ranked = sorted(tied.tolist(), key=functools.cmp_to_key(first))
    return np.concatenate([sure, np.asarray(ranked[: count - len(sure)], dtype=np.intp)])


def compare(a: Vector, b: Vector) -> int:
    """−1, 0 or 1: which of two vectors is smaller in the first entry in which they differ."""
    differ = np.flatnonzero(a != b)
    if not len(differ):
        return 0
    return -1 if a[differ[0]] < b[differ[0]] else 1
