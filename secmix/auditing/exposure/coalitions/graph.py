"""Coalitions by the exposure graph: corrupt nodes learn the sum over each piece that is left of it without them.

A coalition C then exposes node i by the component K of i in the graph without C, and the cheapest is the boundary N(S)
of a set S around i with few enough rows. S need not be connected: the part of S that is connected to i has no larger
boundary than S and no more rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from secmix._base.checks import Array, Ints
from secmix.network import Network

_LARGE = 2000  # nodes from which on the search is compiled
STEPS = 2_000_000


@dataclass(frozen=True)
class Branched:
    """Results of branch and bound, node by node."""

    cost: Array  # (q,) float: cost of the cheapest boundary; infinite if no boundary is within the limit
    proved: np.ndarray  # (q,) bool: whether the search was exhaustive
    boundaries: list[frozenset[int]]  # the cheapest boundaries; empty if more than ``_LARGE`` nodes were asked about
    steps: int  # total number of steps of all searches


def component(graph: Network, node: int, removed: frozenset[int]) -> frozenset[int]:
    """Collect the nodes that remain connected to ``node`` when ``removed`` are taken out."""
    reached, frontier = {node}, [node]
    while frontier:
        for other in graph.graph[frontier.pop()]:
            if other not in reached and other not in removed:
                reached.add(other)
                frontier.append(other)
    return frozenset(reached)


def arrays(graph: Network) -> tuple[Ints, Ints]:
    """Convert the neighbours of all nodes to compressed rows: ``indices[indptr[i] : indptr[i + 1]]`` are those of i."""
    indptr = np.concatenate([[0], np.cumsum(graph.degrees)])
    return indptr.astype(np.int64), graph.arcs[:, 1].astype(np.int32)


def cheapest_boundaries(
    indptr: Ints,
    indices: Ints,
    rows: Sequence[int] | Ints,
    most: int,
    *,
    limit: float,
    weights: Array | None = None,
    nodes: Ints | None = None,
    empty_boundary: bool = False,
    steps: int = STEPS,
) -> Branched:
    """Find the cheapest boundary N(S) with i in S and at most ``most`` rows in S, for each of ``nodes``, or all.

    The graph comes as compressed rows (:func:`arrays`), with ``rows`` (n,) of each node and ``weights`` (n,), what each
    costs (1 by default). Boundaries that cost more than ``limit`` are not searched for, and the search for one node
    gives up after ``steps``. With ``empty_boundary``, S may be a whole component of the graph.

    Each node on the boundary is either absorbed into S or corrupt; what the remaining rows cannot absorb is corrupt.
    Connected sets of b + 1 nodes with f neighbours number at most C(b + f, b), whatever n is.

    >>> ring = Network.cycle(6)
    >>> cheapest = cheapest_boundaries(*arrays(ring), [1] * 6, 2, limit=4)
    >>> cheapest.cost.tolist()
    [2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    """
    asked = np.arange(len(indptr) - 1) if nodes is None else np.asarray(nodes)
    rows_, n = np.asarray(rows, dtype=np.int64), len(indptr) - 1
    price = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    kernel: Any = _compiled() if len(asked) > _LARGE else _branch
    limit = min(limit, float(price.sum()))
    wide = int(min(limit / max(float(price.min()), 1e-12) + 1e-6, n)) + 1
    wide = wide if len(asked) <= _LARGE else 0  # boundaries are returned for few nodes only
    cost, proved, members, taken = kernel(
        indptr, indices, rows_, price, asked.astype(np.int64), most, float(limit), empty_boundary, steps, wide
    )
    sets = [frozenset(row[row >= 0].tolist()) for row in members] if len(asked) <= _LARGE else []
    return Branched(cost, proved, sets, int(taken))


@cache
def _compiled() -> Any:
    from secmix.estimators.neighbours.compiled import compiled  # numba, loaded on use

    return compiled(_branch)


def _branch(
    indptr: Any, indices: Any, rows: Any, price: Any, asked: Any, most: int, limit: float,
    empty_boundary: bool, steps: int, wide: int,
) -> Any:  # fmt: skip
    n = len(indptr) - 1
    cost, proved = np.full(len(asked), np.inf), np.ones(len(asked), dtype=np.bool_)
    members = np.full((len(asked), wide), -1, dtype=np.int64)
    # With a million nodes, memory access dominates: numbers that are the same for all nodes are not looked up.
    least_rows, alike, unit, total = rows.min(), rows.min() == rows.max(), price.min() == price.max(), 0
    visited = np.zeros(n, dtype=np.bool_)
    queue = np.empty(n, dtype=np.int64)  # the boundary in order of discovery; decided up to ``at``
    grown = np.empty(n + 1, dtype=np.int64)  # how long the queue was before each decision
    absorbed = np.empty(n + 1, dtype=np.bool_)
    for k in range(len(asked)):
        i = asked[k]
        if rows[i] > most:
            continue
        best, length, at, room, paid, taken = limit + 1e-9, 0, 0, most - rows[i], 0.0, 0
        visited[i] = True
        for e in range(indptr[i], indptr[i + 1]):
            visited[indices[e]] = True
            queue[length] = indices[e]
            length += 1
        # Start with all neighbours corrupt: this upper bound prunes most of the search.
        around = 0.0
        for p in range(length):
            around += price[0] if unit else price[queue[p]]
        if (length or empty_boundary) and around <= limit + 1e-9:
            best, cost[k] = around - 1e-9, around
            for p in range(min(length, wide)):
                members[k, p] = queue[p]
        down, left = True, steps
        while True:
            left -= 1
            if left < 0:
                proved[k] = False
                break
            if down:
                # Undecided nodes that cannot be absorbed must be corrupt.
                forced, free = 0.0, 0
                for p in range(at, length):
                    if (least_rows if alike else rows[queue[p]]) > room:
                        forced += price[0] if unit else price[queue[p]]
                        if paid + forced >= best:
                            break
                    else:
                        free += 1
                if unit and free > room // least_rows:
                    forced += price[0] * (free - room // least_rows)
                if paid + forced >= best or (paid + forced > limit + 1e-9):
                    down = False
                elif at == length:
                    if taken or empty_boundary:
                        best, c = paid - 1e-9, 0
                        cost[k] = paid
                        for p in range(at if wide else 0):
                            if not absorbed[p]:
                                members[k, c] = queue[p]
                                c += 1
                        for p in range(c, wide):
                            members[k, p] = -1
                    down = False
                else:
                    v = queue[at]
                    grown[at] = length
                    if rows[v] <= room:
                        absorbed[at] = True
                        room -= rows[v]
                        for e in range(indptr[v], indptr[v + 1]):
                            u = indices[e]
                            if not visited[u]:
                                visited[u] = True
                                queue[length] = u
                                length += 1
                    else:
                        absorbed[at] = False
                        paid += price[v]
                        taken += 1
                    at += 1
            else:
                if at == 0:
                    break
                at -= 1
                v = queue[at]
                for p in range(grown[at], length):
                    visited[queue[p]] = False
                length = grown[at]
                if absorbed[at]:
                    room += rows[v]
                    absorbed[at] = False
                    paid += price[v]
                    taken += 1
                    at += 1
                    down = True
                else:
                    paid -= price[v]
                    taken -= 1
        visited[i] = False
        total += steps - left
        for p in range(length):
            visited[queue[p]] = False
    return cost, proved, members, total
