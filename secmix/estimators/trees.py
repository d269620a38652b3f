"""Gradient-boosted regression trees (Friedman 2001), compiled: small trees over binned features, for squared error.

The decoders fit thousands of small trees on a few thousand rows. There the set-up of a general library is nearly all of
the time; what is needed of it is here.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array, Ints
from secmix.estimators.neighbours.compiled import compiled

_BINS = 63  # of a feature, at its quantiles
_TREES = 50
_LEAVES = 8
_LEAST = 20  # rows in a leaf
_RATE = 0.12  # of each tree's step
_SHARE = 0.3  # of the features, drawn anew for each split: on views of 70 features that errs less, and is quick

_Bins = NDArray[np.uint8]


def boosted(x: Array, y: Array, new: Array) -> Array:
    """Return what trees fitted on ``x`` (N, p) and ``y`` (N, d) predict of the rows ``new`` (M, p); shape (M, d).

    Each column of y has trees of its own: fifty, each fitted to what those before it left over, and grown leaf by leaf
    where that gains most. The same input gives the same trees.

    References
    ----------
    Friedman, *Greedy function approximation: a gradient boosting machine*, Annals of Statistics 29, 1189 (2001),
    algorithm 2; features binned and trees grown leaf-wise as by Ke et al., *LightGBM*, NeurIPS 2017.

    Examples
    --------
    >>> x = np.random.default_rng(0).uniform(-1, 1, (1000, 1))
    >>> off = boosted(x, np.abs(x), np.array([[-0.5], [0.0], [0.5]])) - [[0.5], [0.0], [0.5]]
    >>> bool(np.abs(off).max() < 0.05)
    True
    """
    p = x.shape[1]
    edges = [_edges(column) for column in x.T]
    fitted, asked = _binned(x, edges), _binned(new, edges)
    drawn = np.random.default_rng(0).random((_TREES * 2 * _LEAVES, p))
    chosen = np.argsort(drawn, axis=1)[:, : math.ceil(_SHARE * p)]
    features = np.ascontiguousarray(chosen.reshape(_TREES, 2 * _LEAVES, -1))
    middle = y.mean(axis=0)
    columns = [_boost(fitted, np.ascontiguousarray(c), asked, features) for c in (y - middle).T]
    return np.asarray(np.column_stack(columns) + middle)


def _edges(column: Array) -> Array:
    """Find where the bins of a feature meet: between its values if they are few, else at its quantiles."""
    ordered = np.sort(column)
    distinct = ordered[np.flatnonzero(np.diff(ordered, prepend=-np.inf))]
    if len(distinct) <= _BINS:
        return np.asarray(0.5 * distinct[1:] + 0.5 * distinct[:-1])
    at = np.arange(1, _BINS) * (len(column) - 1) // _BINS
    return np.asarray(0.5 * ordered[at] + 0.5 * ordered[at + 1])


def _binned(x: Array, edges: list[Array]) -> _Bins:
    """Find which bin each number is in, features first: (p, N)."""
    placed = [np.searchsorted(edge, column) for edge, column in zip(edges, x.T, strict=True)]
    return np.array(placed, dtype=np.uint8).reshape(x.shape[1], len(x))


@compiled
def _boost(fitted: _Bins, left_over: Array, asked: _Bins, features: Ints) -> Array:
    """Grow trees one after the other; ``left_over`` (N,) is used up."""
    n = fitted.shape[1]
    out = np.zeros(asked.shape[1])
    order = np.empty(n, np.int64)
    spare = np.empty(n, np.int64)
    nodes = 2 * _LEAVES
    begin, end = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    gain, feature, cut = np.empty(nodes), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    below, value = np.empty(nodes, np.int64), np.empty(nodes)
    for tree in range(features.shape[0]):
        for row in range(n):
            order[row] = row
        begin[0], end[0], below[0], count = 0, n, -1, 1
        done = 0  # nodes of which the best split is known
        for _ in range(_LEAVES - 1):
            while done < count:
                gain[done], feature[done], cut[done] = _split(
                    fitted, left_over, order, begin[done], end[done], features, tree, done
                )
                done += 1
            best = 0
            for node in range(1, count):
                if gain[node] > gain[best]:
                    best = node
            if gain[best] <= 0.0:
                break
            middle = _partition(fitted, feature[best], cut[best], order, spare, begin[best], end[best])
            below[best], gain[best] = count, -1.0
            begin[count], end[count] = begin[best], middle
            begin[count + 1], end[count + 1] = middle, end[best]
            below[count], below[count + 1] = -1, -1
            count += 2
        for node in range(count):
            if below[node] < 0:
                total = 0.0
                for k in range(begin[node], end[node]):
                    total += left_over[order[k]]
                value[node] = _RATE * total / (end[node] - begin[node])
                for k in range(begin[node], end[node]):
                    left_over[order[k]] -= value[node]
        for row in range(asked.shape[1]):
            node = 0
            while below[node] >= 0:
                node = below[node] + (asked[feature[node], row] > cut[node])
            out[row] += value[node]
    return out


@compiled
def _split(
    fitted: _Bins, left_over: Array, order: Ints, begin: int, end: int, features: Ints, tree: int, node: int
) -> tuple[float, int, int]:
    """Find the best split of a node's rows: its gain in squared error, its feature, and its last bin on the left."""
    n = end - begin
    best, which, where = -1.0, -1, -1
    if n < 2 * _LEAST:
        return best, which, where
    total = 0.0
    for k in range(begin, end):
        total += left_over[order[k]]
    sums, counts = np.empty(_BINS), np.empty(_BINS, np.int64)
    for choice in range(features.shape[2]):
        feature = features[tree, node, choice]
        for place in range(_BINS):
            sums[place] = 0.0
            counts[place] = 0
        for k in range(begin, end):
            row = order[k]
            place = fitted[feature, row]
            sums[place] += left_over[row]
            counts[place] += 1
        left, on_left = 0.0, 0
        for place in range(_BINS - 1):
            left += sums[place]
            on_left += counts[place]
            if on_left < _LEAST or counts[place] == 0:
                continue
            if n - on_left < _LEAST:
                break
            right = total - left
            found = left * left / on_left + right * right / (n - on_left) - total * total / n
            if found > best:
                best, which, where = found, feature, place
    return best, which, where


@compiled
def _partition(fitted: _Bins, feature: int, cut: int, order: Ints, spare: Ints, begin: int, end: int) -> int:
    """Order rows begin..end by the side they are on, otherwise as they were; where the right side begins."""
    left, right = begin, 0
    for k in range(begin, end):
        row = order[k]
        if fitted[feature, row] <= cut:
            order[left] = row
            left += 1
        else:
            spare[right] = row
            right += 1
    for k in range(right):
        order[left + k] = spare[k]
    return left
