"""Sealed messages: nobody's view changes with what is in them, but that of who has the key or sent them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from soundness.bases import Pairwise
from soundness.case import SCENARIO
from strategies import seeds

import secmix
from secmix import Network
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.adversaries.attacks.attack import Attack
from secmix.adversaries.tampering import TamperingChannel
from secmix.errors import SecmixError
from secmix.kernel import KnownSums, Open, clear, prove
from secmix.transcript import SERVER, Channel, Sealed

N = 4
NETWORK = Network.complete(N)
INPUTS = [np.random.default_rng([6, call]).normal(size=(1, N, 2)) for call in range(3)]
ADVERSARIES = (CuriousServer(), Eavesdropper(), *(HonestButCurious({k}, eavesdrops=True) for k in range(N)))


def relayed(payload: Any, sender: int, holders: Any, receivers: list[int]) -> tuple[Channel, Any]:
    """Send by way of the server, to receivers in turn."""
    channel = Channel()
    sealed = channel.send(0, sender, SERVER, "share", payload, sealed_for=holders)
    return channel, [channel.send(1, SERVER, receiver, "share", sealed) for receiver in receivers]


@given(seeds, st.integers(0, N - 1), st.sets(st.integers(0, N - 1), min_size=1), st.sampled_from(["f8", "u8", "i4"]))
def test_no_view_but_the_holders_and_the_senders_changes_with_the_content(seed, sender, holders, dtype):
    rng = np.random.default_rng(seed)
    channels = [
        relayed(rng.integers(0, 100, size=(3, 2)).astype(dtype), sender, holders, list(range(N)))[0] for _ in range(2)
    ]
    for adversary in ADVERSARIES:
        one, other = (adversary.observe(channel.transcript, NETWORK) for channel in channels)
        assert one.origins == other.origins
        reads = bool(adversary.corrupt_nodes(NETWORK) & {sender, *holders})
        same = all(np.array_equal(a, b) for a, b in zip(one.rows, other.rows, strict=True))
        assert same != reads


@given(seeds, st.integers(0, N - 1), st.integers(0, N - 1))
def test_who_has_the_key_gets_the_numbers_and_others_something_sealed(seed, sender, holder):
    payload = np.random.default_rng(seed).normal(size=(3, 2))
    _, arrived = relayed(payload, sender, {holder}, list(range(N)))
    for node, got in enumerate(arrived):
        assert np.array_equal(got, payload) if node == holder else isinstance(got, Sealed)


def test_each_message_may_have_a_key_of_its_own():
    channel, payload = Channel(), np.arange(6.0).reshape(3, 1, 2)
    sealed = channel.send(0, 0, np.full(3, SERVER), "share", payload, sealed_for=[1, 2, 3])
    assert np.array_equal(channel.send(1, SERVER, [1, 2, 3], "share", sealed), payload)
    read = [HonestButCurious({k}, eavesdrops=False).observe(channel.transcript, NETWORK).values for k in (1, 2, 3)]
    assert [of[of != 0].tolist() for of in read] == [[1.0], [2.0, 3.0], [4.0, 5.0]]


def test_a_row_that_no_message_carries_does_not_arrive():
    channel, payload = Channel(), np.arange(3.0).reshape(3, 1, 1)
    sealed = channel.send(0, 0, [SERVER, SERVER], "share", payload, content=[0, 2], sealed_for=[1, 2])
    got = channel.send(1, SERVER, [1, 2], "share", sealed, content=[0, 2])
    assert got[[0, 2]].ravel().tolist() == [0.0, 2.0]
    assert np.isnan(got[1]).all()


def test_to_its_holder_it_is_a_message_on_an_encrypted_line():
    channels = [Channel(), Channel()]
    channels[0].send(0, 0, 1, "x", np.ones((1, 2)), sealed_for=1)
    channels[1].send(0, 0, 1, "x", np.ones((1, 2)), encrypted=True)
    one, other = (list(channel.transcript) for channel in channels)
    assert [block.frame for block in one] == [block.frame for block in other]


@pytest.mark.parametrize(
    ("send", "words"),
    [
        (lambda c, x: c.send(0, 0, SERVER, "x", [1.0], sealed_for=1), "the payload is a list, expected an array"),
        (lambda c, x: c.send(0, 0, SERVER, "x", x, sealed_for=set()), "sealed_for is empty"),
        (lambda c, x: c.send(0, 0, SERVER, "x", x, sealed_for=[1, 2, 3]), "1 messages have 3 nodes or holders"),
        (lambda c, x: c.send(0, 0, [1, 2], "x", x[[0, 0]], sealed_for={1}), "only some have the key"),
        (lambda c, x: c.send(1, SERVER, 1, "x", c.send(0, 0, SERVER, "x", x, sealed_for=1), sealed_for=1), "already"),
    ],
)
def test_what_cannot_be_sealed_is_an_error(send, words):
    with pytest.raises(SecmixError, match=words):
        send(Channel(), np.ones((1, 1, 2)))


def test_a_colluder_forges_what_it_seals_and_not_what_it_cannot_open():
    silence = Attack(["share"], lambda messages: 0.0 * messages.own)
    channel = TamperingChannel(silence, [1, SERVER], np.random.default_rng(0))
    honest, forged = (channel.send(0, node, SERVER, "share", np.ones((1, 2)), sealed_for=3) for node in (0, 1))
    assert np.array_equal(channel.send(1, SERVER, 3, "share", honest), np.ones((1, 2)))
    assert np.array_equal(channel.send(1, SERVER, 3, "share", forged), np.zeros((1, 2)))


class Relayed(Pairwise):
    """Neighbours agree on masks by way of the server, which cannot open what it passes on (Bonawitz et al. 2017)."""

    def hidden(self, channel: Any, s: Any, r: Any, network: Any) -> Any:
        first, second = network.edges.T
        channel.hold(-1, first, "mask", r)
        sealed = channel.send(-1, first, np.full(len(first), SERVER), "mask", r, sealed_for=self.key(first, second))
        other = channel.send(-1, np.full(len(first), SERVER), second, "mask", sealed)
        hidden = s.copy()
        np.add.at(hidden, first, r)
        np.subtract.at(hidden, second, other)
        return hidden

    def key(self, first: Any, second: Any) -> Any:
        return second


class RelayedInTheClear(Relayed):
    """The server has the keys too, as where it hands them out."""

    def key(self, first: Any, second: Any) -> Any:
        return {SERVER, *second.tolist()}


def test_masks_that_the_server_passes_on_sealed_are_no_secret_of_its_own():
    proof = prove(Relayed(), NETWORK, INPUTS)
    for adversary in (CuriousServer(), Eavesdropper(), HonestButCurious({1})):
        found = clear(proof, NETWORK, adversary)
        assert isinstance(found, KnownSums), found
        honest = frozenset(range(N)) - adversary.corrupt_nodes(NETWORK)
        assert set(found.sums) <= {honest}
        assert any("without its key, a sealed message reveals only" in each for each in found.assumes)
    assert not any("sealed" in each for each in prove(Pairwise(), NETWORK, INPUTS).assumes)


def test_masks_of_which_the_server_has_the_keys_hide_nothing_from_it():
    found = clear(prove(RelayedInTheClear(), NETWORK, INPUTS), NETWORK, CuriousServer())
    assert isinstance(found, Open) or max(found.exact.values()) == pytest.approx(1.0)


def test_a_verdict_prints_what_it_assumes_of_what_is_sealed():
    given = {"protocols": {"it": Relayed()}, "adversaries": {"server": CuriousServer()}}
    cell = secmix.audit({**SCENARIO, "model": {"iterations": 1}}, **given).cells[0]
    assert cell.verdict == "holds"
    assert "without its key, a sealed message reveals only its length and when it is sent" in cell.proof
    given["protocols"] = {"it": RelayedInTheClear()}
    assert secmix.audit({**SCENARIO, "model": {"iterations": 1}}, **given).verdict == "violated"


class Posted:
    """A collaboration: nodes send their first row by way of the server, sealed, and something beside it."""

    def __init__(self, beside: Any = None):
        self.beside = beside

    def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Any:
        for i, part in enumerate(parts):
            other = (i + 1) % network.n
            sealed = channel.send(0, i, SERVER, "row", part[:, 0], sealed_for=other)
            channel.send(1, SERVER, other, "row", sealed)
            if self.beside is not None:
                channel.send(2, i, SERVER, "beside", self.beside(part))
        return np.zeros((len(parts[0]), network.n, 1))

    def error(self, results: Any, reference: Any) -> Any:
        return np.zeros(len(results))


def of_posted(beside: Any = None) -> Any:
    scenario = {
        "network": {"kind": "complete", "nodes": 3},
        "data": {"name": "wine", "features": 2, "rows_per_node": 10},
        "runs": 100,
        "measure": {"evidence": ["decoders"]},
        "policy": {"max_normalised_leakage": 0.8},
    }
    return secmix.audit(scenario, protocols={"it": Posted(beside)}, adversaries={"server": CuriousServer()}).cells[0]


@pytest.mark.build
def test_who_reads_nothing_but_what_is_sealed_is_told_what_that_assumes():
    cell = of_posted()
    assert cell.verdict == "holds"
    assert "without its key, a sealed message reveals only" in cell.proof


@pytest.mark.build
def test_of_what_is_sealed_nobody_says_that_it_shows_little():
    cell = of_posted(lambda part: part[:, 0] + 1e3 * np.sin(1e4 * part[:, 1]))
    assert cell.verdict == "inconclusive"
    assert "part of them is sealed, and opaque to who lacks the key" in cell.nodes[0].why
    assert "these are low" not in cell.model_dump_json()
