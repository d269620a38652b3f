"""A single averaging on very many nodes takes memory in proportion to the network."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from secmix import Network
from secmix.protocols import PDMM

MIB = 2**20


def peak_of(work):
    """Bytes that ``work`` takes at its peak, beyond what was there."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = work()
        return tracemalloc.get_traced_memory()[1] - before, result
    finally:
        tracemalloc.stop()


@pytest.mark.build
def test_a_single_run_on_very_many_nodes_takes_memory_in_proportion_to_the_network(benchmark):
    # Ten thousand nodes where benchmarks are asked for. A transcript holds who spoke to whom once, not in every round.
    nodes = 600 if benchmark.disabled else 10_000
    rng = np.random.default_rng(0)
    network = Network.random_geometric(nodes, rng)
    arcs = len(network.arcs)
    assert len(network.opposite) == arcs  # what the network works out once stays out
    assert sum(map(len, network.colours)) == nodes
    inputs = rng.normal(size=(1, nodes, 1))

    def work():
        return PDMM(sigma=1.0, tol=1e-6).average(inputs, network, np.random.default_rng(1))

    peak, (averages, transcript) = benchmark.pedantic(lambda: peak_of(work), rounds=1)
    said = transcript.nbytes
    benchmark.extra_info.update({"arcs": arcs, "messages": transcript.messages, "peak MiB": peak / MIB})
    assert np.abs(averages - inputs.mean()).max() < 1e-5
    assert transcript.messages > 50 * arcs
    rounds = len(transcript.blocks)
    assert peak < said + 1000 * rounds + 200 * arcs + 2 * MIB  # bytes; three indices a message would be 24 * messages
    assert 24 * transcript.messages > 5 * peak
