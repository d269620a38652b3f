"""A balanced k-d tree in the maximum norm, exact to the last bit: for few dimensions and many rows.

Tight boxes prune nearly everything in few dimensions; what remains is a scan over whole leaves, first over a
few coordinates in vector instructions, then pair by pair up to the coordinate that settles it. Box distances
come from the same subtractions as point distances, and rounding is monotone, so pruning never changes a
comparison.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secmix.estimators.neighbours.compiled import compiled

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_LEAF = 64  # rows to a leaf; with _HEAD the measured optimum for 2 and 6 dimensions
_HEAD = 6  # coordinates compared for a whole leaf at once, in vector instructions


class Tree(NamedTuple):
    """Node i has children 2i + 1 and 2i + 2; the last half of the nodes are the leaves."""

    order: Counts  # (N,) row of the sample at each place of the tree
    points: Floats  # (N, d) rows in tree order
    columns: Floats  # (d, N) the same, so that one coordinate of a leaf is contiguous
    edges: Counts  # (nodes, 2) first and one past the last place of each node
    low: Floats  # (nodes, d) tight box
    high: Floats


@compiled
def _select(points: Floats, order: Counts, axis: int, left: int, right: int, nth: int) -> None:
    """Select as Hoare: afterwards order[nth] is in its sorted place along ``axis``, smaller ones before."""
    while left < right:
        pivot = points[order[(left + right) // 2], axis]
        i, j = left, right
        while i <= j:
            while points[order[i], axis] < pivot:
                i += 1
            while pivot < points[order[j], axis]:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if nth <= j:
            right = j
        elif nth >= i:
            left = i
        else:
            return


@compiled
def _build(points: Floats, leaf: int) -> tuple[Counts, Floats, Counts, Floats, Floats]:
    n, dimension = points.shape
    leaves = 1
    while leaves * leaf < n:
        leaves *= 2
    nodes = 2 * leaves - 1
    order = np.arange(n)
    edges = np.empty((nodes, 2), np.int64)
    low = np.empty((nodes, dimension))
    high = np.empty((nodes, dimension))
    edges[0, 0] = 0
    edges[0, 1] = n
    for node in range(nodes):
        first, last = edges[node, 0], edges[node, 1]
        low[node] = points[order[first]]
        high[node] = points[order[first]]
        for place in range(first + 1, last):
            row = order[place]
            for axis in range(dimension):
                value = points[row, axis]
                if value < low[node, axis]:
                    low[node, axis] = value
                elif value > high[node, axis]:
                    high[node, axis] = value
        if node < leaves - 1:
            middle = (first + last) // 2
            _select(points, order, np.argmax(high[node] - low[node]), first, last - 1, middle)
            edges[2 * node + 1, 0] = first
            edges[2 * node + 1, 1] = middle
            edges[2 * node + 2, 0] = middle
            edges[2 * node + 2, 1] = last
    return order, points[order], edges, low, high


@compiled
def _gap(points: Floats, query: int, low: Floats, high: Floats, node: int, limit: float) -> float:
    """Find the distance from a query to the nearest place of a box; stops once it is ``limit`` or more."""
    gap = 0.0
    for axis in range(points.shape[1]):
        value = points[query, axis]
        gap = max(gap, low[node, axis] - value, value - high[node, axis])
        if gap >= limit:
            break
    return gap


@compiled
def _heads(points: Floats, columns: Floats, query: int, first: int, last: int, heads: Floats) -> None:
    """Find distances from a query to a leaf's rows over the first _HEAD coordinates: a lower bound in more."""
    value = points[query, 0]
    for place in range(last - first):
        heads[place] = abs(columns[0, first + place] - value)
    for axis in range(1, min(_HEAD, columns.shape[0])):
        value = points[query, axis]
        for place in range(last - first):
            gap = abs(columns[axis, first + place] - value)
            heads[place] = gap if gap > heads[place] else heads[place]


@compiled
def insert(best: Floats, distance: float) -> None:
    """Insert a distance among the k smallest, in order."""
    slot = best.size - 1
    while slot > 0 and best[slot - 1] > distance:
        best[slot] = best[slot - 1]
        slot -= 1
    best[slot] = distance


@compiled
def kth(
    order: Counts,
    points: Floats,
    columns: Floats,
    edges: Counts,
    low: Floats,
    high: Floats,
    k: int,
    out: Floats,
    begin: int,
    end: int,
) -> None:
    """Write the distance of the rows at places begin..end of the tree to their k-th nearest other row into ``out``."""
    dimension = points.shape[1]
    inner = edges.shape[0] // 2
    best = np.empty(k)
    heads = np.empty(_LEAF)
    stack = np.empty(128, np.int64)  # at most two entries a level
    gaps = np.empty(128)
    for query in range(begin, end):
        best[:] = np.inf
        stack[0] = 0
        gaps[0] = 0.0
        size = 1
        while size > 0:
            size -= 1
            node = stack[size]
            if gaps[size] >= best[k - 1]:
                continue
            if node < inner:
                near, far = 2 * node + 1, 2 * node + 2
                near_gap = _gap(points, query, low, high, near, best[k - 1])
                far_gap = _gap(points, query, low, high, far, best[k - 1])
                # A query inside both boxes goes first where it lies itself.
                if far_gap < near_gap or (far_gap == near_gap and query >= edges[far, 0]):
                    near, far = far, near
                    near_gap, far_gap = far_gap, near_gap
                stack[size] = far
                gaps[size] = far_gap
                stack[size + 1] = near
                gaps[size + 1] = near_gap
                size += 2
                continue
            first = edges[node, 0]
            _heads(points, columns, query, first, edges[node, 1], heads)
            limit = best[k - 1]
            for other in range(first, edges[node, 1]):
                distance = heads[other - first]
                axis = _HEAD
                while distance < limit and axis < dimension:
                    distance = max(distance, abs(points[other, axis] - points[query, axis]))
                    axis += 1
                if distance < limit and other != query:
                    insert(best, distance)
                    limit = best[k - 1]
        out[order[query]] = best[k - 1]


@compiled
def count(
    order: Counts,
    points: Floats,
    columns: Floats,
    edges: Counts,
    low: Floats,
    high: Floats,
    radii: Floats,
    out: Counts,
    begin: int,
    end: int,
) -> None:
    """Count the rows within radius of the rows at places begin..end, themselves included, into ``out``."""
    dimension = points.shape[1]
    inner = edges.shape[0] // 2
    stack = np.empty(128, np.int64)
    heads = np.empty(_LEAF)
    for query in range(begin, end):
        radius = radii[order[query]]
        within_radius = 0
        stack[0] = 0
        size = 1
        while size > 0:
            size -= 1
            node = stack[size]
            apart = False
            inside = True
            for axis in range(dimension):
                value = points[query, axis]
                below, above = low[node, axis] - value, high[node, axis] - value
                if below > radius or -above > radius:
                    apart = True
                    break
                if -below > radius or above > radius:
                    inside = False
            if apart:
                continue
            if inside:
                within_radius += edges[node, 1] - edges[node, 0]
            elif node < inner:
                stack[size] = 2 * node + 1
                stack[size + 1] = 2 * node + 2
                size += 2
            else:
                first = edges[node, 0]
                _heads(points, columns, query, first, edges[node, 1], heads)
                for other in range(first, edges[node, 1]):
                    within = heads[other - first] <= radius
                    axis = _HEAD
                    while within and axis < dimension:
                        within = abs(points[other, axis] - points[query, axis]) <= radius
                        axis += 1
                    if within:
                        within_radius += 1
        out[order[query]] = within_radius


def plant(points: Floats) -> Tree:
    """Build the tree of (N, d) rows."""
    order, placed, edges, low, high = _build(np.ascontiguousarray(points), _LEAF)
    return Tree(order, placed, np.ascontiguousarray(placed.T), edges, low, high)
