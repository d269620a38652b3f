"""Who is exposed when nodes are corrupt: at random against theory, or chosen against certified bounds.

Exposed at size s: an honest node whose piece of the network without the corrupt ones has at most s nodes.
"""

from __future__ import annotations

import heapq
import math

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_flow
from scipy.special import comb

from analysis.exposure_at_scale.networks import Graph

SIZES = (1, 3, 10)


def at_random(graph: Graph, share: float, rng: np.random.Generator) -> list[float]:
    """Share of honest nodes exposed at each of SIZES, each node being corrupt with probability ``share``."""
    indptr, indices = graph
    n = len(indptr) - 1
    honest = rng.random(n) >= share
    tails = np.repeat(np.arange(n), np.diff(indptr))
    kept = honest[tails] & honest[indices]
    left = csr_array((np.ones(int(kept.sum()), dtype=np.int8), (tails[kept], indices[kept])), shape=(n, n))
    _, piece = connected_components(left, directed=False)
    size = np.bincount(piece)[piece][honest]
    return [float((size <= most).mean()) for most in SIZES]


def mean_field(graph: Graph, share: float) -> list[float]:
    """The same at 1 and 3 in theory: mean q^degree, exact on any graph, and a branching process with its degrees.

    A branching process knows no triangles: neighbours of a node share no other neighbour in it.
    """
    degree = np.diff(graph[0])
    p = np.bincount(degree) / len(degree)
    d = np.arange(len(p))
    excess = (d * p)[1:] / (d * p).sum()
    k = np.arange(len(excess))
    q = share
    none, one = float((excess * q**k).sum()), float((excess * k * (1 - q) * q ** np.maximum(k - 1, 0)).sum())
    root = [float((p * comb(d, j) * (1 - q) ** j * q ** np.maximum(d - j, 0.0)).sum()) for j in range(3)]
    two = root[1] * none
    three = root[1] * one * none + root[2] * none**2
    return [root[0], root[0] + two + three]


def chosen(graph: Graph, most: int) -> list[int]:
    """Nodes left alone after 0, 1, ... corrupt ones, greedily: next the node with the fewest honest neighbours."""
    indptr, indices = graph
    n = len(indptr) - 1
    missing = np.diff(indptr).astype(np.int64)
    corrupt, done = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    queue = [(int(missing[i]), i) for i in range(n)]
    heapq.heapify(queue)
    spent, alone, course = 0, 0, [0]
    while queue:
        cost, node = heapq.heappop(queue)
        if done[node] or corrupt[node]:
            continue
        if cost != missing[node]:  # it has become cheaper meanwhile
            heapq.heappush(queue, (int(missing[node]), node))
            continue
        if spent + cost > most:
            break
        for other in indices[indptr[node] : indptr[node + 1]]:
            if not corrupt[other]:
                corrupt[other] = True
                alone -= int(done[other])
                spent += 1
                around = indices[indptr[other] : indptr[other + 1]]
                missing[around] -= 1
                for near in around.tolist():
                    if not done[near] and not corrupt[near]:
                        heapq.heappush(queue, (int(missing[near]), near))
                course.append(alone)
        done[node] = True
        alone += 1
        course[-1] = alone
    return course + [course[-1]] * (most + 1 - len(course))


def bound(graph: Graph, most: int) -> float:
    """No ``most`` corrupt nodes leave more than this many alone: the largest closure at the best price of a node.

    For any price λ, alone ≤ max over sets A of |A| − λ |N(A)|, plus λ times ``most``; the maximum is a minimum cut, the
    sum is convex in λ, and its least value is that of the linear programme.
    """
    found = minimize_scalar(
        lambda price: _closure(graph, price) + price * most,
        bounds=(0.0, 8.0),
        method="bounded",
        options={"xatol": 1e-4, "maxiter": 40},
    )
    return float(min(found.fun, len(graph[0]) - 1))


def _closure(graph: Graph, price: float) -> float:
    """At least max |A| − λ |N(A)|, the price λ rounded down to a whole number of 2⁻²⁰, as cuts are in integers."""
    indptr, indices = graph
    n, scale = len(indptr) - 1, 1 << 20
    tails = np.repeat(np.arange(n), np.diff(indptr))
    source, sink = 2 * n, 2 * n + 1
    rows = np.concatenate([np.full(n, source), tails, n + np.arange(n)])
    columns = np.concatenate([np.arange(n), n + indices, np.full(n, sink)])
    room = np.iinfo(np.int32).max
    prices = np.full(n, math.floor(price * scale))
    capacity = np.concatenate([np.full(n, scale), np.full(len(tails), room), prices]).astype(np.int32)
    network = csr_array((capacity, (rows, columns)), shape=(2 * n + 2, 2 * n + 2))
    return float(n - maximum_flow(network, source, sink).flow_value / scale)
