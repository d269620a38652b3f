"""Neighbours in the maximum norm by bitmaps: exact, and nearly as quick in many dimensions as in few.

For every coordinate the rows are ranked and cut into slices of as many rows each; one bit a row says whether it lies in
the first b slices. Which rows lie within a distance of a query along a coordinate is then one set less another, and
along all coordinates the intersection: 64 rows to an instruction where a scan compares one. The slices at either end of
an interval hold rows of both kinds; only those that no coordinate rules out are compared by their numbers, so that the
result is exact, ties and rounding included. (A range-encoded bitmap index: Chan and Ioannidis, *Bitmap index design and
evaluation*, SIGMOD 1998.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from secmix.estimators.neighbours.compiled import compiled, in_threads
from secmix.estimators.neighbours.scan import spread
from secmix.estimators.neighbours.tree import Counts, Floats, insert

Words = NDArray[np.uint64]

_SLICES = 128
_NUMBERS = 2**23  # words in all bitmaps together, 64 MiB, beyond which the slices are made thicker
_SOME = 8.0  # times √N rows bound the k-th distance; between 4 and 16 nothing changes by a tenth


def by_bitmaps(rows: Floats, end_x: int, end_z: int, k: int, shrink: float) -> tuple[Floats, Counts]:
    """Find distances to the k-th neighbour and counts (3, N) for rows (N, d) of columns x, z and y in this order."""
    n, dimension = rows.shape
    words = -(-n // 64)
    slices = max(2, min(_SLICES, n, _NUMBERS // (words * dimension)))
    thickness = -(-n // slices)
    slices = -(-n // thickness)
    columns = np.ascontiguousarray(rows.T)
    order = np.argsort(columns, axis=1)
    ends = np.minimum(np.arange(slices + 1) * thickness, n)
    ranked = np.take_along_axis(columns, order, axis=1)
    last_in, first_out = np.full((2, dimension, slices + 1), -np.inf)
    last_in[:, 1:] = ranked[:, ends[1:] - 1]
    first_out[:, :-1], first_out[:, -1] = ranked[:, ends[:-1]], np.inf
    sets = _bitmaps(order, thickness, slices)
    sampled = np.linspace(0, n - 1, min(n, max(4 * k, int(_SOME * np.sqrt(n))))).astype(np.int64)
    sample = np.ascontiguousarray(columns[:, sampled])
    epsilon, counts = np.empty(n), np.empty((3, n), np.int64)
    given = np.ascontiguousarray(rows), sample, sampled, sets, last_in, first_out, end_x, end_z, k, shrink
    in_threads(lambda begin, end: _search(*given, epsilon, counts, begin, end), n)
    return epsilon, counts


@compiled
def _bitmaps(order: Counts, thickness: int, slices: int) -> Words:
    """Set bit ``row`` of ``sets[axis, b]`` where the row is among the first b slices."""
    dimension, n = order.shape
    sets = np.zeros((dimension, slices + 1, (n + 63) // 64), np.uint64)
    for axis in range(dimension):
        for b in range(slices):
            sets[axis, b + 1] = sets[axis, b]
            for rank in range(b * thickness, min(n, (b + 1) * thickness)):
                row = order[axis, rank]
                sets[axis, b + 1, row >> 6] |= np.uint64(1) << np.uint64(row & 63)
    return sets


@compiled
def _ones(word: np.uint64) -> np.int64:
    """Count the bits that are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def _interval(last_in: Floats, first_out: Floats, value: float, radius: float) -> tuple[int, int]:
    """Find the fewest slices that hold all rows within ``radius`` of ``value``: from the first to before the second.

    By the rounded differences themselves, which grow with the rank: where one is too large, so are all beyond.
    """
    left, right = 0, last_in.size - 1
    while left < right:
        middle = (left + right + 1) // 2
        if value - last_in[middle] > radius:
            left = middle
        else:
            right = middle - 1
    first, right = left, last_in.size - 1
    while left < right:
        middle = (left + right) // 2
        if first_out[middle] - value > radius:
            right = middle
        else:
            left = middle + 1
    return first, left


@compiled
def _meet(
    sets: Words,
    last_in: Floats,
    first_out: Floats,
    point: Floats,
    radius: float,
    begin: int,
    end: int,
    possible: Words,
    certain: Words,
) -> None:
    """Return the rows that may lie within ``radius`` over coordinates begin..end, and those that surely do."""
    possible[:] = sets[begin, -1]
    certain[:] = sets[begin, -1]
    for axis in range(begin, end):
        first, last = _interval(last_in[axis], first_out[axis], point[axis], radius)
        inner = first if point[axis] - first_out[axis, first] <= radius else first + 1
        outer = last if last_in[axis, last] - point[axis] <= radius else last - 1
        if outer < inner:
            inner = outer = 0
        below, above, low, high = sets[axis, first], sets[axis, last], sets[axis, inner], sets[axis, outer]
        for word in range(possible.size):
            possible[word] &= above[word] & ~below[word]
            certain[word] &= high[word] & ~low[word]


@compiled
def _within(rows: Floats, query: int, begin: int, end: int, radius: float, possible: Words, certain: Words) -> int:
    """Count the rows within ``radius``: the certain ones, and those of the others that are found to."""
    total = 0
    for word in range(certain.size):
        total += _ones(certain[word])
    for word in range(possible.size):
        left = possible[word] & ~certain[word]
        while left:
            lowest = left & (~left + np.uint64(1))
            left ^= lowest
            row = 64 * word + _ones(lowest - np.uint64(1))
            inside = True
            for axis in range(begin, end):
                if abs(rows[row, axis] - rows[query, axis]) > radius:
                    inside = False
                    break
            total += inside
    return total


@compiled
def _nearest(rows: Floats, query: int, possible: Words, best: Floats) -> None:
    """Find the k smallest distances to the rows that are possible."""
    best[:] = np.inf
    for word in range(possible.size):
        left = possible[word]
        while left:
            lowest = left & (~left + np.uint64(1))
            left ^= lowest
            row = 64 * word + _ones(lowest - np.uint64(1))
            if row == query:
                continue
            distance = 0.0
            for axis in range(rows.shape[1]):
                distance = max(distance, abs(rows[row, axis] - rows[query, axis]))
                if distance >= best[-1]:
                    break
            if distance < best[-1]:
                insert(best, distance)


@compiled
def _search(
    rows: Floats,
    sample: Floats,
    sampled: Counts,
    sets: Words,
    last_in: Floats,
    first_out: Floats,
    end_x: int,
    end_z: int,
    k: int,
    shrink: float,
    epsilon: Floats,
    counts: Counts,
    begin: int,
    end: int,
) -> None:
    n, dimension = rows.shape
    distances, best = np.empty(sampled.size), np.empty(k)
    possible, certain = np.empty(sets.shape[2], np.uint64), np.empty(sets.shape[2], np.uint64)
    for query in range(begin, end):
        point = rows[query]
        # The k-th distance to some of the rows bounds that to all.
        spread(sample, point, 0, dimension, distances)
        best[:] = np.inf
        for row in range(sampled.size):
            if distances[row] < best[-1] and sampled[row] != query:
                insert(best, distances[row])
        _meet(sets, last_in, first_out, point, best[-1], 0, dimension, possible, certain)
        _nearest(rows, query, possible, best)
        epsilon[query] = best[-1]
        radius = best[-1] - shrink if shrink > 0 else np.nextafter(best[-1], -np.inf)
        for space in range(3):
            if space == 0:
                first, last = 0, end_z
            elif space == 1:
                first, last = end_x, dimension
            else:
                first, last = end_x, end_z
            if first == last:  # no z: every row is close
                counts[space, query] = n
                continue
            _meet(sets, last_in, first_out, point, radius, first, last, possible, certain)
            counts[space, query] = _within(rows, query, first, last, radius, possible, certain)
