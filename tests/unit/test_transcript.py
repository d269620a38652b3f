"""Channel, transcript and view: what is written down, and in which words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from secmix import Network
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.errors import SecmixError
from secmix.protocols import PDMM, DistributedEM, Plain, SecureSum
from secmix.transcript import SERVER, Channel, collect

TRIANGLE = Network.cycle(3)
INPUTS = np.array([[[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]]])


def run(protocol, network=TRIANGLE, inputs=INPUTS):
    return protocol.average(inputs, network, np.random.default_rng(0))[1]


def test_the_past_does_not_change_with_the_arrays_sent():
    channel, payload = Channel(), np.ones((2, 3))
    channel.send(0, 0, 1, "note", payload)
    payload[:] = 7
    assert channel.transcript.blocks[0].payload.max() == 1


def test_one_content_may_go_to_many_and_is_kept_once():
    channel = Channel()
    returned = channel.send(4, [0, 0, 1], [1, 2, 2], "y", np.arange(4.0).reshape(2, 2, 1), content=[0, 0, 1])
    assert returned.tolist() == [[[0.0], [1.0]], [[2.0], [3.0]]]
    transcript = channel.transcript
    assert (transcript.messages, transcript.nbytes, transcript.blocks[0].runs) == (3, 32, 2)
    view = Eavesdropper().observe(transcript, TRIANGLE)
    assert view.sources == ["y from 0 to 1 and 2, round 4", "y from 1 to 2, round 4"]
    assert view.values.tolist() == [[0.0, 2.0], [1.0, 3.0]]


def test_a_view_is_put_together_message_by_message():
    rng = np.random.default_rng(0)
    for _ in range(50):
        channel, count = Channel(), int(rng.integers(1, 9))
        ends = rng.integers(0, 4, (2, count))
        content = rng.integers(0, 3, count)
        channel.send(0, *ends, "y", rng.normal(size=(3, 2, 1)), content=content)
        block = channel.transcript.blocks[0]
        heard = np.sort(rng.permutation(count)[: rng.integers(1, count + 1)])
        view = collect([(block, heard)])
        for origin, row, c in zip(view.origins, view.rows, sorted(set(content[heard].tolist())), strict=True):
            same = heard[content[heard] == c]
            assert origin.sender == ends[0, same[0]]
            assert origin.receivers == tuple(sorted(set(ends[1, same].tolist())))
            assert np.array_equal(row, block.payload[c])


def test_what_is_held_is_no_message():
    channel = Channel()
    channel.hold(-1, [0, 1], "input", np.ones((2, 5, 1)))
    assert channel.transcript.messages == 0
    assert len(Eavesdropper().observe(channel.transcript, TRIANGLE)) == 0


def test_what_is_held_does_not_pass():
    with pytest.raises(SecmixError, match=r"'y' is given to hold\(\), but its sender and receiver differ"):
        Channel()._write(0, 0, 1, "y", np.ones((2, 3)), "held", None)


@pytest.mark.parametrize(
    ("sender", "payload", "content", "message"),
    [
        ([0, 1], np.ones((1, 2, 3)), None, "2 messages of kind 'y' have 2 contents in 1 payload rows"),
        ([0, 1], np.ones((2, 2, 3)), [0], "2 messages of kind 'y' have 1 contents"),
        ([0], np.ones(3), None, r"has shape \(3,\), expected \(runs, m\) or"),
    ],
)
def test_blocks_that_do_not_add_up_are_refused(sender, payload, content, message):
    with pytest.raises(SecmixError, match=message):
        Channel().send(0, sender, 2, "y", payload, content=content)


def test_each_feature_of_a_view_has_its_source_in_words():
    view = HonestButCurious({0}, eavesdrops=False).observe(run(Plain()), TRIANGLE)
    assert view.sources == [
        "input held by 0, before the first round, entry 0",
        "input held by 0, before the first round, entry 1",
        "input from 0 to the server, round 0, entry 0",
        "input from 0 to the server, round 0, entry 1",
        "average from the server to 0, round 1, entry 0",
        "average from the server to 0, round 1, entry 1",
    ]
    assert view.values.tolist() == [[1.0, 10.0, 1.0, 10.0, 3.0, 30.0]]


def test_secure_sum_in_words():
    view = HonestButCurious({1}).observe(run(SecureSum(), inputs=INPUTS[:, :, :1]), TRIANGLE)
    assert view.sources == [
        "input held by 1, before the first round",
        "running sum from 0 to 1, round 0",
        "running sum from 1 to 2, round 1",
        "total from 0 to 1, round 3",
        "total from 1 to 2, round 4",
    ]
    starter = HonestButCurious({0}).observe(run(SecureSum(), inputs=INPUTS[:, :, :1]), TRIANGLE)
    assert starter.sources[1] == "mask held by 0, before the first round"


def test_pdmm_in_words():
    view = HonestButCurious({1}, eavesdrops=False).observe(run(PDMM(), inputs=INPUTS[:, :, :1]), TRIANGLE)
    first = [source for source in view.sources if "round" not in source.replace("before the first round", "")]
    assert first == [
        "input held by 1, before the first round",
        "mask held by 1, before the first round",
        "mask held by 1, before the first round",
        "lambda from 0 to 1, before the first round",
        "lambda from 1 to 0, before the first round",
        "lambda from 1 to 2, before the first round",
        "lambda from 2 to 1, before the first round",
    ]
    assert "y from 0 to 1, round 0" in view.sources
    every = Eavesdropper().observe(run(PDMM(), inputs=INPUTS[:, :, :1]), TRIANGLE)
    assert every.sources[0] == "y from 0 to 1 and 2, round 0"
    assert not any("lambda" in source or "input" in source for source in every.sources)


def test_iterations_are_named_and_can_be_taken_apart():
    em = DistributedEM(1, sums=Plain(), init="moments", max_iter=2, tol=None)
    em.fit(np.random.default_rng(0).normal(size=(3, 4, 1)), network=TRIANGLE, rng=0)
    view = CuriousServer().observe(em.transcript_, TRIANGLE)
    assert view.iterations == em.transcript_.iterations == [-1, 0, 1]
    assert view.at(0).iterations == [0]
    assert view.at(1).sources[0] == "input from 0 to the server, round 0, iteration 1, entry 0"
    assert sum(len(view.at(t)) for t in view.iterations) == len(view)
    assert view.at(9).values.shape == (0, 0)


def test_the_server_is_on_no_edge_of_the_network():
    assert SERVER not in range(TRIANGLE.n)
    assert {SERVER} == {int(b.receiver[0]) for b in run(Plain()) if b.round == 0 and b.line != "held"}


def test_a_mapping_or_a_tuple_is_as_many_messages_and_arrives_as_it_was():
    channel = Channel()
    got = channel.send(0, 0, 1, "up", {"x": np.ones((2, 3)), "n": 7, "by": "me", "more": (np.zeros((2, 1)), None)})
    assert got["x"].tolist() == [[1.0] * 3] * 2
    assert (got["n"], got["by"], got["more"][1]) == (7, "me", None)
    kinds = [(block.kind, block.payload.shape[1:]) for block in channel.transcript]
    assert kinds == [
        ("up/x", (2, 3)), ("up/n", (2, 1)), ("up/by", (2, 2)), ("up/more/0", (2, 1)), ("up/more/1, nothing", (2, 1)),
    ]  # fmt: skip


class Upload(NamedTuple):
    """An upload of a node, by name."""

    masked: Any
    rows: Any


def test_a_named_tuple_arrives_with_its_names():
    channel = Channel()
    arrived = channel.send(0, 1, SERVER, "upload", Upload(np.ones((2, 3)), np.full((2, 3), 5.0)))
    assert type(arrived) is Upload
    assert np.array_equal(arrived.rows, np.full((2, 3), 5.0))
    assert [block.kind for block in channel.transcript] == ["upload/masked", "upload/rows"]


def test_a_tuple_of_a_class_that_the_receiver_does_not_know_arrives_as_a_tuple():
    class Made(NamedTuple):
        masked: Any

    assert type(Channel().send(0, 1, SERVER, "upload", Made(np.ones((2, 3))))) is tuple


def test_a_tuple_from_one_sender_is_recorded_whole():
    channel = Channel()
    channel.send(0, 0, SERVER, "up", (np.zeros((1, 2)), np.ones((1, 2))))
    assert [block.payload.max() for block in channel.transcript] == [0.0, 1.0]


def test_of_an_object_arrives_what_is_recorded_and_nothing_else():
    class Array(np.ndarray):
        pass

    class Lazy:
        def __init__(self):
            self.aside = 5.0

        def __array__(self, dtype=None, copy=None):
            return np.ones((1, 2))

    tagged = np.ones((1, 2)).view(Array)
    tagged.aside = 5.0
    for payload in (tagged, Lazy()):
        got = Channel().send(0, 0, 1, "up", payload)
        assert type(got) is np.ndarray
        assert not hasattr(got, "aside")


def test_more_rows_than_messages_are_refused_unless_it_is_said_which_are_carried():
    channel = Channel()
    channel.send(0, 0, 1, "up", np.ones((2, 1, 1)), content=[1])
    with pytest.raises(SecmixError, match="1 messages of kind 'up' have 1 contents in 2 payload rows"):
        channel.send(0, 0, 1, "up", np.ones((2, 1, 1)))


def test_a_complex_number_is_two_and_what_cannot_be_sent_is_said():
    channel = Channel()
    assert channel.send(0, 0, 1, "up", np.array([[1 + 2j]]))[0, 0] == 1 + 2j
    assert [block.payload[0, 0, 0] for block in channel.transcript] == [1.0, 2.0]
    with pytest.raises(SecmixError, match="a message of kind 'up' is a function; expected an array"):
        channel.send(0, 0, 1, "up", run)


@pytest.mark.parametrize("record", [True, False])
@pytest.mark.parametrize("dtype", [float, complex, int])
def test_what_a_sender_changes_afterwards_stays_with_the_sender(record, dtype):
    mine = np.ones((1, 3, 2), dtype)
    arrived = Channel(record=record).send(0, 0, 1, "rows", {"x": mine})["x"]
    mine[:] = 7
    assert (arrived == 1).all()
    arrived[:] = 5
    assert (mine == 7).all()


@pytest.mark.parametrize(("dtype", "blank"), [(float, np.nan), (np.float32, np.nan), (complex, np.nan), (int, 0)])
def test_a_row_that_no_message_carries_does_not_arrive(dtype, blank):
    arrived = Channel().send(0, [0, 0], [1, 2], "rows", np.ones((3, 1, 2), dtype), content=[0, 2])
    np.testing.assert_array_equal(arrived[1].real, np.full((1, 2), blank))
    assert (arrived[[0, 2]] == 1).all()
