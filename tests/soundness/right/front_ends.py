"""Right protocols with the front ends of practice: every node clips and rounds its vector, then masks words."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.transcript import SERVER

from ..bases import Pairwise
from ..case import Case


class Words(Pairwise):
    """Clips to a range that most numbers keep within, rounds to 2^-20, and masks 64-bit words."""

    bound: ClassVar[float] = 64.0
    unit: ClassVar[float] = 2.0**20
    word: ClassVar[Any] = np.uint64

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        least, width = (0, 64) if self.word is np.uint64 else (-(2**63), 63)
        return rng.integers(least, 2**width, size=(runs, self.count(network), m), dtype=self.word)

    def encode(self, s: Array) -> Array:
        words: Array = np.rint(np.clip(s, -self.bound, self.bound) * self.unit).astype(np.int64).astype(self.word)
        return words

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        received = self.upload(channel, self.hidden(channel, self.encode(s), r, network), s, rng)
        total = received.sum(axis=0, dtype=self.word).view(np.int64)
        return self.publish(channel, total / self.unit / network.n, s)


class Signed(Words):
    """Masks signed words, which wrap round."""

    word = np.int64


class FarClip(Words):
    """Clips where no number of these data ever is."""

    bound = 2.0**20


class Floored(Words):
    """Cuts off instead of rounding."""

    def encode(self, s: Array) -> Array:
        return np.floor(s * self.unit).astype(np.int64).astype(self.word)


class HalfSteps(Words):
    """Rounds to half steps, upwards."""

    unit = 2.0

    def encode(self, s: Array) -> Array:
        return np.floor(s * self.unit + 0.5).astype(np.int64).astype(self.word)


class Single(Words):
    """Its models are in single precision before they are words."""

    def encode(self, s: Array) -> Array:
        return super().encode(s.astype(np.float32).astype(float))


class CoarseFloats(Pairwise):
    """Rounds to two decimals and masks with Gaussians."""

    def hidden(self, channel: Any, s: Array, r: Array, network: Any) -> Array:
        return super().hidden(channel, np.round(s, 2), r, network)


class Refusing(Words):
    """Refuses numbers that are out of range, before anything is sent."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        if np.abs(s).max() > 2.0**30:
            raise ValueError("numbers must be at most 2^30")


class Chunks(Words):
    """Uploads in chunks of five words."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        nodes, m = np.arange(len(s)), hidden.shape[2]
        parts = [channel.send(0, nodes, SERVER, "chunk", hidden[:, :, k : k + 5]) for k in range(0, m, 5)]
        return np.concatenate(parts, axis=2)


class HalfWords(Words):
    """Masks words of 32 bits."""

    word = np.uint32

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**32, size=(runs, self.count(network), m), dtype=np.uint32))

    def encode(self, s: Array) -> Array:
        return np.asarray(super().encode(s).astype(np.uint32))

    def decode(self, total: Array) -> Array:
        return np.asarray(total.view(np.int32) / self.unit)

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        received = self.upload(channel, self.hidden(channel, self.encode(s), r, network), s, rng)
        return self.publish(channel, self.decode(received.sum(axis=0, dtype=np.uint32)) / network.n, s)


class LastDropsOut(Words):
    """The last node is gone once it has agreed on masks: all others open theirs with it, and those of their own."""

    def count(self, network: Any) -> int:
        return super().count(network) + int(network.n)

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        pairs, gone = len(network.edges), network.n - 1
        there, own, with_gone = np.arange(gone), r[pairs:], np.flatnonzero(network.edges[:, 1] == gone)
        channel.hold(-1, np.arange(network.n), "mask of its own", own)
        hidden = self.hidden(channel, self.encode(s), r[:pairs], network) + own
        received = self.upload(channel, hidden[:gone], s[:gone], rng)
        opened = channel.send(1, network.edges[with_gone, 0], SERVER, "mask with who is gone", r[with_gone])
        opened_own = channel.send(1, there, SERVER, "mask of its own", own[:gone])
        total = received.sum(axis=0, dtype=self.word) - opened.sum(axis=0, dtype=self.word)
        total = (total - opened_own.sum(axis=0, dtype=self.word)).view(np.int64)
        return self.publish(channel, total / self.unit / gone, s[:gone])

    def result(self, averages: Array, s: Array, rng: Any) -> Array:
        averages[:, -1] = np.nan
        return averages


class CountsClipped(Words):
    """Sums, under masks of its own, how many nodes clipped anything, to choose the bound (Andrew et al. 2021)."""

    def count(self, network: Any) -> int:
        return 2 * super().count(network)

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        edges = len(network.edges)
        clipped = (np.abs(s) > self.bound).any(axis=2, keepdims=True).astype(self.word)
        self.upload(channel, self.hidden(channel, clipped, r[edges:, :, :1], network), s, rng)
        return super().body(channel, s, r[:edges], network, rng)


SERVER_READS = {
    "clipped to words": Words,
    "signed words": Signed,
    "clipped far out": FarClip,
    "cut off to words": Floored,
    "half steps": HalfSteps,
    "single precision before words": Single,
    "coarse floats": CoarseFloats,
    "refuses what is out of range": Refusing,
    "in chunks": Chunks,
    "counts who clipped": CountsClipped,
    "words of 32 bits": HalfWords,
    "the last one drops out": LastDropsOut,
}
_WHY = "what a node encodes from its own data is masked in full words; a sum over all is known"
CASES = [
    *(
        Case(name, "front ends", made, CuriousServer(), _WHY, truth="safe", node=2)
        for name, made in SERVER_READS.items()
    ),
    Case("clipped to words, two curious", "front ends", Words, HonestButCurious({1, 3}), _WHY, truth="safe", node=2),
]
