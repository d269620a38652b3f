"""The geometric median: the point with the least sum of distances to the messages.

The median z of n messages lies among them, z = Σ w_i x_i with w_i in proportion to 1/‖x_i − z‖. So the messages
are replaced by points with the same distances in at most n dimensions (from the Gram matrix, one pass over the
messages), the median of those is found there by Newton's method, and its weights give z (one more pass).

Seen from a pivot c, squared distances carry a rounding error of ε‖x_i − c‖². Where the median turns out much nearer
to some message than the pivot is, everything is looked at again from there; mostly once is enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array
from secmix.aggregators.messages import Messages, Vector, admitted, returned
from secmix.aggregators.numerics.blocks import average, combination, deviations, moved
from secmix.aggregators.numerics.geometry import Cloud, central, cloud
from secmix.aggregators.numerics.median_of_points import median_of_points
from secmix.aggregators.numerics.ordering import sorted_columns
from secmix.aggregators.vector.coordinatewise import middle
from secmix.errors import NotConverged

_PASSES = 60
_NEAR = 3e-3  # nearer to a message than this share of the pivot's distance from it: look again from there
_FAR = 1e60  # in units of the typical distance; from beyond it only a message's direction counts


def geometric_median(messages: ArrayLike, f: int = 0) -> Vector:
    """The point z that minimises Σ ‖x_i − z‖ over the messages x_i (n, p).

    With at most f < n/2 Byzantine messages, z is no farther from the mean of the honest ones than
    (1 − τ)/√(1 − 2τ) times the largest honest distance, τ = f/n.

    Parameters
    ----------
    messages : (n, p)
    f : int
        Below n/2. The result does not depend on it.

    Returns
    -------
    (p,)
        First-order optimal to 1e-10: ‖Σ (x_i − z)/‖x_i − z‖‖ <= 1e-10 n, or, where z is one of the messages, at
        most how often it occurs (Vardi and Zhang 2000), as far as z can be told apart from its neighbours in
        floating point. Messages on a line have the median of their positions, an even number of them the midpoint
        of the two in the middle.

    Raises
    ------
    NotConverged
        Should the optimality fail.

    Examples
    --------
    >>> geometric_median([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [1.0, 1e9]], f=1).round(6)
    array([1., 1.])
    """
    kept, _ = admitted(messages, f, "geometric_median")
    return returned(_median(kept), kept)


def _median(messages: Messages) -> Array:
    n, p = messages.shape
    if p == 1:
        return np.concatenate([middle(rows) for _, rows in sorted_columns(messages)])
    at = central(messages) if n > 2 else 0  # the message that is the pivot; −1 once it is a point between
    pivot = np.array(messages[at], dtype=np.float64)
    residual = np.inf
    for _ in range(_PASSES):
        around = cloud(messages, pivot)
        unit = float(np.median(around.sizes))
        if unit == 0:  # half of the messages or more are here
            return pivot
        line = _middle_of_line(messages, pivot, around)
        if line is not None:
            return line
        points = _points(messages, pivot, around, unit)
        found = median_of_points(points)
        if found.at is not None:
            if found.at == at or p <= n:
                return np.array(messages[found.at], dtype=np.float64)
            at = found.at
            pivot = np.array(messages[at], dtype=np.float64)
            continue
        sizes = np.minimum(around.sizes / unit, _FAR)
        # A message that coincides with the iterate takes all the weight.
        distances = np.maximum(found.distances, 1e-300)
        pull = 1.0 / np.where(sizes < _FAR, distances, around.sizes / unit)
        residual = found.residual
        z = _between(messages, pivot, pull / pull.sum(), unit, around.shift)
        nearest = int(np.argmin(found.distances))
        if found.distances[nearest] < 1e-6 and nearest != at and p > n:
            at = nearest  # too close to call: look from that message itself, where its own distances are exact
            pivot = np.array(messages[at], dtype=np.float64)
        elif (found.distances < _NEAR * sizes).any() and not np.array_equal(z, pivot):
            at, pivot = -1, z
        elif residual <= 1e-10 * n:
            return z
        else:
            break
    raise NotConverged(f"the geometric median was found to {residual / n:.1e} only", residual / n)


def _points(messages: Messages, pivot: Array, around: Cloud, unit: float) -> Array:
    """Points with the messages' distances from the pivot and from each other, in units of ``unit``.

    Of a message so far away that only its direction counts, the distance is cut.
    """
    n, p = messages.shape
    sizes = np.minimum(around.sizes / unit, _FAR)
    if p <= n:  # few enough coordinates to take the deviations themselves
        block = np.ldexp(messages.astype(np.float64), -around.shift) - np.ldexp(pivot, -around.shift)
        largest = np.abs(block).max(axis=1, keepdims=True)
        units = block / np.where(largest > 0, largest, 1.0)
    else:
        values, vectors = np.linalg.eigh(around.cosines)
        real = values > n * np.finfo(float).eps
        units = vectors[:, real] * np.sqrt(values[real])
    lengths = np.sqrt((units**2).sum(axis=1, keepdims=True))
    return np.asarray(units / np.where(lengths > 0, lengths, 1.0) * sizes[:, None])


def _between(messages: Messages, pivot: Array, weights: Array, unit: float, shift: int) -> Array:
    """Σ w_i x_i, with the pivot taken out first where it is so large that digits would be lost."""
    away = float(np.abs(pivot).max()) * np.sqrt(len(pivot))
    if shift or away >= 16 * unit:
        return moved(messages, pivot, weights, shift)
    return combination(messages, weights)


def _middle_of_line(messages: Messages, pivot: Array, around: Cloud) -> Array | None:
    """The median of messages that lie on one line, up to how they are rounded; else None.

    They look so from the pivot; whether they do is decided by whether that median is optimal.
    """
    along = around.cosines[int(np.argmax(around.sizes))]
    if (np.abs(along[around.sizes > 0]) < 1 - 1e-12).any():
        return None
    n = len(messages)
    order = np.argsort(along * around.sizes)
    z = average(messages, order[(n - 1) // 2 : n // 2 + 1])
    return z if _optimal(messages, z) else None


def _optimal(messages: Messages, z: Array) -> bool:
    """Whether the messages' pulls balance at z, up to what rounding z can do to them."""
    around = cloud(messages, z)
    elsewhere = around.sizes > 0
    inverse = 1.0 / np.where(elsewhere, around.sizes, np.inf)
    pull = np.concatenate([inverse @ block for block in deviations(messages, z, around.shift)])
    room = 2 * np.finfo(float).eps * float(np.abs(np.ldexp(z, -around.shift)).max()) * np.sqrt(len(z))
    blurred = float(np.minimum(room * inverse, 1.0).sum())
    surplus = float(np.sqrt((pull**2).sum())) - float((~elsewhere).sum())
    return surplus <= 1e-11 * len(messages) + blurred
