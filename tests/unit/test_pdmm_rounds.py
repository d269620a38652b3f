"""What arrives at PDMM's nodes is the same sum to the last bit, however it is added up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from secmix.network import Network
from secmix.protocols.sums.pdmm_rounds import _Edges


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 6), (1, 127), (5, 40)])
def test_sums_of_unequal_nodes_are_the_same_however_they_are_made(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    network = Network.random_geometric(40, np.random.default_rng(0), radius=0.4)
    edges, several = _Edges(network, 0.4), []
    for nodes in network.colours:
        active = edges.activation(nodes)
        z = np.concatenate([rng.normal(scale=1e4, size=(len(network.arcs), *shape)), np.zeros((1, *shape))])
        arriving = z[active.opposite]
        by_node = [np.add.reduce(arriving[span], axis=0) for span in active.by_node]
        assert np.array_equal(active.incoming(z, arriving), by_node)
        assert np.array_equal(replace(active, padded=None).incoming(z, arriving), by_node)
        several.append(active.padded is not None and active.degree is None)
    assert any(several)
