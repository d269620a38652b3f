"""The fewest edges to add so that no small coalition exposes anybody: an integer programme with cutting planes.

Where corrupt nodes C leave a piece K of too few rows, some edge must be added that leads from K to neither K nor C:
otherwise K, or a part of it, is still a piece. Cuts are added until a solution leaves no such piece; none has fewer
edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from secmix._base.checks import Array
from secmix.auditing.exposure.coalitions.graph import arrays, cheapest_boundaries, component
from secmix.network import Network

Edge = tuple[int, int]

_MOST_CUTS = 5000


def fewest_edges(
    graph: Network,
    rows: Sequence[int],
    most: int,
    need: int,
    *,
    empty_boundary: bool = False,
    exact: bool = True,
) -> tuple[Edge, ...] | None:
    """Find the fewest missing edges that leave no piece of at most ``most`` rows without ``need`` corrupt nodes.

    ``rows`` (n,) are those of each node of the exposure graph; at level "input" ones, with ``most`` = 1. With
    ``empty_boundary`` an outsider learns the sum over all. None if no edges suffice.

    If ``exact``, fewer edges do not suffice, by proof; otherwise a heuristic (greedy set cover, Chvátal 1979) finds few
    edges quickly. In both cases the guards of ``cheapest_boundaries`` prove that no such piece is left.

    >>> len(fewest_edges(Network.cycle(6), [1] * 6, 1, need=3))
    3
    """
    n = graph.n
    present = {(int(a), int(b)) for a, b in graph.edges}
    free = [edge for edge in combinations(range(n), 2) if edge not in present]
    place = {edge: k for k, edge in enumerate(free)}
    cuts: set[frozenset[int]] = set()
    added: tuple[Edge, ...] = ()
    while True:
        network = Network.from_edges(n, sorted(present | set(added)))
        new_cuts = set()
        cheapest = cheapest_boundaries(*arrays(network), rows, most, limit=need - 1, empty_boundary=empty_boundary)
        for node, (boundary, cost) in enumerate(zip(cheapest.boundaries, cheapest.cost, strict=True)):
            if np.isfinite(cost):
                piece = component(network, node, boundary)
                out = set(range(n)) - piece - boundary
                ends = (tuple(sorted((a, b))) for a in piece for b in out)
                new_cuts.add(frozenset(place[edge] for edge in ends if edge in place))
        if not new_cuts and cheapest.proved.all():
            return added
        if not all(new_cuts) or not cheapest.proved.all() or len(cuts) > _MOST_CUTS:
            return None
        cuts |= new_cuts
        matrix = np.zeros((len(cuts), len(free)))
        for row, cut in zip(matrix, cuts, strict=True):
            row[list(cut)] = 1.0
        chosen = _fewest(matrix) if exact else _few(matrix)
        if chosen is None:
            return None
        added = tuple(edge for edge, taken in zip(free, chosen, strict=True) if taken)


def _fewest(matrix: Array) -> Array | None:
    """Choose the fewest columns that cover every row."""
    ones, constraints = np.ones(matrix.shape[1]), LinearConstraint(matrix, 1.0)
    solved = milp(ones, integrality=ones, bounds=Bounds(0, 1), constraints=constraints)
    return np.asarray(solved.x > 0.5) if solved.status == 0 else None


def _few(matrix: Array) -> Array:
    """Choose columns that cover every row, one by one, by how many rows each covers."""
    taken, open_ = np.zeros(matrix.shape[1], dtype=bool), np.ones(len(matrix), dtype=bool)
    while open_.any():
        best = int(np.argmax(matrix[open_].sum(axis=0)))
        taken[best] = True
        open_ &= matrix[:, best] == 0
    return taken
