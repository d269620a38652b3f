"""Averaging in blocks: the same numbers whatever memory is allowed, and no more memory than allowed."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from enrolled import ENROLLED

from secmix import Network
from secmix.adversaries import HonestButCurious
from secmix.errors import SecmixError
from secmix.protocols import PDMM, Plain
from secmix.protocols.sums.blocks import _bytes, average_in_blocks

MIB = 2**20
RING = Network.cycle(6)


def peak_of(work):
    """Bytes that ``work`` takes at its peak, beyond what was there."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = work()
        return tracemalloc.get_traced_memory()[1] - before, result
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("enrolled", ENROLLED, ids=str)
def test_the_figure_for_a_block_holds_for_every_protocol(enrolled):
    network = Network.complete(8)
    network.hamiltonian_cycle()
    inputs = np.random.default_rng(0).normal(size=(500, 8, 20))
    enrolled.protocol.average(inputs[:1], network, np.random.default_rng(0))  # what is worked out once stays out
    claimed = _bytes(enrolled.protocol, network, 500, 20)
    peak, _ = peak_of(
        lambda: average_in_blocks(
            enrolled.protocol, inputs, network, np.random.default_rng(0), runs_per_block=500, memory=claimed
        )
    )
    assert peak < claimed + 2 * inputs.nbytes  # the averages, and what the check of the inputs takes
    assert peak > claimed / 12  # a figure far above the truth would refuse what fits


@pytest.mark.build
def test_many_runs_on_eighty_nodes_stay_within_memory(benchmark):
    # Ten thousand runs where benchmarks are asked for; else a few blocks, which take no less at a time.
    runs = 256 if benchmark.disabled else 10_000
    rng = np.random.default_rng(0)
    network = Network.random_geometric(80, rng)
    inputs = rng.normal(size=(runs, 80, 11))
    protocol = PDMM(sigma=1.0, tol=0.05)  # loose: how long it goes on does not change what it holds
    memory = 96 * MIB

    def work():
        return average_in_blocks(protocol, inputs, network, np.random.default_rng(1), memory=memory)

    peak, (averages, _) = benchmark.pedantic(lambda: peak_of(work), rounds=1)
    benchmark.extra_info["peak MiB"] = peak / MIB
    assert np.abs(averages - inputs.mean(axis=1, keepdims=True)).max() < 0.5
    assert peak < memory + 1.2 * inputs.nbytes  # beside the averages, which are as large as the inputs
    in_one_piece = _bytes(protocol, network, runs, 11)
    assert in_one_piece > 2 * memory
    if not benchmark.disabled:
        assert in_one_piece > 50 * memory


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


def observe(transcript):
    """Some features of what node 1 sees."""
    return HonestButCurious({1}).observe(transcript, RING).values[:, :6]


@pytest.mark.parametrize("enrolled", ENROLLED, ids=str)
def test_results_depend_on_the_seed_and_not_on_the_memory(enrolled):
    inputs = np.random.default_rng(0).normal(size=(150, 6, 2))
    first, again, other = (
        average_in_blocks(enrolled.protocol, inputs, RING, np.random.default_rng(seed), memory=memory, observe=observe)
        for seed, memory in ((0, 64 * MIB), (0, 640 * MIB), (1, 64 * MIB))
    )
    assert np.array_equal(first[0], again[0])
    assert [len(kept) for kept in first[1]] == [64, 64, 22]
    assert all(np.array_equal(a, b) for a, b in zip(first[1], again[1], strict=True))
    mean = np.repeat(inputs.mean(axis=1, keepdims=True), 6, axis=1)
    assert np.abs(first[0] - mean).max() < max(enrolled.error, 1e-7)
    if enrolled.noise:
        assert not np.array_equal(first[0], other[0])


def test_blocks_have_masks_of_their_own():
    seen = []
    average_in_blocks(
        PDMM(), np.zeros((200, 6, 1)), RING, np.random.default_rng(0),
        observe=lambda t: seen.append(next(b.payload for b in t if b.kind == "mask")), runs_per_block=50,
    )  # fmt: skip
    masks = np.concatenate([payload.swapaxes(0, 1).reshape(50, -1) for payload in seen])
    assert masks.shape == (200, 12)
    assert len(np.unique(masks)) == masks.size


def test_a_block_that_does_not_fit_is_refused_with_the_figure():
    with pytest.raises(SecmixError, match=r"64 runs takes about 0\.615 MiB, more than the 0\.5 MiB.* to 52 or less"):
        average_in_blocks(PDMM(), np.zeros((100, 6, 10)), RING, np.random.default_rng(0), memory=MIB // 2)
    with pytest.raises(SecmixError, match="allowed; raise memory"):
        average_in_blocks(PDMM(), np.zeros((100, 6, 10)), RING, np.random.default_rng(0), memory=1000)
    averages, _ = average_in_blocks(
        PDMM(), np.ones((100, 6, 10)), RING, np.random.default_rng(0), memory=MIB // 2, runs_per_block=52
    )
    assert averages.shape == (100, 6, 10)


def test_a_transcript_that_outgrows_its_memory_is_refused_before_it_does():
    def work():
        with pytest.raises(SecmixError, match=r"transcript of 64 runs outgrows .* in round \d+; lower runs_per_block"):
            average_in_blocks(
                PDMM(), np.ones((64, 6, 100)), RING, np.random.default_rng(0), memory=12 * MIB, observe=len
            )

    assert peak_of(work)[0] < 14 * MIB


@pytest.mark.parametrize("settings", [{"memory": 0}, {"memory": 1e9}, {"runs_per_block": 0}, {"runs_per_block": True}])
def test_settings_are_checked(settings):
    with pytest.raises(SecmixError, match=rf"{next(iter(settings))} must be .* least 1"):
        average_in_blocks(Plain(), np.ones((2, 6, 1)), RING, np.random.default_rng(0), **settings)
