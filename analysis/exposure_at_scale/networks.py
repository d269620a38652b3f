"""Four kinds of network, as compressed rows, drawn quickly at a million nodes."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

Graph = tuple[np.ndarray, np.ndarray]
"""Neighbours of node i are ``indices[indptr[i] : indptr[i + 1]]``."""

KINDS = {
    "random, degree 6": "G(n, M) with 3 n edges",
    "geometric, degree 6": "points in the unit square, joined within reach; borders as they fall",
    "geometric, degree 12": "the same with a larger reach",
    "small world": "Watts and Strogatz: a ring with 6 neighbours, a tenth of the edges rewired",
    "scale-free": "Barabási and Albert: each new node joins 3 others in proportion to their degree",
}


def drawn(kind: str, n: int, rng: np.random.Generator) -> Graph:
    """A network of ``kind`` on ``n`` nodes."""
    if kind.startswith("random"):
        return compressed(rng.integers(0, n, size=(3 * n, 2)), n)
    if kind.startswith("geometric"):
        degree = int(kind.split()[-1])
        points = rng.random((n, 2))
        reach = np.sqrt(degree / (np.pi * n))
        return compressed(cKDTree(points).query_pairs(reach, output_type="ndarray"), n)
    if kind == "small world":
        edges = np.concatenate([np.column_stack([np.arange(n), (np.arange(n) + k) % n]) for k in (1, 2, 3)])
        moved = rng.random(len(edges)) < 0.1
        edges[moved, 1] = rng.integers(0, n, size=int(moved.sum()))
        return compressed(edges, n)
    return compressed(_preferential(n, rng), n)


def _preferential(n: int, rng: np.random.Generator) -> np.ndarray:
    """Each node after the first three draws 3 ends at random from all ends so far."""
    ends = np.empty(6 * n, dtype=np.int64)
    ends[:6] = (0, 1, 1, 2, 2, 0)
    count, choice = 6, rng.random((n, 3))
    edges = [np.array([[0, 1], [1, 2], [2, 0]])]
    for node in range(3, n):
        others = ends[(choice[node] * count).astype(np.int64)]
        ends[count : count + 6] = (*others, node, node, node)
        count += 6
        edges.append(np.column_stack([np.full(3, node), others]))
    return np.concatenate(edges)


def compressed(edges: np.ndarray, n: int) -> Graph:
    """Each edge once, none from a node to itself."""
    edges = np.sort(edges.astype(np.int64), axis=1)
    codes = np.unique(edges[edges[:, 0] < edges[:, 1]] @ np.array([n, 1]))
    both = np.concatenate([codes, codes % n * n + codes // n])
    both.sort()
    return np.searchsorted(both // n, np.arange(n + 1)), (both % n).astype(np.int32)
