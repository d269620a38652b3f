"""Seeds so short that the adversary can try them all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ...bases import Pairwise
from ...case import Attack, Case, Heard, each, input_of
from .attacks import Own, Seeded, signed, words


class Short(Seeded):
    """Draws seeds of 14 bits."""

    width = 1
    bits: ClassVar[int] = 14

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**self.bits, size=(runs, self.count(network), 1)))


class Folded(Seeded):
    """Folds the hash of a long seed to two bytes, because the generator takes a number."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        digest = hashlib.sha256(seed.tobytes()).digest()
        return words(np.random.default_rng(int.from_bytes(digest[:2], "big")), m)


class Remainder(Seeded):
    """Takes a long seed modulo 2^12."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return words(np.random.default_rng(seed[0] % 2**12), m)


class ShortKey(Own):
    """Cuts its key to two bytes before it hashes blocks."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return blocks(seed.tobytes()[:2], m)


def blocks(key: Any, m: int) -> Array:
    """Words of a hash in counter mode."""
    stream = hashlib.sha256(key + b"0").digest()
    for block in range(1, -(-m // 4)):
        stream = stream + hashlib.sha256(key + str(block).encode()).digest()
    return np.frombuffer(stream, dtype=np.uint64)[:m]


class OwnShort(Own):
    """Each node draws a seed of 14 bits for itself."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**14, size=(runs, network.n, 1)))


class OneMaster(Seeded):
    """One seed of 12 bits is handed round; that of a pair is made of it and the numbers of both."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**12, size=(runs, 1, 1)))

    def agreed(self, channel: Any, r: Array, pairs: Array) -> Array:
        channel.hold(-1, 0, "seed", r)
        one = channel.send(-1, 0, np.arange(1, 5), "seed", r, encrypted=True, content=np.zeros(4, dtype=int))
        return np.repeat(one, len(pairs), axis=0)

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        return words(np.random.default_rng([seed[0], *pair]), m)


class ShortNormal(Pairwise):
    """Normal masks of seeds of 13 bits."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**13, size=(runs, self.count(network), 1)))

    def used(self, r: Array, s: Array) -> Array:
        out = [[normal(int(seed), s.shape[2]) for seed in row] for row in r[:, :, 0]]
        return np.array(out)


class NormalOfItsOwn(Pairwise):
    """Node 0 hides its vector for the server by a mask of a seed of 13 bits; the sum of all masks comes encrypted."""

    def count(self, network: Any) -> int:
        return int(network.n)

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**13, size=(runs, network.n, 1)))

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        n, runs, m = s.shape
        channel.hold(-1, np.arange(n), "seed", r)
        told = channel.send(-1, np.arange(n), SERVER, "seed", r, encrypted=True)
        own, known = (
            np.stack([np.stack([normal(each[i, k, 0], m) for k in range(runs)]) for i in range(n)])
            for each in (r, told)
        )
        received = self.upload(channel, s + own, s, rng) - known
        return self.publish(channel, received.sum(axis=0) / n, s)


def normal(seed: Any, m: int) -> Array:
    """A normal mask."""
    return np.asarray(np.random.default_rng(seed).normal(scale=1e6, size=m))


def trying(made: Callable[[Heard], Iterable[Array]]) -> Attack:
    """Take the smallest of all vectors that come out."""
    return each(lambda h: min(made(h), key=lambda found: float(np.abs(found).max())))


def last_of(expand: Callable[[Any], Array], seeds: int, by: Callable[[Heard, int], Array]) -> Attack:
    """Try the seed of nodes 0 and 4, where 1, 2 and 3 tell theirs with 0."""

    def made(heard: Heard) -> Iterable[Array]:
        left = heard.one("masked", 0) - by(heard, 1) - by(heard, 2) - by(heard, 3)
        return (signed(left - expand(seed)) for seed in range(seeds))

    return trying(made)


def of_words(seed: Any) -> Array:
    return words(np.random.default_rng(seed), 12)


def folded(seed: Array) -> Array:
    return of_words(int.from_bytes(hashlib.sha256(seed.tobytes()).digest()[:2], "big"))


def own(expand: Callable[[Any], Array], seeds: Iterable[Any]) -> Attack:
    return trying(lambda h: (signed(h.one("masked", 0) - expand(seed)) for seed in seeds))


def by_master(heard: Heard) -> Iterable[Array]:
    masked = heard.one("masked", 0)
    for seed in range(2**12):
        yield signed(masked - sum(of_words([seed, 0, j]) for j in range(1, 5)))


def by_normal(heard: Heard) -> Iterable[Array]:
    left = heard.one("masked", 0) - sum(heard.one("mask", 0, j) for j in (1, 2, 3))
    return (left - normal(seed, 12) for seed in range(2**13))


MOST, OUT = HonestButCurious({1, 2, 3}), Eavesdropper()
GRID: dict[str, Any] = {"accuracy": 1e-5, "secret": input_of(0), "calls": 4}
NAME = "short seeds"
CASES = [
    Case("seeds of 14 bits", NAME, Short, MOST, "16,384 seeds can all be tried",
         attack=last_of(of_words, 2**14, lambda h, j: of_words(h.one("seed", 0, j))), **GRID),
    Case("seeds folded to two bytes", NAME, Folded, MOST, "65,536 seeds can all be tried",
         attack=last_of(of_words, 2**16, lambda h, j: folded(h.one("seed", 0, j))), **GRID),
    Case("seeds modulo 4096", NAME, Remainder, MOST, "4,096 seeds can all be tried", **GRID,
         attack=last_of(of_words, 2**12, lambda h, j: of_words(h.one("seed", 0, j)[0] % np.uint64(2**12)))),
    Case("keys of two bytes", NAME, ShortKey, OUT, "65,536 keys can all be tried", **GRID,
         attack=own(lambda key: blocks(key, 12), [bytes([a, b]) for a in range(256) for b in range(256)])),
    Case("a seed of 14 bits of one's own", NAME, OwnShort, OUT, "16,384 seeds can all be tried",
         attack=own(of_words, range(2**14)), **GRID),
    Case("a master of 12 bits", NAME, OneMaster, CuriousServer(), "4,096 seeds can all be tried",
         attack=trying(by_master), **GRID),
    Case("normal masks of 13 bits", NAME, ShortNormal, MOST, "8,192 seeds can all be tried",
         attack=trying(by_normal), secret=input_of(0), calls=4),
    Case("a normal mask of 13 bits of one's own", NAME, NormalOfItsOwn, OUT, "8,192 seeds can all be tried",
         attack=trying(lambda h: (h.one("masked", 0) - normal(seed, 12) for seed in range(2**13))),
         secret=input_of(0), calls=4),
]  # fmt: skip
