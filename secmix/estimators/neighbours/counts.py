"""Neighbours in the maximum norm: k-th distances and counts, exact to the last bit.

Three ways to the same numbers. A scan compares every pair, coordinate by coordinate in vector instructions: for few
rows nothing is quicker. A tree prunes, which in few dimensions leaves next to nothing. In many dimensions nothing can
be pruned; there bitmaps compare 64 rows at once.
"""

from __future__ import annotations

import numpy as np

from secmix.estimators.neighbours.bitmaps import by_bitmaps
from secmix.estimators.neighbours.compiled import compiled, in_threads
from secmix.estimators.neighbours.scan import by_scan
from secmix.estimators.neighbours.tree import Counts, Floats, count, kth, plant

_ON_A_LINE = 16  # neighbours up to which those of a line are found by sorting


def neighbour_counts(
    x: Floats, y: Floats, z: Floats, k: int, shrink: float = 0.0
) -> tuple[Floats, tuple[Counts, Counts, Counts]]:
    """Find distances to the k-th neighbour in (x, y, z), and how many rows are closer in (x, z), (y, z) and z.

    ``x``, ``y`` and ``z`` are (N, d) float64; z may have no columns, and then all N rows are closer. A ``shrink`` of 0
    counts rows strictly closer than the k-th neighbour's distance ε, the row itself among them; above 0 those within
    ε − ``shrink``, boundary included. Returns ε (N,) and three counts (N,), at least 1 each: with ε = 0 the row itself
    is still counted.
    """
    together = np.hstack([x, z, y])
    n, dimension = together.shape
    ends = x.shape[1], x.shape[1] + z.shape[1]
    # Who wins where was measured for 2, 3, 4, 6, 8, 12 and 24 dimensions.
    if n <= (80 * dimension**2 if dimension <= 6 else 1500):
        epsilon, counts = by_scan(together, *ends, k, shrink)
    elif dimension > 6 and n <= 20 * dimension**4:
        epsilon, counts = by_bitmaps(together, *ends, k, shrink)
    else:
        epsilon = kth_distances(together, k)
        radii = epsilon - shrink if shrink else np.nextafter(epsilon, -np.inf)
        counts = np.stack([_counts_within(np.hstack(part), radii) for part in ((x, z), (y, z), (z,))])
    first, second, third = np.maximum(counts, 1)
    return epsilon, (first, second, third)


def kth_distances(points: Floats, k: int) -> Floats:
    """Return the maximum-norm distance of each of the (N, d) rows to its k-th nearest other row; shape (N,)."""
    if points.shape[1] == 1 and k <= _ON_A_LINE:
        return np.asarray(kth_on_lines(points, k)[:, 0])
    tree = plant(points)
    out = np.empty(len(points))
    in_threads(lambda begin, end: kth(*tree, k, out, begin, end), len(points))
    return out


def kth_on_lines(values: Floats, k: int) -> Floats:
    """Return the distance (N, p) of each number of a column to the k-th nearest other of the same column (N, p)."""
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    # The k nearest are among the k before and the k after, in order of size.
    apart = np.full((2 * k, *values.shape), np.inf)
    for step in range(1, k + 1):
        apart[step - 1, step:] = apart[k + step - 1, :-step] = ordered[step:] - ordered[:-step]
    out = np.empty_like(values)
    np.put_along_axis(out, order, np.partition(apart, k - 1, axis=0)[k - 1], axis=0)
    return out


def _counts_within(points: Floats, radii: Floats) -> Counts:
    """Count how many of the (N, d) rows lie within ``radii[i]`` of row i, boundary and the row itself included."""
    n, dimension = points.shape
    out = np.full(n, n, np.int64)
    if dimension == 1:
        values = np.ascontiguousarray(points[:, 0])
        ordered = np.sort(values)
        in_threads(lambda begin, end: _count_line(ordered, values, radii, out, begin, end), n)
    elif dimension > 1:
        tree = plant(points)
        in_threads(lambda begin, end: count(*tree, radii, out, begin, end), n)
    return out


@compiled
def _count_line(ordered: Floats, values: Floats, radii: Floats, out: Counts, begin: int, end: int) -> None:
    """Count in one dimension by two binary searches, on the rounded differences themselves."""
    n = ordered.size
    for query in range(begin, end):
        value, radius = values[query], radii[query]
        left, right = 0, n
        while left < right:
            middle = (left + right) // 2
            if value - ordered[middle] > radius:
                left = middle + 1
            else:
                right = middle
        first, right = left, n
        while left < right:
            middle = (left + right) // 2
            if ordered[middle] - value > radius:
                right = middle
            else:
                left = middle + 1
        out[query] = left - first
