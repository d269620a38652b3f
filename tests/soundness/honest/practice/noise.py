"""Few values behind noise of a node's own: of two that lie far apart each shows."""

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
        return np.asarray(rng.uniform(-0.95, 0.95, size=(runs, network.n, m)))


class Laplace(Signs):
    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        return np.asarray(rng.laplace(scale=0.37, size=(runs, network.n, m)))


class Normal(Signs):
    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        return np.asarray(rng.normal(scale=0.52, size=(runs, network.n, m)))


def sign(numbers: Any) -> float:
    return 1.0 if numbers[ENTRY] >= 0 else -1.0


def vote(heard: Any) -> Any:
    """Return the sign that a noisy vote most likely stands for."""
    return sign(heard.one("vote", 0))


def case(name: str, protocol: Any, share: str) -> Case:
    more: dict[str, Any] = {"goal": "share", "calls": 400, "settings": {"model": {"iterations": 1}}}
    why = f"{share} of a sign's variance is known, the policy allows 80 %"
    secret = lambda truth: sign(truth.inputs[0][0, 0])  # noqa: E731
    return Case(name, "noise", protocol, CuriousServer(), why, attack=each(vote), secret=secret, **more)


CASES = [
    case("signs with uniform noise", Uniform, "all"),
    case("signs with Laplace noise", Laplace, "nine tenths"),
    case("signs with normal noise", Normal, "five sixths"),
]
