"""Networks: construction, what is refused and why, Hamiltonian cycles and their certificates."""

from __future__ import annotations

from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import networks, seeds

from secmix import Network
from secmix.errors import NetworkError, SecmixError

PETERSEN = Network(nx.petersen_graph())


@given(networks())
def test_arcs_edges_and_degrees_agree(network):
    assert len(network.arcs) == 2 * len(network.edges)
    assert np.array_equal(network.arcs[network.opposite], network.arcs[:, ::-1])
    assert np.array_equal(np.bincount(network.arcs[:, 0], minlength=network.n), network.degrees)
    for node in range(network.n):
        assert network.neighbours(node) == tuple(network.arcs[network.arcs[:, 0] == node, 1])
    assert network == Network.from_edges(network.n, network.edges[::-1, ::-1].tolist())
    assert hash(network) == hash(Network.from_edges(network.n, network.edges.tolist()))


@given(networks())
def test_colours_split_the_nodes_into_sets_without_neighbours(network):
    assert sorted(np.concatenate(network.colours).tolist()) == list(range(network.n))
    colour = {int(node): k for k, nodes in enumerate(network.colours) for node in nodes}
    assert all(colour[int(a)] != colour[int(b)] for a, b in network.edges)


@given(networks(), st.data())
def test_components_without_some_nodes(network, data):
    removed = data.draw(st.frozensets(st.integers(0, network.n - 1)))
    pieces = network.components_without(removed)
    assert sorted(node for piece in pieces for node in piece) == sorted(set(range(network.n)) - removed)
    where = {node: k for k, piece in enumerate(pieces) for node in piece}
    for a, b in network.edges.tolist():
        if a in where and b in where:
            assert where[a] == where[b]


@given(networks(hamiltonian=True, most=9))
def test_a_hamiltonian_cycle_is_found_where_there_is_one(network):
    order = network.hamiltonian_cycle()
    assert order[0] == 0
    assert sorted(order) == list(range(network.n))
    assert all(network.graph.has_edge(a, b) for a, b in zip(order, (*order[1:], 0), strict=True))
    assert network.hamiltonian_cycle() == order


@given(networks(most=7))
def test_a_cycle_is_denied_only_where_no_ordering_of_the_nodes_is_one(network):
    exists = network.n > 2 and any(
        all(network.graph.has_edge(a, b) for a, b in zip((0, *rest), (*rest, 0), strict=True))
        for rest in permutations(range(1, network.n))
    )
    if exists:
        network.hamiltonian_cycle()
    else:
        with pytest.raises(NetworkError, match="no Hamiltonian cycle: "):
            network.hamiltonian_cycle()


@pytest.mark.parametrize(
    ("network", "reason"),
    [
        (Network.complete(2), "at least 3 nodes, the network has 2"),
        (Network.from_edges(4, [(0, 1), (1, 2), (2, 0), (2, 3)]), "node 3 has fewer than two neighbours"),
        (Network.from_edges(5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]), "node 2 is a bottleneck"),
        (Network(nx.complete_bipartite_graph(2, 3)), "two-sided with 2 and 3 nodes"),
        (Network.from_edges(6, [(0, 1), *((a, b) for a in (0, 1) for b in (2, 3, 4)), (4, 5), (5, 0)]),
         r"without nodes \[0, 1\] the network falls into 3 pieces"),
        (PETERSEN, "exhaustive search over the paths of these 10 nodes"),
    ],
)  # fmt: skip
def test_where_there_is_no_cycle_the_reason_is_given(network, reason):
    with pytest.raises(NetworkError, match=f"no Hamiltonian cycle: .*{reason}"):
        network.hamiltonian_cycle()


@given(seeds)
def test_random_geometric_networks_are_connected_and_joined_within_reach(seed):
    network = Network.random_geometric(12, np.random.default_rng(seed), radius=0.5)
    apart = np.linalg.norm(network.positions[:, None] - network.positions[None], axis=-1)
    near = {(a, b) for a in range(12) for b in range(a + 1, 12) if apart[a, b] <= 0.5}
    assert near == set(map(tuple, network.edges.tolist()))


def test_positions_are_finite_for_small_and_large_networks():
    for network in (Network.complete(4), Network.from_edges(3, [(0, 1), (1, 2)]), Network.cycle(30)):
        assert network.positions.shape == (network.n, 2)
        assert np.isfinite(network.positions).all()


def test_a_complete_network_is_that_of_its_graph_which_nothing_built():
    network, of_graph = Network.complete(7), Network(nx.complete_graph(7))
    assert network == of_graph
    assert network.hamiltonian_cycle() == of_graph.hamiltonian_cycle()
    assert network.degrees.tolist() == of_graph.degrees.tolist()
    assert "graph" not in vars(network)
    assert {*network.graph.edges} == {*of_graph.graph.edges}
    with pytest.raises(nx.NetworkXError):
        network.graph.add_edge(0, 7)


def test_the_nodes_of_a_network_of_many_lines_are_drawn_on_a_circle():
    network = Network.complete(450)
    assert network.positions.shape == (450, 2)
    assert np.linalg.norm(network.positions, axis=1) == pytest.approx(np.ones(450))
    assert "graph" not in vars(network)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Network.from_edges(4, [(0, 1), (1, 2)]), r"nodes \[3\] cannot reach the rest; add an edge"),
        (lambda: Network.from_edges(4, [(0, 1), (2, 3)]), "not connected"),
        (lambda: Network(nx.Graph()), "no nodes"),
        (lambda: Network(nx.Graph([(1, 2)])), r"numbered 0 to 1; given \[1, 2\]"),
        (lambda: Network(nx.Graph([("a", "b")])), "numbered 0 to 1"),
        (lambda: Network(nx.Graph([(0, 1), (1, 1)])), r"own neighbour; drop \[\(1, 1\)\]"),
        (lambda: Network.from_edges(3, [(0, 3)]), "names node 3; nodes run from 0 to 2"),
        (lambda: Network.from_edges(3, [(0, -1)]), "names node -1"),
        (lambda: Network.from_edges(3, [(0, 1.0)]), "names node 1.0"),
        (lambda: Network.from_edges(3, [(0, True)]), "names node True"),
        (lambda: Network.from_edges(3, [(0, "1")]), "names node '1'"),
        (lambda: Network.from_edges(3, [(0, 1, 2)]), "an edge is a pair of nodes"),
        (lambda: Network.from_edges(3, [(1, 1)]), "joins a node to itself; drop it"),
        (lambda: Network.from_edges("3", []), "integer of at least 1; given '3'"),
        (lambda: Network.from_edges(True, []), "integer of at least 1; given True"),
        (lambda: Network.complete(1), "must be at least 2; given 1"),
        (lambda: Network.complete(2.0), "integer of at least 2; given 2.0"),
        (lambda: Network.cycle(2), "must be at least 3; given 2"),
        (lambda: Network.random_geometric(30, np.random.default_rng(0), radius=0.01, tries=3),
         "no connected graph in 3 draws of 30 nodes at radius 0.01; raise the radius"),
    ],
)  # fmt: skip
def test_bad_networks_are_refused_with_what_would_be_right(make, message):
    with pytest.raises(SecmixError, match=message):
        make()


@pytest.mark.parametrize("node", [5, -1, True, 1.0, "1", None])
def test_a_node_that_does_not_exist_is_named(node):
    with pytest.raises(NetworkError, match=f"corrupt node {node!r} does not exist; nodes run from 0 to 4"):
        Network.cycle(5).node_set([0, node], "corrupt")


def test_the_graph_cannot_be_changed_afterwards():
    with pytest.raises(nx.NetworkXError, match="Frozen"):
        Network.cycle(4).graph.add_edge(0, 2)
