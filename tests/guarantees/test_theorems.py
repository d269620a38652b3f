"""The theorems on what each protocol reveals (Li 2022, section 4), as properties of its own messages.

What must be known is worked out from the graph alone (``enrolled``); what is known, from a run.
"""

from __future__ import annotations

import numpy as np
import pytest
from enrolled import ENROLLED, everything, pieces, tiered
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import attacked, edge_sets, losses, networks, penalties, schedules, seeds

from secmix import Network
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.estimators import leaked_subspace
from secmix.protocols import PDMM, Plain, SecureSum

RING_WITH_CHORDS = Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (0, 2), (2, 4)])
STAR = Network.from_edges(5, [(0, 1), (0, 2), (0, 3), (0, 4)])


def assert_known(leaked, network, corrupt, sums):
    """The leaked subspace is spanned by the corrupt inputs and the given sums, no more and no less."""
    rows = [[float(node == i) for node in range(network.n)] for i in sorted(corrupt)]
    rows += [[float(node in group) for node in range(network.n)] for group in sums]
    expected = np.array(rows).reshape(-1, network.n)
    projector = np.linalg.pinv(expected) @ expected if len(rows) else np.zeros((network.n, network.n))
    assert_allclose(leaked.projector, projector, atol=1e-6)
    assert leaked.rank == (np.linalg.matrix_rank(expected) if len(rows) else 0)
    # A sum may hold corrupt inputs too (the total): what stays open is the sum of its honest ones.
    alone = {min(group - corrupt) for group in sums if len(group - corrupt) == 1}
    assert leaked.revealed == alone


def network_for(data, enrolled):
    return data.draw(attacked(hamiltonian=enrolled.cycle))


@pytest.mark.parametrize("enrolled", tiered(ENROLLED))
@given(data=st.data(), seed=seeds)
def test_corrupt_nodes_learn_what_the_protocol_claims(enrolled, data, seed):
    network, corrupt = network_for(data, enrolled)
    for listens, known in ((False, enrolled.passive), (True, enrolled.listening)):
        adversary = HonestButCurious(corrupt, eavesdrops=listens)
        leaked = leaked_subspace(enrolled.protocol, network, adversary, rng=seed)
        assert_known(leaked, network, corrupt, known(network, corrupt))


@pytest.mark.parametrize("enrolled", tiered(ENROLLED))
@given(data=st.data(), seed=seeds)
def test_an_eavesdropper_learns_what_the_protocol_claims(enrolled, data, seed):
    network = data.draw(networks(hamiltonian=enrolled.cycle))
    leaked = leaked_subspace(enrolled.protocol, network, Eavesdropper(), rng=seed)
    assert_known(leaked, network, frozenset(), enrolled.outsider(network, frozenset()))


@given(attacked(), seeds, schedules, penalties, losses, st.booleans(), st.sampled_from([1e-2, 1e-6, 1e-10]))
@example((RING_WITH_CHORDS, frozenset({1, 3})), 0, "coloured", 0.4, 0.0, True, 1e-10)
@example((STAR, frozenset({0})), 0, "asynchronous", 0.4, 0.0, False, 1e-10)
def test_1_pdmm_reveals_sums_over_honest_pieces_whatever_its_settings(case, seed, schedule, c, loss, listens, tol):
    network, corrupt = case
    protocol = PDMM(schedule=schedule, c=c, loss=loss, tol=tol)
    leaked = leaked_subspace(protocol, network, HonestButCurious(corrupt, eavesdrops=listens), rng=seed)
    assert_known(leaked, network, corrupt, pieces(network, corrupt))


def test_1_a_node_with_only_corrupt_neighbours_is_revealed():
    leaked = leaked_subspace(PDMM(), STAR, HonestButCurious({0}))
    assert leaked.revealed == {1, 2, 3, 4}
    assert leaked_subspace(PDMM(), STAR, HonestButCurious({1})).revealed == set()


@given(st.data(), seeds, schedules, penalties)
def test_2_pdmm_tells_an_eavesdropper_only_the_total_wherever_it_taps(data, seed, schedule, c):
    network = data.draw(networks())
    tapped = data.draw(edge_sets(network))
    leaked = leaked_subspace(PDMM(schedule=schedule, c=c), network, Eavesdropper(tapped), rng=seed)
    assert_known(leaked, network, frozenset(), [frozenset(range(network.n))])


@given(attacked(hamiltonian=True), seeds, st.sampled_from(["real", "modular"]), st.integers(0, 7))
def test_3_who_starts_the_secure_sum_makes_no_difference(case, seed, arithmetic, turn):
    network, corrupt = case
    order = network.hamiltonian_cycle()
    turned = order[turn % network.n :] + order[: turn % network.n]
    adversary = HonestButCurious(corrupt)
    first, other = (
        leaked_subspace(SecureSum(arithmetic=arithmetic, cycle=cycle), network, adversary, rng=seed)
        for cycle in (order, turned)
    )
    assert_allclose(other.projector, first.projector, atol=1e-6)
    assert other.revealed == first.revealed


@given(attacked(hamiltonian=True))
def test_3_a_node_between_two_corrupt_ones_is_revealed_and_no_other(case):
    network, corrupt = case
    order = network.hamiltonian_cycle()
    around = {v: {order[i - 1], order[(i + 1) % network.n]} for i, v in enumerate(order)}
    between = {v for v in range(network.n) if v not in corrupt and around[v] <= corrupt}
    for arithmetic in ("real", "modular"):
        leaked = leaked_subspace(SecureSum(arithmetic=arithmetic), network, HonestButCurious(corrupt))
        assert leaked.revealed == between


@given(networks(), st.booleans())
def test_4_the_server_of_a_plain_protocol_learns_everything(network, encrypted):
    leaked = leaked_subspace(Plain(encrypted=encrypted), network, CuriousServer())
    assert_known(leaked, network, frozenset(), everything(network, frozenset()))


def test_4_a_protocol_without_a_server_tells_it_nothing():
    network = Network.cycle(4)
    for protocol in (PDMM(), SecureSum()):
        assert leaked_subspace(protocol, network, CuriousServer()).rank == 0


@given(attacked(), schedules, seeds)
def test_fresh_masks_keep_rounds_apart(case, schedule, seed):
    network, corrupt = case
    protocol = PDMM(schedule=schedule)
    leaked = leaked_subspace(protocol, network, HonestButCurious(corrupt), rounds=2, rng=seed)
    once = corrupt_and(pieces(network, corrupt), corrupt, network.n)
    assert_allclose(leaked.projector, np.kron(np.eye(2), np.linalg.pinv(once) @ once), atol=1e-6)


@given(attacked(), st.sampled_from(["coloured", "synchronous"]), st.integers(2, 3))
def test_reused_masks_give_the_differences_between_rounds_away(case, schedule, rounds):
    # Not so for random schedules, where two rounds may bring different masks into play.
    network, corrupt = case
    protocol = PDMM(masks="reused", schedule=schedule)
    leaked = leaked_subspace(protocol, network, HonestButCurious(corrupt), rounds=rounds)
    once = corrupt_and(pieces(network, corrupt), corrupt, network.n)
    steps = np.eye(rounds)[1:] - np.eye(rounds)[:-1]
    expected = np.concatenate([np.kron(np.eye(rounds)[:1], once), np.kron(steps, np.eye(network.n))])
    assert_allclose(leaked.projector, np.linalg.pinv(expected) @ expected, atol=1e-6)


def corrupt_and(groups, corrupt, n):
    """Indicator rows of the corrupt nodes and of the groups."""
    every = [{i} for i in sorted(corrupt)] + list(groups)
    return np.array([[float(node in group) for node in range(n)] for group in every])
