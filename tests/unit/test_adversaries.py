"""Adversaries: what each hears, and questions that make no sense."""

from __future__ import annotations

import numpy as np
import pytest
from enrolled import ENROLLED
from hypothesis import given
from hypothesis import strategies as st
from strategies import attacked, seeds

from secmix import Network
from secmix.adversaries import Adversary, CuriousServer, Eavesdropper, HonestButCurious
from secmix.errors import NetworkError, SecmixError
from secmix.protocols import PDMM, Plain, SecureSum

RING = Network.cycle(5)


def transcript_of(protocol, network=RING, seed=0):
    inputs = np.random.default_rng(seed).normal(size=(2, network.n, 1))
    return protocol.average(inputs, network, np.random.default_rng(seed))[1]


@pytest.mark.parametrize("adversary", [Eavesdropper(), HonestButCurious({1}), CuriousServer()])
def test_adversaries_have_the_interface(adversary):
    assert isinstance(adversary, Adversary)


@pytest.mark.parametrize("enrolled", ENROLLED, ids=str)
@given(data=st.data(), seed=seeds)
def test_views_hold_exactly_the_messages_they_should(enrolled, data, seed):
    network, corrupt = data.draw(attacked(hamiltonian=enrolled.cycle))
    transcript = transcript_of(enrolled.protocol, network, seed)
    inside = HonestButCurious(corrupt, eavesdrops=False).observe(transcript, network)
    listening = HonestButCurious(corrupt).observe(transcript, network)
    outside = Eavesdropper().observe(transcript, network)
    assert all({o.sender, *o.receivers} & corrupt for o in inside.origins)
    assert all(o.line == "plain" for o in outside.origins)
    mine = sum(len(set(b.content[near(b, corrupt)].tolist())) for b in transcript)
    assert len(inside) == mine
    assert len(outside) == sum(len(set(b.content.tolist())) for b in transcript if b.line == "plain")
    assert max(len(inside), len(outside)) <= len(listening) <= len(inside) + len(outside)


def near(block, corrupt):
    return [s in corrupt or r in corrupt for s, r in zip(block.sender, block.receiver, strict=True)]


@pytest.mark.parametrize("corrupt", [{0, 1, 2, 3, 4}, range(5)])
def test_everybody_corrupt_leaves_nobody_to_ask_about(corrupt):
    with pytest.raises(NetworkError, match="corrupt names all 5 nodes; leave at least one whose data could leak"):
        HonestButCurious(corrupt).corrupt_nodes(RING)


def test_nobody_corrupt_is_an_eavesdropper():
    with pytest.raises(SecmixError, match="name at least one node; for an outsider use Eavesdropper"):
        HonestButCurious([])


@pytest.mark.parametrize("node", [5, -1, 2.0, True, "2"])
def test_corrupt_nodes_must_exist(node):
    adversary = HonestButCurious([node])
    for ask in (adversary.corrupt_nodes, lambda network: adversary.observe(transcript_of(Plain()), network)):
        with pytest.raises(NetworkError, match=f"corrupt node {node!r} does not exist; nodes run from 0 to 4"):
            ask(RING)


@pytest.mark.parametrize("corrupt", [3, [1, "a"], None])
def test_corrupt_is_a_list_of_nodes(corrupt):
    with pytest.raises(SecmixError, match="corrupt"):
        HonestButCurious(corrupt).corrupt_nodes(RING)


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        ((0, 2), r"tapped edge \[0, 2\] is not an edge of the network; its edges are \[\[0, 1\]"),
        ((0, 9), r"tapped edge \[0, 9\] is not an edge"),
        ((9, -1), "tapped node 9 does not exist; nodes run from 0 to 4"),
        ((0, 1.7), "tapped"),
        ((0, 1, 2), "tapped"),
        (("a", 1), "tapped"),
    ],
)
def test_tapped_lines_must_exist(edge, message):
    with pytest.raises(SecmixError, match=message):
        Eavesdropper(tapped=[edge]).observe(transcript_of(Plain()), RING)


def test_tapped_lines_are_heard_both_ways_and_no_other():
    transcript = transcript_of(PDMM())
    one, other = (Eavesdropper([edge]).observe(transcript, RING) for edge in ((0, 1), (1, 0)))
    assert one.sources == other.sources
    assert all(set(origin.receivers) | {origin.sender} == {0, 1} for origin in one.origins)
    assert len(Eavesdropper([]).observe(transcript, RING)) == 0


def test_encryption_silences_the_lines_but_not_the_ends():
    transcript = transcript_of(SecureSum())
    assert len(Eavesdropper().observe(transcript, RING)) == 0
    assert len(Eavesdropper(tapped=RING.edges).observe(transcript, RING)) == 0
    assert len(HonestButCurious({2}).observe(transcript, RING)) > 0


def test_what_an_adversary_hears_does_not_wear_off():
    # However the edges or nodes were given, a second look must see what the first saw: an adversary that has
    # gone deaf would clear everybody.
    transcript = transcript_of(PDMM())
    for adversary in (Eavesdropper(tapped=(edge for edge in [(0, 1)])), HonestButCurious(i for i in (1, 2))):
        first, second = (adversary.observe(transcript, RING) for _ in range(2))
        assert len(first) == len(second) > 0


def test_the_server_hears_what_it_sends_and_receives():
    view = CuriousServer().observe(transcript_of(Plain(encrypted=True)), RING)
    assert len(view) == 6
    assert view.sources[-1] == "average from the server to 0 and 1 and 2 and 3 and 4, round 1"
    assert CuriousServer().corrupt_nodes(RING) == frozenset()
