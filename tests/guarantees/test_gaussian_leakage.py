"""Exact Gaussian leakage: closed forms, a second computation, and the inequalities of information."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from enrolled import ENROLLED, tiered
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import attacked, edge_sets, networks, node_sets, schedules, seeds

from secmix import Network
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.errors import NetworkError, SecmixError
from secmix.estimators import gaussian_leakage, leaked_subspace
from secmix.estimators.exact.linear import probe
from secmix.protocols import PDMM, Plain, SecureSum

pytestmark = pytest.mark.delicate

NOISY = [e for e in ENROLLED if e.noise]
SLACK = 1e-7  # nats; what float64 leaves of an inequality between two separate computations


def sum_of(n):
    """What the sum of n independent Gaussians of one variance tells of each."""
    return 0.5 * math.log(n / (n - 1))


def nats(protocol, network, adversary, node, sigma_input=1.0):
    return gaussian_leakage(protocol, network, adversary, node, sigma_input).value


def direct(view, node, sigma):
    """-½ log det of the correlation matrix of s_node and a basis of the view A s + M r; and whether it is clear-cut.

    After some rounds messages nearly repeat combinations of earlier ones. What tells them apart fades geometrically,
    and where it lies between rounding error and one it is a matter of taste whether it counts.
    """
    table = np.hstack([view.A, sigma * view.M])
    # Features that repeat others make the covariance singular; of a linear view, any basis tells as much.
    _, s, vt = np.linalg.svd(table, full_matrices=False)
    joint = np.vstack([np.eye(table.shape[1])[node], vt[s > 1e-8 * s[0]]])
    clear = not ((s > 1e-12 * s[0]) & (s < 1e-5 * s[0])).any()
    return -0.5 * np.linalg.slogdet(joint @ joint.T)[1], clear


@pytest.mark.parametrize("enrolled", tiered([e for e in ENROLLED if not e.chance]))
@given(data=st.data(), seed=seeds)
def test_what_is_judged_is_what_the_adversary_holds(enrolled, data, seed):
    # c, A and M, read off unit inputs and unit masks, give back every number of a run on other inputs and masks.
    network, corrupt = data.draw(attacked(hamiltonian=enrolled.cycle))
    rng = np.random.default_rng(seed)
    inputs = rng.integers(-1024, 1024, size=(2, network.n, 1)) / 1024
    masks = enrolled.protocol.draw_masks(2, 1, network, rng)
    _, transcript = enrolled.protocol.average(inputs, network, rng, masks=masks)
    held = HonestButCurious(corrupt).observe(transcript, network).values
    view = probe(enrolled.protocol, network, HonestButCurious(corrupt), rng)
    said = view.c + inputs[:, :, 0] @ view.A.T + masks[:, :, 0] @ view.M.T
    both = min(held.shape[1], said.shape[1])  # one of the two may have gone on for a few more rounds
    apart = held[:, :both] - said[:, :both]
    if view.modulus is not None:
        apart -= view.modulus * np.round(apart / view.modulus)
    assert both >= 3
    assert np.abs(apart).max() < 1e-10 * (1 + np.abs(masks).max(initial=0))


@pytest.mark.parametrize("n", [3, 4, 7, 20])
def test_the_sum_alone_gives_each_input_half_a_log(n):
    network = Network.complete(n)
    ring = SecureSum(sigma=1e9, encrypted=False)
    one_line = Eavesdropper(tapped=[network.hamiltonian_cycle()[:2]])  # a masked running sum, and the total
    assert nats(PDMM(sigma=1e9), network, Eavesdropper(), 1) == pytest.approx(sum_of(n), rel=1e-6)
    assert nats(ring, network, one_line, n - 1) == pytest.approx(sum_of(n), rel=1e-6)
    assert nats(Plain(), network, Eavesdropper(), 1) == math.inf


@pytest.mark.parametrize("n", [4, 7, 20])
@pytest.mark.parametrize(
    "protocol",
    [Plain(encrypted=True), PDMM(sigma=1e9), SecureSum(sigma=1e9), SecureSum(arithmetic="modular")],
)
def test_one_corrupt_node_learns_the_sum_of_the_others(protocol, n):
    # Of n inputs the corrupt node knows one: the total is the sum of the n - 1 others.
    network = Network.complete(n)
    assert nats(protocol, network, HonestButCurious({0}), 2) == pytest.approx(sum_of(n - 1), rel=1e-6)


def test_silence_tells_nothing():
    network = Network.cycle(5)
    assert nats(Plain(encrypted=True), network, Eavesdropper(), 0) == 0
    assert nats(SecureSum(), network, Eavesdropper(), 0) == 0
    assert nats(PDMM(), network, CuriousServer(), 0) == 0


def test_a_mask_no_larger_than_the_data_is_read_in_closed_form():
    # The total goes round on all lines but the last (v_n to v_1), which carries the total plus the mask and
    # nothing else: I(s; Σs + r) = ½ ln((n + σ²) / (n - 1 + σ²)).
    network = Network.cycle(6)
    order = network.hamiltonian_cycle()
    last = Eavesdropper(tapped=[(order[-1], order[0])])
    for sigma in (0.1, 1.0, 30.0):
        expected = 0.5 * math.log((6 + sigma**2) / (5 + sigma**2))
        found = nats(SecureSum(sigma=sigma, encrypted=False), network, last, 3)
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("enrolled", tiered(NOISY))
@given(data=st.data(), sigma=st.sampled_from([0.3, 1.0, 3.0]))
def test_agrees_with_the_determinant_of_a_covariance(enrolled, data, sigma):
    network, corrupt = data.draw(attacked(hamiltonian=enrolled.cycle))
    settings = {"sigma": sigma} if enrolled.cycle else {"sigma": sigma, "tol": 0.3}  # few rounds: well conditioned
    protocol = enrolled.with_(**settings)
    adversary = HonestButCurious(corrupt, eavesdrops=data.draw(st.booleans()))
    revealed = leaked_subspace(protocol, network, adversary).revealed
    view = probe(protocol, network, adversary, np.random.default_rng(0))
    for node in sorted(set(range(network.n)) - corrupt - revealed):
        expected, clear = direct(view, node, sigma)
        found = nats(protocol, network, adversary, node)
        if clear:
            assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)
        else:  # ours must then err on the safe side
            assert found >= expected - 1e-6


@pytest.mark.parametrize("enrolled", tiered(ENROLLED))
@given(data=st.data())
def test_is_infinite_exactly_where_the_structure_says_revealed(enrolled, data):
    network, corrupt = data.draw(attacked(hamiltonian=enrolled.cycle))
    adversary = HonestButCurious(corrupt, eavesdrops=data.draw(st.booleans()))
    revealed = leaked_subspace(enrolled.protocol, network, adversary).revealed
    for node in set(range(network.n)) - corrupt:
        estimate = gaussian_leakage(enrolled.protocol, network, adversary, node)
        assert math.isinf(estimate.value) == (node in revealed)
        assert (estimate.status == "determined") == (node in revealed)


@pytest.mark.parametrize("enrolled", tiered(NOISY))
@given(data=st.data(), seed=seeds)
def test_larger_masks_never_leak_more_and_end_at_the_structure(enrolled, data, seed):
    network, corrupt = data.draw(attacked(hamiltonian=enrolled.cycle))
    node = data.draw(st.sampled_from(sorted(set(range(network.n)) - corrupt)))
    adversary = HonestButCurious(corrupt)
    sigmas = [0.03, 1.0, 30.0, 1e6]
    curve = [nats(enrolled.with_(sigma=sigma), network, adversary, node) for sigma in sigmas]
    assert all(b <= a + SLACK for a, b in pairwise(curve))
    if math.isfinite(curve[-1]):
        explained = leaked_subspace(enrolled.protocol, network, adversary).explained(node)[0]
        assert curve[-1] == pytest.approx(-0.5 * math.log1p(-explained), abs=1e-5)


@given(attacked(), st.sampled_from([0.5, 2.0, 50.0]), st.sampled_from([0.1, 10.0]))
def test_only_the_ratio_of_mask_to_input_counts(case, sigma, unit):
    network, corrupt = case
    node = min(set(range(network.n)) - corrupt)
    adversary = HonestButCurious(corrupt)
    one = nats(PDMM(sigma=sigma), network, adversary, node)
    other = nats(PDMM(sigma=sigma * unit), network, adversary, node, sigma_input=unit)
    assert other == pytest.approx(one, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("enrolled", tiered(ENROLLED))
@given(data=st.data())
def test_who_also_listens_never_knows_less(enrolled, data):
    network, corrupt = data.draw(attacked(hamiltonian=enrolled.cycle))
    node = data.draw(st.sampled_from(sorted(set(range(network.n)) - corrupt)))
    deaf, listening = (
        nats(enrolled.protocol, network, HonestButCurious(corrupt, eavesdrops=e), node) for e in (False, True)
    )
    assert listening >= deaf - SLACK


@pytest.mark.parametrize("enrolled", tiered(ENROLLED))
@given(data=st.data())
def test_more_corrupt_nodes_never_know_less(enrolled, data):
    network = data.draw(networks(hamiltonian=enrolled.cycle))
    many = data.draw(node_sets(network, least=2))
    few = data.draw(st.sets(st.sampled_from(sorted(many)), min_size=1))
    node = data.draw(st.sampled_from(sorted(set(range(network.n)) - many)))
    less, more = (nats(enrolled.protocol, network, HonestButCurious(c), node) for c in (few, many))
    assert more >= less - SLACK


@given(st.data(), networks(), schedules, st.sampled_from([1.0, 1e3]))
def test_more_tapped_lines_never_tell_less(data, network, schedule, sigma):
    many = data.draw(edge_sets(network))
    few = data.draw(st.lists(st.sampled_from(many), min_size=1, unique=True))
    node = data.draw(st.integers(0, network.n - 1))
    assume(len(few) < len(many))
    protocol = PDMM(sigma=sigma, schedule=schedule)
    less, more, most = (nats(protocol, network, Eavesdropper(t), node) for t in (few, many, None))
    assert less - SLACK <= more <= most + SLACK
    assert most >= sum_of(network.n) - SLACK


def test_questions_about_the_wrong_node_are_refused():
    network, adversary = Network.cycle(4), HonestButCurious({1})
    with pytest.raises(SecmixError, match=r"node 1 is corrupt.*ask about an honest node"):
        gaussian_leakage(PDMM(), network, adversary, 1)
    with pytest.raises(NetworkError, match="asked-about node 4 does not exist; nodes run from 0 to 3"):
        gaussian_leakage(PDMM(), network, adversary, 4)
    with pytest.raises(SecmixError, match="sigma_input must be above 0"):
        gaussian_leakage(PDMM(), network, adversary, 0, sigma_input=0.0)
