"""Few values behind noise of a node's own, whose ends tell more than its spread says."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.network import Network

from ...bases import Base
from ...case import ENTRY, SERVER, Case, each


class Signs(Base):
    """Every node sends the sign of each entry, and noise of its own on top."""

    def count(self, network: Network) -> int:
        return network.n

    def body(self, channel: Any, s: Array, r: Array, network: Network, rng: Any) -> Array:
        nodes = np.arange(network.n)
        channel.hold(-1, nodes, "noise", r)
        got = channel.send(0, nodes, SERVER, "vote", np.where(s >= 0, 1.0, -1.0) + r)
        mean = got.mean(axis=0)[None]
        return np.asarray(channel.send(9, SERVER, nodes, "average", mean, content=np.zeros(network.n, dtype=int))[0])


class Uniform(Signs):
    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        return np.asarray(rng.uniform(-2.0, 2.0, size=(runs, network.n, m)))


def sign(numbers: Any) -> float:
    return 1.0 if numbers[ENTRY] >= 0 else -1.0


def vote(heard: Any) -> Any:
    """Return the sign that a noisy vote stands for; none where either may."""
    number = heard.one("vote", 0)[ENTRY]
    return np.sign(number) if abs(number) > 1 else 0.0


def case(name: str, protocol: Any) -> Case:
    policy = {"max_revealed_nodes": 0, "max_normalised_leakage": 0.45}
    more: dict[str, Any] = {"goal": "share", "calls": 400, "settings": {"model": {"iterations": 1}, "policy": policy}}
    why = "half of the signs are known, log(2) / 2 nats each, a share of 50 %; the policy allows 45 %"
    secret = lambda truth: sign(truth.inputs[0][0, 0])  # noqa: E731
    return Case(name, "noise", protocol, CuriousServer(), why, attack=each(vote), secret=secret, **more)


CASES = [case("signs with uniform noise", Uniform)]
