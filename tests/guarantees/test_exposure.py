"""Smallest coalitions: all methods agree with brute force, certificates hold, and nothing unproven is said.

By hand on more graphs: ``SECMIX_EXPOSURE_GRAPHS=240 pytest tests/guarantees/test_exposure.py``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import networkx as nx
import numpy as np
import pytest
from exposure_cases import brute_force, check_certificate, exposed_by_audit, random_network, search
from hypothesis import given
from hypothesis import strategies as st
from strategies import networks, seeds

from secmix import Network
from secmix.auditing.exposure.coalitions.graph import arrays, cheapest_boundaries, component
from secmix.auditing.exposure.coalitions.hitting import least_hitting_set
from secmix.auditing.exposure.coalitions.programme import cheapest_choice
from secmix.protocols import PDMM, Plain, RobustServer, SecureSum

GRAPHS = int(os.environ.get("SECMIX_EXPOSURE_GRAPHS", "8"))
TRIANGLES = Network.from_edges(6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)])
FAST = PDMM(sigma=100.0)


class Undeclared(PDMM):
    """PDMM that says nothing about graphs: it goes to the generic method."""

    exposure_graph = None


@pytest.mark.build
@pytest.mark.parametrize("seed", range(GRAPHS))
@pytest.mark.parametrize("level", ["input", "one row a node", "several rows a node"])
def test_generic_graph_programme_and_brute_force_agree(seed, level):
    rng = np.random.default_rng([seed, len(level)])
    network = random_network(rng)
    n = network.n
    counts = (1,) * n if level != "several rows a node" else tuple(rng.integers(1, 4, size=n).tolist())
    most = None if level == "input" else int(rng.integers(1, sum(counts)))
    rows, fits = ((1,) * n, 1) if most is None else (counts, most)
    costs = {v: float(rng.integers(1, 4)) for v in range(n)} if seed % 2 else {}
    limit = 4.0
    declared, generic = (
        search(protocol, network, counts=counts, most=most, costs=costs, limit=limit, taps=False)
        for protocol in (FAST, Undeclared(sigma=100.0))
    )
    assert declared.method != generic.method
    weights = np.array([costs.get(v, 1.0) for v in range(n)])
    branched = cheapest_boundaries(*arrays(network), rows, fits, limit=limit, weights=weights, empty_boundary=True)
    assert branched.proved.all()
    for node in range(n):
        expected = brute_force(network.graph, node, rows, fits, costs=costs, limit=limit)
        prices = {v: costs.get(v, 1.0) for v in range(n) if v != node}
        programme = cheapest_choice(network, node, rows, fits, prices, limit=limit, empty_boundary=True)
        for found in (declared.nodes[node], generic.nodes[node]):
            assert found.colluders.cost == expected
            assert found.status == ("found" if expected is not None else "none up to the limit")
        assert (None if np.isinf(branched.cost[node]) else branched.cost[node]) == expected
        assert programme.at_least == expected if programme.choice is not None else expected is None


@pytest.mark.parametrize("seed", range(max(GRAPHS // 8, 2)))
@pytest.mark.parametrize("most", [None, 2])
def test_a_reader_can_check_every_certificate(seed, most):
    rng = np.random.default_rng([seed, 1])
    network = random_network(rng, most=7)
    for protocol in (FAST, Undeclared(sigma=100.0)):
        found = search(protocol, network, most=most, limit=3.0, taps=False)
        for each in found.nodes:
            check_certificate(each, protocol, network, (1,) * network.n, most, 3)


@pytest.mark.build
@given(networks(hamiltonian=True, most=7))
def test_secure_summation_falls_to_two_and_with_open_lines_to_two_taps(network):
    closed = search(SecureSum(), network)
    assert [each.colluders.cost for each in closed.nodes] == [2.0] * network.n
    assert all(each.taps.status == "none up to the limit" and each.taps.at_least == np.inf for each in closed.nodes)
    opened = search(SecureSum(encrypted=False), network, most=1)
    for each in opened.nodes:
        # Who hears all lines needs nobody; who must choose needs two lines, or a line and a node.
        assert (each.colluders.cost, each.taps.cost, each.both.cost) == (0.0, 2.0, 2.0)
    order = (*network.hamiltonian_cycle(), 0)
    ring = {v: {order[k - 1] if k else order[-2], order[k + 1]} for k, v in enumerate(order[:-1])}
    dear = dict.fromkeys(range(network.n), 3.0)
    mixed = search(SecureSum(encrypted=False), network, costs={**dear, 0: 0.5}, limit=9.0)
    assert all(each.both.cost == (1.5 if 0 in ring[each.node] else 2.0) for each in mixed.nodes)


@given(networks(most=6), st.booleans())
def test_a_server_that_holds_inputs_outright_is_seen(network, encrypted):
    found = search(Plain(encrypted=encrypted), network)
    for each in found.nodes:
        assert each.coalition == (frozenset({-1}) if encrypted else frozenset())
        assert each.taps.cost == (None if encrypted else 1.0)


@pytest.mark.build
@given(networks(least=4, most=6), seeds)
def test_tapped_lines_of_pdmm_never_reveal_a_node(network, seed):
    found = search(FAST, network, seed=seed)
    assert all(each.taps.status == "none up to the limit" and each.taps.at_least == np.inf for each in found.nodes)


@pytest.mark.parametrize("schedule", ["synchronous", "asynchronous", "coloured"])
def test_the_graph_holds_for_every_schedule_and_for_loss(schedule):
    for network in (TRIANGLES, Network.cycle(5)):
        found = search(PDMM(schedule=schedule, loss=0.2, sigma=100.0), network, taps=False)
        assert [each.colluders.cost for each in found.nodes] == network.degrees.tolist()
        assert "exposure graph" in found.method


def test_where_the_graph_theorem_fails_the_generic_method_says_so():
    """Drop-out, reused masks, masks in the open."""
    left = search(PDMM(dropout=(0, 8), sigma=100.0), TRIANGLES, taps=False)
    assert left.nodes[0].coalition == frozenset()  # an outsider takes what the others sum to from what all summed to
    assert [each.colluders.cost for each in left.nodes] == [0.0, 1.0, 2.0, 3.0, 2.0, 2.0]
    reused = search(PDMM(masks="reused", sigma=100.0), TRIANGLES, taps=False)
    assert all(each.coalition == frozenset() for each in reused.nodes)  # differences, to everybody who listens
    opened = search(InTheOpen(sigma=100.0), TRIANGLES, taps=False)
    assert all(each.coalition == frozenset() for each in opened.nodes)
    for found in (left, reused, opened):
        assert "exposure graph" not in found.method
    assert "is not used" in opened.notes[0]


class InTheOpen(PDMM):
    """Forgets to encrypt its masks, and still declares the graph."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        return super().average(inputs, network, rng, masks=masks, channel=OpenLines(channel))


class OpenLines:
    def __init__(self, channel):
        self.channel = channel

    def __getattr__(self, name):
        return getattr(self.channel, name)

    def send(self, *given, encrypted=False, **named):
        return self.channel.send(*given, **named)


@dataclass(frozen=True)
class Boastful(SecureSum):
    """Declares a better graph than it has."""

    def exposure_graph(self, network):
        return Network.complete(network.n)


def test_a_declared_graph_that_is_wrong_is_found_out():
    found = search(Boastful(), Network.cycle(6), taps=False)
    assert [each.colluders.cost for each in found.nodes] == [2.0] * 6
    assert "is not used" in found.notes[0]


class BoastfulPDMM(PDMM):
    """Declares a better graph than it has."""

    def exposure_graph(self, network):
        return Network.complete(network.n)


def test_a_network_too_large_to_record_is_answered_by_a_graph_that_is_checked_in_small():
    network = Network.cycle(300)
    found, boastful, undeclared = (
        search(kind(sigma=100.0), network, taps=False, asked=(0, 17)) for kind in (PDMM, BoastfulPDMM, Undeclared)
    )
    assert [each.colluders.cost for each in found.nodes] == [2.0, 2.0]
    for doubtful in (boastful, undeclared):
        assert doubtful.inconclusive == (0, 17)
        assert doubtful.least is None


class Hidden(SecureSum):
    """Keeps quiet of what nodes hold."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        return super().average(inputs, network, rng, masks=masks, channel=Quiet(channel))


class Quiet(OpenLines):
    def hold(self, *given):
        return None

    def send(self, *given, **named):
        return self.channel.send(*given, **named)


@dataclass(frozen=True)
class Lottery(SecureSum):
    """Once in a while the first node tells everybody its input."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        averages, transcript = super().average(inputs, network, rng, masks=masks, channel=channel)
        if rng.random() < 0.5:
            channel.send(99, 0, 1, "oops", np.asarray(inputs)[:, 0])
        return averages, transcript


@dataclass(frozen=True)
class Repeating(SecureSum):
    """Draws the same mask each time."""

    def draw_masks(self, runs, m, network, rng):
        return super().draw_masks(runs, m, network, np.random.default_rng(5))


@dataclass(frozen=True)
class Squaring(SecureSum):
    """Sends the square of its input along."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        averages, transcript = super().average(inputs, network, rng, masks=masks, channel=channel)
        channel.send(99, 0, 1, "square", np.asarray(inputs)[:, 0] ** 2, encrypted=True)
        return averages, transcript


@pytest.mark.parametrize(
    ("protocol", "reason"),
    [(Hidden(), "does not follow"), (Lottery(), "schedule is random"), (Squaring(), "not linear")],
    ids=["hidden", "lottery", "squaring"],
)
def test_what_is_not_proven_is_inconclusive_and_never_none(protocol, reason):
    found = search(protocol, Network.cycle(5), taps=False)
    doubtful = [each for each in found.nodes if each.status == "inconclusive"]
    assert doubtful
    assert any(reason in each.colluders.reason for each in doubtful)
    assert not [each for each in found.nodes if each.status == "none up to the limit"]


def test_masks_that_repeat_undeclared_are_read_jointly():
    found = search(Repeating(), Network.cycle(5), taps=False)
    assert found.least == 1.0  # the second on the cycle learns how the first one's vector changes
    assert "is not used" in found.notes[0]


def test_owners_in_a_row_withstand_what_owners_in_turn_do_not():
    ring = Network.cycle(9)
    row = search(SecureSum(), ring, owners=tuple("AAABBBCCC"), taps=False)
    turn = search(SecureSum(), ring, owners=tuple("ABCABCABC"), taps=False)
    assert row.least is None
    assert row.at_least == np.inf
    assert turn.least == 2.0
    for node in range(9):
        prices = {owner: 1.0 for owner in "ABC" if owner != "ABC"[node % 3]}
        members = {owner: [v for v in range(9) if "ABC"[v % 3] == owner] for owner in "ABC"}
        assert cheapest_choice(ring, node, [1] * 9, 1, prices, members=members).at_least == 2.0


@given(st.lists(st.frozensets(st.integers(0, 6), min_size=1), max_size=6), st.lists(st.integers(1, 3), min_size=7, max_size=7))  # fmt: skip # noqa: E501
def test_hitting_sets_are_the_cheapest(guards, prices):
    costs = dict(enumerate(map(float, prices)))
    found = least_hitting_set(guards, costs, 100.0)
    every = [{v for v in range(7) if code >> v & 1} for code in range(2**7)]
    cheapest = min(sum(costs[v] for v in choice) for choice in every if all(guard & choice for guard in guards))
    assert sum(costs[v] for v in found) == cheapest
    assert all(guard & found for guard in guards)
    assert least_hitting_set(guards, costs, cheapest - 0.5) is None


@given(networks(), st.data())
def test_connectivity_of_the_group_need_not_be_imposed(network, data):
    rows = data.draw(st.lists(st.integers(1, 3), min_size=network.n, max_size=network.n))
    most = data.draw(st.integers(1, sum(rows)))
    found = cheapest_boundaries(*arrays(network), rows, most, limit=99.0)
    for node in range(network.n):
        expected = brute_force(network.graph, node, rows, most, limit=99.0, empty=False)
        assert (None if np.isinf(found.cost[node]) else found.cost[node]) == expected
        if expected is not None:
            group = component(network, node, found.boundaries[node])
            assert sum(rows[v] for v in group) <= most
            assert len(found.boundaries[node]) == expected


@pytest.mark.build
def test_compiled_and_plain_search_agree():
    graph = nx.gnp_random_graph(2500, 4 / 2500, seed=1)
    graph.add_edges_from(nx.path_graph(2500).edges)
    network = Network(graph)
    some = np.arange(0, 2500, 50)
    compiled = cheapest_boundaries(*arrays(network), [1] * 2500, 4, limit=20.0)
    plain = cheapest_boundaries(*arrays(network), [1] * 2500, 4, limit=20.0, nodes=some)
    assert np.array_equal(compiled.cost[some], plain.cost)


def test_robust_rules_leave_all_to_the_server():
    found = search(RobustServer(encrypted=True), Network.cycle(4))
    assert all(each.coalition == {-1} and each.status == "found" for each in found.nodes)


@pytest.mark.build
def test_more_colluders_never_know_less():
    network = TRIANGLES
    for node in range(network.n):
        coalition = search(FAST, network, taps=False, asked=(node,)).nodes[0].coalition
        for other in set(range(network.n)) - coalition - {node}:
            assert exposed_by_audit(FAST, network, coalition | {other}, node, None, None)


def test_settings_are_those_of_the_protocol():
    assert replace(FAST, masks="reused").exposure_graph(TRIANGLES) is None
    assert FAST.exposure_graph(TRIANGLES) is TRIANGLES
    assert SecureSum(cycle=(0, 2, 1, 3)).exposure_graph(Network.complete(4)) == Network.from_edges(
        4, [(0, 2), (2, 1), (1, 3), (3, 0)]
    )
