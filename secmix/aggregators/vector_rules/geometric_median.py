"""The geometric median: the point with the least sum of distances to the messages.

The median z of n messages lies among them, z = Σ w_i x_i with w_i in proportion to 1/‖x_i − z‖. So the messages
are replaced by points with the same distances in at most n dimensions (from the Gram matrix, one pass over the
messages), the median of those is found there by Newton's method, and its weights give z (one more pass).

Seen from a pivot c, squared distances carry a rounding error of ε‖x_i − c‖². Where the median turns out much nearer
to some message than the pivot is, everything is computed again from there; mostly once is enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secmix._base.checks import Array, Ints
from secmix.aggregators.numerics.blocks import average, combination_of_each, deviations, moved_of_each
from secmix.aggregators.numerics.geometry import FAR, brought_nearer, central_of_each, cloud, clouds, too_far
from secmix.aggregators.numerics.median_of_points import medians_of_points
from secmix.aggregators.numerics.ordering import sorted_columns
from secmix.aggregators.screened_messages import Messages, Vector
from secmix.aggregators.stacks import alone, core_of
from secmix.aggregators.vector_rules.coordinatewise import middle
from secmix.errors import NotConverged

_PASSES, _PATIENCE = 60, 8  # after so many passes, what is optimal but for rounding will do
_BLURRED = 1e-9  # messages nearer to each other than this share of the pivot's distance have lost too many digits
_NEAR = 3e-3  # nearer to a message than this share of the pivot's distance from it: start again there


def geometric_median(messages: ArrayLike, f: int = 0) -> Vector:
    """Compute the point z that minimises Σ ‖x_i − z‖ over the messages x_i (n, p).

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
    return alone(_geometric_median, messages, f, "geometric_median")


@core_of(geometric_median)
def _geometric_median(stack: Messages, f: int) -> Array:
    """Compute the medians of the sets side by side, each with its own pivot, until the last is found."""
    s, n, p = stack.shape
    if p == 1:
        return np.concatenate([middle(rows) for _, rows in sorted_columns(stack)], axis=1)
    exact = p <= 2 * n  # few enough coordinates to take the deviations themselves
    at = central_of_each(stack)  # the message that is the pivot; −1 once it is a point between
    pivots = stack[np.arange(s), at].astype(np.float64)
    going, residual = np.arange(s), np.full(s, np.inf)
    for passes in range(_PASSES):
        members = stack if len(going) == s else stack[going]
        sizes, cosines, shifts = clouds(members, pivots[going])
        units = np.median(sizes, axis=1)
        ahead = units > 0  # else half of the messages or more are here
        for k in np.flatnonzero(ahead & _on_a_line(sizes, cosines)):
            line = _middle_of_line(members[k], sizes[k], cosines[k])
            if line is not None:
                pivots[going[k]], ahead[k] = line, False
        left = np.flatnonzero(ahead)
        if not len(left):
            return pivots
        if len(left) < len(going):
            going, members, units, shifts = going[left], members[left], units[left], shifts[left]
            sizes, cosines = sizes[left], cosines[left]
        beyond = too_far(sizes, units[:, None]).any(axis=1)
        if beyond.any():
            stack = np.array(stack, dtype=np.float64)
            for k in np.flatnonzero(beyond):
                stack[going[k]] = brought_nearer(members[k], pivots[going[k]], sizes[k], units[k], int(shifts[k]))
            continue
        far = np.minimum(sizes / units[:, None], FAR)
        medians = medians_of_points(_points(members, pivots[going], far, cosines, shifts, exact))
        residual[going] = medians.residual
        on = np.arange(len(going))
        again = np.ones(len(going), dtype=bool)
        there = medians.at >= 0
        # Seen from a pivot far away, messages may lie at one place that do not.
        blurred = ((medians.distances <= _BLURRED * far[on, medians.at][:, None]) & ~_equal(members, medians.at)).any(
            axis=1
        )
        again[there & ((exact & ~blurred) | (medians.at == at[going]))] = False
        # A message that coincides with the iterate takes all the weight.
        away = np.maximum(medians.distances, 1e-300)
        pull = 1.0 / np.where(far < FAR, away, sizes / units[:, None])
        weights = np.where(there[:, None], 0.0, pull / pull.sum(axis=1)[:, None])
        z = _between(members, pivots[going], weights, units, shifts)
        nearest = np.argmin(medians.distances, axis=1)
        # Too close to call: look from that message itself, where its own distances are exact.
        close = ~there & (medians.distances[on, nearest] < 1e-6) & (nearest != at[going]) & (not exact)
        restart = ~there & ~close & (medians.distances < _NEAR * far).any(axis=1) & (z != pivots[going]).any(axis=1)
        done = ~there & ~close & ~restart
        stuck = done & (residual[going] > 1e-10 * n)
        if stuck.any():
            least = float(residual[going[stuck]].max()) / n
            raise NotConverged(f"the geometric median was found to {least:.1e} only", least)
        goal = np.where(there, medians.at, nearest)
        at[going] = np.where(there | close, goal, -1)
        pivots[going] = np.where((there | close)[:, None], members[on, goal], z)
        going = going[again & ~done]
        if passes >= _PATIENCE:
            going = going[[not _optimal(stack[k], pivots[k]) for k in going]]
        if not len(going):
            return pivots
    least = float(residual[going].max()) / n
    raise NotConverged(f"the geometric median was found to {least:.1e} only", least)


def _equal(stack: Messages, at: Ints) -> NDArray[np.bool_]:
    """Mark the messages (s, n) of each set that are equal to that at ``at`` (s,)."""
    return np.asarray((stack == stack[np.arange(len(stack)), at][:, None]).all(axis=2))


def _points(stack: Messages, pivots: Array, sizes: Array, cosines: Array, shifts: Ints, exact: bool) -> Array:
    """Place points at the messages' distances from the pivot, ``sizes`` (s, n), and from each other.

    Where a message is so far away that only its direction counts, its distance is cut.
    """
    if exact:
        down = -shifts[:, None, None]
        block = np.ldexp(stack.astype(np.float64, copy=False), down) - np.ldexp(pivots[:, None], down)
        largest = np.abs(block).max(axis=2, keepdims=True)
        units = block / np.where(largest > 0, largest, 1.0)
    else:
        values, vectors = np.linalg.eigh(cosines)
        real = values > stack.shape[1] * np.finfo(float).eps
        units = vectors * np.sqrt(np.where(real, values, 0.0))[:, None]
    lengths = np.sqrt((units**2).sum(axis=2, keepdims=True))
    return np.asarray(units / np.where(lengths > 0, lengths, 1.0) * sizes[..., None])


def _between(stack: Messages, pivots: Array, weights: Array, units: Array, shifts: Ints) -> Array:
    """Compute Σ w_i x_i (s, p), with the pivot taken out first where it is so large that digits would be lost."""
    out = (shifts > 0) | (np.abs(pivots).max(axis=1) >= 16 * units / np.sqrt(stack.shape[2]))
    z = np.empty_like(pivots)
    if out.any():
        z[out] = moved_of_each(stack[out], pivots[out], weights[out], shifts[out])
    if not out.all():
        z[~out] = combination_of_each(stack[~out], weights[~out])
    return z


def _on_a_line(sizes: Array, cosines: Array) -> NDArray[np.bool_]:
    """Mark the sets that look from their pivot as if all messages lay on one line, up to how they are rounded."""
    along = cosines[np.arange(len(sizes)), np.argmax(sizes, axis=1)]
    return np.asarray(((np.abs(along) >= 1 - 1e-12) | (sizes == 0)).all(axis=1))


def _middle_of_line(messages: Messages, sizes: Array, cosines: Array) -> Array | None:
    """Compute the median of messages that look as if they lay on one line; None where they do not.

    They look so where that median is optimal.
    """
    n = len(messages)
    order = np.argsort(cosines[int(np.argmax(sizes))] * sizes)
    z = average(messages, order[(n - 1) // 2 : n // 2 + 1])
    return z if _optimal(messages, z) else None


def _optimal(messages: Messages, z: Array) -> bool:
    """Check that the messages' pulls balance at z, up to what rounding z can do to them."""
    around = cloud(messages, z)
    elsewhere = around.sizes > 0
    sizes = np.where(elsewhere, around.sizes, np.inf)
    pull = np.concatenate([(block / sizes[:, None]).sum(axis=0) for block in deviations(messages, z, around.shift)])
    room = 2 * np.finfo(float).eps * float(np.abs(np.ldexp(z, -around.shift)).max()) * np.sqrt(len(z))
    blurred = float((np.minimum(room, sizes) / sizes).sum())
    surplus = float(np.sqrt((pull**2).sum())) - float((~elsewhere).sum())
    return surplus <= 1e-11 * len(messages) + blurred
