"""Who speaks when, to whom and how often is fixed by public numbers: inputs and masks move numbers alone."""

from __future__ import annotations

import numpy as np
import pytest
from enrolled import ENROLLED, tiered
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import losses, networks, penalties, schedules, seeds

from secmix import Network
from secmix.errors import NotConverged
from secmix.protocols import PDMM
from secmix.transcript import Channel

SCALES = st.sampled_from([1e-6, 1e-3, 1.0, 1e3, 1e6])
SIGMAS = st.sampled_from([1e-3, 1.0, 1e3, 1e6])


def frames(protocol, inputs, network, seed, masks=None):
    """All of the messages but their numbers, under the public coins of ``seed``."""
    _, transcript = protocol.average(inputs, network, np.random.default_rng(seed), masks=masks)
    return [block.frame for block in transcript]


@pytest.mark.parametrize("enrolled", tiered(ENROLLED))
@given(data=st.data(), seed=seeds, scale=SCALES, spread=SCALES)
def test_frames_depend_on_neither_inputs_nor_masks(enrolled, data, seed, scale, spread):
    network = data.draw(networks(hamiltonian=enrolled.cycle))
    protocol, rng = enrolled.protocol, np.random.default_rng(seed)
    masks = protocol.draw_masks(2, 3, network, rng)
    inputs = scale * rng.normal(size=(2, network.n, 3))
    expected = frames(protocol, np.zeros_like(inputs), network, seed)
    assert frames(protocol, inputs, network, seed) == expected
    assert frames(protocol, inputs, network, seed, masks) == expected
    assert frames(protocol, inputs, network, seed, 0 * masks) == expected
    if enrolled.noise:  # of another law than the protocol draws
        assert frames(protocol, inputs, network, seed, spread * masks) == expected


@given(st.data(), networks(), seeds, schedules, losses, penalties, SIGMAS, SCALES, st.booleans())
def test_pdmm_takes_rounds_that_public_numbers_fix(data, network, seed, schedule, loss, c, sigma, scale, drops):
    dropout = None
    if drops:
        node = data.draw(st.integers(0, network.n - 1))
        assume(len(network.components_without({node})) == 1)
        dropout = (node, data.draw(st.integers(0, 40)))
    protocol = PDMM(sigma=sigma, schedule=schedule, loss=loss, c=c, dropout=dropout, masks="reused")
    rng = np.random.default_rng(seed)
    inputs = scale * rng.normal(size=(3, network.n, 2))
    expected = frames(protocol, np.zeros_like(inputs), network, seed)
    for other in range(3):
        masks = protocol.draw_masks(3, 2, network, np.random.default_rng(other))
        assert frames(protocol, inputs, network, seed, masks) == expected


@given(st.data(), networks(), seeds, schedules, losses, SIGMAS, SCALES)
def test_pdmm_agrees_to_tol_or_in_proportion_to_what_is_larger_than_its_masks(
    data, network, seed, schedule, loss, sigma, scale
):
    inputs = scale * np.random.default_rng(seed).normal(size=(2, network.n, 3))
    if data.draw(st.booleans()):  # along a slow mode: some nodes hold one number, the others another
        inputs[:] = scale * np.sign(np.arange(network.n) - network.n / 2 + 0.25)[:, None]
    protocol = PDMM(sigma=sigma, schedule=schedule, loss=loss)
    averages, _ = protocol.average(inputs, network, np.random.default_rng(seed))
    mean = np.repeat(inputs.mean(axis=1, keepdims=True), network.n, axis=1)
    size = max(5 * sigma, np.abs(inputs).max())
    tolerated = protocol.tol * max(1.0, size / max(sigma, 1.0))
    # Nodes may differ by tol, and be farther from the average where they agree slowly: by the modes' rate.
    assert_allclose(averages, mean, rtol=0, atol=30 * tolerated + 1e-14 * size)


@pytest.mark.parametrize("settings", [{"schedule": "asynchronous"}, {"loss": 0.3}], ids=str)
def test_public_coins_decide_the_rounds_where_there_are_any(settings):
    network, inputs = Network.complete(5), np.ones((1, 5, 1))
    lengths = {len(frames(PDMM(**settings), inputs, network, seed)) for seed in range(10)}
    assert len(lengths) > 1
    assert len({len(frames(PDMM(), inputs, network, seed)) for seed in range(10)}) == 1


@pytest.mark.build
@pytest.mark.parametrize("sigma", [10.0, 1e6])
@pytest.mark.parametrize("schedule", ["coloured", "synchronous", "asynchronous"])
@pytest.mark.parametrize("network", [Network.cycle(15), Network.complete(12), Network.complete(2)], ids=repr)
def test_very_many_masks_end_as_close_as_the_few_public_starts_do(network, schedule, sigma):
    inputs = np.random.default_rng(0).normal(size=(1000, network.n, 3))
    averages, _ = PDMM(sigma=sigma, schedule=schedule).average(inputs, network, np.random.default_rng(1))
    assert_allclose(
        averages, np.repeat(inputs.mean(axis=1, keepdims=True), network.n, axis=1), atol=1e-9 + 1e-13 * sigma
    )


class Lying(Channel):
    """A channel on which node 0 never says the same to its neighbours as its own number."""

    def send(self, round, sender, receiver, kind, payload, **more):
        heard = super().send(round, sender, receiver, kind, payload, **more)
        if kind == "y":
            heard[np.unique(np.asarray(more["content"])[np.asarray(sender) == 0])] += round % 7
        return heard


def test_pdmm_says_so_where_the_nodes_do_not_agree_in_the_rounds_rehearsed():
    with pytest.raises(NotConverged, match=r"did not agree in \d+ sweeps: nodes still differ or move by") as info:
        PDMM(sigma=1.0).average(np.ones((1, 5, 1)), Network.complete(5), np.random.default_rng(0), channel=Lying())
    assert info.value.residual > 1e-3
