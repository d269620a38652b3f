"""Right protocols that expand a seed for each pair; what is used twice has another label."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, ClassVar

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ..bases import Pairwise, Words
from .published import BONAWITZ, right


class Seeded(Words):
    """Seeds of 128 bits; a mask of whole words for each pair."""

    width: ClassVar[int] = 2
    plain: ClassVar[bool] = False

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**64, size=(runs, self.count(network), self.width), dtype=np.uint64))

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        """The mask (m,) of a pair."""
        return words(np.random.default_rng(seed), m)

    def agreed(self, channel: Any, r: Array, pairs: Array) -> Array:
        """Seeds (pairs, runs, width) as they are used."""
        first, second = pairs.T
        channel.hold(-1, first, "seed", r)
        return np.asarray(channel.send(-1, first, second, "seed", r, encrypted=not self.plain))

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        pairs = self.pairs(network)
        seeds, hidden = self.agreed(channel, r, pairs), self.encode(s)
        for edge, (i, j) in enumerate(pairs.tolist()):
            for run in range(s.shape[1]):
                mask = self.mask(channel, seeds[edge, run], (i, j), s.shape[2])
                hidden[i, run] += mask
                hidden[j, run] -= mask
        received = self.deliver(channel, hidden)
        return self.publish(channel, self.decode(self.total(received)) / network.n, network.n)


class Own(Seeded):
    """Each node has a seed of its own, which it tells the server: others on the line are to learn nothing."""

    def count(self, network: Any) -> int:
        return int(network.n)

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        n, runs, m = s.shape
        channel.hold(-1, np.arange(n), "seed", r)
        told = channel.send(-1, np.arange(n), SERVER, "seed", r, encrypted=not self.plain)
        own, known = (
            np.stack([np.stack([self.mask(channel, each[i, k], (i, i), m) for k in range(runs)]) for i in range(n)])
            for each in (r, told)
        )
        received = self.deliver(channel, self.encode(s) + own) - known
        return self.publish(channel, self.decode(self.total(received)) / n, n)


def words(generator: Any, m: int) -> Array:
    """Uniform words of 64 bits."""
    return np.asarray(generator.integers(0, 2**64, size=m, dtype=np.uint64))


class Labelled(Seeded):
    """Masks weights and biases by generators of their own, which the seed and a label make."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        half = m // 2
        parts = [(0, half), (1, m - half)]
        return np.concatenate([words(np.random.default_rng([*seed, label]), size) for label, size in parts])


class GoesOn(Seeded):
    """Masks weights and biases by one generator, which goes on."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        generator = np.random.default_rng(seed)
        return np.concatenate([words(generator, m // 2), words(generator, m - m // 2)])


class Keyed(Seeded):
    """Expands seeds by a keyed hash of a counter."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return blocks(seed.tobytes(), channel.iteration, m)


def blocks(key: Any, turn: Any, m: int) -> Array:
    """Words of a keyed hash of the round and a counter."""
    label = b"mask" + turn.to_bytes(8, "big")
    stream = hmac.new(key, label + bytes([0]), hashlib.sha256).digest()
    for block in range(1, -(-m // 4)):
        stream = stream + hmac.new(key, label + bytes([block]), hashlib.sha256).digest()
    return np.frombuffer(stream, dtype=np.uint64)[:m]


class KeptKeys(Keyed):
    """Agrees on keys for all rounds of a fit; every round has a label of its own."""

    reuses_masks: ClassVar[bool] = True


class Group(Seeded):
    """All nodes have one secret, of which the masks of all pairs are made."""

    def agreed(self, channel: Any, r: Array, pairs: Array) -> Array:
        channel.hold(-1, 0, "secret", r[:1])
        one = channel.send(-1, 0, np.arange(1, 5), "secret", r[:1], encrypted=True, content=np.zeros(4, dtype=int))
        return np.repeat(one, len(pairs), axis=0)

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return words(np.random.default_rng([*seed, *pair]), m)


class Ring(Seeded):
    """Agrees with the two neighbours on a ring, to save messages."""

    def pairs(self, network: Any) -> Array:
        return np.array([(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])


class Normal(Pairwise):
    """Expands normal masks from seeds."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**64, size=(runs, self.count(network), 2), dtype=np.uint64))

    def used(self, r: Array, s: Array) -> Array:
        shape = (len(r), s.shape[1])
        masks = [np.random.default_rng(r[at]).normal(scale=self.sigma, size=s.shape[2]) for at in np.ndindex(shape)]
        return np.array(masks).reshape(*shape, -1)


SERVED, OUT, ONE = CuriousServer(), Eavesdropper(), HonestButCurious({1})
SEEDS: dict[str, Any] = {"family": "seeds"}
CASES = [
    right("seeds for a server", Seeded, SERVED, BONAWITZ, **SEEDS),
    right("seeds for a neighbour", Seeded, ONE, BONAWITZ, **SEEDS),
    right("seeds of one's own", Own, OUT, BONAWITZ, **SEEDS),
    right("labels for weights and biases", Labelled, SERVED, BONAWITZ, **SEEDS),
    right("a stream that goes on", GoesOn, OUT, BONAWITZ, **SEEDS),
    right("keyed hashes", Keyed, SERVED, BONAWITZ, **SEEDS),
    right("keys for all rounds", KeptKeys, SERVED, BONAWITZ, **SEEDS),
    right("a secret before a server", Group, SERVED, BONAWITZ, **SEEDS),
    right("a ring of seeds", Ring, HonestButCurious({1}), BONAWITZ, **SEEDS),
    right("normal masks of seeds", Normal, SERVED, BONAWITZ, **SEEDS),
]
