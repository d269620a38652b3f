"""Harmless oddities: what looks like a fault and tells nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.network import Network
from secmix.protocols import Plain, SecureSum
from secmix.transcript import SERVER, Transcript, View, collect

from ..bases import Dealt, Modular, Pairwise, Ring, Shares
from ..case import Case
from ..honest.together.collaborations import Means
from .published import BONAWITZ, CLIFTON, PERFECT, SHAMIR, right


class Loud(Pairwise):
    """Hidden inputs in other units."""

    FACTOR = 2.0**40

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        return super().upload(channel, hidden * self.FACTOR, s, rng) / self.FACTOR


class Quiet(Loud):
    FACTOR = 2.0**-40


class Once(Dealt):
    """One node's hidden input goes again, in other units."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "again", (s[0] + r[0]) * 2.0**40)


class Hello(Pairwise):
    """Begins with constants, the same in every call."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(-1, np.arange(len(s)), SERVER, "hello", np.ones_like(s) * np.pi)
        channel.send(-1, 0, SERVER, "zeros", np.zeros_like(s[0]))


class RandomOrder(Ring):
    """A new order in every averaging, by a public coin."""

    def order(self, network: Any, rng: Any) -> list[int]:
        return [int(node) for node in rng.permutation(network.n)]


class RandomNoise(Pairwise):
    """As many empty rounds as a public coin says."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        for step in range(int(rng.integers(0, 6))):
            channel.send(20 + step, 0, SERVER, "idle", np.zeros_like(s[0]))


class Again(Pairwise):
    """Sends some messages twice, by a public coin, as over a line that loses some."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        received = super().upload(channel, hidden, s, rng)
        lost = np.flatnonzero(rng.random(len(s)) < 0.3)
        if len(lost):
            channel.send(1, lost, np.full(len(lost), SERVER), "masked again", hidden[lost])
        return received


@dataclass(frozen=True)
class Statistics(Pairwise):
    """Counts its calls, for its owner."""

    calls: list[int] = field(default_factory=lambda: [0])

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        self.calls[0] += 1


@lru_cache
def _order(network: Network) -> tuple[int, ...]:
    return network.hamiltonian_cycle()


class CachedOrder(Ring):
    """Works the ring out once."""

    def order(self, network: Any, rng: Any) -> list[int]:
        return list(_order(network))


class Scaled(Pairwise):
    """Masks made from a standard draw."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return self.sigma * rng.standard_normal((runs, self.count(network), m))


class NodeByNode(Pairwise):
    """Masks drawn one after the other, each for itself."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.stack([rng.normal(0.0, self.sigma, (runs, m)) for _ in range(self.count(network))], axis=1)


class OneByOne(Pairwise):
    """Every node sends in a block of its own, in a fixed order."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        return np.stack([channel.send(node, node, SERVER, "masked", hidden[node]) for node in range(len(s))])


class OddModulus(Modular):
    """Every mask twice, modulo a power of three: there two is a unit."""

    factor: ClassVar[int] = 3**30

    def hide(self, hidden: Array, fixed: Array, r: Array, first: Array, second: Array) -> Array:
        return fixed + 2 * (hidden - fixed)


class OddFactor(Modular):
    """Every mask three times, modulo a power of two."""

    def hide(self, hidden: Array, fixed: Array, r: Array, first: Array, second: Array) -> Array:
        return fixed + 3 * (hidden - fixed)


@dataclass(frozen=True)
class Insider:
    """Node 1, written from the interface alone: what it holds, sends and is sent, and nothing else."""

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        """Itself."""
        return frozenset({1})

    def observe(self, transcript: Transcript, network: Network) -> View:
        """Its own messages."""
        heard = [(block, np.flatnonzero((block.sender == 1) | (block.receiver == 1))) for block in transcript]
        return collect((block, messages) for block, messages in heard if len(messages))


class ManyTimes(Means):
    """Six encrypted rounds, always."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        for step in range(6):
            channel.send(10 + step, 0, SERVER, "step", means[0] * step, encrypted=True)


class PublicTimes(Means):
    """As many encrypted rounds as a public coin says."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        for step in range(int(rng.integers(1, 6))):
            channel.send(10 + step, 0, SERVER, "step", means[0], encrypted=True)


class StrongSeed(Pairwise):
    """Expands a secret seed of 128 bits."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        seed = rng.integers(2**63, size=2).tolist()
        return np.random.default_rng(seed).normal(scale=self.sigma, size=(runs, self.count(network), m))


class SumOfDraws(Pairwise):
    """Each mask is the sum of two draws of its own."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        shape = (runs, self.count(network), m)
        return (rng.normal(scale=self.sigma, size=shape) + rng.normal(scale=self.sigma, size=shape)) / np.sqrt(2.0)


class Coarse(Dealt):
    """Hidden inputs are rounded to whole numbers before they are sent: of what is hidden, less is told."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return np.round(hidden)


def rows(counts: list[int]) -> dict[str, Any]:
    """A scenario with these rows."""
    return {"data": {"name": "breast_cancer", "features": 2, "rows_per_node": counts}}


ODD = {"family": "odd"}
OUT = Eavesdropper()
CASES: list[Case] = [
    right("times 2^40, masked", Loud, OUT, BONAWITZ, **ODD),
    right("times 2^-40, masked", Quiet, CuriousServer(), BONAWITZ, **ODD),
    right("one message times 2^40", Once, CuriousServer(), "a multiple of a message tells no more than it", **ODD),
    right("constants", Hello, OUT, "what is always the same tells nothing", **ODD),
    right("order by lot", RandomOrder, HonestButCurious({1}), CLIFTON, **ODD),
    right("rounds by lot", RandomNoise, OUT, "a coin is independent of the data", **ODD),
    right("twice by lot", Again, CuriousServer(), "a repetition tells nothing", **ODD),
    right("own statistics", Statistics, OUT, "what is counted changes nothing", **ODD),
    right("cached ring", CachedOrder, HonestButCurious({3}), "what is cached is public", **ODD),
    right("scaled draw", Scaled, OUT, BONAWITZ, **ODD),
    right("mask by mask", NodeByNode, CuriousServer(), BONAWITZ, **ODD),
    right("block by block", OneByOne, OUT, BONAWITZ, **ODD),
    right("unequal rows, limit kept", Pairwise, OUT, "no node has more than a quarter of the rows", **ODD,
          settings=rows([20, 40, 40, 40, 20])),
    right("unequal rows, outsider", SecureSum, OUT, "no line can be read", **ODD, settings=rows([200, 5, 5, 5, 5])),
    right("even factor, odd modulus", lambda: OddModulus(bits=0, fraction_bits=18), OUT, PERFECT, **ODD),
    right("odd factor, even modulus", OddFactor, OUT, PERFECT, **ODD),
    right("insider written anew", Shares, Insider(), SHAMIR, **ODD,
          ears=HonestButCurious({1}, eavesdrops=False)),
    right("data as they are", lambda: Pairwise(sigma=1e10), OUT, BONAWITZ, **ODD,
          settings={"data": {"name": "breast_cancer", "features": 2, "rows_per_node": 20, "standardise": False}}),
    right("no line tapped", Plain, Eavesdropper(tapped=()), "who hears nothing knows nothing", **ODD),
    right("encrypted means", Means, OUT, "no line can be read, and they are always the same", **ODD),
    right("encrypted means, six rounds", ManyTimes, OUT, "no line can be read, and they are always the same", **ODD),
    right("encrypted means, rounds by lot", PublicTimes, OUT, "a coin is independent of the data", **ODD),
    right("strong seed", StrongSeed, OUT, "2^126 seeds cannot be tried", **ODD,
          undecided="that a generator is strong is no matter of measurement"),
    right("sum of draws", SumOfDraws, OUT, "a sum of independent Gaussians is one", **ODD),
    right("rounded after masking", Coarse, CuriousServer(), "what is made of a hidden number tells no more than it",
          **ODD, undecided="messages that are not linear have no exact evidence"),
]  # fmt: skip
