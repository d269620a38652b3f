"""Rules that take each coordinate by itself: mean, median, trimmed mean, mean around the median."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array
from secmix.aggregators.numerics.blocks import average_of_each
from secmix.aggregators.numerics.ordering import sorted_columns
from secmix.aggregators.screened_messages import Messages, Vector
from secmix.aggregators.stacks import alone, core_of


def mean(messages: ArrayLike, f: int = 0) -> Vector:
    """Average the messages (n, p): one Byzantine message moves this anywhere.

    Parameters
    ----------
    messages : (n, p)
    f : int
        Only checked; the mean tolerates none.

    Examples
    --------
    >>> mean([[1.0, 2.0], [3.0, 6.0]])
    array([2., 4.])
    """
    return alone(_mean, messages, f, "mean")


@core_of(mean)
def _mean(stack: Messages, f: int) -> Array:
    return average_of_each(stack)


def coordinate_median(messages: ArrayLike, f: int = 0) -> Vector:
    """Take the median of each coordinate; of an even number, the midpoint of the two in the middle.

    Parameters
    ----------
    messages : (n, p)
    f : int
        Below n/2. The result does not depend on it.

    Source: Yin et al. 2018, definition 1.

    Examples
    --------
    >>> coordinate_median([[1.0, 2.0], [3.0, 6.0], [1e9, -1e9]], f=1)
    array([3., 2.])
    """
    return alone(_coordinate_median, messages, f, "coordinate_median")


@core_of(coordinate_median)
def _coordinate_median(stack: Messages, f: int) -> Array:
    return _by_columns(stack, middle)


def trimmed_mean(messages: ArrayLike, f: int) -> Vector:
    """Average each coordinate without its f largest and f smallest values.

    Parameters
    ----------
    messages : (n, p)
    f : int
        Below n/2.

    Source: Yin et al. 2018, definition 2.

    Examples
    --------
    >>> trimmed_mean([[1.0], [2.0], [4.0], [1e9]], f=1)
    array([3.])
    """
    return alone(_trimmed_mean, messages, f, "trimmed_mean")


@core_of(trimmed_mean)
def _trimmed_mean(stack: Messages, f: int) -> Array:
    if f == 0:
        return average_of_each(stack)
    return _by_columns(stack, lambda rows: row_mean(rows[:, f : rows.shape[1] - f]))


def meamed(messages: ArrayLike, f: int) -> Vector:
    """Average the n − f values nearest to the median, in each coordinate.

    Values that compete for the last places at the same distance share them equally.

    Parameters
    ----------
    messages : (n, p)
    f : int
        Below n/2.

    Source: Xie, Koyejo and Gupta 2018, mean around median.

    Examples
    --------
    >>> meamed([[1.0], [2.0], [4.0], [1e9]], f=1).round(3)
    array([2.333])
    """
    return alone(_meamed, messages, f, "meamed")


@core_of(meamed)
def _meamed(stack: Messages, f: int) -> Array:
    if f == 0:
        return average_of_each(stack)
    return _by_columns(stack, lambda rows: around_median(rows, rows.shape[1] - f))


def _by_columns(stack: Messages, of_sorted: Callable[[Messages], Array]) -> Array:
    """Apply ``of_sorted`` to the sorted columns of each set: (s, p)."""
    result = np.empty((len(stack), stack.shape[2]))
    for columns, rows in sorted_columns(stack):
        result[:, columns] = of_sorted(rows)
    return result


def middle(rows: Messages) -> Array:
    """Take the median of sorted rows (..., n, p), in float64."""
    n = rows.shape[-2]
    if n % 2:
        return rows[..., n // 2, :].astype(np.float64)
    return row_mean(rows[..., n // 2 - 1 : n // 2 + 1, :])


def around_median(rows: Messages, count: int) -> Array:
    """Average the ``count`` values nearest to the median, of sorted rows (..., n, p).

    How far that reaches is the least over all runs of ``count`` neighbours. Values at exactly that distance share
    the places left equally.
    """
    centre = middle(rows)[..., None, :]
    runs = rows.shape[-2] - count + 1
    with np.errstate(over="ignore"):  # an infinite distance loses, as it should
        ends = np.maximum(centre - rows[..., :runs, :], rows[..., count - 1 :, :] - centre)
        reach = ends.min(axis=-2, keepdims=True)
        distances = np.abs(rows - centre)
    # The two values beside an even number's median are equally far from it but for rounding, and so may others be.
    eps = 4 * np.finfo(float).eps
    rounding = np.where(np.isfinite(reach), eps * np.abs(centre) + eps * reach, 0.0)
    weights = (distances < reach - rounding).astype(np.float64)
    with np.errstate(over="ignore"):
        edge = (distances <= reach + rounding) & (weights == 0) & (np.isfinite(distances) | np.isinf(reach))
    weights += edge * ((count - weights.sum(axis=-2, keepdims=True)) / edge.sum(axis=-2, keepdims=True))
    return row_mean(rows, weights, count)


def row_mean(rows: Messages, weights: Array | None = None, count: int | None = None) -> Array:
    """Average rows (..., n, p) in float64, or compute Σ weights · rows / count; nothing overflows on the way."""
    n = rows.shape[-2]
    count = n if count is None else count
    with np.errstate(over="ignore", invalid="ignore"):
        weighted = rows if weights is None else rows * weights
        total = np.asarray(weighted.sum(axis=-2, dtype=np.float64))
    too_large = ~np.isfinite(total)
    total /= count
    if too_large.any():
        # Scaled by a power of two, entries near the largest float can be added; nothing is rounded by it.
        down = 2.0 ** np.ceil(np.log2(n))
        total = np.where(too_large, (weighted.astype(np.float64) / down).sum(axis=-2) / (count / down), total)
    return total
