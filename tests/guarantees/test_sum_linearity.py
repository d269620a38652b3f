"""Every sum protocol is linear in inputs and masks, message by message, and ends with the average."""

from __future__ import annotations

import numpy as np
import pytest
from enrolled import ENROLLED, tiered
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import networks, penalties, schedules, seeds

from secmix import Network
from secmix.errors import DataError, NetworkError
from secmix.protocols import PDMM, SecureSum


def residue(values, modulus):
    return values if modulus is None else values - modulus * np.round(values / modulus)


@pytest.mark.parametrize("enrolled", tiered(ENROLLED))
@given(data=st.data(), seed=seeds, a=st.integers(-3, 3), b=st.integers(-3, 3))
def test_every_message_and_average_is_linear_in_inputs_and_masks(enrolled, data, seed, a, b):
    network = data.draw(networks(hamiltonian=enrolled.cycle))
    protocol, rng = enrolled.protocol, np.random.default_rng(seed)
    modulus = getattr(protocol, "modulus", None)
    # Inputs on a grid, so that rounding to fixed point changes nothing.
    inputs = rng.integers(-1024, 1024, size=(2, network.n, 3)) / 1024
    masks = protocol.draw_masks(2, 3, network, rng)
    # One call with x, y, a x + b y and 0 side by side: the same schedule and losses for the four.
    x_y_both = [np.concatenate([pair, a * pair[:1] + b * pair[1:], 0 * pair[:1]]) for pair in (inputs, masks)]
    averages, transcript = protocol.average(x_y_both[0], network, rng, masks=x_y_both[1])
    size = 1 + np.abs(x_y_both[1]).max(initial=0)
    for block in transcript:
        public = block.payload[:, 3]
        x, y, both = (block.payload[:, run] - public for run in range(3))
        assert_allclose(residue(both - a * x - b * y, modulus), 0, atol=1e-10 * size, err_msg=block.kind)
    assert_allclose(averages[2], a * averages[0] + b * averages[1], atol=1e-9)


@pytest.mark.parametrize("enrolled", tiered(ENROLLED))
@given(data=st.data(), seed=seeds)
def test_every_node_ends_with_the_average(enrolled, data, seed):
    network = data.draw(networks(hamiltonian=enrolled.cycle))
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(3, network.n, 2))
    averages, _ = enrolled.protocol.average(inputs, network, rng)
    expected = np.repeat(inputs.mean(axis=1, keepdims=True), network.n, axis=1)
    assert_allclose(averages, expected, rtol=0, atol=enrolled.error)


@pytest.mark.parametrize("enrolled", tiered(ENROLLED))
def test_the_same_seed_gives_the_same_messages_and_another_seed_other_masks(enrolled):
    network, inputs = Network.complete(5), np.random.default_rng(0).normal(size=(2, 5, 2))
    first, again, other = (
        enrolled.protocol.average(inputs, network, np.random.default_rng(seed))[1] for seed in (1, 1, 2)
    )
    for a, b in zip(first, again, strict=True):
        assert_array_equal(a.payload, b.payload)
    masks = [[block.payload for block in run if block.kind == "mask"] for run in (first, other)]
    for a, b in zip(*masks, strict=True):
        assert not np.any(a == b)


@given(networks(), seeds, schedules, penalties, st.sampled_from([0.0, 0.3, 0.7]))
def test_pdmm_averages_under_every_schedule_and_loss(network, seed, schedule, c, loss):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(2, network.n, 3))
    protocol = PDMM(sigma=10.0, schedule=schedule, c=c, loss=loss, tol=1e-12)
    averages, _ = protocol.average(inputs, network, rng)
    assert_allclose(averages, np.repeat(inputs.mean(axis=1, keepdims=True), network.n, axis=1), atol=1e-9)


@pytest.mark.parametrize("round", [38, 41, 44])
def test_who_drops_out_last_in_a_sweep_leaves_the_average_of_the_survivors(round):
    """Found by fresh seeds: survivors had agreed with the node that left, and stopped before its absence moved them."""
    network, inputs = Network.complete(3), np.random.default_rng(0).normal(size=(2, 3, 3))
    protocol = PDMM(sigma=10.0, schedule="coloured", dropout=(2, round), tol=1e-12)
    averages, _ = protocol.average(inputs, network, np.random.default_rng(0))
    mean = inputs[:, :2].mean(axis=1, keepdims=True)
    assert_allclose(averages[:, :2], np.repeat(mean, 2, axis=1), atol=1e-9)


@pytest.mark.build
@given(st.data(), networks(), seeds, schedules, st.sampled_from([0.0, 0.3]), st.integers(0, 40))
def test_pdmm_goes_on_to_the_average_of_the_survivors(data, network, seed, schedule, loss, round):
    node = data.draw(st.integers(0, network.n - 1))
    assume(len(network.components_without({node})) == 1)
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(2, network.n, 3))
    protocol = PDMM(sigma=10.0, schedule=schedule, loss=loss, dropout=(node, round), tol=1e-12)
    averages, transcript = protocol.average(inputs, network, rng)
    rest = [i for i in range(network.n) if i != node]
    mean = inputs[:, rest].mean(axis=1, keepdims=True)
    assert_allclose(averages[:, rest], np.repeat(mean, len(rest), axis=1), atol=1e-9)
    assert np.isnan(averages[:, node]).all()
    late = [b for b in transcript if b.round >= round and b.kind == "y"]
    assert late
    assert not any(np.isin(node, [b.sender, b.receiver]) for b in late)


@given(networks(), seeds, schedules)
def test_pdmm_says_so_where_a_dropout_would_split_the_network(network, seed, schedule):
    cuts = [i for i in range(network.n) if len(network.components_without({i})) > 1]
    assume(cuts)
    with pytest.raises(NetworkError, match=f"without node {cuts[0]} the network falls apart"):
        PDMM(schedule=schedule, dropout=(cuts[0], 3)).average(
            np.ones((1, network.n, 1)), network, np.random.default_rng(seed)
        )


@pytest.mark.parametrize("sigma", [1.0, 1e3, 1e6, 1e9])
def test_pdmm_loses_digits_in_proportion_to_sigma_and_no_faster(sigma):
    network = Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (0, 2), (2, 4)])
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(50, 5, 1))
    averages, _ = PDMM(sigma=sigma, tol=1e-14).average(inputs, network, rng)
    error = np.abs(averages - inputs.mean(axis=1, keepdims=True)).max()
    assert error < 1e-14 * max(sigma, 1.0)


@given(networks(hamiltonian=True), seeds, st.integers(8, 52), st.data())
def test_modular_sums_are_exact_to_the_grid_or_refused(network, seed, bits, data):
    fraction = data.draw(st.integers(0, bits - 3))
    protocol = SecureSum(arithmetic="modular", bits=bits, fraction_bits=fraction)
    size = 10.0 ** data.draw(st.integers(-3, 3))
    inputs = size * np.random.default_rng(seed).normal(size=(4, network.n, 2))
    largest, limit = np.abs(inputs).sum(axis=1).max(), protocol.modulus / 2
    assume(abs(largest - limit) > network.n * 2.0**-fraction)  # rounding may decide the cases in between
    if largest > limit:
        with pytest.raises(DataError, match="scale the data down or lower fraction_bits"):
            protocol.average(inputs, network, np.random.default_rng(seed))
        return
    averages, _ = protocol.average(inputs, network, np.random.default_rng(seed))
    mean = np.repeat(inputs.mean(axis=1, keepdims=True), network.n, axis=1)
    assert_allclose(averages, mean, rtol=1e-14, atol=0.5 * 2.0**-fraction * (1 + 1e-9))
