"""Time that the check of a claim takes, as a ratio to the bare protocol in the same run, on one thread."""

from __future__ import annotations

import time

import numpy as np
import pytest
from noisy_protocols import NORM, SCALE, Descent, report
from threadpoolctl import threadpool_limits

from secmix.auditing.noise.replays.played_calls import Player
from secmix.network import Network
from secmix.privacy import gaussian_epsilon
from secmix.transcript import Channel

pytestmark = pytest.mark.build

DELTA = 1e-5


def seconds_of_a_call(protocol, nodes, calls=50):
    """Processor seconds of one call of the bare protocol, the least of a few."""
    parts = [np.random.default_rng(i).standard_normal((1, 5, 3)) for i in range(nodes)]
    taken = []
    for _ in range(3):
        before = time.process_time()
        for key in range(calls):
            protocol.collaborate(parts, Network.complete(nodes), np.random.default_rng(key), channel=Channel())
        taken.append((time.process_time() - before) / calls)
    return min(taken)


def test_a_claim_takes_as_many_calls_as_it_needs_and_each_little_more_than_the_protocol(benchmark, monkeypatch):
    """Ten nodes and twenty rounds: 2,671 calls, each 3.5 times the bare protocol, were twice what it takes."""
    nodes, rounds = 10, 20
    asked, most_calls = (range(nodes), 2300) if benchmark.enabled else ([0], 470)
    calls, call = [], Player._call
    monkeypatch.setattr(Player, "_call", lambda *given, **settings: calls.append(1) or call(*given, **settings))
    epsilon = gaussian_epsilon(rounds**0.5 * 2 * NORM / SCALE, DELTA)
    claim, protocol = {"epsilon": 1.001 * epsilon, "delta": DELTA}, Descent(rounds=rounds)
    scenario = {
        "network": {"kind": "complete", "nodes": nodes},
        "measure": {"evidence": ["decoders"], "nodes": list(asked)},
    }
    with threadpool_limits(limits=1):
        bare = seconds_of_a_call(protocol, nodes)
        before = time.process_time()
        found = benchmark.pedantic(report, args=(protocol, claim), kwargs=scenario, rounds=1)
        taken = time.process_time() - before
    benchmark.extra_info |= {"calls": len(calls), "calls of the bare protocol in the same time": taken / bare}
    assert found.verdict == "holds"
    assert len(calls) <= most_calls
    if benchmark.enabled:  # time is no matter of a machine that others share
        assert taken / (len(calls) * bare) < 2.8
