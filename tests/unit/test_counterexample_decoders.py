"""What a failed check leads to: a node's input decoded from what the adversary holds, or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.auditing.counterexamples.decode import decode, from_total
from secmix.auditing.counterexamples.features import Feature, metadata_features, number_features
from secmix.auditing.counterexamples.instance import InstanceCall, ProtocolInstance, common_divisor, steps_of
from secmix.auditing.soundness.numbers_read import numbers_read
from secmix.auditing.soundness.runner import record_call
from secmix.network import Network
from secmix.protocols import Plain, SecureSum
from secmix.transcript import Channel, Origin

N, M, RUNS = 3, 4, 160


def inputs(seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(RUNS, N, M))


def one(truth: Array, values: Array, how: str = "number") -> Any:
    features = [Feature("here", how, values)]
    return decode(truth, features, range(N), RUNS // 2, np.random.default_rng(1))


@pytest.mark.parametrize("slope", [1.0, -3.0, 1e-9])
def test_a_line_is_found_and_names_its_place(slope: float) -> None:
    truth = inputs()
    found = one(truth, slope * (truth[:, 1] + 5.0))
    assert found[1].exact == found[1].runs == RUNS // 2
    assert "number" in found[1].how
    assert found[1].where == "here"
    assert found[0].exact == 0
    assert found[0].error.high > 0.9


def test_what_is_bare_in_some_runs_counts_in_those() -> None:
    truth, rng = inputs(), np.random.default_rng(2)
    bare = rng.random(RUNS) < 0.6
    values = np.where(bare[:, None], truth[:, 0], rng.normal(scale=1e6, size=(RUNS, M)))
    assert one(truth, values)[0].exact == bare[RUNS // 2 :].sum()


def test_independent_clues_explain_nothing() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        features = [Feature(f"place {k}", "number", rng.normal(size=(RUNS, M))) for k in range(30)]
        for found in decode(inputs(seed), features, range(N), RUNS // 2, rng).values():
            assert found.exact == 0
            assert found.error.high > 0.9


def test_messages_together_solve_for_an_input() -> None:
    truth, mask = inputs(), np.random.default_rng(3).normal(scale=1e3, size=(RUNS, M))
    features = [Feature("a", "number", truth[:, 2] + mask), Feature("b", "number", 2.0 * mask)]
    found = decode(truth, features, range(N), RUNS // 2, np.random.default_rng(1))
    assert found[2].exact == RUNS // 2
    assert "regression" in found[2].how


def test_what_the_average_tells_of_nodes_that_are_alike_accuses_nobody() -> None:
    rng = np.random.default_rng(6)
    truth = rng.normal(size=(RUNS, 1, M)) + 0.1 * inputs(6)
    features = [Feature("average", "number", truth.mean(axis=1))]
    told = from_total(truth, range(N), RUNS // 2)
    assert decode(truth, features, [0], RUNS // 2, rng)[0].error.high < 0.2
    assert decode(truth, features, [0], RUNS // 2, rng, told)[0].error.high > 0.9
    features.append(Feature("bare", "number", truth[:, 0]))
    found = decode(truth, features, [0], RUNS // 2, rng, told)[0]
    assert (found.where, found.exact) == ("bare", RUNS // 2)


def test_whoever_sums_alone_is_known_by_the_average() -> None:
    truth = inputs(7)
    features = [Feature("average", "number", truth[:, 0])]
    told = from_total(truth, [0], RUNS // 2)
    assert decode(truth, features, [0], RUNS // 2, np.random.default_rng(0), told)[0].exact == 0


def test_steps_of_masks() -> None:
    rng = np.random.default_rng(4)
    assert steps_of(rng.normal(size=60)) == []
    assert steps_of(np.round(rng.normal(scale=1e6, size=60)) * 0.75)[0] == pytest.approx(0.75)
    assert 1000.0 in steps_of(1000.0 * np.round(rng.normal(scale=1e4, size=60)) + rng.normal(scale=5.0, size=60))
    assert common_divisor(np.array([21.0, 14.0, 35.0, 49.0])) == pytest.approx(7.0)


def test_rests_of_words_are_exact_where_floats_lack_their_last_digits() -> None:
    plain = np.array([[3], [-5], [7]])
    masks = np.random.default_rng(0).integers(2**23, 2**24, (3, 1), np.uint64) * np.uint64(2**40)
    words = plain.astype(np.uint64) + masks
    rows: dict[Any, Any] = {(Origin(0, 0, "masked", "plain", 0, (-1,)), 0): words}
    call = InstanceCall(np.zeros((3, 1, 1)), rows, [])
    rests = [each for each in number_features([call], [], [2.0**40], {}) if each.how.startswith("rest modulo")]
    assert rests[0].values.tolist() == plain.tolist()


def test_frames_tell_how_many_and_in_which_order() -> None:
    frames = [[(node, -1, 0, 0, f"step {node}", "plain", M, "<f8", 0) for node in order] for order in ([0, 1], [1, 0])]
    features = metadata_features([InstanceCall(np.zeros((1, N, M)), {}, each) for each in frames])
    assert {"when 0 sends first", "sender of message 0", "number 0 in their kinds"} <= {
        feature.how for feature in features
    }


class Deaf(HonestButCurious):
    """A corrupt node whose class shows nothing."""

    def observe(self, transcript: Any, network: Network) -> Any:
        raise RuntimeError


def test_corrupt_nodes_hold_their_own_and_no_more() -> None:
    network = Network.cycle(5)
    rng = np.random.default_rng(0)
    channel = Channel()
    call = record_call(
        lambda channel: Plain().average(rng.normal(size=(2, 5, M)), network, rng, channel=channel)[0], channel
    )
    ends = [{origin.sender, *origin.receivers} for origin, _ in numbers_read(call, Deaf({2}), network, frozenset({2}))]
    assert ends
    assert all(2 in each for each in ends)


@pytest.mark.parametrize("adversary", [CuriousServer(), Eavesdropper(), HonestButCurious({1})])
def test_a_right_protocol_in_use_tells_nothing(adversary: Any) -> None:
    network, rng = Network.cycle(5), np.random.default_rng(5)
    given = {0: rng.normal(size=(5, RUNS, M))}
    instance = ProtocolInstance(SecureSum(), network, adversary, 0)
    for way in (instance.single_calls, instance.batches):
        first, second = way(given)[0]
        truth = np.concatenate([use.truth for use in [*first, *second]])
        assert np.array_equal(truth.transpose(1, 0, 2), given[0])
