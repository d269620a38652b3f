"""Rules that select messages by how close they lie to others: Krum, Multi-Krum, Bulyan."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, integer
from secmix.aggregators.messages import Vector, admitted, returned
from secmix.aggregators.numerics.blocks import average
from secmix.aggregators.numerics.geometry import distances
from secmix.aggregators.numerics.ordering import smallest, sorted_columns
from secmix.aggregators.vector.coordinatewise import around_median
from secmix.errors import SecmixError


def krum(messages: ArrayLike, f: int) -> Vector:
    """The message with the least sum of squared distances to its n − f − 2 nearest others.

    Equal scores go to the message that comes first by value, so that the order of arrival does not matter.

    Parameters
    ----------
    messages : (n, p)
    f : int
        n >= 2f + 3.

    Source: Blanchard et al. 2017.

    Examples
    --------
    >>> krum([[0.0], [1.0], [1.5], [2.5], [1e9]], f=1)
    array([1.])
    """
    kept, f = admitted(messages, f, "krum")
    scores = krum_scores(distances(kept), f)
    return np.array(kept[smallest(scores, 1, kept)[0]])


def multi_krum(messages: ArrayLike, f: int, *, m: int | None = None) -> Vector:
    """The mean of the m messages with the least Krum scores.

    Parameters
    ----------
    messages : (n, p)
    f : int
        n >= 2f + 3.
    m : int, optional
        From 1, which is Krum, to n − f, the default (of the messages left, should any be rejected).

    Source: Blanchard et al. 2017 (Multi-Krum).

    Examples
    --------
    >>> multi_krum([[0.0], [1.0], [1.5], [2.5], [1e9]], f=1)
    array([1.25])
    """
    kept, f = admitted(messages, f, "multi_krum")
    most = len(kept) - f
    count = most if m is None else integer(m, "m")
    if count > most:
        raise SecmixError(
            f"m = {count} would average Byzantine messages; with n = {len(kept)}, f = {f} use m <= {most}"
        )
    scores = krum_scores(distances(kept), f)
    return returned(average(kept, smallest(scores, count, kept)), kept)


def bulyan(messages: ArrayLike, f: int) -> Vector:
    """Select n − 2f messages by Krum, one after the other, then take the mean around their median.

    After each choice the message chosen leaves, and the others are scored anew: with m left, each by its
    m − f − 2 nearest, or by the nearest one where that is none. Of the n − 2f selected values in a coordinate, the
    n − 4f nearest to their median are averaged.

    Parameters
    ----------
    messages : (n, p)
    f : int
        n >= 4f + 3.

    Source: El Mhamdi, Guerraoui and Rouault 2018.

    Examples
    --------
    >>> bulyan([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [1e9]], f=1)
    array([2.])
    """
    kept, f = admitted(messages, f, "bulyan")
    n = len(kept)
    if f == 0:
        return returned(average(kept), kept)
    apart = distances(kept)
    left, selected = np.arange(n), []
    for _ in range(n - 2 * f):
        scores = krum_scores(apart[np.ix_(left, left)], f)
        best = int(left[smallest(scores, 1, kept, left)[0]])
        selected.append(best)
        left = left[left != best]
    result = np.empty(kept.shape[1])
    for columns, rows in sorted_columns(kept[selected]):
        result[columns] = around_median(rows, n - 4 * f)
    return returned(result, kept)


def krum_scores(apart: Array, f: int) -> Array:
    """For each of n messages, the root of the sum of its n − f − 2 (one at least) smallest squared distances to others.

    The root has the order of the sum and stays in the range of floats where the sum would leave it. ``apart`` (n, n)
    are distances, not squared.
    """
    n = len(apart)
    nearest = max(n - f - 2, 1)
    others = np.sort(apart, axis=1)[:, 1 : 1 + nearest]  # the first is its own, 0
    largest = others[:, -1:]
    shares = others / np.where(largest > 0, largest, 1.0)
    return np.asarray(largest[:, 0] * np.sqrt((shares**2).sum(axis=1)))
