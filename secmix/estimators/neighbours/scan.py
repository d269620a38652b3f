"""Neighbours in the maximum norm by comparing every pair, coordinate by coordinate in vector instructions."""

from __future__ import annotations

import numpy as np

from secmix.estimators.neighbours.compiled import compiled, in_threads
from secmix.estimators.neighbours.tree import Counts, Floats, insert


def by_scan(rows: Floats, end_x: int, end_z: int, k: int, shrink: float) -> tuple[Floats, Counts]:
    """Find distances to the k-th neighbour and counts (3, N) for rows (N, d) of columns x, z and y in this order."""
    columns = np.ascontiguousarray(rows.T)
    epsilon, counts = np.empty(len(rows)), np.empty((3, len(rows)), np.int64)
    in_threads(lambda begin, end: _scan(columns, end_x, end_z, k, shrink, epsilon, counts, begin, end), len(rows))
    if end_x == end_z:
        counts[2] = len(rows)  # also of rows that repeat, whose ε is 0
    return epsilon, counts


@compiled
def spread(columns: Floats, point: Floats, begin: int, end: int, out: Floats) -> None:
    """Find distances from a point to all rows over coordinates begin..end, four to a pass to spare the memory."""
    n = columns.shape[1]
    out[:] = 0.0
    axis = begin
    while axis + 4 <= end:
        a, b, c, d = columns[axis], columns[axis + 1], columns[axis + 2], columns[axis + 3]
        at_a, at_b, at_c, at_d = point[axis], point[axis + 1], point[axis + 2], point[axis + 3]
        for row in range(n):
            ab = max(abs(a[row] - at_a), abs(b[row] - at_b))
            cd = max(abs(c[row] - at_c), abs(d[row] - at_d))
            out[row] = max(out[row], max(ab, cd))
        axis += 4
    while axis < end:
        a, at_a = columns[axis], point[axis]
        for row in range(n):
            out[row] = max(out[row], abs(a[row] - at_a))
        axis += 1


@compiled
def _scan(
    columns: Floats,
    end_x: int,
    end_z: int,
    k: int,
    shrink: float,
    epsilon: Floats,
    counts: Counts,
    begin: int,
    end: int,
) -> None:
    dimension, n = columns.shape
    in_x, in_y, in_z = np.empty(n), np.empty(n), np.empty(n)
    best, point = np.empty(k), np.empty(dimension)
    for query in range(begin, end):
        point[:] = columns[:, query]
        spread(columns, point, 0, end_x, in_x)
        spread(columns, point, end_x, end_z, in_z)
        spread(columns, point, end_z, dimension, in_y)
        best[:] = np.inf
        for row in range(n):
            distance = max(in_x[row], in_y[row], in_z[row])
            if distance < best[k - 1] and row != query:
                insert(best, distance)
        radius = best[k - 1] - shrink if shrink > 0 else np.nextafter(best[k - 1], -np.inf)
        near_x, near_y, near_z = 0, 0, 0
        for row in range(n):
            near_x += max(in_x[row], in_z[row]) <= radius
            near_y += max(in_y[row], in_z[row]) <= radius
            near_z += in_z[row] <= radius
        epsilon[query] = best[k - 1]
        counts[0, query], counts[1, query], counts[2, query] = near_x, near_y, near_z
