"""Edges to add: the cheapest there are, by brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from exposure_cases import brute_force, random_network

from secmix import Network
from secmix.auditing.exposure.coalitions.edges import fewest_edges

TRIANGLES = Network.from_edges(6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)])


def withstands(network, rows, most, need):
    """Whether fewer than ``need`` removed nodes leave nobody among too few rows."""
    return all(
        brute_force(network.graph, node, rows, most, limit=need - 1, empty=False) is None for node in range(network.n)
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [1, 2])
def test_no_fewer_edges_do(seed, most):
    rng = np.random.default_rng([seed, most])
    network = random_network(rng, least=4, most=5)
    rows, need = (1,) * network.n, int(rng.integers(2, 4))
    there = set(map(tuple, network.edges.tolist()))
    free = sorted(set(combinations(range(network.n), 2)) - there)
    found = fewest_edges(network, rows, most, need)
    best = None
    for code in range(2 ** len(free)):
        added = [edge for k, edge in enumerate(free) if code >> k & 1]
        if (best is None or len(added) < best) and withstands(
            Network.from_edges(network.n, sorted(there | set(added))), rows, most, need
        ):
            best = len(added)
    assert (None if found is None else len(found)) == best


def test_two_triangles_and_a_bridge_and_a_ring():
    assert len(fewest_edges(TRIANGLES, [2] * 6, 5, 2)) == 1
    assert len(fewest_edges(TRIANGLES, [2] * 6, 5, 3)) == 2
    assert len(fewest_edges(Network.cycle(10), [3] * 10, 8, 3)) == 5
    assert len(fewest_edges(Network.cycle(10), [3] * 10, 8, 4)) == 10


def test_where_no_edges_help_it_says_so():
    assert fewest_edges(Network.complete(4), [1] * 4, 1, 4) is None


@pytest.mark.parametrize("seed", range(6))
def test_edges_by_the_heuristic_do_too_where_any_do(seed):
    rng = np.random.default_rng([seed, 9])
    network, need = random_network(rng, least=5, most=8), int(rng.integers(2, 4))
    rows, most = (1,) * network.n, int(rng.integers(1, 3))
    few, least = (fewest_edges(network, rows, most, need, exact=exact) for exact in (False, True))
    assert (few is None) == (least is None)
    if few is not None:
        assert len(least) <= len(few) <= 2 * len(least)
        assert withstands(Network.from_edges(network.n, [*map(tuple, network.edges.tolist()), *few]), rows, most, need)


def test_the_heuristic_mends_a_ring_that_is_large():
    ring = Network.cycle(60)
    few = fewest_edges(ring, [1] * 60, 1, 3, exact=False)
    assert 30 <= len(few) <= 40  # every node needs a third neighbour
    mended = Network.from_edges(60, [*map(tuple, ring.edges.tolist()), *few])
    assert min(dict(mended.graph.degree).values()) == 3
