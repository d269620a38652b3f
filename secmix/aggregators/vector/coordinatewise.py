"""Rules that take each coordinate by itself: mean, median, trimmed mean, mean around the median."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array
from secmix.aggregators.messages import Messages, Vector, admitted, returned
from secmix.aggregators.numerics.blocks import average
from secmix.aggregators.numerics.ordering import sorted_columns


def mean(messages: ArrayLike, f: int = 0) -> Vector:
    """The average of the messages (n, p): what one Byzantine message moves anywhere.

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
    kept, _ = admitted(messages, f, "mean")
    return returned(average(kept), kept)


def coordinate_median(messages: ArrayLike, f: int = 0) -> Vector:
    """The median of each coordinate; of an even number, the midpoint of the two in the middle.

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
    kept, _ = admitted(messages, f, "coordinate_median")
    result = np.empty(kept.shape[1])
    for columns, rows in sorted_columns(kept):
        result[columns] = middle(rows)
    return returned(result, kept)


def trimmed_mean(messages: ArrayLike, f: int) -> Vector:
    """The mean of each coordinate without its f largest and f smallest values.

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
    kept, f = admitted(messages, f, "trimmed_mean")
    if f == 0:
        return returned(average(kept), kept)
    result = np.empty(kept.shape[1])
    for columns, rows in sorted_columns(kept):
        result[columns] = row_mean(rows[f : len(rows) - f])
    return returned(result, kept)


def meamed(messages: ArrayLike, f: int) -> Vector:
    """The mean of the n − f values nearest to the median, in each coordinate.

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
    kept, f = admitted(messages, f, "meamed")
    if f == 0:
        return returned(average(kept), kept)
    result = np.empty(kept.shape[1])
    for columns, rows in sorted_columns(kept):
        result[columns] = around_median(rows, len(rows) - f)
    return returned(result, kept)


def middle(rows: Messages) -> Array:
    """The median of sorted rows, in float64."""
    n = len(rows)
    low, high = rows[(n - 1) // 2].astype(np.float64), rows[n // 2].astype(np.float64)
    return row_mean(np.stack([low, high])) if n % 2 == 0 else low


def around_median(rows: Messages, count: int) -> Array:
    """The mean of the ``count`` values nearest to the median, of sorted rows.

    How far that reaches is the least over all runs of ``count`` neighbours. Values at exactly that distance share
    the places left equally.
    """
    centre = middle(rows)
    with np.errstate(over="ignore"):  # an infinite distance loses, as it should
        runs = range(len(rows) - count + 1)
        reach = np.min([np.maximum(centre - rows[k], rows[k + count - 1] - centre) for k in runs], axis=0)
        distances = np.abs(rows - centre)
    # The two values beside an even number's median are equally far from it but for rounding, and so may others be.
    eps = 4 * np.finfo(float).eps
    rounding = np.where(np.isfinite(reach), eps * np.abs(centre) + eps * reach, 0.0)
    weights = (distances < reach - rounding).astype(np.float64)
    edge = (distances <= reach + rounding) & (weights == 0)
    weights += edge * ((count - weights.sum(axis=0)) / edge.sum(axis=0))
    return row_mean(rows, weights, count)


def row_mean(rows: Messages, weights: Array | None = None, count: int | None = None) -> Array:
    """The mean of some rows in float64, or Σ weights · rows / count; nothing overflows on the way."""
    count = len(rows) if count is None else count
    with np.errstate(over="ignore", invalid="ignore"):
        weighted = rows if weights is None else rows * weights
        total = np.asarray(weighted.sum(axis=0, dtype=np.float64))
    too_large = ~np.isfinite(total)
    total /= count
    if too_large.any():
        # Scaled by a power of two, entries near the largest float can be added; nothing is rounded by it.
        down = 2.0 ** np.ceil(np.log2(len(rows)))
        total[too_large] = (weighted[:, too_large].astype(np.float64) / down).sum(axis=0) / (count / down)
    return total
