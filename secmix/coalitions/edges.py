"""The cheapest edges to add so that no small coalition exposes anybody: an integer programme with cutting planes.

Where corrupt nodes C leave a piece K of too few rows, some edge must be added that leads from K to neither K nor C:
else K, or less of it, is still a piece. Cuts are added as they are found, so that the last solution is the cheapest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from secmix._base.checks import Array
from secmix.coalitions.graph import arrays, cheapest_boundaries, component
from secmix.network import Network

Edge = tuple[int, int]

_MOST_CUTS = 5000


def cheapest_edges(
    graph: Network,
    rows: Sequence[int],
    most: int,
    need: int,
    *,
    costs: Mapping[Edge, float] | None = None,
    empty_boundary: bool = False,
    asked: Sequence[int] | None = None,
    exact: bool = True,
) -> tuple[Edge, ...] | None:
    """The cheapest edges after which fewer than ``need`` nodes leave nobody in a piece of at most ``most`` rows.

    Parameters
    ----------
    graph : Network
        The exposure graph.
    rows : (n,) int
        Rows of each node; at level "input" ones, with ``most`` = 1.
    costs : mapping from (a, b), a < b, to number above 0, optional
        Of the edges that may be added; default: every one that is missing, at 1.
    empty_boundary : bool
        Whether an outsider learns the sum over all.
    exact : bool
        Whether they are the cheapest; else few, by a heuristic (greedy set cover, Chvátal 1979), in a fraction of the
        time. Either way no piece is left, by the guards of ``cheapest_boundaries``.

    Returns
    -------
    tuple of edges, or None where no edges that may be added suffice.

    Examples
    --------
    >>> len(cheapest_edges(Network.cycle(6), [1] * 6, 1, need=3))
    3
    """
    n = graph.n
    there = {(int(a), int(b)) for a, b in graph.edges}
    price = dict.fromkeys(combinations(range(n), 2), 1.0) if costs is None else dict(costs)
    free = [edge for edge in sorted(price) if edge not in there]
    place = {edge: k for k, edge in enumerate(free)}
    cuts: set[frozenset[int]] = set()
    added: tuple[Edge, ...] = ()
    while True:
        network = Network.from_edges(n, sorted(there | set(added)))
        fresh = set()
        found = cheapest_boundaries(
            *arrays(network),
            rows,
            most,
            limit=need - 1,
            empty_boundary=empty_boundary,
            nodes=np.arange(n) if asked is None else np.array(asked),
        )
        for node, boundary, cost in zip(asked or range(n), found.boundaries, found.cost, strict=True):
            if np.isfinite(cost):
                piece = component(network, node, boundary)
                out = set(range(n)) - piece - boundary
                ends = (tuple(sorted((a, b))) for a in piece for b in out)
                fresh.add(frozenset(place[edge] for edge in ends if edge in place))
        if not fresh and found.proved.all():
            return added
        if not all(fresh) or not found.proved.all() or len(cuts) > _MOST_CUTS:
            return None
        cuts |= fresh
        matrix = np.zeros((len(cuts), len(free)))
        for row, cut in zip(matrix, cuts, strict=True):
            row[list(cut)] = 1.0
        prices = np.array([price[edge] for edge in free])
        chosen = _cheapest(matrix, prices) if exact else _few(matrix, prices)
        if chosen is None:
            return None
        added = tuple(edge for edge, taken in zip(free, chosen, strict=True) if taken)


def _cheapest(matrix: Array, prices: Array) -> Array | None:
    """Return which columns cover every row at the least price."""
    whole, constraints = np.ones(len(prices)), LinearConstraint(matrix, 1.0)
    solved = milp(prices, integrality=whole, bounds=Bounds(0, 1), constraints=constraints)
    return np.asarray(solved.x > 0.5) if solved.status == 0 else None


def _few(matrix: Array, prices: Array) -> Array:
    """Return which columns cover every row, each chosen for the rows that it covers for its price."""
    taken, open_ = np.zeros(len(prices), dtype=bool), np.ones(len(matrix), dtype=bool)
    while open_.any():
        best = int(np.argmax(matrix[open_].sum(axis=0) / prices))
        taken[best] = True
        open_ &= matrix[:, best] == 0
    return taken
