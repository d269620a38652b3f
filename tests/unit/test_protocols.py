"""Sum protocols: settings that make no sense, inputs that do not fit, errors that say so."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from enrolled import ENROLLED

from secmix import Network
from secmix.errors import DataError, NetworkError, NotConverged, SecmixError
from secmix.protocols import PDMM, Plain, SecureSum, SumProtocol
from secmix.transcript import Channel

RING = Network.cycle(4)
PATH = Network.from_edges(4, [(0, 1), (1, 2), (2, 3)])


def average(protocol, inputs, network=RING, **more):
    return protocol.average(inputs, network, np.random.default_rng(0), **more)


@pytest.mark.parametrize("enrolled", ENROLLED, ids=str)
def test_enrolled_protocols_have_the_interface(enrolled):
    assert isinstance(enrolled.protocol, SumProtocol)
    masks = enrolled.protocol.draw_masks(3, 2, RING, np.random.default_rng(0))
    assert masks.shape[::2] == (3, 2)


@pytest.mark.parametrize("enrolled", ENROLLED, ids=str)
@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.ones((2, 4)), r"inputs must have 3 axes; the array given has shape \(2, 4\)"),
        (np.ones((2, 3, 1)), r"shape \(2, 3, 1\), \(runs, nodes, entries\), but the network has 4 nodes"),
        (np.ones((0, 4, 1)), "inputs is empty"),
        (np.full((1, 4, 1), np.nan), r"4 value\(s\) .* the first at index \(0, 0, 0\); drop or impute"),
        ([[[1.0], [2.0], [np.inf], [3.0]]], r"1 value\(s\) .* the first at index \(0, 2, 0\)"),
        ([[["a"], ["b"], ["c"], ["d"]]], "inputs must be an array of numbers"),
        ([[[1.0], [2.0], [3.0]], [[1.0]]], "inputs must be an array of numbers"),
    ],
)  # fmt: skip
def test_inputs_that_do_not_fit_are_refused(enrolled, inputs, message):
    with pytest.raises(DataError, match=message):
        average(enrolled.protocol, inputs)


@pytest.mark.parametrize("enrolled", [e for e in ENROLLED if e.passive.__name__ != "total"], ids=str)
def test_masks_that_do_not_fit_are_refused(enrolled):
    with pytest.raises(DataError, match=r"masks have shape \(1, 3, 2\); this protocol on this network takes"):
        average(enrolled.protocol, np.ones((1, 4, 2)), masks=np.ones((1, 3, 2)))


@pytest.mark.parametrize("enrolled", ENROLLED, ids=str)
def test_nothing_is_kept_where_nothing_is_to_be_recorded(enrolled):
    averages, transcript = average(enrolled.protocol, np.ones((1, 4, 1)), channel=Channel(record=False))
    assert len(transcript.blocks) == 0
    assert averages.shape == (1, 4, 1)


@pytest.mark.parametrize("enrolled", ENROLLED, ids=str)
def test_inputs_are_left_as_they_were(enrolled):
    inputs = np.random.default_rng(0).normal(size=(2, 4, 3))
    before = inputs.copy()
    average(enrolled.protocol, inputs)
    assert np.array_equal(inputs, before)


@pytest.mark.parametrize("sigma", [0, 0.0, -1.0, np.nan, np.inf, True, "1", None])
@pytest.mark.parametrize("protocol", [PDMM, SecureSum])
def test_a_mask_needs_a_size(protocol, sigma):
    with pytest.raises(SecmixError, match=r"sigma must be .*above 0.*given"):
        protocol(sigma=sigma)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"c": 0.0}, "c must be above 0 and finite; given 0.0"),
        ({"c": "fast"}, "c must be a number above 0; given 'fast'"),
        ({"tol": 0.0}, "tol must be above 0"),
        ({"loss": 1.0}, r"loss must lie in \[0, 1\); given 1.0"),
        ({"loss": -0.1}, r"loss must lie in \[0, 1\)"),
        ({"loss": True}, "loss must be a number between 0 and 1; given True"),
        ({"loss": np.nan}, r"loss must lie in \[0, 1\)"),
        ({"max_sweeps": 0}, "max_sweeps must be at least 1; given 0"),
        ({"max_sweeps": True}, "max_sweeps must be an integer of at least 1; given True"),
        ({"max_sweeps": 10.0}, "max_sweeps must be an integer"),
        ({"max_sweeps": "10"}, "max_sweeps must be an integer"),
        ({"schedule": "random"}, "'coloured', 'synchronous' or 'asynchronous'; given 'random'"),
        ({"masks": "new"}, "masks are 'fresh' or 'reused'; given 'new'"),
        ({"dropout": (1,)}, r"dropout is a pair \(node, round\); given \(1,\)"),
        ({"dropout": (1, 2.5)}, "dropout"),
        ({"dropout": (1, True)}, "dropout"),
        ({"dropout": (1, -3)}, "dropout"),
        ({"dropout": 3}, "dropout"),
    ],
)
def test_pdmm_settings_are_checked(settings, message):
    with pytest.raises(SecmixError, match=message):
        PDMM(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"arithmetic": "exact"}, "'real' or 'modular'; given 'exact'"),
        ({"bits": 53}, "allowed are bits <= 52"),
        ({"bits": 7}, "bits must be at least 8"),
        ({"bits": 32.0}, "bits must be an integer"),
        ({"fraction_bits": True}, "fraction_bits must be an integer of at least 0; given True"),
        ({"fraction_bits": -1}, "fraction_bits must be at least 0"),
        ({"bits": 16, "fraction_bits": 14}, "fraction_bits < bits - 2"),
    ],
)
def test_secure_sum_settings_are_checked(settings, message):
    with pytest.raises(SecmixError, match=message):
        SecureSum(**settings)


@pytest.mark.parametrize(
    ("cycle", "message"),
    [
        ((0, 1, 2), "must visit each of the 4 nodes once"),
        ((0, 1, 2, 2), "must visit each of the 4 nodes once"),
        ((0, 2, 1, 3), "uses the edge 0-2, which the network lacks"),
        ((0, 1.9, 2, 3), "1.9"),
    ],
)
def test_a_cycle_of_ones_own_is_checked(cycle, message):
    with pytest.raises(NetworkError, match=message):
        average(SecureSum(cycle=cycle), np.ones((1, 4, 1)))


def test_secure_sum_takes_the_cycle_given():
    _, transcript = average(SecureSum(cycle=(2, 1, 0, 3)), np.ones((1, 4, 1)))
    route = [int(b.sender[0]) for b in transcript if b.kind == "running sum"]
    assert route == [2, 1, 0, 3]


def test_secure_sum_without_a_cycle_says_why():
    with pytest.raises(NetworkError, match="no Hamiltonian cycle: node 0 has fewer than two neighbours"):
        average(SecureSum(), np.ones((1, 4, 1)), network=PATH)


def test_a_modular_sum_that_does_not_fit_is_an_error_and_no_wrap():
    small = SecureSum(arithmetic="modular", bits=16, fraction_bits=8)  # ±128
    averages, _ = average(small, np.full((1, 4, 1), 31.0))
    assert np.array_equal(averages, np.full((1, 4, 1), 31.0))
    with pytest.raises(
        DataError, match=r"a sum may reach 132, beyond ±128.*scale the data down or lower fraction_bits"
    ):
        average(small, np.full((1, 4, 1), 33.0))


def test_modular_words_are_spread_evenly_whatever_is_summed():
    protocol = SecureSum(arithmetic="modular", bits=16, fraction_bits=8)
    inputs = np.full((20_000, 4, 1), 3.0)
    _, transcript = average(protocol, inputs)
    passed_on = [block for block in transcript if block.kind == "running sum"]
    assert passed_on
    for block in passed_on:
        shares = np.histogram(block.payload, bins=8, range=(0, 256))[0] / 20_000
        assert np.abs(shares - 1 / 8).max() < 5 * np.sqrt(1 / 8 / 20_000)


def test_pdmm_that_does_not_converge_carries_its_residual_and_pickles():
    with pytest.raises(NotConverged, match=r"did not agree in 2 sweeps.*raise max_sweeps or tol, or change c") as info:
        average(PDMM(max_sweeps=2), np.ones((1, 4, 1)))
    error = info.value
    assert 0 < error.residual < np.inf
    assert f"{error.residual:.3g}" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is NotConverged
    assert (str(again), again.residual) == (str(error), error.residual)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (1, "without node 1 the network falls apart, so the others cannot agree"),
        (7, "dropped-out node 7 does not exist; nodes run from 0 to 3"),
    ],
)
def test_pdmm_dropouts_that_cannot_be_survived_are_refused(node, message):
    with pytest.raises(NetworkError, match=message):
        average(PDMM(dropout=(node, 2)), np.ones((1, 4, 1)), network=PATH)


def test_a_pdmm_dropout_after_the_last_sweep_is_refused():
    with pytest.raises(SecmixError, match="dropout names round 900, but 20 sweeps end before it; raise max_sweeps"):
        average(PDMM(max_sweeps=20, dropout=(1, 900)), np.ones((1, 4, 1)))


def test_pdmm_works_on_two_nodes_and_on_huge_and_tiny_numbers():
    pair = Network.complete(2)
    for size in (1e-9, 1.0, 1e9):
        averages, _ = average(PDMM(sigma=size, tol=1e-12 * size), np.array([[[1.0], [3.0]]]) * size, network=pair)
        assert averages / size == pytest.approx(np.full((1, 2, 1), 2.0), rel=1e-9)


def test_lost_broadcasts_count_as_heard():
    _, transcript = average(PDMM(loss=0.5), np.ones((1, 4, 1)))
    broadcasts = [block for block in transcript if block.kind == "y"]
    assert broadcasts
    for block in broadcasts:
        assert len(block.sender) == 2 * len(np.unique(block.sender))  # both neighbours on a ring, every time


def test_a_channel_that_changes_messages_changes_the_result():
    # Protocols go on with what ``send`` returned: the door through which colluders come in.
    class Doubling(Channel):
        def send(self, *args, **more):
            sent = super().send(*args, **more)
            kind = args[3]
            return 2 * sent if kind in ("input", "running sum", "y") else sent

    for protocol in (Plain(), SecureSum(sigma=1.0)):
        honest, _ = average(protocol, np.ones((1, 4, 1)))
        moved, _ = average(protocol, np.ones((1, 4, 1)), channel=Doubling())
        assert np.abs(moved - honest).min() > 0.1
