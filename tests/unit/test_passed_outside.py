"""What passes between nodes outside the channel of a collaboration is found, and named; nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from example_protocols import Averaging, Pairwise, with_steps

from secmix.auditing.soundness.collaborations.undeclared import passed_outside
from secmix.network import Network
from secmix.transcript import SERVER

FIRST, OTHER = (list(np.random.default_rng(seed).normal(size=(5, 1, 4, 2))) for seed in (0, 1))


def found(protocol):
    return passed_outside(protocol, Network.complete(5), FIRST, OTHER, seed=5)


def ends_with_a_row_of_node_1(protocol, ends, parts):
    ends[:, 0] += parts[1][:, 0]
    return ends


def sends_for_node_1(protocol, channel, sent):
    channel.send(2, 0, SERVER, "whisper", sent[1], encrypted=True)


def ends_with_more_or_fewer(protocol, ends, parts):
    return np.repeat(ends, 1 + int(1e6 * abs(parts[0][0, 0, 0])) % 7, axis=2)


@pytest.mark.parametrize(
    ("steps", "what"),
    [
        ({"result": ends_with_a_row_of_node_1}, "the result of node 0 changes with the data of node 1"),
        ({"after": sends_for_node_1}, "the 'whisper' of node 0 in round 2 changes with the data of node 1"),
        (
            {"result": ends_with_more_or_fewer},
            "the shape of the result changes with the data of node 0",
        ),
    ],
    ids=["result", "message", "numbers"],
)
def test_what_passes_outside_the_channel_is_found_and_named(steps, what):
    assert found(with_steps(Averaging, **steps)).startswith(what)


def tells_what_is_no_number(protocol, channel, sent):
    channel.send(2, 0, SERVER, "mean of nothing", np.full((sent.shape[1], 1), np.nan), encrypted=True)


@pytest.mark.parametrize(
    "steps",
    [{}, {"after": tells_what_is_no_number, "result": lambda self, ends, parts: np.full(ends.shape, np.nan)}],
    # NaN is unlike itself, and was once taken for something smuggled.
    ids=["right", "no number"],
)
def test_what_passes_through_the_channel_is_nothing_to_find(steps):
    assert found(with_steps(Averaging, **steps)) is None
    assert found(with_steps(Averaging, "mean", "median", **steps)) is None


def test_a_sum_is_held_to_its_channel_too():
    first, other = np.random.default_rng(0).normal(size=(2, 5, 1, 3))
    network = Network.complete(5)
    assert passed_outside(Pairwise(), network, list(first), list(other), seed=5) is None
    past = with_steps(Pairwise, upload=lambda self, channel, hidden, s, rng: hidden)
    found = passed_outside(past, network, list(first), list(other), seed=5)
    assert found.startswith("the 'average' of the server in round 9 changes with the data of node 0")
