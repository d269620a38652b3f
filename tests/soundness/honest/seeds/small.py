"""Seeds that can be tried, or that are told, and masks that are made too small of good ones."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ...bases import Pairwise
from ...case import Heard, input_of
from .attacks import signed
from .bases import EDGES, Seeded, sha, wrong

PLAIN = 2.0**40
"""What is smaller is taken for a number without a mask."""


class OneByte(Seeded):
    """Hashes the seed, and takes one byte of that for a key."""

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return sha(hashlib.sha256(seed.tobytes()).digest()[:1], m)

    @classmethod
    def tried(cls, m: int, edge: tuple[int, int]) -> Any:
        """All masks that a pair may have."""
        return (sha(bytes([k]), m) for k in range(256))


class Folded(OneByte):
    """Folds the seed to eight bits before it is hashed."""

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return sha((seed[:1] % np.uint64(256)).astype(np.uint8).tobytes(), m)


class MostlyPublic(OneByte):
    """A seed of four words, of which three are public: the pair, and a version."""

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return np.random.default_rng([seed[0] % 256, *edge, 20260101]).integers(0, 2**64, size=m, dtype=np.uint64)

    @classmethod
    def tried(cls, m: int, edge: tuple[int, int]) -> Any:
        seeds = ([k, *edge, 20260101] for k in range(256))
        return (np.random.default_rng(seed).integers(0, 2**64, size=m, dtype=np.uint64) for seed in seeds)


class AgainstItself(OneByte):
    """The key is what one end has, xor what the other end has: that is the same."""

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return np.random.default_rng(seed ^ seed).integers(0, 2**64, size=m, dtype=np.uint64)

    @classmethod
    def tried(cls, m: int, edge: tuple[int, int]) -> Any:
        return iter([np.random.default_rng([0, 0]).integers(0, 2**64, size=m, dtype=np.uint64)])


class OfTheNode(Seeded):
    """Expands the seed that a node has with its first partner for all its partners."""

    def hide(self, words: Array, mine: Any, theirs: Any, network: Any, expand: Any) -> None:
        edges = [tuple(each) for each in network.edges.tolist()]
        for i, j in edges:
            seeds = theirs if j else mine
            for run in range(words.shape[1]):
                mask = expand(seeds[edges.index((0, 1)), run] if i == 0 else mine[edges.index((i, j)), run], (i, j),
                              words.shape[2])  # fmt: skip
                words[i, run] += mask
                words[j, run] -= mask


class Confirmed(Seeded):
    """Ends confirm their key by its hash, and the masks follow from that hash."""

    def rehearse(self, channel: Any, shape: Any, mine: Any, theirs: Any, network: Any) -> None:
        for edge, (i, _) in enumerate(network.edges.tolist()):
            digest = hashlib.sha256(mine[edge, 0].tobytes()).digest()
            channel.send(-1, i, SERVER, f"key {edge}", np.frombuffer(digest, np.uint64)[None])

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return sha(hashlib.sha256(seed.tobytes()).digest(), m)


class ToldForDropouts(Seeded):
    """Node 0 gives the server its seeds, in case that it drops out."""

    def rehearse(self, channel: Any, shape: Any, mine: Any, theirs: Any, network: Any) -> None:
        for edge, (i, _) in enumerate(network.edges.tolist()):
            if i == 0:
                channel.send(-1, i, SERVER, f"key {edge}", mine[edge][None])

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return sha(seed.tobytes(), m)


class LowHalf(Seeded):
    """Counts in 2^-40, and masks with words of 32 bits."""

    unit = 2.0**40

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return np.random.default_rng(seed).integers(0, 2**32, size=m, dtype=np.uint64)


class HighHalf(Seeded):
    """Counts in quarters, and masks with the upper 24 bits of words."""

    unit = 4.0

    def expand(self, seed: Any, edge: Any, m: int, channel: Any) -> Any:
        return super().expand(seed, edge, m, channel) * np.uint64(2**40)


def of_the_lower_bits(heard: Heard) -> Any:
    """What is below the masks, in two's complement."""
    low = (heard.one("masked", 0).astype(np.uint64) % np.uint64(2**40)).astype(float)
    return np.where(low > 2.0**39, low - 2.0**40, low) / HighHalf.unit


class Floats(Pairwise):
    """Masks are floats that follow from a seed; ``scale`` is theirs."""

    scale = 1e-3

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        seeds: Array = rng.integers(0, 2**64, size=(runs, self.count(network), 2), dtype=np.uint64)
        return seeds

    def encode(self, s: Array) -> Array:
        """What is masked."""
        return s

    def expand(self, seed: Any, m: int) -> Any:
        """From a seed to m floats."""
        return np.random.default_rng(seed).normal(0.0, self.scale, m)

    def hidden(self, channel: Any, s: Array, r: Array, network: Any) -> Array:
        first, second = network.edges.T
        channel.hold(-1, first, "seed", r)
        agreed = channel.send(-1, first, second, "seed", r, encrypted=True)
        hidden = self.encode(s).copy()
        for edge, (i, j) in enumerate(network.edges.tolist()):
            for run in range(s.shape[1]):
                hidden[i, run] += self.expand(r[edge, run], s.shape[2])
                hidden[j, run] -= self.expand(agreed[edge, run], s.shape[2])
        return hidden


class ClippedFloats(Floats):
    """Clips far out, and adds masks that are small."""

    def encode(self, s: Array) -> Array:
        return np.clip(s, -1e4, 1e4)


class HardlyFloats(ClippedFloats):
    """Masks are large enough to be seen, and much smaller than the data."""

    scale = 0.2


class UnitFloats(ClippedFloats):
    """Words of a seed as floats from 0 to 1, as the paper has it; data are larger."""

    def expand(self, seed: Any, m: int) -> Any:
        return np.random.default_rng(seed).random(m) / 64


class ClippedAndDrawn(Pairwise):
    """Clips far out; masks are drawn, of the size that is left to the caller's last line of settings."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return rng.normal(scale=1e-2, size=(runs, self.count(network), m))

    def hidden(self, channel: Any, s: Array, r: Array, network: Any) -> Array:
        return super().hidden(channel, np.clip(s, -1e4, 1e4), r, network)


def tried(made: Any) -> Any:
    """Nodes 1, 2 and 3 know three of the masks of node 0, and try all that it may have with node 4."""

    def attack(heard: Heard) -> Array:
        m = heard.one("masked", 0).size
        known = heard.one("masked", 0)
        for other in (1, 2, 3):
            seed = heard.one("seed", 0, other)
            known = known - made().expand(seed, (0, other), m, None)
        several = [signed(known - mask) for mask in made.tried(m, (0, 4))]
        return min(several, key=lambda each: np.abs(each).max())

    return attack


def by_keys(heard: Heard) -> Array:
    words, m = heard.one("masked", 0), heard.one("masked", 0).size
    for edge, (i, _) in enumerate(EDGES):
        if i == 0:
            words = words - sha(heard.one(f"key {edge}", 0, SERVER).tobytes(), m)
    return signed(words)


def of_node(heard: Heard) -> Array:
    words = heard.one("masked", 0)
    mask = np.random.default_rng(heard.one("seed", 0, 1)).integers(0, 2**64, size=words.size, dtype=np.uint64)
    return signed(words - np.uint64(4) * mask)


THREE = HonestButCurious({1, 2, 3})
FLOATS = {"goal": "share", "calls": 80}
CASES = [
    *(
        wrong(name, made, THREE, "a key of eight bits is tried through", tried(made))
        for name, made in (
            ("one byte of a hash", OneByte),
            ("folded to eight bits", Folded),
            ("a seed that is mostly public", MostlyPublic),
        )
    ),
    wrong("a key against itself", AgainstItself, CuriousServer(), "the key is nought", lambda h: signed(
        h.one("masked", 0) - np.uint64(4) * next(AgainstItself.tried(h.one("masked", 0).size, (0, 1))))),
    wrong("a seed of a node, not of a pair", OfTheNode, HonestButCurious({1}), "node 1 knows all masks of node 0",
          of_node),
    wrong("a key confirmed by what it expands to", Confirmed, CuriousServer(), "masks follow from what is told",
          by_keys),
    wrong("seeds told in case of a dropout", ToldForDropouts, Eavesdropper(), "masks follow from what is told",
          by_keys),
    wrong("masks of half a word", LowHalf, CuriousServer(), "what is above the masks is seen",
          lambda h: h.one("masked", 0).astype(np.uint64).view(np.int64) / 2.0**40, input_of(0), goal="share", calls=80),
    wrong("masks of the upper bits", HighHalf, CuriousServer(), "what is below the masks is seen", of_the_lower_bits,
          input_of(0), goal="share", calls=80),
    *(
        wrong(name, made, adversary, "masks are much smaller than data", lambda h: h.one("masked", 0), **FLOATS)
        for name, made, adversary in (
            ("small floats of a seed", Floats, CuriousServer()),
            ("clipped, small floats of a seed", ClippedFloats, CuriousServer()),
            ("clipped, hardly masked", HardlyFloats, Eavesdropper()),
            ("clipped, floats from 0 to 1", UnitFloats, CuriousServer()),
            ("clipped, small floats drawn", ClippedAndDrawn, HonestButCurious({3})),
        )
    ),
]  # fmt: skip
