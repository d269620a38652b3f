"""Looking for coalitions beside one reading of a leaked subspace, in the same run.

``pytest tests/benchmarks --benchmark-enable`` measures at full size and asserts the figures.
"""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import pytest
from exposure_cases import search
from threadpoolctl import threadpool_limits

from secmix import Network
from secmix.adversaries import HonestButCurious
from secmix.auditing.exposure.coalitions.graph import arrays, cheapest_boundaries
from secmix.auditing.exposure.coalitions.knowledge import knowledge
from secmix.auditing.exposure.coalitions.known_messages import record_messages
from secmix.estimators import leaked_subspace
from secmix.protocols import PDMM

pytestmark = pytest.mark.build


class Undeclared(PDMM):
    """PDMM that goes to the generic method."""

    exposure_graph = None


def least(work, times=3):
    took = []
    for _ in range(times):
        before = time.perf_counter()
        work()
        took.append(time.perf_counter() - before)
    return min(took)


def test_a_test_of_a_coalition_beside_a_leaked_subspace(benchmark):
    n = 12 if benchmark.enabled else 5
    network, rng = Network.random_geometric(n, np.random.default_rng(1)), np.random.default_rng(0)
    recorded = record_messages(PDMM(), network, [rng.normal(size=(2, n, 3))], rng)
    some = list(combinations(range(n), 3))[:40]

    def tests():
        return [knowledge(recorded, coalition, eavesdrops=True).exposed() for coalition in some]

    with threadpool_limits(1):
        benchmark.pedantic(tests, rounds=5 if benchmark.enabled else 1, warmup_rounds=1)
        one = least(tests) / len(some)
        before = least(lambda: leaked_subspace(PDMM(), network, HonestButCurious(some[0])))
    benchmark.extra_info.update(milliseconds=1e3 * one, ratio=before / one)
    if benchmark.enabled:
        assert before > 20 * one


@pytest.mark.parametrize("kind", [PDMM, Undeclared])
def test_all_nodes_of_thirty_beside_leaked_subspaces(benchmark, kind):
    n = 30 if benchmark.enabled else 5
    network = Network.random_geometric(n, np.random.default_rng(3), radius=0.35 if n == 30 else None)

    def everybody():
        return search(kind(), network, taps=False)

    with threadpool_limits(1):
        found = benchmark.pedantic(everybody, rounds=1)
        one = least(lambda: leaked_subspace(PDMM(), network, HonestButCurious({0, 1})), 2)
    benchmark.extra_info.update(least=found.least, leaked_subspace_seconds=one)
    assert not found.inconclusive
    if benchmark.enabled:  # no longer than two readings of each node would take, since one is read off a triangle
        assert benchmark.stats.stats.min < 2 * n * one


def test_on_the_exposure_graph_time_is_linear_in_nodes(benchmark):
    sizes = (100_000, 1_000_000) if benchmark.enabled else (2_500, 5_000)

    def graph(n):
        edges = np.sort(np.random.default_rng(1).integers(0, n, size=(3 * n, 2)), axis=1)  # G(n, M), degree 6
        edges = np.unique(edges[edges[:, 0] < edges[:, 1]], axis=0)
        both = np.concatenate([edges, edges[:, ::-1]])
        both = both[np.lexsort((both[:, 1], both[:, 0]))]
        return np.searchsorted(both[:, 0], np.arange(n + 1)), both[:, 1].astype(np.int32)

    def whole(n, made):
        return cheapest_boundaries(*made, np.ones(n, dtype=np.int64), 4, limit=30.0)

    small, large = (graph(n) for n in sizes)
    whole(sizes[0], small)  # compiled
    took = least(lambda: whole(sizes[0], small))
    less, found = whole(sizes[0], small), benchmark.pedantic(whole, args=(sizes[1], large), rounds=1)
    assert found.proved.all()
    steps = [less.steps / sizes[0], found.steps / sizes[1]]
    benchmark.extra_info.update(microseconds_a_node=1e6 * took / sizes[0], steps_a_node=steps)
    # Steps, not seconds: a million nodes are more than fits into a cache, and each step then waits for memory.
    assert abs(steps[1] / steps[0] - 1) < 0.1


def test_arrays_are_those_of_the_network():
    indptr, indices = arrays(Network.cycle(5))
    assert [sorted(indices[indptr[i] : indptr[i + 1]].tolist()) for i in range(5)] == [
        list(Network.cycle(5).neighbours(i)) for i in range(5)
    ]
