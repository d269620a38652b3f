"""A protocol of one's own that does not keep the interface: the error says what it must take and return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import secmix
from secmix import Network
from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.errors import SecmixError
from secmix.estimators import leaked_subspace
from secmix.protocols import Plain
from secmix.testing import check_protocol
from secmix.transcript import Channel


class ReturnsOne(Plain):
    def average(self, inputs: Any, network: Any, rng: Any, **given: Any) -> Any:
        return super().average(inputs, network, rng, **given)[0]


class ReturnsNone(Plain):
    def average(self, inputs: Any, network: Any, rng: Any, **given: Any) -> Any:
        return None


class TakesTwo(Plain):
    def average(self, inputs: Any, network: Any) -> Any:  # type: ignore[override]
        return inputs, None


class OneNode(Plain):
    def average(self, inputs: Any, network: Any, rng: Any, **given: Any) -> Any:
        averages, transcript = super().average(inputs, network, rng, **given)
        return averages[:, :1], transcript


class MasksByEntry(Plain):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return rng.normal(size=(m, runs))


class Outside(Plain):
    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        channel = Channel() if channel is None else channel
        channel.send(0, np.arange(network.n) + 1, 0, "x", np.asarray(inputs).transpose(1, 0, 2))
        return super().average(inputs, network, rng, masks=masks, channel=channel)


class StaticMasks(Plain):
    @staticmethod
    def draw_masks(runs: int, m: int, network: Any, rng: Any) -> Any:  # type: ignore[override]
        return rng.normal(size=(runs, 1, m))


class MasksOfClass(Plain):
    @classmethod
    def draw_masks(cls, runs: int, m: int, network: Any, rng: Any) -> Any:  # type: ignore[override]
        return rng.normal(size=(runs, 1, m))


FAULTS: dict[type[Plain], str] = {
    ReturnsOne: r"average\(\) returned a value of type ndarray; return two: the averages \(runs, nodes, entries\), and "
    r"channel\.transcript",
    ReturnsNone: r"average\(\) returned nothing; return two",
    TakesTwo: r"average\(inputs, network\) must take \(inputs, network, rng, \*, masks=None, channel=None\)",
    OneNode: r"average\(\) returned averages of shape \(\d+, 1, \d+\), expected \(\d+, 4, \d+\)",
    MasksByEntry: r"draw_masks\(\) returned shape \(\d+, \d+\); return \(runs, masks, entries\), here \(\d+, \.",
    StaticMasks: r"StaticMasks\.draw_masks is a staticmethod; it must be an ordinary method: leave out @staticmethod, "
    r"and write def draw_masks\(self, runs, m, network, rng\)",
    MasksOfClass: r"MasksOfClass\.draw_masks is a classmethod; it must be an ordinary method",
    Outside: r"average\(\) sent 'x' in round 0 from node 4 to node 0; the network has nodes 0 to 3, the server is -1",
}


@pytest.mark.parametrize("kind", FAULTS)
def test_what_a_protocol_must_take_and_return_is_said(kind: type[Plain]) -> None:
    scenario = {
        "network": {"kind": "complete", "nodes": 4},
        "runs": 100,
        "data": {"name": "wine", "features": 2},
        "measure": {"evidence": ["structure"]},
        "adversary": {"name": "eavesdropper"},
    }
    with pytest.raises(SecmixError, match=FAULTS[kind]) as error:
        secmix.audit(scenario, protocols={"own": kind()})
    assert "linear.py" not in str(error.value)


@pytest.mark.parametrize("kind", [StaticMasks, MasksOfClass])
def test_a_check_says_the_same_of_draw_masks(kind: type[Plain]) -> None:
    with pytest.raises(SecmixError, match=FAULTS[kind]):
        check_protocol(kind())


class WordsOfPairs:
    """Words of 64 bits, that each pair masks; they wrap around."""

    modulus: float | None = 2.0**64

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return rng.integers(0, 2**64, size=(runs, len(network.edges), m), dtype=np.uint64)

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        rows = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        channel = Channel() if channel is None else channel
        drawn = self.draw_masks(rows.shape[1], rows.shape[2], network, rng) if masks is None else masks
        own, (first, second) = drawn.transpose(1, 0, 2).astype(np.uint64), network.edges.T
        agreed = channel.send(-1, first, second, "mask", own, encrypted=True)
        words = np.rint(rows).astype(np.int64).astype(np.uint64)
        np.add.at(words, first, own)
        np.subtract.at(words, second, agreed)
        total = channel.send(0, np.arange(network.n), -1, "masked", words).sum(axis=0, dtype=np.uint64).view(np.int64)
        mean = np.repeat(total[:, None] / network.n, network.n, axis=1)
        return mean, channel.transcript


class Undeclared(WordsOfPairs):
    modulus = None


class OfSeeds(Plain):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return rng.integers(0, 2**64, size=(runs, 4, 2 + m), dtype=np.uint64)


def test_words_that_wrap_around_are_read_as_such() -> None:
    """A mask that is taken away is the largest word in the probe: as a float it would be zero modulo 2**64."""
    for network in (Network.complete(4), Network.from_edges(4, [(0, 1), (0, 2), (0, 3)])):
        assert leaked_subspace(WordsOfPairs(), network, CuriousServer()).describe() == ["x0 + x1 + x2 + x3"]
    known = leaked_subspace(WordsOfPairs(), Network.complete(4), HonestButCurious([0, 1])).describe()
    assert known == ["x0", "x1", "x2 + x3"]


@pytest.mark.parametrize(
    ("protocol", "said"), [(Undeclared, "has no modulus: set modulus = 2"), (OfSeeds, "the protocol draws seeds")]
)
def test_what_is_no_linear_function_of_masks_is_refused(protocol: Any, said: str) -> None:
    with pytest.raises(SecmixError, match=said):
        leaked_subspace(protocol(), Network.complete(4), CuriousServer())


def test_what_is_to_be_audited_is_said() -> None:
    with pytest.raises(
        SecmixError, match=r"protocols are given by label, as protocols=\{'mine': Mine\(\)\}; given a list"
    ):
        secmix.audit({"network": {"kind": "complete", "nodes": 4}}, protocols=[Plain()])  # type: ignore[arg-type]
    with pytest.raises(SecmixError, match=r"a scenario is a path, the name of a catalogue entry, .*; given a int"):
        secmix.audit(5)  # type: ignore[arg-type]
