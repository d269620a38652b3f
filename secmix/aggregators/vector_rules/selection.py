"""Rules that select messages by how close they lie to others: Krum, Multi-Krum, Bulyan."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, integer
from secmix.aggregators.numerics.blocks import average_of_each
from secmix.aggregators.numerics.geometry import distances
from secmix.aggregators.numerics.ordering import smallest_of_each, sorted_columns
from secmix.aggregators.screened_messages import Messages, Vector
from secmix.aggregators.stacks import alone, core_of
from secmix.aggregators.vector_rules.coordinatewise import around_median
from secmix.errors import SecmixError


def krum(messages: ArrayLike, f: int) -> Vector:
    """Choose the message with the least sum of squared distances to its n − f − 2 nearest others.

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
    return alone(_krum, messages, f, "krum")


@core_of(krum)
def _krum(stack: Messages, f: int) -> Messages:
    best = smallest_of_each(krum_scores(distances(stack), f), 1, stack)
    return np.asarray(stack[np.arange(len(stack)), best[:, 0]])


def multi_krum(messages: ArrayLike, f: int, *, m: int | None = None) -> Vector:
    """Average the m messages with the least Krum scores.

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
    return alone(_multi_krum, messages, f, "multi_krum", m=m)


@core_of(multi_krum)
def _multi_krum(stack: Messages, f: int, m: int | None = None) -> Array:
    n = stack.shape[1]
    most = n - f
    count = most if m is None else integer(m, "m")
    if count > most:
        raise SecmixError(f"m = {count} would average Byzantine messages; with n = {n}, f = {f} use m <= {most}")
    return average_of_each(stack, smallest_of_each(krum_scores(distances(stack), f), count, stack))


def bulyan(messages: ArrayLike, f: int) -> Vector:
    """Select n − 2f messages by Krum, one after the other, then take the mean around their median.

    After each choice the message chosen leaves, and the others are scored anew: with m left, each by its
    m − f − 2 nearest, or by the nearest one where that is none. In each coordinate, the n − 4f of the n − 2f selected
    values that are nearest to their median are averaged.

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
    return alone(_bulyan, messages, f, "bulyan")


@core_of(bulyan)
def _bulyan(stack: Messages, f: int) -> Array:
    if f == 0:
        return average_of_each(stack)
    s, n, p = stack.shape
    apart, sets = distances(stack), np.arange(s)[:, None]
    left = np.tile(np.arange(n), (s, 1))
    selected = np.empty((s, n - 2 * f), dtype=np.intp)
    for k in range(n - 2 * f):
        among = apart[sets[..., None], left[:, :, None], left[:, None, :]]
        best = left[sets, smallest_of_each(krum_scores(among, f), 1, stack, left)]
        selected[:, k] = best[:, 0]
        left = left[left != best].reshape(s, -1)
    result = np.empty((s, p))
    for columns, rows in sorted_columns(stack[sets, selected]):
        result[:, columns] = around_median(rows, n - 4 * f)
    return result


def krum_scores(apart: Array, f: int) -> Array:
    """Compute each message's score: the root of the sum of its n − f − 2 (one at least) least squared distances.

    The root has the order of the sum and stays in the range of floats where the sum would leave it. ``apart``
    (..., n, n) are distances, not squared.
    """
    nearest = max(apart.shape[-1] - f - 2, 1)
    others = np.sort(apart, axis=-1)[..., 1 : 1 + nearest]  # the first is its own, 0
    largest = others[..., -1]
    shares = others / np.where(largest > 0, largest, 1.0)[..., None]
    return np.asarray(largest * np.sqrt((shares**2).sum(axis=-1)))
