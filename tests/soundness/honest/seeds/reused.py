"""Masks that are used twice: for all entries, in two rounds, for two pairs, for two vectors."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ...bases import Pairwise
from ...case import Case, Heard, each, input_of
from .attacks import Own, Seeded, between_rounds, net, signed, words


class OneForAll(Seeded):
    """Draws one word of a seed, and adds it to all entries."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return np.repeat(words(np.random.default_rng(seed), 1), m)


class OneNormal(Pairwise):
    """Draws one number for each pair, and adds it to all entries."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.repeat(super().draw_masks(runs, 1, network, rng), m, axis=2)


@dataclass(frozen=True)
class FirstSeeds(Seeded):
    """Agrees on seeds in the first round, and goes on with them."""

    kept: dict[Any, Any] = field(default_factory=dict)

    def used(self, r: Array, s: Array) -> Array:
        return np.asarray(self.kept.setdefault(r.shape, r))


@dataclass(frozen=True)
class FirstKeys(FirstSeeds):
    """Counts the blocks of a hash of its keys from nought in every round."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        key, blocks = seed.tobytes(), range(-(-m // 4))
        stream = hashlib.sha256(key + (0).to_bytes(4, "big")).digest()
        for block in blocks[1:]:
            stream = stream + hashlib.sha256(key + block.to_bytes(4, "big")).digest()
        return np.frombuffer(stream, dtype=np.uint64)[:m]


@dataclass(frozen=True)
class FirstOfTheirOwn(Own):
    """Nodes tell the server their seeds in the first round."""

    kept: dict[Any, Array] = field(default_factory=dict)

    def used(self, r: Array, s: Array) -> Array:
        return self.kept.setdefault(r.shape, r)


@dataclass(frozen=True)
class FirstNormal(Pairwise):
    """Expands normal masks from the seeds of the first round."""

    kept: dict[Any, Array] = field(default_factory=dict)

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**64, size=(runs, self.count(network), 2), dtype=np.uint64))

    def used(self, r: Array, s: Array) -> Array:
        seeds = self.kept.setdefault(r.shape, r)
        shape = (len(seeds), s.shape[1])
        masks = [np.random.default_rng(seeds[at]).normal(scale=self.sigma, size=s.shape[2]) for at in np.ndindex(shape)]
        return np.array(masks).reshape(*shape, -1)


class SameForAllPairs(Seeded):
    """The administrator writes one seed into the configuration of all nodes."""

    def agreed(self, channel: Any, r: Array, pairs: Array) -> Array:
        one = channel.send(-1, 0, np.arange(1, 5), "seed", r[:1], encrypted=True, content=np.zeros(4, dtype=int))
        return np.repeat(one, len(pairs), axis=0)


class SameForNeighbours(Seeded):
    """A node hands all of its neighbours the same seed."""

    def agreed(self, channel: Any, r: Array, pairs: Array) -> Array:
        return super().agreed(channel, r[pairs[:, 0]], pairs)


class Restarted(Seeded):
    """Masks weights, then biases, and makes the generator anew for each."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        half = m // 2
        return np.concatenate([words(np.random.default_rng(seed), half), words(np.random.default_rng(seed), m - half)])


class TwoVectors(Own):
    """Sends squares too, to have the variance, masked by the stream from its beginning."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        n, runs, m = s.shape
        own = [[self.mask(channel, r[i, k], (i, i), m) for k in range(runs)] for i in range(n)]
        channel.send(0, np.arange(n), SERVER, "squares", self.encode(s * s) + np.array(own))


class SessionWithoutLabel(Seeded):
    """Agrees on keys once for the training, and forgets the iteration as it expands them."""

    reuses_masks = True
    width = 4

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return np.frombuffer(hashlib.shake_256(seed.tobytes()).digest(8 * m), np.uint64)


class SessionOfTwoEpochs(SessionWithoutLabel):
    """Counts the epochs of a session by one byte, of which it looks at the last bit."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        label = (channel.iteration % 2).to_bytes(1, "big")
        return np.frombuffer(hashlib.shake_256(seed.tobytes() + label).digest(8 * m), np.uint64)


def between_entries(heard: Heard) -> Array:
    masked = heard.one("masked", 0)
    return signed(masked[1:] - masked[:1])


def between_numbers(heard: Heard) -> Array:
    masked = heard.one("masked", 0)
    return np.asarray(masked[1:] - masked[:1])


def between_halves(heard: Heard) -> Array:
    masked = heard.one("masked", 0)
    return signed(masked[6:] - masked[:6])


def by_the_same_seed(heard: Heard) -> Array:
    seed = heard.one("seed", 0, 1)
    return signed(heard.one("masked", 0) - 4 * words(np.random.default_rng(seed), 12))


def by_one_seed(heard: Heard) -> Array:
    mask = words(np.random.default_rng(heard.one("seed", 0, 1)), 12)
    return signed(heard.one("masked", 0) - net(0, lambda i, j: mask))


def changes(truth: Any) -> Array:
    return np.asarray(truth.inputs[1][0, 0] - truth.inputs[0][0, 0])


SERVED, OUT, ONE = CuriousServer(), Eavesdropper(), HonestButCurious({1})
GRID: dict[str, Any] = {"accuracy": 1e-5}
NAME = "masks used twice"
CASES = [
    Case("one word for all entries", NAME, OneForAll, SERVED, "differences of entries are bare",
         attack=each(between_entries), secret=lambda t: t.inputs[0][0, 0, 1:] - t.inputs[0][0, 0, :1], **GRID),
    Case("one normal draw for all entries", NAME, OneNormal, OUT, "differences of entries are bare",
         attack=each(between_numbers), secret=lambda t: t.inputs[0][0, 0, 1:] - t.inputs[0][0, 0, :1]),
    Case("seeds of the first round", NAME, FirstSeeds, SERVED, "differences of rounds are bare",
         attack=each(between_rounds), secret=changes, **GRID),
    Case("keys of the first round", NAME, FirstKeys, OUT, "differences of rounds are bare",
         attack=each(between_rounds), secret=changes, **GRID),
    Case("seeds for a server of the first round", NAME, FirstOfTheirOwn, OUT, "differences of rounds are bare",
         attack=each(between_rounds), secret=changes, **GRID),
    Case("normal masks of the first round", NAME, FirstNormal, SERVED, "differences of rounds are bare",
         attack=each(lambda h: h.one("masked", 0, iteration=1) - h.one("masked", 0)), secret=changes),
    Case("keys of a session without a label", NAME, SessionWithoutLabel, SERVED, "differences of rounds are bare",
         attack=each(between_rounds), secret=changes, **GRID),
    Case("two epochs of a session", NAME, SessionOfTwoEpochs, OUT, "differences of every second round are bare",
         attack=each(lambda h: signed(h.one("masked", 0, iteration=2) - h.one("masked", 0))),
         secret=lambda t: t.inputs[2][0, 0] - t.inputs[0][0, 0], settings={"model": {"iterations": 3}}, **GRID),
    Case("one seed for all pairs", NAME, SameForAllPairs, SERVED, "masks of node 2 cancel", node=2,
         attack=each(lambda h: signed(h.one("masked", 2))), secret=input_of(2), **GRID),
    Case("one seed for all pairs, known to one", NAME, SameForAllPairs, ONE, "every node has the seed of all",
         attack=each(by_one_seed), secret=input_of(0), **GRID),
    Case("one seed for all neighbours", NAME, SameForNeighbours, ONE, "each neighbour has the seed of all pairs",
         attack=each(by_the_same_seed), secret=input_of(0), **GRID),
    Case("a stream for weights and biases", NAME, Restarted, SERVED, "differences of halves are bare",
         attack=each(between_halves), secret=lambda t: t.inputs[0][0, 0, 6:] - t.inputs[0][0, 0, :6], **GRID),
    Case("a stream for two vectors", NAME, TwoVectors, OUT, "differences of vectors are bare",
         attack=each(lambda h: signed(h.one("squares", 0) - h.one("masked", 0))),
         secret=lambda t: t.inputs[0][0, 0] ** 2 - t.inputs[0][0, 0], **GRID),
]  # fmt: skip
