"""Code that sends and receives, party by party: what passes is recorded, and audited as any other protocol."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from secmix import Network
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.errors import SecmixError
from secmix.kernel import KnownSums, clear, prove
from secmix.transcript import SERVER, Channel
from secmix.wrap import wire

N = 3
NETWORK, RNG = Network.complete(N), np.random.default_rng(0)
INPUTS = [np.random.default_rng([7, call]).normal(size=(1, N, 2)) for call in range(3)]


def masked(line: Any, vector: Any, coins: Any) -> Any:
    """Hide a vector by a mask for each pair, as pairs agree on it (Bonawitz et al. 2017)."""
    hidden = vector + 0.0
    for k, other in enumerate(line.others):
        if other > line.me:
            line.send(other, "mask", coins[k], encrypted=True)
            hidden = hidden + coins[k]
    for other, mask in line.gather("mask", [other for other in line.others if other < line.me]).items():
        assert other < line.me
        hidden = hidden - mask
    line.send(SERVER, "masked", hidden)
    return line.receive(SERVER, "average")


def bare(line: Any, vector: Any) -> Any:
    """Send a vector as it is."""
    line.send(SERVER, "masked", vector)
    return line.receive(SERVER, "average")


def server(line: Any) -> None:
    """Add up, and tell all."""
    line.broadcast("average", sum(line.gather("masked").values()) / len(line.others))


MASKED = wire(masked, server, coins=N - 1)


@pytest.mark.build
def test_masks_of_pairs_on_the_bus_are_proved() -> None:
    proof = prove(MASKED, NETWORK, INPUTS)
    for adversary in (CuriousServer(), Eavesdropper(), HonestButCurious({1})):
        found = clear(proof, NETWORK, adversary)
        assert isinstance(found, KnownSums), found
        assert not found.covers
        assert set(found.sums) <= {frozenset(range(N)) - adversary.corrupt_nodes(NETWORK)}


@pytest.mark.build
def test_vectors_that_are_sent_as_they_are_are_known() -> None:
    found = clear(prove(wire(bare, server), NETWORK, INPUTS), NETWORK, CuriousServer())
    assert isinstance(found, KnownSums), found
    assert found.exact == dict.fromkeys(range(N), 1.0)


def test_runs_of_a_batch_send_what_they_send_alone() -> None:
    inputs, rng = np.random.default_rng(0).normal(size=(3, N, 2)), np.random.default_rng(1)
    masks = MASKED.draw_masks(3, 2, NETWORK, rng)
    together, of_all = MASKED.average(inputs, NETWORK, rng, masks=masks)
    assert together == pytest.approx(np.repeat(inputs.mean(axis=1, keepdims=True), N, axis=1), abs=1e-8)
    for run in range(3):
        alone, sent = MASKED.average(inputs[run : run + 1], NETWORK, rng, masks=masks[run : run + 1])
        assert np.array_equal(alone[0], together[run])
        assert [block.frame for block in sent] == [block.frame for block in of_all]
        assert all(np.array_equal(a.payload[:, 0], b.payload[:, run]) for a, b in zip(sent, of_all, strict=True))


def test_the_order_of_messages_is_the_same_in_every_call() -> None:
    calls = [list(MASKED.average(INPUTS[0], NETWORK, np.random.default_rng(0))[1]) for _ in range(5)]
    assert len({tuple(block.frame for block in blocks) for blocks in calls}) == 1
    sent = [(b.round, b.kind, b.line, b.sender[0], b.receiver[0]) for b in calls[0] if b.line != "held"]
    assert sent[: N - 1] == [(0, "mask", "encrypted", 0, k) for k in range(1, N)]
    assert sent[-1] == (2, "average", "plain", SERVER, N - 1)


def test_what_the_channel_delivers_is_what_is_received() -> None:
    class Changing(Channel):
        def send(self, round: int, sender: Any, receiver: Any, kind: str, payload: Any, **how: Any) -> Any:
            return super().send(round, sender, receiver, kind, payload + (kind == "average"), **how)

    averages, _ = wire(bare, server).average(INPUTS[0], NETWORK, RNG, channel=Changing())
    assert averages[0, 0] == pytest.approx(INPUTS[0][0].mean(axis=0) + 1)
    with pytest.raises(SecmixError, match="the channel changes 'average'"):
        wire(bare, server).average(np.concatenate(INPUTS), NETWORK, RNG, channel=Changing())


def posting(holder: Callable[[int], Any]) -> Callable[..., Any]:
    """Agree on masks by way of the server, sealed for who has the key of each."""

    def node(line: Any, vector: Any, coins: Any) -> Any:
        hidden = vector + 0.0
        for k, other in enumerate(line.others):
            if other > line.me:
                line.send(SERVER, f"mask for {other}", coins[k], sealed_for=holder(other))
                hidden = hidden + coins[k]
        for other in line.others:
            if other < line.me:
                hidden = hidden - line.receive(SERVER, f"mask of {other}")
        line.send(SERVER, "masked", hidden)
        return line.receive(SERVER, "average")

    return node


def post(line: Any) -> None:
    for sender in line.others:
        for other in line.others:
            if other > sender:
                line.send(other, f"mask of {sender}", line.receive(sender, f"mask for {other}"))
    server(line)


@pytest.mark.build
def test_masks_that_the_server_passes_on_sealed_are_no_secret_of_its_own() -> None:
    proof = prove(wire(posting(lambda other: {other}), post, coins=N - 1), NETWORK, INPUTS)
    for adversary in (CuriousServer(), Eavesdropper(), HonestButCurious({1})):
        found = clear(proof, NETWORK, adversary)
        assert isinstance(found, KnownSums), found
        assert set(found.sums) <= {frozenset(range(N)) - adversary.corrupt_nodes(NETWORK)}
        assert any("without its key, a sealed message reveals only" in each for each in found.assumes)


@pytest.mark.build
def test_masks_of_which_the_server_has_the_keys_hide_nothing_from_it() -> None:
    proof = prove(wire(posting(lambda other: {other, SERVER}), bad_post, coins=N - 1), NETWORK, INPUTS)
    found = clear(proof, NETWORK, CuriousServer())
    assert not isinstance(found, KnownSums) or max(found.exact.values()) == pytest.approx(1.0)


def bad_post(line: Any) -> None:
    """Pass on what can be read."""
    for sender in line.others:
        for other in line.others:
            if other > sender:
                mask = line.receive(sender, f"mask for {other}")
                line.send(other, f"mask of {sender}", mask + 0.0, encrypted=True)
    server(line)


def test_what_is_sealed_is_the_same_in_a_batch_and_alone() -> None:
    protocol, rng = wire(posting(lambda other: other), post, coins=N - 1), np.random.default_rng(1)
    inputs = np.random.default_rng(0).normal(size=(3, N, 2))
    masks = protocol.draw_masks(3, 2, NETWORK, rng)
    together, of_all = protocol.average(inputs, NETWORK, rng, masks=masks)
    assert together == pytest.approx(np.repeat(inputs.mean(axis=1, keepdims=True), N, axis=1), abs=1e-8)
    alone, sent = protocol.average(inputs[1:2], NETWORK, rng, masks=masks[1:2])
    assert np.array_equal(alone[0], together[1])
    assert [block.frame for block in sent] == [block.frame for block in of_all]
    assert all(np.array_equal(a.payload[:, 0], b.payload[:, 1]) for a, b in zip(sent, of_all, strict=True))
    seen = [block for block in sent if block.kind.endswith(", sealed")]
    assert len(seen) == N * (N - 1)
    assert not any(block.payload.any() for block in seen)


def test_who_has_no_key_can_only_send_it_on() -> None:
    def curious(line: Any) -> None:
        line.receive(0, "mask for 1") + 0.0

    for runs in (1, 2):
        with pytest.raises(TypeError, match="Closed"):
            wire(posting(lambda other: other), curious, coins=N - 1).average(
                np.zeros((runs, N, 2)), NETWORK, np.random.default_rng(0)
            )


def fails(line: Any, vector: Any) -> Any:
    if line.me == 2:
        raise ValueError("node 2 has had enough")
    return bare(line, vector)


def waits(line: Any, vector: Any) -> Any:
    return line.receive(3 - line.me, "nothing")


def differs(line: Any, vector: Any) -> Any:
    line.send(SERVER, "masked", vector if vector[0] < 1 else vector[:1])
    return vector


def listens(line: Any) -> None:
    line.gather("masked")


@pytest.mark.parametrize(
    ("protocol", "error", "words"),
    [
        (wire(fails, server), ValueError, "node 2 has had enough"),
        (wire(waits), SecmixError, "deadlock: all wait, node 0 for 'nothing' from node 3"),
        (
            wire(lambda line, vector: line.send(line.me, "x", vector)),
            SecmixError,
            "node 0 sends 'x' to 0; expected one of",
        ),
        (wire(lambda line, vector: vector[:1]), SecmixError, r"node 0 returns shape \(1,\)"),
        (wire(differs, listens), SecmixError, "run 1 of 2 sends different messages than run 0"),
    ],
)
def test_what_fails_is_raised_and_leaves_no_thread(protocol: Any, error: Any, words: str) -> None:
    before = threading.active_count()
    with pytest.raises(error, match=words):
        protocol.average(np.stack([np.zeros((N, 2)), np.ones((N, 2))]), NETWORK, np.random.default_rng())
    assert threading.active_count() == before


def test_fewer_coins_than_none_are_an_error() -> None:
    with pytest.raises(SecmixError, match="coins = -1"):
        wire(bare, server, coins=-1)
