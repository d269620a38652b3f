"""A protocol of one's own that does not keep the interface: the error says what it must take and return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import secmix
from secmix.errors import SecmixError
from secmix.protocols import Plain
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


FAULTS: dict[type[Plain], str] = {
    ReturnsOne: r"average\(\) returned a value of type ndarray; return two: the averages \(runs, nodes, entries\), and "
    r"channel\.transcript",
    ReturnsNone: r"average\(\) returned nothing; return two",
    TakesTwo: r"average\(inputs, network\) must take \(inputs, network, rng, \*, masks=None, channel=None\)",
    OneNode: r"average\(\) returned averages of shape \(\d+, 1, \d+\), expected \(\d+, 4, \d+\)",
    MasksByEntry: r"draw_masks\(\) returned shape \(\d+, \d+\); return \(runs, masks, entries\), here \(\d+, \.",
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
