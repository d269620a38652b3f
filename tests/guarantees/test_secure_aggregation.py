"""Secure aggregation: what a server and its coalition learn (Bonawitz et al. 2017, Theorems 6.3 and 6.5).

What must be known is worked out from the graph and the shares alone; what is known, from a run.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import networks, node_sets, seeds

from secmix import Network
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious, UnmaskingServer
from secmix.errors import NetworkError, SecmixError
from secmix.estimators import leaked_subspace
from secmix.kernel import KnownSums, Open, clear, prove
from secmix.protocols import SecureAggregation
from secmix.protocols.interfaces import ProtocolWrapper
from secmix.transcript import SERVER

COMPLETE = Network.complete(5)


def keepers(network, node):
    return {node, *network.neighbours(node)}


def known(protocol, network, corrupt):
    """The sums that the server and ``corrupt`` learn: of survivors whose pair masks are all open but among themselves.

    The pair mask of two honest nodes is open if the coalition recovers the masks of either, or either is counted as
    dropped out. The self mask of one is open if it survived or the coalition recovers it.
    """
    gone = {*protocol.dropped, *protocol.late}
    honest = set(range(network.n)) - corrupt
    opened = {u for u in honest if len(keepers(network, u) & corrupt) >= protocol.threshold_of(network, u)}
    bare = {u for u in honest - set(protocol.dropped) if u not in gone or u in opened}
    found, left = [], set(bare)
    while left:
        piece, edge = set(), {left.pop()}
        while edge:
            piece |= edge
            inner = {u for u in edge if u not in opened | gone}
            edge = {v for u in inner for v in network.neighbours(u) if v in left - opened - gone}
            left -= edge
        found.append(piece)
    return found


def assert_knows(leaked, network, corrupt, sums):
    rows = [[float(node == i) for node in range(network.n)] for i in sorted(corrupt)]
    rows += [[float(node in group) for node in range(network.n)] for group in sums]
    expected = np.array(rows).reshape(-1, network.n)
    projector = np.linalg.pinv(expected) @ expected if len(rows) else np.zeros((network.n, network.n))
    assert_allclose(leaked.projector, projector, atol=1e-6)


@st.composite
def settings(draw):
    """A network, a protocol on it with any drop-outs, and corrupt nodes."""
    network = draw(networks(most=6))
    most = min(len(keepers(network, u)) for u in range(network.n))
    threshold = draw(st.none() | st.integers(1, most))
    fates = draw(
        st.lists(st.sampled_from(["", "", "", "dropped", "late", "silent"]), min_size=network.n, max_size=network.n)
    )
    gone = {fate: [u for u, mine in enumerate(fates) if mine == fate] for fate in ("dropped", "late", "silent")}
    return network, SecureAggregation(threshold, refuses=draw(st.booleans()), **gone), draw(node_sets(network, least=0))


def finishes(protocol, network):
    try:
        return protocol.average(np.ones((1, network.n, 1)), network, np.random.default_rng(0))
    except SecmixError:
        return None


@given(settings(), seeds)
def test_the_server_and_its_coalition_learn_the_sum_of_the_honest_survivors(case, seed):
    network, protocol, corrupt = case
    assume(finishes(protocol, network))
    leaked = leaked_subspace(protocol, network, CuriousServer(corrupt), rng=seed)
    assert_knows(leaked, network, corrupt, known(protocol, network, corrupt))


@given(st.data(), seeds)
def test_with_fewer_shares_than_the_threshold_that_is_one_sum_on_the_complete_network(data, seed):
    n = data.draw(st.integers(3, 6))
    threshold = data.draw(st.integers(2, n))
    corrupt = data.draw(st.frozensets(st.integers(0, n - 1), max_size=threshold - 1))
    gone = data.draw(st.frozensets(st.integers(0, n - 1), max_size=n - threshold))
    late = data.draw(st.frozensets(st.sampled_from(sorted(gone)))) if gone else frozenset()
    protocol = SecureAggregation(threshold, dropped=sorted(gone - late), late=sorted(late))
    network = Network.complete(n)
    leaked = leaked_subspace(protocol, network, CuriousServer(corrupt), rng=seed)
    assert_knows(leaked, network, corrupt, [set(range(n)) - gone - corrupt])


@given(settings(), seeds)
def test_both_kinds_of_share_of_one_node_are_never_released(case, seed):
    network, protocol, _ = case
    assume(finishes(protocol, network))
    _, transcript = protocol.average(np.ones((1, network.n, 1)), network, np.random.default_rng(seed))
    to_server = {b.kind for b in transcript if b.kind.startswith("share of") and (b.receiver == SERVER).all()}
    for u in range(network.n):
        assert len(to_server & {f"share of the self mask of {u}", f"share of the pair masks of {u}"}) <= 1


@given(settings(), seeds)
def test_the_sum_is_exact_on_the_grid_whoever_drops_out(case, seed):
    network, protocol, _ = case
    assume(finishes(protocol, network))
    inputs = np.random.default_rng(seed).integers(-(2**40), 2**40, size=(2, network.n, 3)) * protocol.grid
    averages, _ = protocol.average(inputs, network, np.random.default_rng(seed))
    survivors = [u for u in range(network.n) if u not in (*protocol.dropped, *protocol.late)]
    there = [u for u in survivors if u not in protocol.silent]
    for u in range(network.n):
        if u in there:
            assert_array_equal(averages[:, u], inputs[:, survivors].sum(axis=1) / len(survivors))
        else:
            assert np.isnan(averages[:, u]).all()


@given(settings(), seeds)
def test_nodes_without_the_server_learn_the_total_and_outsiders_nothing(case, seed):
    network, protocol, corrupt = case
    assume(finishes(protocol, network))
    summed = set(range(network.n)) - {*protocol.dropped, *protocol.late}
    if corrupt:
        told = [summed] if corrupt & summed - set(protocol.silent) else []
        assert_knows(leaked_subspace(protocol, network, HonestButCurious(corrupt), rng=seed), network, corrupt, told)
    assert leaked_subspace(protocol, network, Eavesdropper(), rng=seed).rank == 0


@given(st.data(), seeds)
def test_a_server_that_asks_half_the_clients_for_either_kind_is_stopped_by_the_threshold(data, seed):
    n = data.draw(st.integers(3, 6))
    threshold = data.draw(st.integers(1, n))
    corrupt = data.draw(st.frozensets(st.integers(1, n - 1), max_size=threshold - 1))
    server, network = UnmaskingServer(0, corrupt, "halves"), Network.complete(n)
    played = server.active(SecureAggregation(threshold))
    leaked = leaked_subspace(played, network, server, rng=seed)
    if 2 * threshold <= n + len(corrupt):
        assert 0 in leaked.revealed
    else:
        assert 0 not in leaked.revealed or len(corrupt) == n - 1
        averages, _ = played.average(np.ones((1, n, 1)), network, np.random.default_rng(seed))
        half = (n - len(corrupt)) // 2
        assert np.isnan(averages).all() == (n - half < threshold)  # without a sum where the self mask stays


def test_a_server_that_asks_everybody_for_both_is_refused_and_unmasks_where_it_is_not():
    server = UnmaskingServer(victim=2)
    averages, _ = server.active(SecureAggregation()).average(np.ones((1, 5, 1)), COMPLETE, np.random.default_rng(0))
    assert np.isnan(averages).all()
    assert leaked_subspace(server.active(SecureAggregation()), COMPLETE, server).rank == 0
    assert leaked_subspace(server.active(SecureAggregation(refuses=False)), COMPLETE, server).revealed == {2}


def test_a_server_that_never_asks_for_shares_cannot_be_attacked_so():
    from secmix.protocols import Plain

    with pytest.raises(SecmixError, match="no server that asks for shares"):
        UnmaskingServer(0).active(Plain()).average(np.ones((1, 5, 1)), COMPLETE, np.random.default_rng(0))


class TwoSums(ProtocolWrapper):
    """The same inputs summed twice under fresh masks; the second time without node 2."""

    def draw_masks(self, runs, m, network, rng):
        drawn = [one.draw_masks(runs, m, network, rng) for one in self.both]
        return np.concatenate(drawn, axis=1)

    @property
    def both(self):
        return self.inner, SecureAggregation(self.inner.threshold, dropped=[2])

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        masks = self.draw_masks(len(inputs), inputs.shape[2], network, rng) if masks is None else masks
        half = masks.shape[1] // 2
        self.inner.average(inputs, network, rng, masks=masks[:, :half], channel=channel)
        return self.both[1].average(inputs, network, rng, masks=masks[:, half:], channel=channel)


def test_two_sums_that_differ_by_one_node_give_it_away():
    once = SecureAggregation(threshold=3)
    assert leaked_subspace(once, COMPLETE, CuriousServer()).revealed == set()
    assert leaked_subspace(TwoSums(once), COMPLETE, CuriousServer()).revealed == {2}


class ShortSeeds(SecureAggregation):
    """Expands all masks of a run from a seed of 16 bits."""

    def draw_masks(self, runs, m, network, rng):
        drawn = [
            super(ShortSeeds, self).draw_masks(1, m, network, np.random.default_rng(seed))
            for seed in rng.integers(2**16, size=runs)
        ]
        return np.concatenate(drawn)


def proved_before(protocol, adversary, n):
    inputs = [np.random.default_rng(call).normal(size=(1, n, 2)) for call in range(3)]
    network = Network.complete(n)
    return clear(prove(protocol, network, inputs), network, adversary)


@pytest.mark.build
def test_masks_expanded_from_short_seeds_are_not_proved_and_drawn_ones_are():
    assert isinstance(proved_before(SecureAggregation(threshold=2), CuriousServer(), 3), KnownSums)
    assert isinstance(proved_before(ShortSeeds(threshold=2), CuriousServer(), 3), Open)


@pytest.mark.parametrize("gone", [{"dropped": [3]}, {"late": [3]}, {"silent": [3]}])
def test_it_is_proved_where_a_node_drops_out(gone):
    found = proved_before(SecureAggregation(2, **gone), CuriousServer([1]), 4)
    assert isinstance(found, KnownSums)
    assert not found.covers


def test_settings_that_make_no_sense_say_so():
    with pytest.raises(SecmixError, match="only one of them; given"):
        SecureAggregation(dropped=[1], late=[1])
    with pytest.raises(NetworkError, match="node 0 and its neighbours hold 3 shares"):
        SecureAggregation(threshold=4).average(np.ones((1, 5, 1)), Network.cycle(5), np.random.default_rng(0))
    with pytest.raises(NetworkError, match="node 9 does not exist"):
        SecureAggregation(dropped=[9]).average(np.ones((1, 5, 1)), COMPLETE, np.random.default_rng(0))
    with pytest.raises(SecmixError, match="2 shares of node 0 came and 4 are needed"):
        SecureAggregation(silent=[1, 2, 3]).average(np.ones((1, 5, 1)), COMPLETE, np.random.default_rng(0))
    with pytest.raises(SecmixError, match="beyond"):
        SecureAggregation().average(np.full((1, 5, 1), 1e8), COMPLETE, np.random.default_rng(0))
    with pytest.raises(SecmixError, match="the victim 1 is one of the corrupt nodes"):
        UnmaskingServer(1, [1])
